//! Fixes that somebody accepted before for the very same failure. They are tried first, and proved like any other.

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::{Red, prove};
use crate::checkout::Checkout;
use crate::domain::anchor;
use crate::domain::memory::Memory;
use crate::domain::patch::{Blob, FileChange, Patch};
use crate::domain::proposal::{Author, Claim, Proposal};
use crate::domain::run::TurnedDown;
use crate::domain::search::{FoundBy, Rung};
use crate::suite::Suite;

/// How many remembered fixes are tried. Each costs a test run.
const MAX_TRIED: usize = 3;

/// Proposes the newest remembered fix of this failure that passes on this tree and was not turned down in this run.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn remembered(
    worktree: &Worktree,
    suite: &Suite,
    (memory, turned_down): (&Memory, &[TurnedDown]),
    red: &Red<'_>,
    cancel: &CancellationToken,
) -> Result<Option<Box<Proposal>>, Broken> {
    let fixes = memory.fixes_of(red.before);
    let fitting = fixes
        .into_iter()
        .filter_map(|fix| Some((fix, fitted(&fix.patch, &worktree.checkout)?)));
    let is_turned_down = |patch: &Patch| {
        let digest = patch.digest();
        turned_down.iter().any(|down| down.proposal.patch.digest() == digest)
    };
    let fitting = fitting.filter(|(_, patch)| !is_turned_down(patch));
    for (tried, (fix, patch)) in (1..).zip(fitting.take(MAX_TRIED)) {
        let proved = prove(worktree, suite, (&patch, Claim::Fix), red, cancel).await?;
        if cancel.is_cancelled() {
            break;
        }
        if let Ok(evidence) = proved {
            return Ok(Some(Box::new(Proposal {
                head: red.head.clone(),
                patch,
                summary: fix.summary.clone(),
                author: Author::Remembered(fix.run.to_string()),
                weakens: Vec::new(),
                tests_first: None,
                measures: None,
                found_by: Some(FoundBy {
                    rung: Rung::Memory,
                    tried,
                    wall_ms: 0,
                }),
                evidence: Some(evidence),
            })));
        }
    }
    Ok(None)
}

/// The patch for the current tree. `None` if it does not apply, or no longer changes anything.
pub(super) fn fitted(patch: &Patch, checkout: &Checkout) -> Option<Patch> {
    let mut changes = Vec::new();
    for (path, change) in patch.files() {
        let now = checkout.read(path);
        let after = if now == change.before {
            change.after.clone()
        } else {
            let (was, now, then) = (change.before.as_ref()?, now.as_ref()?, change.after.as_ref()?);
            Some(Blob {
                mode: now.mode,
                bytes: anchor::carried_over(was.text()?, now.text()?, then.text()?)?.into_bytes(),
            })
        };
        changes.push((path.clone(), FileChange { before: now, after }));
    }
    Some(Patch::new(changes)).filter(|patch| !patch.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::RunId;
    use crate::domain::memory::{Fingerprint, Fix};

    fn fix(before: Option<&str>, after: &str) -> Fix {
        let red = crate::domain::test_run::TestRun {
            failures: vec![crate::domain::test_run::Failure::default()],
            ..crate::domain::test_run::TestRun::without_result("t", crate::domain::test_run::Outcome::Failed, "")
        };
        let change = FileChange {
            before: before.map(Blob::regular),
            after: Some(Blob::regular(after)),
        };
        Fix {
            fingerprint: Fingerprint::of(&red).unwrap(),
            patch: Patch::new([("a.py".parse().unwrap(), change)]),
            summary: String::new(),
            run: RunId("r".into()),
            commit: None,
            at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[track_caller]
    fn check(fix: &Fix, now: Option<&str>, expected: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        if let Some(now) = now {
            std::fs::write(dir.path().join("a.py"), now).unwrap();
        }
        let checkout = Checkout::exported(dir.path(), &[]).unwrap();
        let fitted = fitted(&fix.patch, &checkout);
        let after = fitted
            .as_ref()
            .and_then(|patch| patch.files().next()?.1.after.as_ref()?.text().map(str::to_string));
        assert_eq!(after.as_deref(), expected);
    }

    #[test]
    fn a_fix_fits_where_its_lines_are_as_they_were() {
        let lines = "one\ntwo\nthree\nfour\nfive\n";
        let mended = fix(Some(lines), "one\nTWO\nthree\nfour\nfive\n");
        check(&mended, Some(lines), Some("one\nTWO\nthree\nfour\nfive\n"));
        check(
            &mended,
            Some("one\ntwo\nthree\nfour\nfive\nsix\n"),
            Some("one\nTWO\nthree\nfour\nfive\nsix\n"),
        );
        let last = fix(Some("one\ntwo\n"), "one\nTWO\n");
        check(&last, Some("one\ntwo\n\n\nthree\n"), Some("one\nTWO\n\n\nthree\n"));
        check(&mended, Some("one\n2\nthree\nfour\nfive\n"), None);
        check(&mended, Some("one\nTWO\nthree\nfour\nfive\n"), None);
        check(&mended, None, None);
        check(&fix(None, "new\n"), None, Some("new\n"));
        check(&fix(None, "new\n"), Some("other\n"), None);
    }
}
