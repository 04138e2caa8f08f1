//! The lines of a diff in order, and error messages about them.

use crate::error::ReadError as Error;

/// The maximum number of lines in a diff. Each takes more memory than its bytes.
const MAX_LINES: usize = 1_000_000;

/// The lines of a diff, and the position of a reader.
pub(super) struct LineReader<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Result<Self, Error> {
        if text.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
            return Err(too_large("the number of lines of the diff", MAX_LINES));
        }
        Ok(Self {
            lines: text.split_inclusive(|byte| *byte == b'\n').collect(),
            at: 0,
        })
    }

    /// The number of the next line, from 1.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }

    /// The next line, with its line end.
    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }

    /// Consumes the next line, and returns it without its line end.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.at += 1;
        Some(trimmed(line))
    }

    /// The next line, without its line end.
    pub(super) fn peek_trimmed(&self) -> Option<&'a [u8]> {
        self.peek().map(trimmed)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn ahead(&self, by: usize) -> &'a [u8] {
        self.lines.get(self.at + by).copied().unwrap_or_default()
    }
}

pub(super) fn too_large(what: &str, limit: usize) -> Error {
    Error::TooLarge {
        what: what.into(),
        limit: limit as u64,
    }
}

pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A name for an error message.
pub(super) fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(&name[..name.len().min(1000)]);
    let first = name.trim().chars().take_while(|c| *c != '\n');
    first.filter(|c| !c.is_control()).take(200).collect()
}

pub(super) fn wrong(path: &str, line: usize, reason: impl Into<String>) -> Error {
    Error::DoesNotApply {
        path: path.into(),
        line,
        reason: reason.into(),
    }
}
