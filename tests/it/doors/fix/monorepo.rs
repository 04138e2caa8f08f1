//! `greenlight fix` and `greenlight tests` in a checkout with several suites.

use serde_json::json;
use tempfile::TempDir;

use super::{GREEN, RED, document, few_runs, fix, git, written};
use crate::doors::{Door, Ended};

const TESTS: &str = "
import unittest
from sums import total

class TotalTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
";

/// Two packages with the same tests, committed.
fn monorepo(api: &str, web: &str, more: &[(&str, &str)]) -> TempDir {
    let config = few_runs("");
    let mut files = vec![
        ("greenlight.toml", config.as_str()),
        ("api/pyproject.toml", "[project]\nname = \"api\"\n"),
        ("api/sums.py", api),
        ("api/test_sums.py", TESTS),
        ("web/pyproject.toml", "[project]\nname = \"web\"\n"),
        ("web/sums.py", web),
        ("web/test_sums.py", TESTS),
    ];
    files.extend(more);
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let checkout = written(&files);
    for arguments in [&["init"][..], &["add", "-A"], &["commit", "-q", "-m", "Begin"]] {
        let done = git(checkout.path(), arguments);
        assert!(done.status.success(), "{done:?}");
    }
    checkout
}

async fn tests(checkout: &TempDir, arguments: &[&str]) -> Ended {
    let arguments = ["tests"].iter().chain(arguments).map(AsRef::as_ref);
    Door::new().run(arguments.chain([checkout.path().as_os_str()])).await
}

const API: &str = "cd api && python3 -m unittest discover";
const WEB: &str = "cd web && python3 -m unittest discover";

/// A green package does not hide a red one.
#[tokio::test]
async fn the_red_package_is_fixed_no_matter_where_it_is() {
    let checkout = monorepo(GREEN, RED, &[]);
    let fixed = document(&fix(checkout.path(), &["--yes", "--json"]).await.with(0));
    assert_eq!(fixed["outcome"], "fixed");
    assert_eq!(fixed["test_command"], WEB);
    assert_eq!(fixed["proposal"]["files"], json!(["web/sums.py"]));
    assert_eq!(fixed["other_suites"][0]["test_command"], API);
    assert_eq!(fixed["other_suites"][0]["passed"], 1);
    let now = std::fs::read_to_string(checkout.path().join("web/sums.py")).unwrap();
    assert_eq!(now, GREEN);
}

/// One package is fixed at a time, and nobody has to guess that there is another.
#[tokio::test]
async fn a_fix_says_which_suites_did_not_run() {
    let checkout = monorepo(RED, RED, &[]);
    let fixed = fix(checkout.path(), &["--yes"]).await.with(0);
    assert!(fixed.err.contains("fixed: 1 failed"), "{}", fixed.err);
    assert!(fixed.err.contains(&format!("not run: `{WEB}`")), "{}", fixed.err);
}

#[tokio::test]
async fn green_means_every_package_that_changed() {
    let checkout = monorepo(GREEN, GREEN, &[]);
    let nothing = fix(checkout.path(), &[]).await.with(0);
    assert!(nothing.err.contains(&format!("`{WEB}`: 1 passed")), "{}", nothing.err);
    assert!(nothing.err.contains("nothing to fix: 1 passed"), "{}", nothing.err);
    assert!(!nothing.err.contains("not run"), "{}", nothing.err);

    // Only one of them changes, and the other is named.
    std::fs::write(checkout.path().join("web/sums.py"), format!("{GREEN}# fast\n")).unwrap();
    let nothing = fix(checkout.path(), &["--json"]).await.with(0);
    let nothing = document(&nothing);
    assert_eq!(nothing["outcome"], "nothing_to_fix");
    assert_eq!(nothing["test_command"], WEB);
    assert_eq!(nothing["not_run"], json!([API]));
}

/// A package that cannot be tested on this machine is not green, no matter how green the others are.
#[tokio::test]
async fn a_package_that_cannot_run_is_not_called_green() {
    for (api, web) in [("gone-1", ""), ("", "gone-2")] {
        let script = |program: &str| match program {
            "" => "{\"scripts\": {\"test\": \"echo fine\"}}".to_string(),
            program => format!("{{\"scripts\": {{\"test\": \"{program}\"}}}}"),
        };
        let config = few_runs("");
        let (api, web) = (script(api), script(web));
        let checkout = written(&[
            ("greenlight.toml", config.as_bytes()),
            ("api/package.json", api.as_bytes()),
            ("web/package.json", web.as_bytes()),
        ]);
        let ended = fix(checkout.path(), &["--json"]).await.with(1);
        let ended = document(&ended);
        assert_ne!(ended["outcome"], "nothing_to_fix", "{ended}");
        assert_eq!(ended["triage"]["verdict"], "environment", "{ended}");
    }
}

#[tokio::test]
async fn all_suites_of_a_checkout_are_run() {
    let checkout = monorepo(GREEN, RED, &[]);
    let ended = tests(&checkout, &["--json"]).await.with(1);
    let ended = document(&ended);
    assert_eq!([&ended["total"], &ended["passed"], &ended["failed"]], [2, 1, 1]);
    assert_eq!(ended["outcome"], "failed");
    let suites = ended["suites"].as_array().unwrap();
    let outcomes: Vec<_> = suites
        .iter()
        .map(|suite| (&suite["command"]["line"], &suite["outcome"]))
        .collect();
    assert_eq!(
        outcomes,
        [(&json!(API), &json!("passed")), (&json!(WEB), &json!("failed"))]
    );
    let told = tests(&checkout, &[]).await.with(1).saying("1 failed");
    for line in [format!("\n`{API}`\n\nPassed"), format!("\n`{WEB}`\n\nFailed")] {
        assert!(told.out.contains(&line), "{}", told.out);
    }
}

/// A module without tests is nothing to worry about beside one that has some.
#[tokio::test]
async fn an_empty_suite_beside_a_green_one_is_no_failure() {
    let empty = [
        ("zoo/pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("zoo/zoo.py", "ANIMALS = 3\n"),
    ];
    let checkout = monorepo(GREEN, GREEN, &empty);
    let listed = tests(&checkout, &["--list"]).await.with(0);
    assert!(listed.out.contains("cd zoo"), "{}", listed.out);
    tests(&checkout, &[]).await.with(0);
    fix(checkout.path(), &[])
        .await
        .with(0)
        .saying("nothing to fix: 1 passed");
}
