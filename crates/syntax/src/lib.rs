//! Syntax trees of files from possibly hostile authors: bounded parsing, walks without recursion, text without
//! layout, and edits with incremental parsing.
//!
//! Not in here: what a node means to anybody, but for [`test_item`]: which items of a file are tests.

#![warn(missing_docs)]

mod bounds;
mod edit;
mod language;
mod parsed;
pub mod test_item;
mod walk;

pub use bounds::{Bounds, parse};
pub use edit::replaced;
pub use language::Language;
pub use parsed::{Parsed, is_string};
pub use walk::{Below, Step, visit, walk};
