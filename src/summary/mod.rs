//! What people see of runs: a list, the timeline of one run, and the statistics of many.
//!
//! Pure functions of folded runs and their steps. REST, the page and the terminal show the same numbers because all of
//! them come from here. Nothing in here reads a journal or a clock, or knows how a number is laid out.

mod listed;
mod rows;
mod statistics;
mod timeline;

pub use listed::{Filter, INTERRUPTED, RunSummary, WaitsFor};
pub use statistics::{BrokenTest, Counted, Day, FlakyTest, Measured, Statistics, TimeToGreen};
pub use timeline::{PlacedStep, Timeline, TimelineEntry, ended_at, timeline};
