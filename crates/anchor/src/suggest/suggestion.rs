//! One suggestion: how a comment contains it, and what committing it does to the file.

use std::borrow::Cow;
use std::iter;

use crate::path::RepoPath;

/// New text for whole lines of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The file.
    pub path: RepoPath,
    /// The first replaced line, from 1. GitHub accepts `start_line` only if it differs from `line`.
    pub start_line: u32,
    /// The last replaced line.
    pub line: u32,
    /// Lines that each end with a line feed, no matter how those of the file end; empty to delete.
    pub replacement: String,
}

/// Why suggestions cannot be committed together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The first and the last line.
    #[error("lines {0} to {1} are not lines of the file")]
    OutOfRange(u32, u32),
    /// The line.
    #[error("line {0} is in two suggestions")]
    Overlap(u32),
    /// The last line.
    #[error("the suggestion for line {0} changes nothing")]
    NoChange(u32),
}

impl Suggestion {
    /// The suggestion as Markdown, in a fence longer than any inside it.
    /// <https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/commenting-on-a-pull-request>
    pub fn block(&self) -> String {
        let longest = self.replacement.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence: String = iter::repeat_n('`', (longest + 1).max(3)).collect();
        format!("{fence}suggestion\n{}{fence}", self.replacement)
    }
}

/// Applies the suggestions for `path` like "Commit suggestion": whole lines are replaced, the new lines get the line
/// ends of the replaced ones, and a last line without an end keeps none.
///
/// Only line feeds end lines.
///
/// # Errors
/// When GitHub would refuse the batch.
pub fn apply(suggestions: &[Suggestion], path: &RepoPath, before: &[u8]) -> Result<Vec<u8>, ApplyError> {
    let mut own: Vec<_> = suggestions
        .iter()
        .filter(|suggestion| suggestion.path == *path)
        .collect();
    own.sort_unstable_by_key(|suggestion| suggestion.start_line);
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let mut after = Vec::with_capacity(before.len());
    let mut done = 0;
    for suggestion in own {
        let (first, last) = (suggestion.start_line, suggestion.line);
        let replaced = (first as usize)
            .checked_sub(1)
            .and_then(|start| lines.get(start..last as usize));
        let replaced = replaced
            .filter(|replaced| !replaced.is_empty())
            .ok_or(ApplyError::OutOfRange(first, last))?;
        let start = first as usize - 1;
        let untouched = lines.get(done..start).ok_or(ApplyError::Overlap(first))?;
        let replacement = with_ends_of(replaced, &suggestion.replacement);
        if replaced.concat() == replacement.as_bytes() {
            return Err(ApplyError::NoChange(first));
        }
        untouched.iter().for_each(|line| after.extend_from_slice(line));
        after.extend_from_slice(replacement.as_bytes());
        done = last as usize;
    }
    lines[done..].iter().for_each(|line| after.extend_from_slice(line));
    Ok(after)
}

/// The new lines with the line ends of the lines that they replace.
fn with_ends_of<'a>(replaced: &[&[u8]], replacement: &'a str) -> Cow<'a, str> {
    let is_windows = replaced.first().is_some_and(|line| line.ends_with(b"\r\n"));
    let is_open = replaced.last().is_some_and(|line| !line.ends_with(b"\n"));
    let kept = if is_open {
        replacement.strip_suffix('\n').unwrap_or(replacement)
    } else {
        replacement
    };
    if is_windows {
        kept.replace('\n', "\r\n").into()
    } else {
        kept.into()
    }
}

/// The content of a suggestion's block as Markdown renders it. `None` if the text is not exactly one block.
pub fn read_block(block: &str) -> Option<String> {
    read(block).and_then(|(text, is_alone)| is_alone.then_some(text))
}

/// The content of the suggestion that a comment begins with, no matter what follows it.
pub fn first_block(comment: &str) -> Option<String> {
    read(comment).map(|(text, _)| text)
}

/// The content of the block that a text begins with, and whether nothing follows it.
fn read(markdown: &str) -> Option<(String, bool)> {
    use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
    let mut events = Parser::new(markdown);
    match events.next()? {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "suggestion" => {}
        _ => return None,
    }
    let mut text = String::new();
    loop {
        match events.next()? {
            Event::Text(piece) => text.push_str(&piece),
            Event::End(TagEnd::CodeBlock) => return Some((text, events.next().is_none())),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggestion(start_line: u32, line: u32, replacement: &str) -> Suggestion {
        Suggestion {
            path: "a".parse().unwrap(),
            start_line,
            line,
            replacement: replacement.into(),
        }
    }

    #[test]
    fn a_fence_outgrows_what_is_inside() {
        let cases = [
            ("x = 1\n", "```suggestion\nx = 1\n```"),
            ("", "```suggestion\n```"),
            ("a ``` b\n", "````suggestion\na ``` b\n````"),
            ("`````\n~~~\n", "``````suggestion\n`````\n~~~\n``````"),
        ];
        for (replacement, expected) in cases {
            let block = suggestion(1, 1, replacement).block();
            assert_eq!(block, expected);
            assert_eq!(read_block(&block).as_deref(), Some(replacement));
        }
        let tricky = "\n\ttab\n    four\n> quote\n- [ ] item\n<!-- -->\n@someone `a\n```suggestion\nb\n```\n\n";
        assert_eq!(read_block(&suggestion(1, 1, tricky).block()).as_deref(), Some(tricky));
        assert_eq!(read_block("```suggestion\na\n```\nb"), None);
    }

    #[test]
    fn committing_replaces_whole_lines() {
        let path = "a".parse().unwrap();
        let before = b"1\n2\r\n3\n\xff";
        let check = |suggestions: &[Suggestion], after: &[u8]| {
            assert_eq!(apply(suggestions, &path, before), Ok(after.to_vec()));
        };
        check(&[], before);
        check(&[suggestion(3, 3, "")], b"1\n2\r\n\xff");
        check(&[suggestion(3, 3, "x\ny\n"), suggestion(1, 2, "z\n")], b"z\nx\ny\n\xff");
        let elsewhere = Suggestion {
            path: "b".parse().unwrap(),
            ..suggestion(1, 1, "")
        };
        check(&[elsewhere], before);
    }

    #[test]
    fn what_github_would_refuse_is_refused() {
        let path = "a".parse().unwrap();
        let check = |suggestions: &[Suggestion], error: ApplyError| {
            assert_eq!(apply(suggestions, &path, b"1\n2\n3\n"), Err(error));
        };
        check(&[suggestion(0, 1, "")], ApplyError::OutOfRange(0, 1));
        check(&[suggestion(2, 1, "")], ApplyError::OutOfRange(2, 1));
        check(&[suggestion(3, 4, "")], ApplyError::OutOfRange(3, 4));
        check(&[suggestion(4, 4, "")], ApplyError::OutOfRange(4, 4));
        check(&[suggestion(3, 1, "")], ApplyError::OutOfRange(3, 1));
        check(&[suggestion(1, 2, ""), suggestion(2, 3, "")], ApplyError::Overlap(2));
        check(&[suggestion(2, 3, "2\n3\n")], ApplyError::NoChange(2));
    }
}
