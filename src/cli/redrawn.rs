//! Lines on standard error that are redrawn in place. Nothing is drawn if it is not a terminal.

use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

/// All lines that are being redrawn.
static LINES: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Prints something without mixing it with these lines.
pub(super) fn suspended<T>(print: impl FnOnce() -> T) -> T {
    LINES.suspend(print)
}

/// Erases all of them for good.
pub(super) fn end() {
    let _cannot_be_drawn = LINES.clear();
    LINES.set_draw_target(ProgressDrawTarget::hidden());
}

/// A line that is erased when it is dropped, which includes cancelled work.
#[derive(Debug)]
pub(super) struct RedrawnLine(ProgressBar);

impl RedrawnLine {
    /// Adds a line below the others.
    pub(super) fn add(bar: ProgressBar) -> Self {
        Self(LINES.add(bar))
    }

    pub(super) fn bar(&self) -> &ProgressBar {
        &self.0
    }
}

impl Drop for RedrawnLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        LINES.remove(&self.0);
    }
}
