//! The diff of a pull request, and which of its lines can be commented on.
//!
//! A line can be commented on if the diff shows it: added or as context on the right side, removed or as context on
//! the left. Both ends of a range must be in the same hunk. The error messages are GitHub's.

use git2::{Delta, Diff, Patch};

use super::state::CommentPosition;

/// A file whose diff has more lines has no patch.
const MOST_PATCH_LINES: usize = 20_000;

/// One file of a diff.
#[derive(Debug, Clone)]
pub(super) struct FileDiff {
    pub(super) path: String,
    pub(super) previous: Option<String>,
    pub(super) status: &'static str,
    pub(super) blob: git2::Oid,
    pub(super) additions: usize,
    pub(super) deletions: usize,
    pub(super) binary: bool,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone)]
pub(super) struct Hunk {
    pub(super) header: String,
    pub(super) lines: Vec<DiffLine>,
}

#[derive(Debug, Clone)]
pub(super) struct DiffLine {
    /// `' '`, `'+'`, `'-'`, or `'\\'` for the note about a missing newline.
    pub(super) kind: char,
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) text: String,
}

impl FileDiff {
    /// The `patch` in GitHub's response: hunks without file headers. `None` for binary and very large files.
    pub(super) fn patch(&self) -> Option<String> {
        let lines: usize = self.hunks.iter().map(|hunk| hunk.lines.len() + 1).sum();
        if self.binary || self.hunks.is_empty() || lines > MOST_PATCH_LINES {
            return None;
        }
        Some(self.hunks.iter().map(Hunk::text).collect::<Vec<_>>().join("\n"))
    }
}

impl Hunk {
    fn text(&self) -> String {
        self.text_until(self.lines.len())
    }

    fn text_until(&self, lines: usize) -> String {
        let mut text = self.header.clone();
        for line in self.lines.iter().take(lines) {
            text.push('\n');
            text.push(line.kind);
            text.push_str(&line.text);
        }
        text
    }

    fn index_of(&self, side: &str, number: u32) -> Option<usize> {
        self.lines.iter().position(|line| match side {
            "LEFT" => line.kind != '+' && line.old == Some(number),
            _ => line.kind != '-' && line.new == Some(number),
        })
    }
}

/// Converts a diff into plain values.
pub(super) fn files(diff: &Diff<'_>) -> Result<Vec<FileDiff>, git2::Error> {
    (0..diff.deltas().len()).map(|index| file(diff, index)).collect()
}

fn file(diff: &Diff<'_>, index: usize) -> Result<FileDiff, git2::Error> {
    let delta = diff
        .get_delta(index)
        .ok_or_else(|| git2::Error::from_str("a delta is gone"))?;
    let name = |file: git2::DiffFile<'_>| {
        file.path_bytes()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    };
    let status = match delta.status() {
        Delta::Added => "added",
        Delta::Deleted => "removed",
        Delta::Renamed => "renamed",
        Delta::Copied => "copied",
        Delta::Typechange => "changed",
        _ => "modified",
    };
    let previous = matches!(status, "renamed" | "copied").then(|| name(delta.old_file()));
    let (path, blob) = match status {
        "removed" => (name(delta.old_file()), delta.old_file().id()),
        _ => (name(delta.new_file()), delta.new_file().id()),
    };
    let patch = Patch::from_diff(diff, index)?;
    let binary = patch.as_ref().is_none_or(|patch| patch.delta().flags().is_binary());
    let (additions, deletions) = match &patch {
        Some(patch) => patch
            .line_stats()
            .map(|(_, additions, deletions)| (additions, deletions))?,
        None => (0, 0),
    };
    let hunks = match &patch {
        Some(patch) => (0..patch.num_hunks())
            .map(|hunk| read_hunk(patch, hunk))
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    Ok(FileDiff {
        path,
        previous,
        status,
        blob,
        additions,
        deletions,
        binary,
        hunks,
    })
}

fn read_hunk(patch: &Patch<'_>, index: usize) -> Result<Hunk, git2::Error> {
    let (hunk, count) = patch.hunk(index)?;
    let header = String::from_utf8_lossy(hunk.header()).trim_end_matches('\n').to_owned();
    let mut lines = Vec::with_capacity(count);
    for number in 0..count {
        let line = patch.line_in_hunk(index, number)?;
        let text = String::from_utf8_lossy(line.content());
        let text = text.strip_suffix('\n').unwrap_or(&text);
        lines.push(match line.origin() {
            kind @ (' ' | '+' | '-') => DiffLine {
                kind,
                old: line.old_lineno(),
                new: line.new_lineno(),
                text: text.to_owned(),
            },
            _ => DiffLine {
                kind: '\\',
                old: None,
                new: None,
                text: " No newline at end of file".into(),
            },
        });
    }
    Ok(Hunk { header, lines })
}

/// The requested position of a comment.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) side: String,
    pub(super) line: u32,
    pub(super) start_line: Option<u32>,
    pub(super) start_side: Option<String>,
}

const NOT_IN_DIFF: &str = "Pull request review thread line must be part of the diff";
const NO_HUNK: &str = "Pull request review thread diff hunk can't be blank";
const START_NOT_IN_HUNK: &str = "Pull request review thread start line must be part of the same hunk as the line.";
const START_AFTER_END: &str = "Pull request review thread start line must precede the end line.";

