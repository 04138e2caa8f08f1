//! `greenlight verify`: the evidence of a fix, recomputed from a checkout by a person who trusts nothing.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::fix::{GREEN, RED, document, fix, sums};
use super::{Door, Ended, git, tree};

/// A checkout with a failing commit, fixed in the working directory. Returns the evidence as well.
async fn fixed() -> (tempfile::TempDir, String, Value) {
    let checkout = sums(RED, &[(".gitignore", "*.log\n")]);
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "red"]] {
        assert!(git(checkout.path(), arguments).status.success());
    }
    let head = said(checkout.path(), &["rev-parse", "HEAD"]);
    let fixed = fix(checkout.path(), &["--yes", "--json"]).await.with(0);
    let evidence = document(&fixed)["proposal"]["evidence"].clone();
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    assert_eq!(evidence["head"], head.as_str());
    (checkout, head, evidence)
}

fn said(root: &Path, arguments: &[&str]) -> String {
    let output = git(root, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

async fn verify(root: &Path, arguments: &[&str]) -> Ended {
    let arguments = ["verify"].iter().chain(arguments).map(AsRef::<OsStr>::as_ref);
    Door::new().run(arguments.chain([root.as_os_str()])).await
}

#[tokio::test]
async fn a_fix_is_recomputed_to_the_same_digest_however_the_patch_is_named() {
    let (checkout, head, evidence) = fixed().await;
    let root = checkout.path();
    let digest = evidence["digest"].as_str().unwrap();
    std::fs::write(root.join("ignored.log"), "not a part of it\n").unwrap();
    let before = tree(root);

    // By default, the patch is what is not committed, and the commit below it must fail.
    let ended = verify(root, &["--digest", digest]).await.with(0);
    for part in [
        head.as_str(),
        "before:       1 failed",
        "after:        1 passed",
        "new failures: none",
        "the digest matches",
        digest,
    ] {
        assert!(ended.out.contains(part), "{part} is not in {}", ended.out);
    }
    assert_eq!(tree(root), before);

    let diff = git(root, &["diff"]).stdout;
    std::fs::write(root.join("fix.log"), diff).unwrap();
    let file = root.join("fix.log").display().to_string();
    git(root, &["commit", "-qam", "fixed"]);
    for named in [&["--patch", &file][..], &["--tree", "HEAD"]] {
        let arguments = [&["--head", "HEAD~1", "--digest", digest, "--json"], named].concat();
        let document = document(&verify(root, &arguments).await.with(0));
        assert_eq!(
            (&document["outcome"], &document["same"]),
            (&"proven".into(), &true.into())
        );
        assert_eq!(document["head"], head.as_str());
    }
}

/// An agent relies on the exit code, and it may have edited the tests.
#[tokio::test]
async fn weakened_tests_prove_nothing_unless_a_person_allows_it() {
    let checkout = sums(RED, &[]);
    let root = checkout.path();
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "red"]] {
        assert!(git(root, arguments).status.success());
    }
    let tests = std::fs::read_to_string(root.join("test_sums.py")).unwrap();
    let gutted = tests
        .lines()
        .map(|line| match line.trim_start().starts_with("self.assert") {
            true => format!("{}pass\n", &line[..line.len() - line.trim_start().len()]),
            false => format!("{line}\n"),
        });
    let gutted: String = gutted.collect();
    assert!(gutted.contains("pass"), "{gutted}");
    std::fs::write(root.join("test_sums.py"), gutted).unwrap();
    let refused = document(&verify(root, &["--json"]).await.with(3));
    assert_eq!(refused["outcome"], "refused");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("the patch weakens the tests: test_sums.py:"),
        "{message}"
    );
    let (_, name) = message.split_once("`greenlight verify --allow ").unwrap();
    let name = name.split('`').next().unwrap();
    verify(root, &["--allow", name]).await.with(0);
}

#[tokio::test]
async fn what_is_another_is_said() {
    let (checkout, head, evidence) = fixed().await;
    let root = checkout.path();
    let digest = evidence["digest"].as_str().unwrap();

    std::fs::write(root.join("sums.py"), GREEN.replace("return", "return 0 +")).unwrap();
    let ended = verify(root, &["--head", &head, "--digest", digest]).await.with(1);
    assert!(
        ended.err.contains("the digest differs") && ended.err.contains("the patch "),
        "{}",
        ended.err
    );

    let command = [
        "--head",
        &head,
        "--digest",
        digest,
        "--command",
        "python3 -m unittest test_sums",
    ];
    verify(root, &command)
        .await
        .with(1)
        .saying("python3 -m unittest test_sums");

    std::fs::write(root.join("sums.py"), RED.replace("return", "return 5 +")).unwrap();
    let ended = verify(root, &["--head", &head, "--json"])
        .await
        .with(1)
        .saying("not green after");
    assert_eq!(document(&ended)["outcome"], "not_proven");
    verify(root, &["--head", &head, "--digest", digest])
        .await
        .with(1)
        .saying("the result after");
}

#[tokio::test]
async fn what_cannot_be_verified_is_said_before_anything_runs() {
    let (checkout, head, _) = fixed().await;
    let root = checkout.path();
    verify(root, &["--head", "nowhere"])
        .await
        .with(2)
        .saying("there is no commit");
    verify(root, &["--head", &head, "--digest", "abc"])
        .await
        .with(2)
        .saying("64 hexadecimal digits");
    verify(root, &["--head", &head, "--tree", "HEAD"])
        .await
        .with(2)
        .saying("there is no change");
    std::fs::write(
        root.join("bad.diff"),
        "--- sums.py\n+++ sums.py\n@@ -1 +1 @@\n-nothing\n+x\n",
    )
    .unwrap();
    let file = root.join("bad.diff").display().to_string();
    verify(root, &["--head", &head, "--patch", &file])
        .await
        .with(2)
        .saying("sums.py, line 4 of the diff");
    let outside = tempfile::tempdir().unwrap();
    verify(outside.path(), &["--head", "HEAD"])
        .await
        .with(2)
        .saying("not inside a git repository");
}

#[tokio::test]
async fn what_lies_behind_a_link_is_no_part_of_the_patch() {
    let (checkout, head, _) = fixed().await;
    let root = checkout.path();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("test_sums.py"), "of somebody else").unwrap();
    std::fs::write(outside.path().join("secret"), "of somebody else").unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("linked")).unwrap();
    let config = format!("worktree = {}", outside.path().display());
    git(root, &["config", "core.worktree", outside.path().to_str().unwrap()]);
    assert!(
        std::fs::read_to_string(root.join(".git/config"))
            .unwrap()
            .contains(&config)
    );
    let document = document(&verify(root, &["--head", &head, "--json"]).await.with(0));
    assert_eq!(document["files"], serde_json::json!(["linked", "sums.py"]));
}

#[test]
fn the_number_of_failures_is_part_of_the_digest() {
    use greenlight::domain::patch::Patch;
    use greenlight::domain::proposal::digest;
    use greenlight::domain::test_run::{Outcome, TestRun};
    let run = |failed| TestRun {
        failed,
        ..TestRun::without_result("t", Outcome::Failed, "")
    };
    let head = "1".repeat(40).parse().unwrap();
    let of = |before, after| digest(&head, &Patch::new([]), &run(before), &run(after));
    assert_eq!(of(60, 0), of(60, 0));
    assert_ne!(of(60, 0), of(61, 0));
    assert_ne!(of(60, 0), of(60, 1));
}
