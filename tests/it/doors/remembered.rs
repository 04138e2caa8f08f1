//! What a checkout taught on this machine: tried first when the same failure comes back, proved again, and recorded.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use super::Door;
use super::fix::{GREEN, RED, document, sums};
use super::terminal::Terminal;
use crate::harness::model::{KEY, ScriptedModel};

/// A door with a model that has turns for one fix only: asked for another, it fails.
async fn one_fix() -> (Door, ScriptedModel) {
    let model = ScriptedModel::start([]).await;
    model
        .edits("sums.py", "numbers[0] - numbers[1]", "numbers[0] + numbers[1]")
        .submits("The numbers were subtracted.");
    let door = Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    (door, model)
}

async fn fixed(door: &Door, more: &[&str], root: &Path) -> Value {
    let arguments = ["fix", "--yes", "--json"]
        .iter()
        .chain(more)
        .map(AsRef::<OsStr>::as_ref);
    document(&door.run(arguments.chain([root.as_os_str()])).await.with(0))
}

#[tokio::test]
async fn a_fix_that_was_written_is_tried_first_when_the_failure_comes_back() {
    let checkout = sums(RED, &[]);
    let (door, model) = one_fix().await;
    assert_eq!(
        fixed(&door, &[], checkout.path()).await["proposal"]["author"],
        "scripted"
    );
    let program = checkout.path().join("sums.py");
    // The same mistake, in a file that went on.
    std::fs::write(&program, format!("{RED}\n\ndef nothing():\n    return 0\n")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("run.zip");
    let again = fixed(&door, &["--record", bundle.to_str().unwrap()], checkout.path()).await;
    assert_eq!(
        (&again["outcome"], &again["proposal"]["author"]),
        (&json!("fixed"), &json!("memory"))
    );
    assert_eq!(again["proposal"]["evidence"]["after"]["outcome"], "passed");
    assert_eq!(again["spent"]["turns"], 0);
    let written = std::fs::read_to_string(&program).unwrap();
    assert_eq!(written, format!("{GREEN}\n\ndef nothing():\n    return 0\n"));
    // The bundle knows what was remembered; another machine would not.
    let replay = [OsStr::new("replay"), "--json".as_ref(), bundle.as_os_str()];
    assert_eq!(document(&Door::new().run(replay).await.with(0))["same"], true);
    model.finish();
}

#[tokio::test]
async fn what_somebody_turns_down_is_not_proposed_to_them_again() {
    let checkout = sums(RED, &[]);
    let (door, model) = one_fix().await;
    fixed(&door, &[], checkout.path()).await;
    std::fs::write(checkout.path().join("sums.py"), RED).unwrap();
    model
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .submits("They are summed up.");
    let arguments = [OsStr::new("fix"), checkout.path().as_os_str()];
    let mut terminal = Terminal::start(door.command(arguments));
    terminal.shows("numbers[0] + numbers[1]").await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("for any count of numbers");
    terminal.shows("looking for another fix").await;
    terminal.shows("sum(numbers)").await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("y");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    model.finish();
}
