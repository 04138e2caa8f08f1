//! Readers of what test tools print and write in the formats that they share: JUnit XML, TAP, the JSON of JavaScript's
//! runners, the reports of the JVM, assertions and comparisons. [`test_run`] has what becomes of it: one run of a test
//! command and its result.
//!
//! Everything is read as from a stranger: bounded, in linear time, and never believed further than it goes. Not in here:
//! what one tool alone prints, running anything, and what is concluded from several runs.

#![warn(missing_docs)]

pub mod assertion;
mod cause;
pub mod ci_step;
pub mod compared;
mod complaint;
mod failure;
pub mod javascript;
pub mod jest;
pub mod junit;
pub mod jvm;
pub mod lenient;
mod missing;
pub mod native;
mod node;
mod node_tap;
mod parsed_run;
mod printed;
mod prove;
mod sums;
pub mod tap;
pub mod test_path;
pub mod test_run;
pub mod text;
mod unread;
mod varying;
mod yaml;

pub use complaint::complaint;
pub use failure::{Failure, Location, WHOLE_COMMAND, location};
pub use missing::{Missing, PackageKind, missing};
pub use parsed_run::{Anomaly, MAX_FAILURES, MAX_MESSAGE, MAX_NAME, MAX_NAMES, ParsedRun};
pub use printed::{Printed, Report, is_whole};
pub use unread::documents;
