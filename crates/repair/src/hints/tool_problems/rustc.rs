//! The suggestions of rustc and clippy, also those that the compiler is not sure of.

use super::{ToolChange, ToolComplaint, ToolHint};
use crate::tools::{Certainty, errors};

pub(super) fn complaints(printed: &str) -> Vec<ToolComplaint> {
    let complaint = |error: crate::tools::BuildError| {
        let hint = |(certainty, edits): (Certainty, Vec<(String, std::ops::Range<usize>, String)>)| ToolHint {
            changes: edits
                .into_iter()
                .map(|(file, range, after)| ToolChange {
                    file,
                    start: range.start,
                    end: range.end,
                    before: None,
                    after,
                })
                .collect(),
            weight: match certainty {
                Certainty::Sure => 1.0,
                Certainty::Maybe => 0.95,
            },
        };
        ToolComplaint {
            hints: error.suggestions.into_iter().map(hint).collect(),
            file: error.file,
            line: error.line,
            message: error.message,
        }
    };
    errors(printed).into_iter().map(complaint).collect()
}
