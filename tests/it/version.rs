//! What the build script reads of git, so that a release build can name its commit.

#[expect(
    dead_code,
    clippy::print_stdout,
    reason = "cargo runs the rest of it, and reads what it prints"
)]
#[path = "../../build.rs"]
mod build_script;

use std::path::Path;

use build_script::commit;

use crate::doors::{git, written};

#[test]
fn the_commit_of_every_kind_of_checkout_is_found() {
    let checkout = written(&[("a", b"")]);
    let top = checkout.path();
    let run = |arguments: &[&str]| {
        let output = git(top, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(commit(top), (None, Vec::new()));
    run(&["init", "--quiet"]);
    assert_eq!(commit(top).0, None, "there is no commit yet");
    run(&["add", "."]);
    run(&["commit", "--quiet", "--message", "First"]);
    let head = run(&["rev-parse", "HEAD"]);
    let found = |top: &Path| {
        let (commit, read) = commit(top);
        assert!(!read.is_empty() && read.iter().all(|file| file.exists()), "{read:?}");
        commit
    };
    assert_eq!(found(top).as_ref(), Some(&head));
    run(&["pack-refs", "--all"]);
    assert_eq!(found(top).as_ref(), Some(&head));
    // The next commit writes a file that is not there yet, and one that is watched.
    assert!(commit(top).1.contains(&top.join(".git/logs/HEAD")));
    let linked = tempfile::tempdir().unwrap();
    let place = linked.path().join("linked");
    run(&["worktree", "add", "--quiet", place.to_str().unwrap()]);
    assert_eq!(found(&place).as_ref(), Some(&head));
    run(&["checkout", "--quiet", "--detach"]);
    assert_eq!(found(top).as_ref(), Some(&head));
    std::fs::write(top.join(".git/HEAD"), "ref: ../../../etc/passwd").unwrap();
    assert_eq!(commit(top).0, None);
}
