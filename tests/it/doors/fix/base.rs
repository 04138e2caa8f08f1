//! What `greenlight fix` compares a checkout with: a single commit, which is named, and no pull request is mentioned.

use std::path::Path;

use super::{GREEN, RED, TESTS, document, fix, sums};
use crate::doors::{Ended, git};

fn commit(root: &Path, what: &str) {
    for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", what]] {
        let done = git(root, arguments);
        assert!(done.status.success(), "{done:?}");
    }
}

fn short_head(root: &Path) -> String {
    String::from_utf8(git(root, &["rev-parse", "HEAD"]).stdout).unwrap()[..7].to_string()
}

#[track_caller]
fn speaks_of_no_pull_request(ended: &Ended) {
    for text in [&ended.out, &ended.err] {
        assert!(!text.contains("pull request") && !text.contains("merge base"), "{text}");
    }
}

/// This also works without any remote.
#[tokio::test]
async fn a_branch_is_compared_with_the_one_it_came_from() {
    let checkout = sums(GREEN, &[]);
    let root = checkout.path();
    git(root, &["init"]);
    commit(root, "Add sums");
    let base = short_head(root);
    git(root, &["switch", "-q", "-c", "topic"]);
    std::fs::write(root.join("sums.py"), RED).unwrap();
    commit(root, "Change sums");
    // An unrelated new file does not hide what was committed.
    std::fs::write(root.join("todo.txt"), "note\n").unwrap();
    let fixed = fix(root, &["--yes"]).await.with(0);
    let fixed = fixed.saying(&format!("compared with main at {base}"));
    let how = "found without a model: reverting part of your change; ";
    assert!(fixed.out.contains(how), "{}", fixed.out);
    assert!(fixed.err.contains("`git diff` shows it"), "{}", fixed.err);
    speaks_of_no_pull_request(&fixed);
}

#[tokio::test]
async fn what_was_committed_red_is_not_said_to_be_the_changes_doing() {
    let checkout = sums(RED, &[]);
    let root = checkout.path();
    git(root, &["init"]);
    commit(root, "Add sums");
    let clean = fix(root, &["--yes"]).await.with(0);
    let clean = clean.saying("no base to compare with: nothing changed since the last commit");
    let verify = "`greenlight verify --head HEAD --digest ";
    assert!(clean.out.contains(verify), "{}", clean.out);
    speaks_of_no_pull_request(&clean);

    git(root, &["checkout", "-q", "."]);
    std::fs::write(root.join("todo.txt"), "note\n").unwrap();
    let noted = fix(root, &["--yes"]).await.with(0);
    let noted = noted.saying(&format!("compared with the last commit at {}", short_head(root)));
    let noted =
        noted.saying("without your changes: broken before these changes; worked on, since they broke nothing else");
    speaks_of_no_pull_request(&noted);
}

/// What the branch broke is fixed, although another test was red before and stays red.
#[tokio::test]
async fn a_failure_of_the_base_does_not_block_the_fix_of_another() {
    let old = TESTS
        .replace("TotalTest", "OldTest")
        .replace("[1, 2]), 3", "[2, 2]), 5");
    let checkout = sums(GREEN, &[("test_old.py", &old)]);
    let root = checkout.path();
    git(root, &["init"]);
    commit(root, "Add sums");
    git(root, &["switch", "-q", "-c", "topic"]);
    std::fs::write(root.join("sums.py"), RED).unwrap();
    commit(root, "Change sums");
    let fixed = fix(root, &["--yes"]).await.with(0);
    let fixed = fixed.saying("without your changes: broken before these changes; set aside");
    assert_eq!(
        std::fs::read_to_string(root.join("sums.py")).unwrap(),
        GREEN,
        "{}",
        fixed.out
    );

    // Then nothing else is left to work on.
    let left = fix(root, &["--yes"]).await.with(1);
    left.saying("broken before these changes; worked on, since they broke nothing else");
}

const WALKS: &str = "import time\n\n\ndef total(numbers):\n    result = index = 0\n    while index < len(numbers):\n        \
                     time.sleep(0.01)\n        result += numbers[index]\n        index += 1\n    return result\n";

/// What the base takes is what the head may take, a few times over: nobody waits for the whole limit.
#[tokio::test]
async fn a_change_that_hangs_is_stopped_long_before_the_limit_of_a_run() {
    let checkout = sums(WALKS, &[("greenlight.toml", "[test]\ntimeout = \"60s\"\n")]);
    let root = checkout.path();
    git(root, &["init"]);
    commit(root, "Add sums");
    git(root, &["switch", "-q", "-c", "topic"]);
    std::fs::write(root.join("sums.py"), WALKS.replace("index += 1", "index -= 0")).unwrap();
    commit(root, "Change sums");
    let fixed = fix(root, &["--yes", "--json"]).await.with(0);
    let fixed = document(&fixed);
    assert_eq!(fixed["before"]["outcome"], "timed_out", "{fixed}");
    let stopped_after = fixed["before"]["duration_ms"].as_u64().unwrap();
    assert!(stopped_after < 60_000, "{stopped_after} ms");
    assert_eq!(fixed["triage"]["verdict"], "deterministic", "{fixed}");
    assert_eq!(fixed["proposal"]["files"], serde_json::json!(["sums.py"]));
}

/// libgit2 reads no names of 64 digits. The fix is found without a comparison.
#[tokio::test]
async fn a_repository_that_cannot_be_read_is_not_called_missing() {
    let checkout = sums(RED, &[]);
    let root = checkout.path();
    assert!(git(root, &["init", "--object-format=sha256"]).status.success());
    commit(root, "Add sums");
    let fixed = fix(root, &["--yes"]).await.with(0);
    fixed.saying("no base to compare with: this git repository cannot be read: it belongs to somebody else, or");
}
