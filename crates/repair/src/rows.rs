//! Line numbers of a text, from 1.

/// The offsets at which the lines of a text start.
pub(super) struct Rows(Vec<usize>);

impl Rows {
    pub(super) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, byte: usize) -> u32 {
        line(self.0.partition_point(|start| *start <= byte))
    }
}

/// Converts a row from 0 to a line from 1.
pub(super) fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}
