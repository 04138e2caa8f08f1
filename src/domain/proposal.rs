//! A patch on a head SHA, and the proof that it is what greenlight says.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::id::{CommitSha, RepoPath};
use super::patch::Patch;
use super::test_run::{NotBetter, TestRun, is_better};

/// A longer patch, in bytes, does not fit into a review beside what else is said there.
const MAX_SHOWN: usize = 30_000;

/// Who worked the patch out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The built-in repair engine.
    BuiltIn,
    /// A model, by name.
    Model(String),
}

/// The before and after that prove a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub before: TestRun,
    pub after: TestRun,
    /// SHA-256 over head, patch, command and both results, in hex.
    pub digest: String,
}

/// A patch on a head, ready to be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub head: CommitSha,
    pub patch: Patch,
    /// One or two sentences on cause and fix; untrusted when a model wrote it.
    pub summary: String,
    pub author: Author,
    /// None: made from reading, nothing was executed yet.
    pub evidence: Option<Evidence>,
}

/// What a patch may not do, whoever made it.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub patch_lines: usize,
    pub is_protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// Whether the change of one file touches code that only tests: such a change is never part of a repair.
    pub touches_tests: &'a (dyn Fn(&RepoPath, &super::patch::FileChange) -> bool + Sync),
}

/// Why a patch is not proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    #[error("it changes nothing")]
    Empty,
    #[error("it changes `{path}`, which is protected")]
    Protected { path: RepoPath },
    #[error("it changes {lines} lines, more than the {limit} that `[limits] patch_lines` allows")]
    TooLarge { lines: usize, limit: usize },
    #[error("it is too long to be shown whole, so nobody could approve it")]
    TooLong,
    #[error("it changes the tests in `{path}`")]
    ChangesTests { path: RepoPath },
    #[error("it adds a symbolic link, `{path}`")]
    Link { path: RepoPath },
    #[error("{0}")]
    NotBetter(NotBetter),
}

/// Checks what can be said about a patch without running anything.
///
/// # Errors
/// The first rule it breaks.
pub fn check(patch: &Patch, bounds: &Bounds<'_>) -> Result<(), Unfit> {
    if patch.is_empty() {
        return Err(Unfit::Empty);
    }
    for (path, change) in patch.files() {
        if (bounds.is_protected)(path) {
            return Err(Unfit::Protected { path: path.clone() });
        }
        if change
            .after
            .as_ref()
            .is_some_and(|blob| blob.mode == super::patch::FileMode::Symlink)
        {
            return Err(Unfit::Link { path: path.clone() });
        }
        if (bounds.touches_tests)(path, change) {
            return Err(Unfit::ChangesTests { path: path.clone() });
        }
    }
    let lines = patch.changed_lines();
    if lines > bounds.patch_lines {
        return Err(Unfit::TooLarge {
            lines,
            limit: bounds.patch_lines,
        });
    }
    if patch.unified().len() > MAX_SHOWN {
        return Err(Unfit::TooLong);
    }
    Ok(())
}

/// Turns two runs into evidence, if the second is better than the first.
///
/// # Errors
/// Why it is not better.
pub fn prove(head: &CommitSha, patch: &Patch, before: TestRun, after: TestRun) -> Result<Evidence, Unfit> {
    is_better(&before, &after).map_err(Unfit::NotBetter)?;
    let digest = digest(head, patch, &before, &after);
    Ok(Evidence { before, after, digest })
}

/// The digest anyone can recompute: durations and output are left out, because they differ from run to run.
fn digest(head: &CommitSha, patch: &Patch, before: &TestRun, after: &TestRun) -> String {
    let names = |run: &TestRun| {
        let mut failing: Vec<_> = run.failing_names().map(ToString::to_string).collect();
        failing.sort_unstable();
        serde_json::json!({ "outcome": run.outcome, "passed": run.passed, "failing": failing })
    };
    let bound = serde_json::json!({
        "head": head, "patch": patch.digest(), "command": after.command, "before": names(before), "after": names(after),
    });
    hex::encode(Sha256::digest(bound.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::patch::{Blob, FileChange, FileMode};
    use super::*;

    fn patch(path: &str, before: &str, after: Blob) -> Patch {
        Patch::new([(
            path.parse().unwrap(),
            FileChange {
                before: Some(Blob::regular(before)),
                after: Some(after),
            },
        )])
    }

    #[test]
    fn a_patch_that_breaks_a_rule_is_not_proposed() {
        let is_protected = |path: &RepoPath| path.as_str().starts_with(".github/");
        let touches_tests = |path: &RepoPath, _: &FileChange| path.as_str().starts_with("tests/");
        let bounds = Bounds {
            patch_lines: 3,
            is_protected: &is_protected,
            touches_tests: &touches_tests,
        };
        let text = |path: &str, after: &str| check(&patch(path, "a\n", Blob::regular(after)), &bounds);
        assert_eq!(text("src/a.rs", "b\n"), Ok(()));
        assert_eq!(text("src/a.rs", "a\n"), Err(Unfit::Empty));
        assert!(matches!(
            text(".github/workflows/ci.yml", "b\n"),
            Err(Unfit::Protected { .. })
        ));
        assert!(matches!(text("tests/a.rs", "b\n"), Err(Unfit::ChangesTests { .. })));
        assert!(matches!(
            text("src/a.rs", "1\n2\n3\n"),
            Err(Unfit::TooLarge { lines: 4, limit: 3 })
        ));
        let link = Blob {
            mode: FileMode::Symlink,
            bytes: b"/etc/passwd".to_vec(),
        };
        assert!(matches!(
            check(&patch("src/a", "a\n", link), &bounds),
            Err(Unfit::Link { .. })
        ));
    }
}
