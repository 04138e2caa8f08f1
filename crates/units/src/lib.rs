//! Counts, sizes and durations, as people and records have them: `2 tests`, `3 GiB`, `2 min 5 s`, whole milliseconds.
//!
//! Not in here: points in time, and reading any of this back. Nothing asks the machine what time it is.

#![warn(missing_docs)]

pub mod clock;
pub mod count;
pub mod size;
