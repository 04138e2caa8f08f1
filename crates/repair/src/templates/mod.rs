//! Small edits that often are the fix, each at one node of a syntax tree. Templates only propose edits: others check
//! whether an edit parses, compiles and is right.

mod awaits;
mod bounds;
mod calls;
mod collections;
mod composed;
mod donors;
mod elements;
mod empties;
mod error_names;
mod errors;
mod known_names;
mod literals;
mod logic;
mod names;
mod operators;
mod presence;
mod rank;
mod role;
mod scope;
mod site;
mod statements;
mod unread;
mod values;

use std::ops::Range;

pub(super) use elements::takes_element_for_index;
pub(super) use known_names::KnownNames;
pub(super) use site::Edit;
use site::{Site, is_untouched};
pub(super) use unread::leaves_unread;

use super::syntax::{Below, Source};
use super::template::Template;

/// Maximum number of edits of one definition in one stage, and at one node.
const MAX_EDITS: usize = 4_000;
const MAX_PER_NODE: usize = 120;

/// The order in which edits are made: costlier and less likely ones later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Strong,
    Wider,
    /// Expressions and statements put together from what is in scope.
    Composed,
    /// Insertions, and code from elsewhere in the file.
    Tail,
}

impl Stage {
    pub(super) const ALL: [Self; 4] = [Self::Strong, Self::Wider, Self::Composed, Self::Tail];

    /// The highest prior of any edit in the stage.
    pub(super) fn most(self) -> f32 {
        match self {
            Self::Strong => 1.0,
            Self::Wider | Self::Composed => 0.5,
            Self::Tail => 0.25,
        }
    }
}

/// The edits of one stage at the nodes that `is_wanted` accepts, within bounds. Nodes outside of the range `within`
/// are skipped.
pub(super) fn edits(
    (source, known): (&Source, &KnownNames),
    stage: Stage,
    within: &Range<usize>,
    is_wanted: &dyn Fn(&Range<usize>) -> bool,
) -> Vec<Edit> {
    let mut found = Vec::new();
    source.walk(|path| {
        let place = Site { source, path };
        let bytes = place.node().byte_range();
        if found.len() >= MAX_EDITS || bytes.end <= within.start || bytes.start >= within.end || is_untouched(&place) {
            return Below::Skip;
        }
        if is_wanted(&bytes) {
            let before = found.len();
            match stage {
                Stage::Strong => {
                    awaits::edits(&place, known, &mut found);
                    operators::edits(&place, &mut found);
                    bounds::edits(&place, &mut found);
                    values::edits(&place, &mut found);
                    logic::edits(&place, &mut found);
                    names::edits(&place, known, &mut found);
                    empties::edits(&place, known, &mut found);
                    collections::edits(&place, known, &mut found);
                    errors::edits(&place, known, &mut found);
                }
                Stage::Wider => {
                    literals::edits(&place, known, &mut found);
                    presence::edits(&place, &mut found);
                    calls::edits(&place, known, &mut found);
                    donors::derived(&place, known, &mut found);
                }
                Stage::Composed => composed::edits(&place, known, &mut found),
                Stage::Tail => {
                    donors::edits(&place, known, &mut found);
                    statements::edits(&place, known, &mut found);
                }
            }
            if stage == Stage::Composed {
                // Where there are too many, the least likely are left out.
                found[before..].sort_by(|a, b| b.weight().total_cmp(&a.weight()));
            }
            found.truncate(before + MAX_PER_NODE);
        }
        Below::Enter
    });
    if stage == Stage::Composed {
        let mut single = edits((source, known), Stage::Strong, within, is_wanted);
        single.extend(edits((source, known), Stage::Wider, within, is_wanted));
        found.extend(composed::repeated(source, &single));
        found.truncate(MAX_EDITS + MAX_PER_NODE);
    }
    found.retain(|edit| {
        let original = source.text.get(edit.range.clone()).unwrap_or_default();
        let has_same = original.split_whitespace().eq(edit.replacement.split_whitespace());
        // In Python, whitespace decides which block a statement belongs to.
        (!has_same || matches!(edit.template, Template::Move | Template::Leave)) && !adds_zero(source, edit)
    });
    found
}

/// Whether the edit would leave `+ 0` or `- 0`: without that, it is an edit, too.
fn adds_zero(source: &Source, edit: &Edit) -> bool {
    let before = source.text.get(..edit.range.start).unwrap_or_default();
    let operator = before.trim_end_matches(' ').strip_suffix(['+', '-']);
    operator.filter(|_| edit.replacement == "0").is_some_and(|left| {
        let is_spaced = before.ends_with(' ');
        let operand = if is_spaced { left.trim_end_matches(' ') } else { left };
        operand.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '_'))
    })
}

#[cfg(test)]
mod tests;
