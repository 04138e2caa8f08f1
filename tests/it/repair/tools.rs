//! Fixes made by tools alone: real tools where every machine has them, and small scripts in the tree that lie and
//! cheat.

use std::time::Duration;

use greenlight::domain::patch::Patch;
use greenlight::domain::test_run::{Outcome, is_better};
use greenlight::repair::{FixKind, ToolFix};
use greenlight::suite;
use tokio_util::sync::CancellationToken;

use super::patient::Patient;

const MANIFEST: &str =
    "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";

fn after(patch: &Patch) -> Vec<(String, String)> {
    let text = |blob: &greenlight::domain::patch::Blob| blob.text().unwrap().to_string();
    let files = patch.files();
    let files = files.map(|(path, change)| (path.to_string(), change.after.as_ref().map_or_else(String::new, text)));
    files.collect()
}

/// The only fix, which makes the suite pass.
#[track_caller]
fn only(fixes: Vec<ToolFix>, patient: &Patient) -> ToolFix {
    let [fix] = <[ToolFix; 1]>::try_from(fixes).unwrap_or_else(|fixes| panic!("{fixes:#?}\n{:#?}", patient.before));
    fix
}

async fn proved(patient: &Patient) -> (Vec<(String, String)>, String) {
    let cancel = CancellationToken::new();
    let fix = only(patient.tool_fixes(&cancel).await, patient);
    assert_eq!(fix.kind, FixKind::Code);
    let mut mended = patient.checkout.clone();
    mended.apply(&fix.patch);
    let run = suite::run_fresh(&patient.suite, &mended, &[], &cancel).await.unwrap();
    assert_eq!(is_better(&patient.before, &run), Ok(()), "{run:#?}");
    (after(&fix.patch), fix.explanation)
}

#[tokio::test]
async fn rustfmt_formats_what_its_check_named() {
    let mut patient = Patient::commanded(
        &[
            ("Cargo.toml", MANIFEST),
            ("src/lib.rs", "mod good;\nmod kept;\npub fn  one()->u32 {1}\n"),
            ("src/good.rs", "pub fn two() -> u32 {\n    2\n}\n"),
            ("src/kept.rs", "pub fn  three()->u32 {3}\n"),
        ],
        "cargo fmt --check",
    )
    .await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    let (files, explanation) = proved(&patient).await;
    let formatted = |path: &str, text: &str| (path.to_string(), text.to_string());
    let kept = formatted("src/kept.rs", "pub fn three() -> u32 {\n    3\n}\n");
    let lib = formatted("src/lib.rs", "mod good;\nmod kept;\npub fn one() -> u32 {\n    1\n}\n");
    assert_eq!(files, [kept, lib.clone()]);
    assert_eq!(explanation, "`cargo fmt` fixes `src/kept.rs` and 1 more file");
    patient.protected.push("src/kept.rs");
    let fix = only(patient.tool_fixes(&CancellationToken::new()).await, &patient);
    assert_eq!(after(&fix.patch), [lib]);
    patient.protected.push("src/lib.rs");
    assert_eq!(patient.tool_fixes(&CancellationToken::new()).await, []);
}

#[tokio::test]
async fn suggestions_of_clippy_and_rustc_are_made() {
    let code = "#[must_use]\npub fn one() -> u32 {\n    return 1;\n}\n";
    let clippy = Patient::commanded(
        &[("Cargo.toml", MANIFEST), ("src/lib.rs", code)],
        "cargo clippy -- -D warnings",
    )
    .await;
    assert_eq!(clippy.before.outcome, Outcome::Flagged, "{:#?}", clippy.before);
    let (files, explanation) = proved(&clippy).await;
    assert_eq!(files[0].1, "#[must_use]\npub fn one() -> u32 {\n    1\n}\n");
    assert_eq!(explanation, "Clippy's own suggestions fix `src/lib.rs`");
    let code = "#![deny(unused_mut, unused_parens)]\npub fn one() -> u32 \
                {\n    let mut a = (1);\n    a\n}\n\n#[test]\nfn is_one() {\n    assert_eq!(one(), 1);\n}\n";
    let rustc = Patient::commanded(&[("Cargo.toml", MANIFEST), ("src/lib.rs", code)], "cargo test").await;
    assert_eq!(rustc.before.outcome, Outcome::DidNotBuild, "{:#?}", rustc.before);
    let (files, _) = proved(&rustc).await;
    assert_eq!(files[0].1, code.replace("let mut a = (1)", "let a = 1"));
}

#[tokio::test]
async fn a_lock_file_is_brought_up_to_date() {
    let lock = "version = 3\n\n[[package]]\nname = \"sums\"\nversion = \"0.0.9\"\n";
    let patient = Patient::commanded(
        &[
            ("Cargo.toml", MANIFEST),
            ("Cargo.lock", lock),
            ("src/lib.rs", "#[test]\nfn one() {}\n"),
        ],
        "cargo test --locked",
    )
    .await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    let (files, _) = proved(&patient).await;
    assert_eq!(files[0].0, "Cargo.lock");
    assert!(files[0].1.contains("version = \"0.1.0\""), "{files:?}");
}

#[tokio::test]
async fn checks_are_found_behind_make() {
    let patient = Patient::commanded(
        &[
            (
                "Makefile",
                "CARGO ?= cargo\n\nlint: format\n\nformat:\n\t@$(CARGO) fmt --check\n",
            ),
            ("Cargo.toml", MANIFEST),
            ("src/lib.rs", "pub fn  one()->u32 {1}\n"),
        ],
        "make lint",
    )
    .await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    let (files, explanation) = proved(&patient).await;
    assert_eq!(files[0].1, "pub fn one() -> u32 {\n    1\n}\n");
    assert_eq!(explanation, "`cargo fmt` fixes `src/lib.rs`");
}

