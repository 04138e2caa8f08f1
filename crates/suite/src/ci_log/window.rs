//! Keeps whole lines around the first cause and at the end of a log, bounded, for the parsers of test output.

/// Bytes kept before the first cause, after it, and at the end; the first and the last may briefly grow to twice the
/// size.
const BEFORE: usize = 256 << 10;
const AFTER: usize = 2 << 20;
const END: usize = 1 << 20;
/// Marks the place of missing lines.
const GAP: &str = "[lines were left out]\n";

/// The kept text of one part of a log.
#[derive(Debug, Default)]
pub(super) struct Window {
    before: String,
    after: String,
    end: String,
    has_cause: bool,
    /// Whether lines are missing before the text, and before its end.
    cut: (bool, bool),
}

impl Window {
    /// Marks the cause: the line just taken, or the next one.
    pub(super) fn found(&mut self) {
        self.has_cause = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    pub(super) fn take(&mut self, line: &str) {
        let add = |text: &mut String| {
            text.push_str(line);
            text.push('\n');
        };
        if !self.has_cause {
            add(&mut self.before);
            self.cut.0 |= shorten(&mut self.before, BEFORE);
        } else if self.end.is_empty() && self.after.len() + line.len() < AFTER {
            add(&mut self.after);
        } else {
            add(&mut self.end);
            self.cut.1 |= shorten(&mut self.end, END);
        }
    }

    pub(super) fn into_text(self) -> String {
        let Self {
            before,
            after,
            end,
            cut,
            ..
        } = self;
        let mark = |cut: bool| if cut { GAP } else { "" };
        [mark(cut.0), &before, &after, mark(cut.1), &end].concat()
    }
}

/// Drops whole lines from the beginning once a text is twice its maximum size.
fn shorten(text: &mut String, max: usize) -> bool {
    if text.len() < 2 * max {
        return false;
    }
    let from = text.ceil_char_boundary(text.len() - max);
    let line = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
    text.drain(..line);
    true
}
