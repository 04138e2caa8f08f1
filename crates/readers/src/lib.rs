//! Parsers for the output of test tools in shared formats: JUnit XML, TAP, the JSON of JavaScript runners, JVM
//! reports, assertions and comparisons.
//!
//! All input is untrusted: parsing is bounded and takes linear time. This crate runs nothing, has no parsers for
//! formats of a single tool, and does not judge results.

#![warn(missing_docs)]

pub mod assertion;
pub mod compared;
mod failure;
pub mod javascript;
pub mod junit;
pub mod jvm;
mod key_lines;
mod node;
mod parsed_run;
mod printed;
mod prove;
mod sums;
pub mod tap;
pub mod text;
mod yaml;

pub use failure::{Failure, Location, location};
pub use parsed_run::{Anomaly, MAX_FAILURES, MAX_MESSAGE, MAX_NAME, MAX_NAMES, ParsedRun};
pub use printed::{Printed, Report, is_whole};
