//! Answers to `greenlight fix`: what counts as an answer, and that a change to a test needs a separate one.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::{GREEN, RED, TESTS, document, sums};
use crate::doors::terminal::Terminal;
use crate::doors::{Door, Ended, tree, written};
use crate::harness::model::{KEY, ScriptedModel, calls};

const QUESTION: &str = "Write this to the working tree? [y]es, [n]o, or [a]nother fix:";
const OF_A_TEST: &str = "Change the test, and leave the code as it is? type `test` for yes, [n]o, or why not:";

fn at_a_terminal(door: &Door, root: &Path, more: &[&str]) -> Terminal {
    let arguments = ["fix"].iter().chain(more).map(AsRef::<OsStr>::as_ref);
    Terminal::start(door.command(arguments.chain([root.as_os_str()])))
}

#[tokio::test]
async fn what_may_be_a_slip_is_asked_about_again() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let door = Door::new();
    let mut terminal = at_a_terminal(&door, checkout.path(), &[]);
    for (typed, said) in [
        ("aprove", "`aprove` is not an answer; did you mean `approve`?"),
        ("sure", "`sure` is not an answer."),
        ("", "Type `yes`, `no`"),
        ("/greenlight aprove", "did you mean `/greenlight approve`?"),
        ("yes please", "is that a yes?"),
    ] {
        terminal.shows(QUESTION).await;
        assert_eq!(tree(checkout.path()), before);
        terminal.types(typed);
        terminal.shows(said).await;
    }
    terminal.shows(QUESTION).await;
    terminal.types("/greenlight approve");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
}

#[tokio::test]
async fn usual_words_for_yes_are_yes() {
    for word in ["approve", "OK", "yes."] {
        let checkout = sums(RED, &[]);
        let door = Door::new();
        let mut terminal = at_a_terminal(&door, checkout.path(), &[]);
        terminal.shows(QUESTION).await;
        terminal.types(word);
        let (code, shown) = terminal.ends().await;
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    }
}

/// Ctrl-d is not an answer: nothing is written, and nothing is remembered.
#[tokio::test]
async fn the_end_of_input_is_no_and_is_not_remembered() {
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let door = Door::new();
    for _ in 0..2 {
        let mut terminal = at_a_terminal(&door, checkout.path(), &[]);
        terminal.shows("numbers[0] + numbers[1]").await;
        terminal.shows(QUESTION).await;
        terminal.types("\u{4}");
        let (code, shown) = terminal.ends().await;
        assert_eq!(code, Some(3), "{shown}");
        assert!(shown.contains("not approved; nothing was written"), "{shown}");
        assert_eq!(tree(checkout.path()), before);
    }
}

/// Correct code with a wrong test, a model that says so, and a door to it.
async fn wrong_test() -> (TempDir, Door, ScriptedModel) {
    let tests = TESTS.replace("total([1, 2]), 3)", "total([1, 2]), 4)");
    let checkout = written(&[("sums.py", GREEN.as_bytes()), ("test_sums.py", tests.as_bytes())]);
    let model = ScriptedModel::start([]).await;
    model.edits("test_sums.py", "[1, 2]), 4)", "[1, 2]), 3)").then(calls(
        "submit",
        json!({ "summary": "1 and 2 are 3.", "test_may_be_wrong": true }),
    ));
    let door = Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    (checkout, door, model)
}

async fn fixed(door: &Door, root: &Path, more: &[&str]) -> Ended {
    let arguments = ["fix"].iter().chain(more).map(AsRef::<OsStr>::as_ref);
    door.run(arguments.chain([root.as_os_str()])).await
}

#[tokio::test]
async fn a_yes_to_everything_is_none_to_a_change_of_a_test() {
    for more in [&["--yes"][..], &["--yes", "--json"], &[], &["--json"]] {
        let (checkout, door, model) = wrong_test().await;
        let before = tree(checkout.path());
        let refused = fixed(&door, checkout.path(), more)
            .await
            .with(3)
            .saying("this changes a test")
            .saying("nothing was written; `--yes-tests`");
        assert_eq!(tree(checkout.path()), before, "{more:?}");
        if more.contains(&"--json") {
            let document = document(&refused);
            assert_eq!(document["proposal"]["kind"], "tests");
            assert_eq!(document["applied"], false);
        } else {
            assert!(refused.out.contains("THE TEST MAY BE WRONG"), "{}", refused.out);
        }
        model.finish();
    }
}

#[tokio::test]
async fn a_change_of_a_test_has_a_flag_of_its_own() {
    let (checkout, door, model) = wrong_test().await;
    let written = fixed(&door, checkout.path(), &["--yes-tests", "--json"]).await.with(0);
    assert_eq!(document(&written)["applied"], true);
    let tests = std::fs::read_to_string(checkout.path().join("test_sums.py")).unwrap();
    assert_eq!(tests, TESTS);
    model.finish();
    // This approves nothing else.
    let checkout = sums(RED, &[]);
    let before = tree(checkout.path());
    let refused = fixed(&Door::new(), checkout.path(), &["--yes-tests", "--json"])
        .await
        .with(3);
    assert_eq!(document(&refused)["proposal"]["kind"], "fix");
    assert_eq!(tree(checkout.path()), before);
}

#[tokio::test]
async fn a_change_of_a_test_takes_a_word_of_its_own() {
    let (checkout, door, model) = wrong_test().await;
    let before = tree(checkout.path());
    // Even if everything else was approved in advance.
    let mut terminal = at_a_terminal(&door, checkout.path(), &["--yes"]);
    terminal
        .shows("THE TEST MAY BE WRONG: this changes a test, not the code.")
        .await;
    terminal.shows("1 and 2 are 3.").await;
    for typed in ["y", "approve", "/greenlight approve"] {
        terminal.shows(OF_A_TEST).await;
        terminal.types(typed);
        terminal.shows("type `test` to approve").await;
        assert_eq!(tree(checkout.path()), before);
    }
    terminal.shows(OF_A_TEST).await;
    terminal.types("test");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(0), "{shown}");
    let tests = std::fs::read_to_string(checkout.path().join("test_sums.py")).unwrap();
    assert_eq!(tests, TESTS);
    model.finish();
}
