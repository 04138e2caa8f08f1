//! Fixes remembered from a checkout on this machine: tried first when the same failure recurs, verified again, and
//! recorded.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};

use super::Door;
use super::fix::{GREEN, RED, document, sums};
use super::terminal::Terminal;
use crate::harness::model::{KEY, ScriptedModel};

/// A door with a model that has turns for one fix only; if it is asked for another, it fails.
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
    // The same mistake, in a file that has grown since.
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
    // The bundle includes what was remembered; another machine would not know it.
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

const INVOICE: &str = "DISCOUNT_FROM = 10_000\nDISCOUNT = 500\n\n\ndef total(amount):\n    if amount > \
                       DISCOUNT_FROM:\n        amount = amount - DISCOUNT\n    return amount\n";
const MENDED: &str = "amount >= DISCOUNT_FROM";
const INVOICE_TESTS: &str = "
import unittest
from invoice import total

class TotalTest(unittest.TestCase):
    def test_below(self):
        self.assertEqual(total(9_999), 9_999)
        self.assertEqual(total(1), 1)

    def test_from(self):
        self.assertEqual(total(10_000), 9_500)

    def test_above(self):
        self.assertEqual(total(10_001), 9_501)
        self.assertEqual(total(20_000), 19_500)
";

fn invoice() -> tempfile::TempDir {
    super::written(&[
        ("invoice.py", INVOICE.as_bytes()),
        ("test_invoice.py", INVOICE_TESTS.as_bytes()),
    ])
}

/// Whether this is the right bound in a different spelling, or the constant with the same effect.
fn is_the_same_again(shown: &str) -> bool {
    let added = shown
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    added
        .into_iter()
        .any(|line| line.contains("DISCOUNT_FROM") && !line.contains(MENDED))
}

/// The same bound is never offered in a different spelling, later runs mention that, and it can be forgotten.
#[tokio::test]
async fn what_was_turned_down_comes_back_in_no_other_words_until_it_is_forgotten() {
    let checkout = invoice();
    let root = checkout.path().to_str().unwrap();
    let door = Door::new();
    let mut terminal = Terminal::start(door.command(["fix", root]));
    terminal.shows(MENDED).await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("reject I would rather lower the constant");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("looking for another fix"), "{shown}");
    assert!(shown.contains("1 rejected fix is left out"), "{shown}");
    assert!(!is_the_same_again(&shown), "{shown}");

    let again = door.run(["fix", "--yes", "--json", root]).await.with(1);
    let again = again
        .saying("note: 1 fix turned down earlier is left out; `greenlight memory list ")
        .saying("no fix found")
        .saying("1 rejected fix is left out: `greenlight memory list ");
    let told = document(&again);
    assert_eq!((&told["outcome"], &told["turned_down"]), (&json!("no_fix"), &json!(1)));
    assert_eq!(told["search"]["unverified"], json!([]), "{told}");

    let listed = door.run(["memory", "list", root]).await.with(0);
    assert!(listed.out.contains("turned down on"), "{}", listed.out);
    assert!(
        listed.out.contains("because: I would rather lower the constant"),
        "{}",
        listed.out
    );
    assert!(listed.out.contains(MENDED), "{}", listed.out);
    let listed = document(&door.run(["memory", "list", "--json", root]).await.with(0));
    let id = listed["turned_down"][0]["id"].as_str().unwrap().to_string();
    assert!(listed["turned_down"][0]["patch"].as_str().unwrap().contains(MENDED));
    door.run(["memory", "forget", "nothing", root])
        .await
        .with(2)
        .saying("`greenlight memory list` shows");
    door.run(["memory", "forget", root])
        .await
        .with(2)
        .saying("has the name");
    door.run(["memory", "forget"]).await.with(2).saying("--all");
    let forgotten = door.run(["memory", "forget", &id, root]).await.with(0);
    assert!(forgotten.out.contains(&id), "{}", forgotten.out);

    assert_eq!(fixed(&door, &[], checkout.path()).await["outcome"], "fixed");
    let mended = std::fs::read_to_string(checkout.path().join("invoice.py")).unwrap();
    assert_eq!(mended, INVOICE.replace("amount > DISCOUNT_FROM", MENDED));
}

/// Nothing above the bound is tested, so `==` passes as well as the correct `>=`, but is far less likely.
const INVOICE_TESTS_UP_TO_THE_BOUND: &str = "
import unittest
from invoice import total

class TotalTest(unittest.TestCase):
    def test_below(self):
        self.assertEqual(total(9_999), 9_999)

    def test_from(self):
        self.assertEqual(total(10_000), 9_500)
";

/// Rejecting the likely fix does not make an unlikely one certain: it is shown, and `--yes` does not write it.
#[tokio::test]
async fn a_fix_that_was_turned_down_still_competes_with_less_likely_ones() {
    let checkout = super::written(&[
        ("invoice.py", INVOICE.as_bytes()),
        ("test_invoice.py", INVOICE_TESTS_UP_TO_THE_BOUND.as_bytes()),
    ]);
    let root = checkout.path().to_str().unwrap();
    let door = Door::new();
    let mut terminal = Terminal::start(door.command(["fix", root]));
    terminal.shows(MENDED).await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("reject the discount needs another rule");
    let (code, shown) = terminal.ends().await;
    assert_eq!(code, Some(1), "{shown}");

    let again = document(&door.run(["fix", "--yes", "--json", root]).await.with(1));
    let unverified = again["search"]["unverified"].as_array().unwrap();
    let equal = unverified.iter().find(|finding| {
        let patch = finding["patch"].as_str().unwrap();
        patch.contains("+    if amount == DISCOUNT_FROM:")
    });
    let risks = equal.unwrap()["risks"].to_string();
    assert!(risks.contains("less likely than a fix that was rejected"), "{risks}");
    let kept = std::fs::read_to_string(checkout.path().join("invoice.py")).unwrap();
    assert_eq!(kept, INVOICE);
}

#[tokio::test]
async fn all_that_is_remembered_can_be_forgotten() {
    let checkout = sums(RED, &[]);
    let root = checkout.path().to_str().unwrap();
    let door = Door::new();
    let nothing = door.run(["memory", "list", root]).await.with(0);
    assert!(nothing.out.contains("nothing is remembered"), "{}", nothing.out);
    fixed(&door, &[], checkout.path()).await;
    let listed = document(&door.run(["memory", "list", "--json", root]).await.with(0));
    assert_eq!(listed["accepted"].as_array().unwrap().len(), 1, "{listed}");
    let forgotten = document(&door.run(["memory", "forget", "--all", "--json", root]).await.with(0));
    assert_eq!(forgotten["forgotten"], json!([listed["accepted"][0]["id"]]));
    let listed = document(&door.run(["memory", "list", "--json", root]).await.with(0));
    assert_eq!(listed["accepted"], json!([]));
    // Nothing is known about another checkout, and nothing is created for it.
    door.run(["memory", "list", "/nowhere"])
        .await
        .with(2)
        .saying("/nowhere");
}
