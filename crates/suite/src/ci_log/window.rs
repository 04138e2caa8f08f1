//! Keeps the text around the first cause, and the end, for the readers of test output: bounded, whole lines.

/// Bytes kept before the first cause, from it on, and at the end; the first and the last may briefly be twice as many.
const BEFORE: usize = 256 << 10;
const AFTER: usize = 2 << 20;
const END: usize = 1 << 20;
/// What stands where lines are missing.
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
    /// The next line to come is of a cause, or the last one that came was.
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

/// Drops whole lines at the beginning once a text is twice as long as it may be.
fn shorten(text: &mut String, max: usize) -> bool {
    if text.len() < 2 * max {
        return false;
    }
    let from = text.ceil_char_boundary(text.len() - max);
    let line = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
    text.drain(..line);
    true
}
