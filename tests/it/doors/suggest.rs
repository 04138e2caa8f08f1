//! `greenlight suggest`: any patch posted as a review.

use std::path::Path;
use std::process::Stdio;

use greenlight::domain::anchor::{Suggestion, apply};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;

use super::stage::Stage;
use super::{Door, Ended, ended, git, written};

const BASE: &str = "def fare(stops):\n    return 200 + 50 * stops\n";
const HEAD: &str = "def fare(stops):\n    return 200 + 50 * stops\n\n\ndef total(trips):\n    paid = 0\n    for stops \
                    in trips:\n        paid = paid - fare(stops)\n    return paid\n";

/// A checkout with two commits: the pull request changes `src/a fare.py` and adds `windows.txt`.
fn checkout() -> TempDir {
    let directory = written(&[
        ("src/a fare.py", BASE.as_bytes()),
        ("old.txt", b"one\ntwo\n"),
        ("bin", b"\0\x01"),
    ]);
    let root = directory.path();
    said(root, &["init", "-q"]);
    commit(root);
    std::fs::write(root.join("src/a fare.py"), HEAD).unwrap();
    std::fs::write(root.join("windows.txt"), "a\r\nb\r\nc").unwrap();
    commit(root);
    directory
}

/// The output of git.
fn said(root: &Path, arguments: &[&str]) -> String {
    let output = git(root, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn commit(root: &Path) {
    said(root, &["add", "-A"]);
    git(
        root,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "-m",
            "change",
        ],
    );
}

/// git's diff of these changes to the working directory, which is restored afterwards.
fn diff_of(root: &Path, changes: &[(&str, &[u8])]) -> String {
    for (path, bytes) in changes {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    said(root, &["add", "-A"]);
    let diff = said(root, &["diff", "--cached", "--binary"]);
    said(root, &["reset", "-q", "--hard"]);
    diff
}

async fn suggest(root: &Path, arguments: &[&str], patch: &str) -> Ended {
    let door = Door::new();
    let mut command = door.command([&["suggest", "--patch", "-"], arguments].concat());
    let mut child = command.current_dir(root).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // A process that rejects the patch early does not read all of it.
    let _ = input.write_all(patch.as_bytes()).await;
    drop(input);
    ended(child).await
}

#[tokio::test]
async fn a_patch_becomes_comments_and_a_remainder_that_give_its_tree() {
    let checkout = checkout();
    let root = checkout.path();
    let fixed = HEAD.replace("paid - fare", "paid + fare");
    let patch = diff_of(
        root,
        &[
            ("src/a fare.py", fixed.as_bytes()),
            ("windows.txt", b"a\r\nB\r\nc"),
            ("notes/\u{fc} \"new\".md", b"caf\xe9\0"),
            ("bin", b"\0\x02"),
            ("old.txt", b"one\nthree"),
        ],
    );
    let shown = suggest(root, &["--base", "HEAD~1", "--head", "HEAD", "--json"], &patch)
        .await
        .with(0);
    let document: Value = serde_json::from_str(&shown.out).unwrap();
    let comments = document["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 2);
    assert_eq!(document["batches"], serde_json::json!([2]));
    for (comment, (path, line, block)) in comments.iter().zip([
        (
            "src/a fare.py",
            8,
            "```suggestion\n        paid = paid + fare(stops)\n```",
        ),
        ("windows.txt", 2, "```suggestion\nB\n```"),
    ]) {
        let fields: Vec<&String> = comment.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["body", "line", "path", "side"]);
        assert_eq!(
            (comment["path"].as_str(), comment["side"].as_str()),
            (Some(path), Some("RIGHT"))
        );
        assert_eq!(comment["line"], line);
        let body = comment["body"].as_str().unwrap();
        assert!(
            body.starts_with(block) && body.contains("only correct together"),
            "{body}"
        );
        let one = Suggestion {
            path: path.parse().unwrap(),
            start_line: line,
            line,
            replacement: block.lines().nth(1).unwrap().to_owned() + "\n",
        };
        let file = root.join(path);
        let after = apply(&[one], &path.parse().unwrap(), &std::fs::read(&file).unwrap()).unwrap();
        std::fs::write(file, after).unwrap();
    }
    said(root, &["add", "-A"]);
    std::fs::write(root.join(".git/remainder"), document["remainder"].as_str().unwrap()).unwrap();
    said(root, &["apply", "--index", ".git/remainder"]);
    assert_eq!(said(root, &["write-tree"]).trim(), document["proof"]["tree"]);
    assert_eq!(document["proof"]["holds"], true);
    assert_eq!(document["head"], said(root, &["rev-parse", "HEAD"]).trim());
    assert_eq!(document["base"], said(root, &["rev-parse", "HEAD~1"]).trim());
    let left_out: Vec<&str> = document["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["bin", "notes/\u{fc} \"new\".md", "old.txt"]);
}

#[tokio::test]
async fn the_one_line_of_the_review_applies_the_remainder() {
    let checkout = checkout();
    let root = checkout.path();
    let patch = diff_of(root, &[("old.txt", b"one\r\n\tthree \nfour")]);
    let shown = suggest(root, &["--base", "HEAD~1", "--json"], &patch).await.with(0);
    let document: Value = serde_json::from_str(&shown.out).unwrap();
    let body = document["body"].as_str().unwrap();
    let line = body
        .lines()
        .find(|line| line.contains("| base64 -d | gunzip | git "))
        .unwrap();
    // From any directory of the checkout, and regardless of git's whitespace settings.
    said(root, &["config", "apply.whitespace", "fix"]);
    let code = shell(&root.join("src"), line).await;
    assert_eq!(code, Some(0));
    assert_eq!(std::fs::read(root.join("old.txt")).unwrap(), b"one\r\n\tthree \nfour");
}

#[expect(clippy::disallowed_methods, reason = "a person would paste this into a shell")]
async fn shell(root: &Path, line: &str) -> Option<i32> {
    let mut shell = tokio::process::Command::new("sh");
    let status = shell.args(["-c", line]).current_dir(root).status();
    status.await.unwrap().code()
}

#[tokio::test]
async fn a_formatter_may_speak_for_itself_and_a_person_reads_the_result() {
    let checkout = checkout();
    let patch = "--- src/a fare.py\t2026-01-01 00:00:00.000000+00:00\n+++ src/a fare.py\t2026-01-01 \
                 00:00:00.000000+00:00\n@@ -6,4 +6,4 @@\n     paid = 0\n     for stops in trips:\n-        paid = \
                 paid - fare(stops)\n+        paid += fare(stops)\n     return paid\n";
    let shown = suggest(checkout.path(), &["--base", "HEAD~1"], patch).await.with(0);
    assert!(
        shown
            .out
            .starts_with("1 suggestion, no remainder\n\nsrc/a fare.py:8\n```suggestion\n"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("\nproved: "), "{}", shown.out);
    assert!(!shown.out.contains("only correct together"), "{}", shown.out);
}

#[tokio::test]
async fn what_cannot_be_a_review_is_said() {
    let checkout = checkout();
    let good = diff_of(checkout.path(), &[("old.txt", b"one\n")]);
    for (arguments, patch, words) in [
        (&["--base", "HEAD~1"][..], "no diff", "it contains no unified diff"),
        (&["--base", "HEAD~1"], &good.replace("-two", "-zwei"), "does not apply"),
        (&["--base", "HEAD~1"], &good.replace("old.txt", "../old.txt"), "old.txt"),
        (&["--base", "nowhere"], &good, "there is no commit \"nowhere\""),
        (
            &["--base", "HEAD~1", "--head", "--upload-pack=x"],
            &good,
            "--upload-pack",
        ),
        (&[], &good, "--base"),
    ] {
        let ended = suggest(checkout.path(), arguments, patch).await.with(2).saying(words);
        assert_eq!(ended.out, "");
    }
    let ended = suggest(checkout.path(), &["--base", "nowhere", "--json"], &good)
        .await
        .with(2);
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(document["error"].as_str().unwrap().contains("nowhere"));
    let elsewhere = tempfile::tempdir().unwrap();
    suggest(elsewhere.path(), &["--base", "HEAD"], &good)
        .await
        .with(2)
        .saying("not inside a git repository");
}

/// A clone of the pull request's branch, and a door with the token of an account that may write.
#[expect(clippy::disallowed_methods, reason = "a person has cloned with git")]
async fn cloned(stage: &Stage) -> (TempDir, Door) {
    let token = stage.double.user_token("mia");
    let directory = tempfile::tempdir().unwrap();
    let address = stage
        .double
        .url()
        .replace("http://", &format!("http://x-access-token:{token}@"));
    // Asynchronous, because this thread must serve the request.
    let mut clone = tokio::process::Command::new("git");
    clone
        .args(["clone", "-q", "-b", "change"])
        .arg(format!("{address}/acme/rail.git"))
        .arg(directory.path())
        .env("GIT_TERMINAL_PROMPT", "0");
    assert!(clone.status().await.unwrap().success());
    let door = Door::new()
        .with("GREENLIGHT_GITHUB_API_URL", stage.double.url())
        .with("GITHUB_TOKEN", token);
    (directory, door)
}

async fn posted(door: &Door, root: &Path, arguments: &[&str]) -> Ended {
    let mut command = door.command([&["suggest", "--patch", ".git/fix.patch"], arguments].concat());
    ended(command.current_dir(root).spawn().unwrap()).await
}

#[tokio::test]
async fn a_patch_is_posted_once_on_the_head_that_it_is_for() {
    let stage = Stage::new("").await;
    let (clone, door) = cloned(&stage).await;
    let root = clone.path();
    let fixed = std::fs::read_to_string(root.join("fare.py"))
        .unwrap()
        .replace("paid + ", "paid - ");
    let patch = diff_of(
        root,
        &[("fare.py", fixed.as_bytes()), ("README.md", b"Fares, in cents.\n")],
    );
    std::fs::write(root.join(".git/fix.patch"), patch).unwrap();

    let arguments = ["--pull-request", "1", "--summary", "Change is what is left, @ada."];
    let shown = posted(&door, root, &arguments).await.with(0);
    assert_eq!(
        shown.out,
        "posted on acme/rail#1: 1 suggestion, a remainder in 1 file\n"
    );
    posted(&door, root, &[&arguments[..], &["--json"]].concat())
        .await
        .with(0);
    let reviews = stage.double.reviews(1);
    assert_eq!(reviews.len(), 1);
    assert!(
        !reviews[0].body.contains("@ada") && reviews[0].body.contains("**not executed**"),
        "{}",
        reviews[0].body
    );
    assert!(!reviews[0].body.contains("approval lands it"), "{}", reviews[0].body);
    // Another tool has a separate review, which withdraws nothing.
    std::fs::write(
        root.join(".git/fix.patch"),
        diff_of(root, &[("fare.py", b"def fare(): pass\n")]),
    )
    .unwrap();
    posted(&door, root, &["--pull-request", "1", "--name", "lint"])
        .await
        .with(0);
    assert_eq!(stage.double.reviews(1).len(), 2);
    let reviews = stage.double.reviews(1);
    let comments: Vec<u64> = reviews[0].comments.iter().map(|comment| comment.id).collect();
    stage.double.commit_suggestions(&comments, "ada").await.unwrap();
    assert_eq!(stage.double.file(1, "fare.py").unwrap(), fixed.as_bytes());

    // The head has changed.
    posted(&door, root, &arguments)
        .await
        .with(3)
        .saying("nothing was posted");
    posted(&door, root, &["--pull-request", "9"])
        .await
        .with(2)
        .saying("no pull request acme/rail#9");
    posted(&door, root, &["--pull-request", "1", "--repository", "acme"])
        .await
        .with(2)
        .saying("--repository");
    assert_eq!(stage.double.reviews(1).len(), 2);
}
