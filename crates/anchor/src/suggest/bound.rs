//! Cuts a patch for posting: verified, and with no more suggestions than fit on a pull request.

use super::{Cut, DiffFile, LeftOut, cut_first, proves};
use crate::patch::Patch;

/// The maximum number of suggestions on a head: ten reviews of thirty, well below GitHub's hourly limit.
pub const MAX_SUGGESTIONS: usize = 300;

/// Cuts a patch into at most `most` suggestions. Changes that cannot be verified, or do not fit, go to the remainder.
pub fn cut_within(patch: &Patch, diff: &[DiffFile], most: usize) -> Cut {
    let cut = cut_first(patch, diff, most);
    if proves(&cut, patch) {
        return cut;
    }
    let left_out = patch.paths().map(|path| (path.clone(), vec![LeftOut::NotProved]));
    Cut {
        suggestions: Vec::new(),
        remainder: patch.clone(),
        left_out: left_out.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_hunks;
    use super::*;
    use crate::patch::{Blob, FileChange};
    use crate::path::RepoPath;

    /// A new file with `lines` lines, and a patch that changes every second line.
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
    fn the_first_suggestions_are_kept() {
        let (diff, changes): (Vec<_>, Vec<_>) = [file("a", 8), file("b", 20), file("c", 6)].into_iter().unzip();
        let patch = Patch::new(changes);
        let within = |most| {
            let cut = cut_within(&patch, &diff, most);
            assert!(proves(&cut, &patch));
            let is_reason = |reasons: &Vec<LeftOut>| *reasons == [LeftOut::TooMany];
            assert!(cut.left_out.values().all(is_reason), "{:?}", cut.left_out);
            let rest: Vec<String> = cut.remainder.paths().map(ToString::to_string).collect();
            (cut.suggestions.len(), rest.concat())
        };
        assert_eq!(within(17), (17, String::new()));
        assert_eq!(within(16), (16, "c".into()));
        assert_eq!(within(8), (8, "bc".into()));
        assert_eq!(within(0), (0, "abc".into()));
    }
}
