//! Keeps the number of suggestions within a bound, by whole files: what is beyond travels in the remainder.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cut, DiffFile, cut, proves};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;

/// At most so many suggestions are posted on a head: ten reviews of thirty, well within what GitHub takes in an hour.
pub const MAX_SUGGESTIONS: usize = 300;

/// Cuts a patch into at most `most` suggestions. What does not prove, or does not fit, is left to the remainder.
pub fn cut_within(patch: &Patch, diff: &[DiffFile], most: usize) -> Cut {
    let all = cut(patch, diff);
    let mut counts: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    for suggestion in &all.suggestions {
        *counts.entry(&suggestion.path).or_default() += 1;
    }
    let mut room = most;
    let beyond: BTreeSet<&RepoPath> = counts
        .into_iter()
        .filter(|(_, count)| match room.checked_sub(*count) {
            Some(left) => {
                room = left;
                false
            }
            None => true,
        })
        .map(|(path, _)| path)
        .collect();
    let cut_again = if beyond.is_empty() {
        all
    } else {
        let within: Vec<DiffFile> = diff
            .iter()
            .filter(|file| !beyond.contains(&file.path))
            .cloned()
            .collect();
        cut(patch, &within)
    };
    if proves(&cut_again, patch) && cut_again.suggestions.len() <= most {
        cut_again
    } else {
        cut(patch, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_hunks;
    use super::*;
    use crate::domain::patch::{Blob, FileChange};

    /// A new file of `lines` lines, of which every second one is to be another.
    fn file(name: &str, lines: usize) -> (DiffFile, (RepoPath, FileChange)) {
        let path: RepoPath = name.parse().unwrap();
        let text = |odd: &str| {
            let line = |at: usize| {
                if at % 2 == 1 {
                    format!("{odd} {at}\n")
                } else {
                    format!("same {at}\n")
                }
            };
            (0..lines).map(line).collect::<String>()
        };
        let (before, after) = (text("before"), text("after"));
        let added: String = before.lines().map(|line| format!("\n+{line}")).collect();
        let hunks = parse_hunks(&format!("@@ -0,0 +1,{lines} @@{added}")).unwrap();
        let change = FileChange {
            before: Some(Blob::regular(before)),
            after: Some(Blob::regular(after)),
        };
        (
            DiffFile {
                path: path.clone(),
                hunks,
            },
            (path, change),
        )
    }

    #[test]
    fn whole_files_go_to_the_remainder() {
        let (diff, changes): (Vec<_>, Vec<_>) = [file("a", 8), file("b", 20), file("c", 6)].into_iter().unzip();
        let patch = Patch::new(changes);
        let within = |most| {
            let cut = cut_within(&patch, &diff, most);
            assert!(proves(&cut, &patch));
            let rest: Vec<String> = cut.remainder.paths().map(ToString::to_string).collect();
            (cut.suggestions.len(), rest.concat())
        };
        assert_eq!(within(17), (17, String::new()));
        assert_eq!(within(16), (14, "c".into()));
        assert_eq!(within(8), (7, "b".into()));
        assert_eq!(within(2), (0, "abc".into()));
    }
}
