//! `greenlight fix` in real checkouts: what it writes, what it never writes, and how scripts can tell the difference.

mod answers;
mod base;
mod blocks;
mod built;
mod interrupted;
mod missing;
mod model;
mod money;
mod monorepo;
mod open;
mod people;
mod requests;
mod right;
mod without;

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::{Door, Ended, copy_of, few_runs, fixture, git, tree, written};

pub(super) const TESTS: &str = "
import unittest
from sums import total

class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
";
pub(super) const RED: &str = "def total(numbers):\n    return numbers[0] - numbers[1]\n";
pub(super) const GREEN: &str = "def total(numbers):\n    return numbers[0] + numbers[1]\n";

/// A one-line program and its test.
pub(super) fn sums(program: &str, more: &[(&str, &str)]) -> TempDir {
    let mut files: Vec<(&str, &[u8])> = vec![("sums.py", program.as_bytes()), ("test_sums.py", TESTS.as_bytes())];
    let config = more.iter().find(|(path, _)| *path == "greenlight.toml");
    let config = few_runs(config.map_or("", |(_, text)| text));
    files.extend(more.iter().map(|(path, text)| (*path, text.as_bytes())));
    files.retain(|(path, _)| *path != "greenlight.toml");
    files.push(("greenlight.toml", config.as_bytes()));
    written(&files)
}

pub(super) async fn fix(root: &Path, arguments: &[&str]) -> Ended {
    let arguments = ["fix"].iter().chain(arguments).map(AsRef::as_ref);
    Door::new().run(arguments.chain([root.as_os_str()])).await
}

/// The single JSON document on standard output.
#[track_caller]
pub(super) fn document(ended: &Ended) -> Value {
    assert_eq!(ended.out.lines().count(), 1, "{ended:#?}");
    serde_json::from_str(&ended.out).unwrap()
}

/// Nothing is written without a yes; with it, exactly what was shown before.
async fn asks_first_and_writes_what_it_showed(name: &str) {
    let before = fixture(&format!("{name}/before"));
    let checkout = copy_of(&format!("{name}/before"));
    git(checkout.path(), &["init"]);

    let refused = fix(checkout.path(), &["--json"]).await.with(3).saying("--yes");
    assert_eq!(tree(checkout.path()), tree(&before));
    let refused = document(&refused);
    assert_eq!(
        (&refused["outcome"], &refused["applied"]),
        (&"refused".into(), &false.into())
    );
    let patch = refused["proposal"]["patch"].as_str().unwrap();

    let fixed = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(fixed.out.contains(patch.trim_end()), "{}\n---\n{patch}", fixed.out);
    assert!(fixed.out.contains("on a fresh copy"), "{}", fixed.out);
    assert_eq!(tree(checkout.path()), tree(&fixture(&format!("{name}/after"))));

    let other = copy_of(&format!("{name}/before"));
    std::fs::write(other.path().join("fix.patch"), patch).unwrap();
    let applied = git(other.path(), &["apply", "fix.patch"]);
    assert!(applied.status.success(), "{applied:?}");
    std::fs::remove_file(other.path().join("fix.patch")).unwrap();
    assert_eq!(tree(other.path()), tree(checkout.path()));

    let nothing = fix(checkout.path(), &["--json"]).await.with(0).saying("nothing to fix");
    let nothing = document(&nothing);
    assert_eq!(
        (&nothing["outcome"], &nothing["proposal"]),
        (&"nothing_to_fix".into(), &Value::Null)
    );
}

#[tokio::test]
async fn a_rust_project_is_fixed() {
    asks_first_and_writes_what_it_showed("rail").await;
}

#[tokio::test]
async fn a_python_project_is_fixed() {
    asks_first_and_writes_what_it_showed("retry").await;
}

#[tokio::test]
async fn scripts_learn_what_was_fixed() {
    let checkout = sums(RED, &[]);
    let fixed = fix(checkout.path(), &["--yes", "--json"]).await.with(0);
    let fixed = document(&fixed);
    assert_eq!(
        (&fixed["outcome"], &fixed["applied"], &fixed["message"]),
        (&"fixed".into(), &true.into(), &Value::Null)
    );
    assert_eq!(fixed["proposal"]["author"], "builtin");
    assert_eq!(fixed["proposal"]["files"], serde_json::json!(["sums.py"]));
    assert_eq!(fixed["proposal"]["evidence"]["after"]["outcome"], "passed");
    assert_eq!(fixed["triage"]["verdict"], "deterministic");
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
}

