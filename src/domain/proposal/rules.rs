//! Limits for every patch, no matter who made it, that can be checked without running anything.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::Claim;
use crate::domain::id::RepoPath;
use crate::domain::patch::{self, Patch};
use crate::domain::redact;
use crate::domain::test_run::NotBetter;
use crate::domain::weakening::{self, Weakening};

/// A patch longer than this, in bytes, does not fit into a review together with the rest of its text.
const MAX_SHOWN: usize = 30_000;

/// Limits for every patch, no matter who made it.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub patch_lines: usize,
    pub is_protected: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// How a patch weakens tests. A fix may not contain any of it.
    pub weakenings: &'a (dyn Fn(&Patch) -> Vec<Weakening> + Sync),
    /// The first file in which a patch changes more than tests.
    pub without_tests: fn(&Patch) -> Option<&RepoPath>,
}

/// Why a patch cannot be proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    #[error("it changes nothing")]
    Empty,
    #[error("it changes `{path}`, which is protected")]
    Protected { path: RepoPath },
    #[error("it changes {lines} lines, more than the {limit} that `[limits] patch_lines` allows")]
    TooLarge { lines: usize, limit: usize },
    #[error("it is too long to be shown in full, so nobody could approve it")]
    TooLong,
    #[error(
        "it weakens the tests: {}. Fix the code instead. If the test itself is wrong, propose the change to the test \
         alone. {}", weakening::listed(.0), weakening::how_to_allow(.0, "fix")
    )]
    WeakensTests(Vec<Weakening>),
    #[error(
        "it changes something that nobody is asked to approve: {}. Leave that as it is. {}",
        weakening::listed(.0), weakening::how_to_allow(.0, "fix")
    )]
    NeverAsked(Vec<Weakening>),
    #[error("a proposal about a test may change only tests, but this one also changes `{path}`")]
    MoreThanTests { path: RepoPath },
    #[error("it weakens no test, so submit it as an ordinary fix")]
    WeakensNothing,
    #[error(
        "{path}:{line}: the tests in this file cannot be separated from the code around them, so the new code cannot \
         be run against the head's tests. Leave them as they are, or put new ones into a file that has only tests"
    )]
    OwnTestsUnknown { path: RepoPath, line: usize },
    #[error("with the head's own tests, {0}")]
    OwnTests(NotBetter),
    #[error("it adds a symbolic link, `{path}`")]
    Link { path: RepoPath },
    /// The line number is that in the file after the change. The text of the line is never quoted.
    #[error("it adds what looks like a credential to `{path}`, line {line}")]
    Credential { path: RepoPath, line: usize },
    #[error("it adds characters that hide or reorder text to `{path}`, line {line}")]
    Hidden { path: RepoPath, line: usize },
    /// The name is never quoted, for the same reason that it is refused.
    #[error("it adds a file whose name looks like a credential, or hides or reorders text")]
    Name,
    #[error("the failing tests passed once with it, but failed again in run {run} of the same tree: {after}")]
    GreenByLuck { run: u32, after: String },
    #[error("{0}")]
    NotBetter(NotBetter),
    #[error(
        "it changes what only `{branch}` has ({}), so it cannot be committed to the head: change only files and lines \
         that the head also has, or say that `{branch}` has to be merged into the branch first", paths.join(", ")
    )]
    NotOnHead { branch: String, paths: Vec<String> },
    #[error(
        "with it, the merge with `{branch}` is green, but the head alone is red ({after}): `{branch}` has to be \
         merged into the branch first"
    )]
    RedOnHead { branch: String, after: String },
}

/// Checks everything about a patch that needs no execution.
///
/// Returns how it weakens tests: empty for a fix, not empty for the claim that a test is wrong.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(patch: &Patch, claim: Claim, bounds: &Bounds<'_>) -> Result<Vec<Weakening>, Unfit> {
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
            .is_some_and(|blob| blob.mode == patch::FileMode::Symlink)
        {
            return Err(Unfit::Link { path: path.clone() });
        }
        is_open(path, change)?;
    }
    let weakenings = weakens(patch, claim, bounds)?;
    let lines = patch.changed_lines();
    if lines > bounds.patch_lines {
        return Err(Unfit::TooLarge {
            lines,
            limit: bounds.patch_lines,
        });
    }
    // Characters that hide text are escaped, which makes the text longer.
    if redact::code("diff", &patch.unified()).len() > MAX_SHOWN {
        return Err(Unfit::TooLong);
    }
    Ok(weakenings)
}

fn weakens(patch: &Patch, claim: Claim, bounds: &Bounds<'_>) -> Result<Vec<Weakening>, Unfit> {
    let found = (bounds.weakenings)(patch);
    let never: Vec<Weakening> = found
        .iter()
        .filter(|one| !one.kind.may_be_proposed())
        .cloned()
        .collect();
    match claim {
        Claim::Fix if found.is_empty() => Ok(found),
        // Nobody may approve this, so it is not offered for approval.
        _ if !never.is_empty() => Err(Unfit::NeverAsked(never)),
        Claim::Fix => Err(Unfit::WeakensTests(found)),
        Claim::TestMayBeWrong => match (bounds.without_tests)(patch) {
            Some(path) => Err(Unfit::MoreThanTests { path: path.clone() }),
            None if found.is_empty() => Err(Unfit::WeakensNothing),
            None => Ok(found),
        },
    }
}