/// Finds the position in the diff, or returns GitHub's error messages.
pub(super) fn place(files: &[FileDiff], wanted: Wanted) -> Result<CommentPosition, Vec<String>> {
    let words = |texts: &[&str]| Err(texts.iter().map(|text| (*text).to_owned()).collect());
    let Some(file) = files.iter().find(|file| file.path == wanted.path) else {
        return words(&["Pull request review thread path is invalid", NO_HUNK]);
    };
    if file.patch().is_none() {
        return words(&[NOT_IN_DIFF, NO_HUNK]);
    }
    let mut before = 0;
    for (number, hunk) in file.hunks.iter().enumerate() {
        let Some(end) = hunk.index_of(&wanted.side, wanted.line) else {
            before += hunk.lines.len() + usize::from(number > 0);
            continue;
        };
        if let Some(start) = wanted.start_line {
            let start_side = wanted.start_side.as_deref().unwrap_or(&wanted.side);
            if start_side == wanted.side && start >= wanted.line {
                return words(&[START_AFTER_END]);
            }
            match hunk.index_of(start_side, start) {
                None => return words(&[START_NOT_IN_HUNK]),
                Some(start) if start >= end => return words(&[START_AFTER_END]),
                Some(_) => {}
            }
        }
        let position = before + usize::from(number > 0) + end + 1;
        let text = hunk.text_until(end + 1);
        let Wanted {
            path,
            side,
            line,
            start_line,
            start_side,
        } = wanted;
        let start_side = start_line.map(|_| start_side.unwrap_or_else(|| side.clone()));
        return Ok(CommentPosition {
            path,
            side,
            line,
            start_line,
            start_side,
            position,
            hunk: text,
        });
    }
    words(&[NOT_IN_DIFF, NO_HUNK])
}

/// Where lines `first..=last` of one version of a file are in a later version. `None` if any of them changed.
pub(super) fn follow(file: Option<&FileDiff>, first: u32, last: u32) -> Option<(u32, u32)> {
    let Some(file) = file else { return Some((first, last)) };
    if file.binary || file.status == "removed" {
        return None;
    }
    let mut shift = 0_i64;
    for hunk in &file.hunks {
        let mut old_before = None;
        for line in &hunk.lines {
            match (line.kind, line.old) {
                (' ', Some(old)) => old_before = Some(old),
                ('-', Some(old)) => {
                    if (first..=last).contains(&old) {
                        return None;
                    }
                    old_before = Some(old);
                    shift -= i64::from(old < first);
                }
                ('+', _) => {
                    let above = old_before.unwrap_or_else(|| first_old_line(hunk).saturating_sub(1));
                    if above >= first && above < last {
                        return None;
                    }
                    shift += i64::from(above < first);
                }
                _ => {}
            }
        }
    }
    let moved = |line: u32| u32::try_from(i64::from(line) + shift).ok();
    Some((moved(first)?, moved(last)?))
}

fn first_old_line(hunk: &Hunk) -> u32 {
    hunk.lines.iter().find_map(|line| line.old).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one hunk of these lines, which begins at line `start` on both sides.
    fn file(start: u32, lines: &[&str]) -> FileDiff {
        let (mut old, mut new) = (start, start);
        let lines = lines.iter().map(|text| {
            let kind = text.chars().next().unwrap();
            let line = DiffLine {
                kind,
                old: (kind != '+').then_some(old),
                new: (kind != '-').then_some(new),
                text: text[1..].to_owned(),
            };
            old += u32::from(kind != '+');
            new += u32::from(kind != '-');
            line
        });
        let hunk = Hunk {
            header: format!("@@ -{start} +{start} @@"),
            lines: lines.collect(),
        };
        FileDiff {
            path: "f".into(),
            previous: None,
            status: "modified",
            blob: git2::Oid::from_bytes(&[0; 20]).unwrap(),
            additions: 0,
            deletions: 0,
            binary: false,
            hunks: vec![hunk],
        }
    }

    #[test]
    fn a_range_follows_its_lines_and_is_lost_once_one_of_them_is_touched() {
        let inserted = file(3, &[" c", "+new", " d", " e"]);
        assert_eq!(
            follow(Some(&inserted), 1, 3),
            Some((1, 3)),
            "above the insertion, touching it"
        );
        assert_eq!(follow(Some(&inserted), 4, 5), Some((5, 6)), "below it");
        assert_eq!(follow(Some(&inserted), 3, 4), None, "around it");
        let removed = file(3, &[" c", "-d", " e"]);
        assert_eq!(follow(Some(&removed), 1, 3), Some((1, 3)));
        assert_eq!(follow(Some(&removed), 5, 6), Some((4, 5)));
        assert_eq!(follow(Some(&removed), 4, 4), None);
        let on_top = file(1, &["+new", " a"]);
        assert_eq!(follow(Some(&on_top), 1, 1), Some((2, 2)));
        assert_eq!(follow(None, 7, 8), Some((7, 8)), "the file was left alone");
    }

    #[test]
    fn the_sides_are_numbered_apart() {
        let files = [file(3, &[" c", "-d", "+D", "+DD", " e"])];
        let at = |side: &str, start: Option<u32>, line: u32| {
            let wanted = Wanted {
                path: "f".into(),
                side: side.into(),
                line,
                start_line: start,
                start_side: None,
            };
            place(&files, wanted)
                .map(|place| place.position)
                .map_err(|mut reasons| reasons.remove(0))
        };
        assert_eq!(at("RIGHT", None, 5), Ok(4));
        assert_eq!(at("LEFT", None, 4), Ok(2));
        assert_eq!(at("LEFT", None, 5), Ok(5), "a line of context is on both sides");
        assert_eq!(at("RIGHT", Some(4), 6), Ok(5));
        assert_eq!(at("RIGHT", None, 7), Err(NOT_IN_DIFF.into()));
        assert_eq!(at("RIGHT", Some(6), 6), Err(START_AFTER_END.into()));
        assert_eq!(at("RIGHT", Some(2), 6), Err(START_NOT_IN_HUNK.into()));
    }
}