#[tokio::test]
async fn what_no_small_edit_mends_is_given_up() {
    let checkout = sums("def total(numbers):\n    return 'the moon'\n", &[]);
    let before = tree(checkout.path());
    let given_up = fix(checkout.path(), &["--yes", "--json"])
        .await
        .with(1)
        .saying("no fix found");
    assert_eq!(document(&given_up)["outcome"], "no_fix");
    assert_eq!(tree(checkout.path()), before);
}

#[tokio::test]
async fn what_is_not_there_or_not_understood_is_said() {
    let empty = written(&[("README.md", b"Nothing here.\n")]);
    let said = fix(empty.path(), &["--json"])
        .await
        .with(2)
        .saying("`command` under `[test]` in greenlight.toml");
    assert_eq!(document(&said)["outcome"], "usage");

    let typo = sums(RED, &[("greenlight.toml", "[limits]\nturn = 3\n")]);
    let said = fix(typo.path(), &["--json"])
        .await
        .with(2)
        .saying("line 2, `limits.turn`")
        .saying("did you mean `turns`?");
    assert_eq!(document(&said)["outcome"], "usage");

    let said = fix(&typo.path().join("nowhere"), &["--json"])
        .await
        .with(2)
        .saying("nowhere");
    assert_eq!(document(&said)["outcome"], "usage");

    let said = fix(typo.path(), &["--json", "--engine", "model"])
        .await
        .with(2)
        .saying("GREENLIGHT_MODEL");
    assert_eq!(document(&said)["outcome"], "usage");
}

#[tokio::test]
async fn a_command_of_the_users_own_is_run_and_named() {
    let config = "[test]\ncommand = \"python3 -m unittest test_sums\"\n";
    let checkout = sums(RED, &[("greenlight.toml", config)]);
    let fixed = fix(checkout.path(), &["--yes"])
        .await
        .with(0)
        .saying("running `python3 -m unittest test_sums`");
    assert!(fixed.out.contains("1 failed"), "{}", fixed.out);
}

#[tokio::test]
async fn protected_paths_are_left_alone() {
    let checkout = sums(RED, &[("greenlight.toml", "[protect]\npaths = [\"sums.py\"]\n")]);
    let before = tree(checkout.path());
    fix(checkout.path(), &["--yes"]).await.with(1).saying("no fix found");
    assert_eq!(tree(checkout.path()), before);
}

/// In a folder of a repository, what its `greenlight.toml` protects is protected, and its commands are left out.
#[tokio::test]
async fn the_settings_of_the_repository_count_in_its_folders() {
    let settings = "[test]\ncommand = \"false\"\n[protect]\npaths = [\"pkg/sums.py\"]\n";
    let repository = written(&[
        ("greenlight.toml", few_runs(settings).as_bytes()),
        ("pkg/sums.py", RED.as_bytes()),
        ("pkg/test_sums.py", TESTS.as_bytes()),
    ]);
    git(repository.path(), &["init"]);
    let folder = repository.path().join("pkg");
    let before = tree(&folder);
    let kept = fix(&folder, &["--yes"]).await.with(1).saying("no fix found");
    let kept = kept.saying("counts here, but without the commands of `[test]`");
    assert_eq!(kept.err.matches("counts here").count(), 1, "{}", kept.err);
    assert_eq!(tree(&folder), before);

    let config = async |verb| Door::new().run(["config".as_ref(), verb, folder.as_os_str()]).await;
    let shown = config("show".as_ref()).await.with(0);
    assert!(
        shown.out.contains("greenlight.toml with every default, but without"),
        "{}",
        shown.out
    );
    std::fs::write(repository.path().join("greenlight.toml"), "[protect]\npath = []\n").unwrap();
    let wrong = config("check".as_ref()).await.with(2);
    assert!(wrong.out.contains("greenlight.toml:2: `protect.path`"), "{}", wrong.out);
    fix(&folder, &["--yes"])
        .await
        .with(2)
        .saying("`greenlight config check` lists every mistake");
    // Its own settings count alone.
    std::fs::write(folder.join("greenlight.toml"), few_runs("")).unwrap();
    fix(&folder, &["--yes"]).await.with(0);
    assert_ne!(tree(&folder)["sums.py"], before["sums.py"]);
}

