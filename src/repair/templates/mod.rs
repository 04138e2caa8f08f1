//! Small edits that often are the fix, each at one node of a syntax tree. Templates only propose edits: others check
//! whether an edit parses, compiles and is right.

mod bounds;
mod calls;
mod collections;
mod donors;
mod empties;
mod errors;
pub(super) mod kinds;
mod known_names;
mod literals;
mod logic;
mod names;
mod operators;
mod rank;
mod statements;
mod values;

use std::ops::Range;

pub(super) use kinds::{EditKind, Template};
pub(super) use known_names::KnownNames;
use tree_sitter::Node;

use super::syntax::{Below, Source, Step};

/// Maximum number of edits of one definition in one stage, and at one node.
const MAX_EDITS: usize = 4_000;
const MAX_PER_NODE: usize = 72;

/// The order in which edits are made: costlier and less likely ones later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Strong,
    Wider,
    /// Insertions, and code from elsewhere in the file.
    Tail,
}

impl Stage {
    pub(super) const ALL: [Self; 3] = [Self::Strong, Self::Wider, Self::Tail];

    /// The highest prior of any edit in the stage.
    pub(super) fn most(self) -> f32 {
        match self {
            Self::Strong => 1.0,
            Self::Wider => 0.5,
            Self::Tail => 0.25,
        }
    }
}

/// A replacement of one range of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
    pub(super) template: Template,
    /// How similar the replacement is to the original, from 0 to 1.
    pub(super) similarity: f32,
}

impl Edit {
    fn similar(mut self, similarity: f32) -> Self {
        self.similarity = similarity.clamp(0.0, 1.0);
        self
    }

    /// The weight of the edit if the suspicion is 1.
    pub(super) fn weight(&self) -> f32 {
        self.template.prior() * self.similarity
    }
}

/// The node that a template examines, with its ancestors and its text.
pub(super) struct Site<'a, 't> {
    source: &'t Source,
    path: &'a [Step<'t>],
}

impl<'t> Site<'_, 't> {
    fn node(&self) -> Node<'t> {
        self.path[self.path.len() - 1].node
    }

    fn kind(&self) -> &'t str {
        self.node().kind()
    }

    fn field(&self) -> &'t str {
        self.path[self.path.len() - 1].field
    }

    /// The node this many levels up. `None` above the root.
    fn above(&self, levels: usize) -> Option<Step<'t>> {
        let index = self.path.len().checked_sub(levels + 1)?;
        self.path.get(index).copied()
    }

    fn parent_kind(&self) -> &'t str {
        self.above(1).map_or("", |step| step.node.kind())
    }

    fn text(&self) -> &'t str {
        self.source.text_of(self.node())
    }

    /// Whether the node is in one of these fields; an empty field name matches any named child without a field.
    fn stands_in(&self, slots: &[(&str, &str)]) -> bool {
        let (parent, field) = (self.parent_kind(), self.field());
        self.node().is_named() && slots.contains(&(parent, field))
    }

    /// Whether the node is a condition; in some languages, conditions have their own parentheses.
    fn is_condition(&self) -> bool {
        let conditions = self.source.language.conditions;
        let is_one = |levels: usize| {
            let (Some(own), Some(parent)) = (self.above(levels), self.above(levels + 1)) else {
                return false;
            };
            own.node.is_named() && conditions.contains(&(parent.node.kind(), own.field))
        };
        let is_in_parentheses = |kind: &str| kind == "parenthesized_expression";
        if is_in_parentheses(self.kind()) {
            return false;
        }
        is_one(0) || (self.node().is_named() && is_in_parentheses(self.parent_kind()) && is_one(1))
    }

    /// The last part of the callee's name, if the node is a call.
    fn callee(&self) -> Option<&'t str> {
        if !self.source.language.calls.contains(&self.kind()) {
            return None;
        }
        let node = self.node();
        let callee = node
            .child_by_field_name(self.source.language.callee)
            .or_else(|| node.child_by_field_name("constructor"))?;
        let callee = self.source.text_of(callee);
        callee.rsplit(['.', ':']).next().map(str::trim)
    }

    fn edit(&self, replacement: impl Into<String>, template: Template) -> Edit {
        Edit {
            range: self.node().byte_range(),
            replacement: replacement.into(),
            template,
            similarity: 1.0,
        }
    }
}

/// The edits of one stage at the nodes that `is_wanted` accepts, within bounds. Nodes outside of the range `within`
/// are skipped.
pub(super) fn edits(
    (source, known): (&Source, &KnownNames),
    stage: Stage,
    within: &Range<usize>,
    is_wanted: impl Fn(&Range<usize>) -> bool,
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
                    calls::edits(&place, known, &mut found);
                    donors::derived(&place, known, &mut found);
                }
                Stage::Tail => {
                    donors::edits(&place, known, &mut found);
                    statements::edits(&place, known, &mut found);
                }
            }
            found.truncate(before + MAX_PER_NODE);
        }
        Below::Enter
    });
    found.retain(|edit| {
        let original = source.text.get(edit.range.clone()).unwrap_or_default();
        let has_same = original.split_whitespace().eq(edit.replacement.split_whitespace());
        // In Python, whitespace decides which block a statement belongs to.
        !has_same || edit.template == Template::Move
    });
    found
}

fn is_untouched(place: &Site<'_, '_>) -> bool {
    let language = place.source.language;
    if place.kind() == "expression_statement"
        && let Some(node) = place.node().named_child(0)
    {
        let mut path = place.path.to_vec();
        path.push(Step { node, field: "" });
        let inside = Site {
            source: place.source,
            path: &path,
        };
        return is_untouched(&inside);
    }
    if language.untouched.contains(&place.kind()) || matches!(place.field(), "type" | "return_type") {
        return true;
    }
    if !language.untouched_calls.is_empty() && language.calls.contains(&place.kind()) {
        let called = place.node().child(0).map_or("", |called| place.source.text_of(called));
        let first = called.split(['.', '(', '?']).next().unwrap_or_default();
        if language.untouched_calls.contains(&first) {
            return true;
        }
    }
    place.kind() == "macro_invocation"
        && place.node().child_by_field_name("macro").is_some_and(|name| {
            let name = place.source.text_of(name);
            language
                .untouched_macros
                .iter()
                .any(|untouched| name.starts_with(untouched))
        })
}

#[cfg(test)]
mod tests;