#[tokio::test]
async fn gofmt_is_found_in_the_shell_around_it() {
    let patient = Patient::commanded(
        &[
            ("a.go", "package a\nfunc  A() {}\n"),
            ("b.go", "package a\n\nfunc B() {}\n"),
        ],
        "test -z \"$(gofmt -l . | tee /dev/stderr)\"",
    )
    .await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    let (files, _) = proved(&patient).await;
    assert_eq!(files, [("a.go".to_string(), "package a\n\nfunc A() {}\n".to_string())]);
}

/// A check that prints its argument, and a fix mode that does something else besides.
fn cheating(beside: &str) -> String {
    format!(
        "#!/bin/sh\nif [ \"$1\" = --check ]; then\n  grep -q bad a.py && {{ echo would reformat a.py; exit 1; }}\n  \
         exit 0\nfi\n{beside}\n"
    )
}

async fn cheated(beside: &str, command: &str) -> Patient {
    let files = [
        ("a.py", "bad\n"),
        ("b.py", "other\n"),
        ("test_b.py", "assert True\n"),
        (
            "package.json",
            "{\"scripts\": {\"lint\": \"./bin/black --check a.py\"}}",
        ),
        ("bin/black", &cheating(beside)),
    ];
    let patient = Patient::commanded(&files, command).await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    patient
}

#[tokio::test]
async fn of_what_a_tool_does_only_the_named_file_is_taken() {
    let beside = "echo good > a.py; echo evil > b.py; rm test_b.py; echo evil > new.py; ln -sf /etc/passwd c.py\n\
                  chmod +x a.py; echo would reformat b.py test_b.py; exit 3";
    for command in [
        "./bin/black --check a.py",
        "npm run lint",
        "sh -c 'true && bin/black --check a.py'",
    ] {
        let patient = cheated(beside, command).await;
        let (files, _) = proved(&patient).await;
        assert_eq!(files, [("a.py".to_string(), "good\n".to_string())], "{command}");
    }
}

#[tokio::test]
async fn what_is_no_honest_result_is_no_fix() {
    for beside in [
        "ln -sf /etc/passwd a.py",
        "rm a.py",
        ": > a.py",
        "rm a.py; mkfifo a.py",
        "rm a.py; mkdir a.py",
        "printf 'good\\0' > a.py",
        "printf '\\377\\376' > a.py",
        "head -c 5000000 /dev/zero | tr '\\0' a > a.py",
        "echo good > a.py; kill -9 $$",
        "cd / && rm -r \"$OLDPWD\"/a.py && ln -s / \"$OLDPWD\"/a.py",
        "true",
        "echo good > b.py",
    ] {
        let patient = cheated(beside, "./bin/black --check a.py").await;
        assert_eq!(patient.tool_fixes(&CancellationToken::new()).await, [], "{beside}");
    }
}

#[tokio::test]
async fn a_tool_that_never_ends_is_stopped() {
    let mut patient = cheated("echo good > a.py; while :; do :; done", "./bin/black --check a.py").await;
    patient.suite.command.timeout = Duration::from_secs(2);
    assert_eq!(patient.tool_fixes(&CancellationToken::new()).await, []);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(patient.tool_fixes(&cancel).await, []);
}

#[tokio::test]
async fn a_check_that_is_not_what_failed_mends_nothing() {
    let files = [
        ("a.py", "fine\n"),
        ("bin/black", &*cheating("echo good > a.py")),
        ("bin/other", "#!/bin/sh\necho a.py is wrong; exit 1\n"),
    ];
    let patient = Patient::commanded(&files, "bin/black --check a.py && bin/other").await;
    assert!(patient.before.outcome.is_red(), "{:#?}", patient.before);
    assert_eq!(patient.tool_fixes(&CancellationToken::new()).await, []);
}

#[tokio::test]
async fn a_snapshot_written_anew_says_that_the_test_may_be_wrong() {
    let conftest = "def pytest_addoption(parser):\n    parser.addoption('--snapshot-update', action='store_true')\n";
    let test = "import os\n\n\ndef test_value(request):\n    path = os.path.join('__snapshots__', \
                'test_value.ambr')\n    \
                if request.config.getoption('--snapshot-update'):\n        open(path, 'w').write('2\\n')\n        \
                open('value.py', 'w').write('evil')\n    \
                assert open(path).read() == '2\\n', 'assert [+ received] == [- snapshot]'\n";
    let mut files = vec![
        ("conftest.py", conftest),
        ("value.py", "VALUE = 2\n"),
        ("test_value.py", test),
        ("__snapshots__/test_value.ambr", "1\n"),
    ];
    let patient = Patient::commanded(&files, "python3 -m pytest -q").await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let fix = only(patient.tool_fixes(&CancellationToken::new()).await, &patient);
    assert_eq!(fix.kind, FixKind::Snapshot);
    assert_eq!(
        after(&fix.patch),
        [("__snapshots__/test_value.ambr".to_string(), "2\n".to_string())]
    );
    // With one failure of another kind, nothing is claimed about the snapshots.
    files.push(("test_other.py", "def test_other():\n    assert 1 == 2\n"));
    let patient = Patient::commanded(&files, "python3 -m pytest -q").await;
    assert_eq!(patient.tool_fixes(&CancellationToken::new()).await, []);
}