/// The commit is green, the working tree is red because of changed and untracked files, and the working tree counts.
#[tokio::test]
async fn the_working_tree_counts_and_not_what_is_committed() {
    let checkout = sums(GREEN, &[(".gitignore", "private/\n")]);
    let root = checkout.path();
    git(root, &["init"]);
    git(root, &["add", "."]);
    git(root, &["commit", "-m", "All is well"]);
    std::fs::write(root.join("sums.py"), format!("from pair import first\n{RED}")).unwrap();
    std::fs::write(root.join("pair.py"), "def first(pair):\n    return pair[0]\n").unwrap();
    std::fs::create_dir(root.join("private")).unwrap();
    // If ignored files counted, nothing would be green.
    std::fs::write(root.join("private/test_never.py"), "raise SystemExit('it was run')\n").unwrap();
    git(root, &["add", "sums.py"]);

    fix(root, &["--yes"]).await.with(0);
    let status = String::from_utf8(git(root, &["status", "--short"]).stdout).unwrap();
    assert_eq!(status, "MM sums.py\n?? pair.py\n");
    let sums = std::fs::read_to_string(root.join("sums.py")).unwrap();
    assert_eq!(sums, format!("from pair import first\n{GREEN}"));
    assert!(root.join("private/test_never.py").exists());
}

#[tokio::test]
async fn a_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let checkout = sums(RED, &[]);
    let file = checkout.path().join("sums.py");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    fix(checkout.path(), &["--yes"]).await.with(0);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

/// The code may be private, and the machine may have other users.
#[tokio::test]
async fn its_own_folder_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let checkout = sums(GREEN, &[]);
    let door = Door::new();
    let data = door.data().join("new/greenlight");
    let door = door.with("GREENLIGHT_DATA_DIR", data.to_str().unwrap());
    door.run(["fix".as_ref(), checkout.path().as_os_str()]).await.with(0);
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

/// A patch that dropped a character which terminals must not see would not apply, and would hide what it does.
#[tokio::test]
async fn hidden_characters_are_neither_lost_nor_obeyed() {
    let program = format!(
        "# \u{202e}admin\u{2066} \u{1f468}\u{200d}\u{1f4bb} \u{e0041}\r\n{}",
        RED.replace('\n', "\r\n")
    );
    let checkout = sums(&program, &[]);
    let refused = fix(checkout.path(), &["--json"]).await.with(3);
    assert!(!refused.out.contains('\u{202e}'), "{}", refused.out);
    let patch = document(&refused)["proposal"]["patch"].as_str().unwrap().to_string();
    assert!(patch.contains("\u{202e}admin"), "{patch}");
    git(checkout.path(), &["init"]);
    std::fs::write(checkout.path().join("fix.patch"), patch).unwrap();
    let applied = git(checkout.path(), &["apply", "fix.patch"]);
    assert!(applied.status.success(), "{applied:?}");
    let shown = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(shown.err.contains("nothing to fix"), "{shown:#?}");

    let checkout = sums(&program, &[]);
    let shown = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(shown.out.contains("# \\u{202e}admin\\u{2066}"), "{}", shown.out);
    assert!(!shown.out.contains("\\u{d}"), "{}", shown.out);
    let expected = program.replace(" - ", " + ");
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(),
        expected
    );
}

#[tokio::test]
async fn without_a_sandbox_it_says_what_that_means() {
    let checkout = sums(RED, &[]);
    let fixed = fix(checkout.path(), &["--yes", "--sandbox", "none"]).await.with(0);
    let fixed = fixed.saying("your files, your network and your secrets");
    assert!(fixed.out.contains("1 passed"), "{}", fixed.out);
    let confined = fix(checkout.path(), &[]).await.with(0);
    assert!(!confined.err.contains("your secrets"), "{}", confined.err);
}
