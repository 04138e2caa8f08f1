//! `--without` leaves out one part of the built-in engine, and nothing else.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{GREEN, RED, document, sums};
use crate::doors::{Door, git, written};

const PARTS: [&str; 5] = ["tool", "memory", "revert", "search", "compare"];
const MANIFEST: &[u8] =
    b"[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";

async fn fixed(door: &Door, without: &str, root: &Path) -> Value {
    let arguments = ["fix", "--json", "--engine", "builtin", "--without", without, "--yes"];
    let arguments = arguments.iter().map(OsStr::new).chain([root.as_os_str()]);
    document(&door.run(arguments).await)
}

/// Left alone, the part finds the fix; left out, the rung that comes next does, or none.
async fn is_left_out(part: &str, lay_out: impl Fn() -> TempDir, next: Value) {
    let others = PARTS.into_iter().filter(|other| *other != part);
    let checkout = lay_out();
    let with = fixed(&Door::new(), &others.collect::<Vec<_>>().join(","), checkout.path()).await;
    assert_eq!(with["proposal"]["rung"], part, "{with:#}");
    let checkout = lay_out();
    let without = fixed(&Door::new(), part, checkout.path()).await;
    assert_eq!(without["proposal"]["rung"], next, "{without:#}");
}

#[tokio::test]
async fn tools_are_left_out() {
    let lay_out = || {
        written(&[
            ("Cargo.toml", MANIFEST),
            ("src/lib.rs", b"pub fn  one()->u32 {1}\n"),
            ("greenlight.toml", b"[test]\ncommand = \"cargo fmt --check\"\n"),
        ])
    };
    is_left_out("tool", lay_out, Value::Null).await;
}

#[tokio::test]
async fn the_search_is_left_out() {
    is_left_out("search", || sums(RED, &[]), Value::Null).await;
    let checkout = sums(RED, &[]);
    let arguments = ["fix", "--engine", "builtin", "--without", "search"].map(OsStr::new);
    let told = Door::new()
        .run(arguments.into_iter().chain([checkout.path().as_os_str()]))
        .await
        .err;
    assert!(
        told.contains("trying known fixes (built-in engine, no model)"),
        "{told}"
    );
    assert!(!told.contains("searching"), "{told}");
}

#[tokio::test]
async fn reverts_are_left_out() {
    let lay_out = || {
        let checkout = sums(GREEN, &[]);
        let root = checkout.path();
        for arguments in [&["init"][..], &["add", "-A"], &["commit", "-q", "-m", "Add sums"]] {
            assert!(git(root, arguments).status.success());
        }
        std::fs::write(root.join("sums.py"), RED).unwrap();
        checkout
    };
    is_left_out("revert", lay_out, json!("search")).await;
}

#[tokio::test]
async fn memory_is_left_out() {
    let (door, checkout) = (Door::new(), sums(RED, &[]));
    for (without, rung) in [
        ("compare", "search"),
        ("tool,revert,search,compare", "memory"),
        ("memory", "search"),
    ] {
        std::fs::write(checkout.path().join("sums.py"), RED).unwrap();
        let fixed = fixed(&door, without, checkout.path()).await;
        assert_eq!(fixed["proposal"]["rung"], rung, "{fixed:#}");
    }
}

/// Two edits that do the same hold each other back where nobody looks whether they do.
#[tokio::test]
async fn comparing_is_left_out() {
    let test = "import unittest\nfrom border import outer\n\n\nclass BorderTest(unittest.TestCase):\n    \
                def test_outer(self):\n        self.assertEqual(outer(3), 6)\n";
    let program: &[u8] = b"def outer(width):\n    return width + 1 + 1\n";
    for (without, outcome) in [("tool,memory,revert", "fixed"), ("compare", "no_fix")] {
        let checkout = written(&[("border.py", program), ("test_border.py", test.as_bytes())]);
        let ended = fixed(&Door::new(), without, checkout.path()).await;
        assert_eq!(ended["outcome"], outcome, "{ended:#}");
        let findings = ended["search"]["unverified"].as_array().map_or(0, Vec::len);
        assert_eq!(findings > 1, outcome == "no_fix", "{ended:#}");
    }
}