/// Refuses what no reader of the diff would see, and what no reader should see.
fn is_open(path: &RepoPath, change: &patch::FileChange) -> Result<(), Unfit> {
    let Some(after) = &change.after else { return Ok(()) };
    let name = path.as_str();
    let is_plain = redact::hidden(name).next().is_none() && redact::credentials(name).next().is_none();
    if change.before.is_none() && !is_plain {
        return Err(Unfit::Name);
    }
    let text = |blob: &patch::Blob| String::from_utf8_lossy(&blob.bytes).into_owned();
    let (before, now) = (change.before.as_ref().map(text).unwrap_or_default(), text(after));
    let path = || path.clone();
    let line_of = |at: usize| now[..at].matches('\n').count() + 1;
    if let Some((at, _)) = redact::credentials(&now).find(|(_, credential)| !before.contains(credential)) {
        let (path, line) = (path(), line_of(at));
        return Err(Unfit::Credential { path, line });
    }
    if after.text().is_none() {
        return Ok(());
    }
    let count = |text: &str| {
        let mut counts = BTreeMap::<char, usize>::new();
        for (_, c) in redact::hidden(text) {
            *counts.entry(c).or_default() += 1;
        }
        counts
    };
    let (held, holds) = (count(&before), count(&now));
    let Some((more, _)) = holds
        .iter()
        .find(|(c, count)| **count > held.get(c).copied().unwrap_or(0))
    else {
        return Ok(());
    };
    let known: HashSet<&str> = before.lines().collect();
    let is_place = |line: &&str| line.contains(*more) && !known.contains(line);
    let place = now.lines().position(|line| is_place(&line));
    Err(Unfit::Hidden {
        path: path(),
        line: place.map_or(1, |at| at + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::patch::{Blob, FileChange, FileMode};
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
        let weakenings = |patch: &Patch| {
            let tests = patch.paths().filter(|path| path.as_str().starts_with("tests/"));
            let weakening = |path: &RepoPath| Weakening {
                path: path.clone(),
                line: 1,
                test: String::new(),
                kind: weakening::WeakeningKind::Removed,
                what: "the test is removed".into(),
            };
            tests.map(weakening).collect()
        };
        fn without_tests(patch: &Patch) -> Option<&RepoPath> {
            patch.paths().find(|path| !path.as_str().starts_with("tests/"))
        }
        let bounds = Bounds {
            patch_lines: 3,
            is_protected: &is_protected,
            weakenings: &weakenings,
            without_tests,
        };
        let text = |path: &str, after: &str| check(&patch(path, "a\n", Blob::regular(after)), Claim::Fix, &bounds);
        assert_eq!(text("src/a.rs", "b\n"), Ok(Vec::new()));
        assert_eq!(text("src/a.rs", "a\n"), Err(Unfit::Empty));
        assert!(matches!(
            text(".github/workflows/ci.yml", "b\n"),
            Err(Unfit::Protected { .. })
        ));
        assert!(matches!(text("tests/a.rs", "b\n"), Err(Unfit::WeakensTests(_))));
        assert!(matches!(
            text("src/a.rs", "1\n2\n3\n"),
            Err(Unfit::TooLarge { lines: 4, limit: 3 })
        ));
        let link = Blob {
            mode: FileMode::Symlink,
            bytes: b"/etc/passwd".to_vec(),
        };
        assert!(matches!(
            check(&patch("src/a", "a\n", link), Claim::Fix, &bounds),
            Err(Unfit::Link { .. })
        ));
    }

    #[test]
    fn credentials_and_hidden_characters_are_never_added() {
        let bounds = Bounds {
            patch_lines: 100,
            is_protected: &|_| false,
            weakenings: &|_| Vec::new(),
            without_tests: |_| None,
        };
        let unfit = |before: &str, after: &str| {
            check(&patch("src/a.py", before, Blob::regular(after)), Claim::Fix, &bounds).err()
        };
        let path: RepoPath = "src/a.py".parse().unwrap();
        let credential = |line| {
            Some(Unfit::Credential {
                path: path.clone(),
                line,
            })
        };
        let hidden = |line| {
            Some(Unfit::Hidden {
                path: path.clone(),
                line,
            })
        };
        let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
        assert_eq!(unfit("a\n", &format!("a\nT = '{token}'\n")), credential(2));
        assert_eq!(
            unfit(&format!("T = '{token}'\n"), &format!("T = '{token}' + x\n")),
            None
        );
        assert_eq!(
            unfit("a\n", "K = '-----BEGIN PRIVATE KEY-----\nMIIE\n'\n"),
            credential(1)
        );
        assert_eq!(
            unfit("a\n", "h = 'Authorization: Bearer abcdefghijkl0123'\n"),
            credential(1)
        );
        for code in [
            "authorization: Option<String>,\n",
            "authorization: str = read_it()\n",
            "x = 'Authorization: Bearer {token}'\n",
        ] {
            assert_eq!(unfit("a\n", code), None, "{code}");
        }
        assert_eq!(unfit("a\n", "a\nb\nif a\u{202e}b:\n"), hidden(3));
        assert_eq!(unfit("a\n", "a\u{200b}\n"), hidden(1));
        assert_eq!(unfit("a\n", "a\n\u{1b}[2K\n"), hidden(2));
        assert_eq!(unfit("a\n", "a\rb\n"), hidden(1));
        assert_eq!(unfit("a\r\n", "a\r\nb\r\n"), None);
        assert_eq!(unfit("x = '\u{200d}'\n", "y = '\u{200d}'\n"), None);
        assert_eq!(unfit("x = '\u{200d}'\n", "x = '\u{200d}'\ny\u{200d} = 1\n"), hidden(2));
        for name in [token, "a\u{202e}b"] {
            let file = FileChange {
                before: None,
                after: Some(Blob::regular("x\n")),
            };
            let patch = Patch::new([(name.parse().unwrap(), file)]);
            assert_eq!(check(&patch, Claim::Fix, &bounds), Err(Unfit::Name));
        }
        let said = unfit("a\n", token).unwrap().to_string();
        assert!(said.contains("src/a.py") && !said.contains("ghp_"), "{said}");
    }
}
