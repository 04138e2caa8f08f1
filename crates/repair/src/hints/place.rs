//! A line of the tree that a message is about, and the edits that can be made there.

use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;
use regex::Regex;

use super::{Hint, HintEdit};

/// Larger files are left alone.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Maximum number of occurrences of a name in one line that are replaced.
const MAX_OCCURRENCES: usize = 20;

/// A line of a file, and a message about it.
pub(super) struct HintPlace<'a> {
    pub(super) checkout: &'a Checkout,
    pub(super) path: RepoPath,
    /// The whole file.
    pub(super) text: String,
    /// From 1.
    pub(super) line: u32,
    pub(super) message: &'a str,
    /// Where each line starts, and the end of the text.
    starts: Vec<usize>,
}

impl<'a> HintPlace<'a> {
    /// `None` if there is no such line.
    pub(super) fn new(
        checkout: &'a Checkout,
        (path, line): (&RepoPath, u32),
        text: String,
        message: &'a str,
    ) -> Option<Self> {
        let place = Self {
            checkout,
            path: path.clone(),
            text,
            line,
            message,
            starts: Vec::new(),
        };
        let place = place.with_lines();
        (place.text.len() <= MAX_FILE_BYTES && place.range_of(line).is_some()).then_some(place)
    }

    fn with_lines(mut self) -> Self {
        if self.text.len() <= MAX_FILE_BYTES {
            let ends = self.text.split_inclusive('\n').scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            });
            self.starts = std::iter::once(0).chain(ends).collect();
        }
        self
    }

    /// The bytes of a line without its line break.
    pub(super) fn range_of(&self, line: u32) -> Option<Range<usize>> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let (start, end) = (*self.starts.get(index)?, *self.starts.get(index + 1)?);
        let text = self.text.get(start..end)?;
        Some(start..start + text.trim_end_matches(['\n', '\r']).len())
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range_of(self.line).unwrap_or(0..0)
    }

    pub(super) fn line_text(&self) -> &str {
        self.text.get(self.range()).unwrap_or_default()
    }

    /// The groups of a pattern in the message.
    pub(super) fn says(&self, pattern: &str) -> Option<Vec<String>> {
        groups(pattern, self.message)
    }

    /// Replaces a range of the file.
    pub(super) fn replace(&self, range: Range<usize>, text: impl Into<String>, weight: f32) -> Hint {
        Hint::new(vec![self.change(range, text)], weight)
    }

    pub(super) fn change(&self, range: Range<usize>, text: impl Into<String>) -> HintEdit {
        HintEdit {
            path: self.path.clone(),
            range,
            text: text.into(),
        }
    }

    /// Replaces every occurrence of a name in the line, or, with `within`, only those in one range.
    pub(super) fn rename(&self, name: &str, to: &str, weight: f32) -> Option<Hint> {
        let changes: Vec<HintEdit> = self
            .words(name)
            .into_iter()
            .map(|range| self.change(range, to))
            .collect();
        (!changes.is_empty() && name != to).then(|| Hint::new(changes, weight))
    }

    /// Where a name is in the line.
    pub(super) fn words(&self, name: &str) -> Vec<Range<usize>> {
        let start = self.range().start;
        let found = occurrences(self.line_text(), name).take(MAX_OCCURRENCES);
        found.map(|at| start + at..start + at + name.len()).collect()
    }

    /// Inserts text at the end of the line, before a comment that follows the code.
    pub(super) fn append(&self, text: &str, weight: f32, comment: &str) -> Hint {
        let line = self.line_text();
        let code = line.find(comment).map_or(line, |at| line.get(..at).unwrap_or(line));
        let at = self.range().start + code.trim_end().len();
        self.replace(at..at, text, weight)
    }

    /// Inserts whole lines before a line.
    pub(super) fn insert_before(&self, line: u32, text: &str, weight: f32) -> Option<Hint> {
        let at = match self.range_of(line) {
            Some(range) => range.start,
            None => self.text.len(),
        };
        Some(self.replace(at..at, text, weight))
    }

    /// Removes the whole line.
    pub(super) fn remove_line(&self, weight: f32) -> Hint {
        let range = self.range();
        let end = self
            .text
            .get(range.end..)
            .and_then(|rest| rest.find('\n'))
            .map_or(self.text.len(), |at| range.end + at + 1);
        self.replace(range.start..end, "", weight)
    }

    /// The whitespace at the beginning of a line.
    pub(super) fn indentation(&self, line: u32) -> &str {
        let text = self
            .range_of(line)
            .and_then(|range| self.text.get(range))
            .unwrap_or_default();
        text.get(..text.len() - text.trim_start().len()).unwrap_or_default()
    }

    /// The column, in bytes from 0, of the caret that the message prints below the line.
    pub(super) fn caret(&self) -> Option<usize> {
        let code = self.line_text().trim_end();
        let lines: Vec<&str> = self.message.lines().collect();
        let at = lines.windows(2).position(|pair| {
            let caret = pair[1].trim_start_matches(['E', '|']).trim();
            !caret.is_empty()
                && caret.chars().all(|c| matches!(c, '^' | '~'))
                && !code.trim().is_empty()
                && pair[0].ends_with(code.trim())
        })?;
        let start = lines[at].len().checked_sub(code.trim_start().len())?;
        let caret = lines[at + 1].find('^')?.checked_sub(start)?;
        let column = caret + (code.len() - code.trim_start().len());
        (column <= self.line_text().len() && self.line_text().is_char_boundary(column)).then_some(column)
    }
}

/// The groups of a pattern in a text; those that do not take part are empty.
pub(super) fn groups(pattern: &str, text: &str) -> Option<Vec<String>> {
    let captures = Regex::new(pattern).ok()?.captures(text)?;
    let all = captures.iter().skip(1);
    Some(
        all.map(|group| group.map_or_else(String::new, |group| group.as_str().to_string()))
            .collect(),
    )
}

/// Where a name occurs in a text as a whole word.
pub(super) fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let is_whole = move |at: &usize| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !name.is_empty() && !is_part(before) && !is_part(after)
    };
    let places = (!name.is_empty()).then(|| text.match_indices(name));
    places.into_iter().flatten().map(|(at, _)| at).filter(is_whole)
}
