//! A node as the templates look at it, and the edits that they make there.

use std::ops::Range;

use tree_sitter::Node;

use crate::syntax::{Source, Step};
use crate::template::Template;

/// A replacement of one range of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) replacement: String,
    pub(crate) template: Template,
    /// How similar the replacement is to the original, from 0 to 1.
    pub(super) similarity: f32,
}

impl Edit {
    pub(super) fn similar(mut self, similarity: f32) -> Self {
        self.similarity = similarity.clamp(0.0, 1.0);
        self
    }

    /// The weight of the edit if the suspicion is 1.
    pub(crate) fn weight(&self) -> f32 {
        self.template.prior() * self.similarity
    }
}

/// The node that a template examines, with its ancestors and its text.
pub(super) struct Site<'a, 't> {
    pub(super) source: &'t Source,
    pub(super) path: &'a [Step<'t>],
}

impl<'t> Site<'_, 't> {
    pub(super) fn node(&self) -> Node<'t> {
        self.path[self.path.len() - 1].node
    }

    pub(super) fn kind(&self) -> &'t str {
        self.node().kind()
    }

    pub(super) fn field(&self) -> &'t str {
        self.path[self.path.len() - 1].field
    }

    /// The node this many levels up. `None` above the root.
    pub(super) fn above(&self, levels: usize) -> Option<Step<'t>> {
        let index = self.path.len().checked_sub(levels + 1)?;
        self.path.get(index).copied()
    }

    pub(super) fn parent_kind(&self) -> &'t str {
        self.above(1).map_or("", |step| step.node.kind())
    }

    pub(super) fn text(&self) -> &'t str {
        self.source.text_of(self.node())
    }

    /// Whether the node is in one of these fields; an empty field name matches any named child without a field.
    pub(super) fn stands_in(&self, slots: &[(&str, &str)]) -> bool {
        let (parent, field) = (self.parent_kind(), self.field());
        self.node().is_named() && slots.contains(&(parent, field))
    }

    /// Whether the node is a condition; in some languages, conditions have their own parentheses.
    pub(super) fn is_condition(&self) -> bool {
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
    pub(super) fn callee(&self) -> Option<&'t str> {
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

    pub(super) fn edit(&self, replacement: impl Into<String>, template: Template) -> Edit {
        Edit {
            range: self.node().byte_range(),
            replacement: replacement.into(),
            template,
            similarity: 1.0,
        }
    }
}

/// Whether nothing at or below the node is ever edited.
pub(super) fn is_untouched(place: &Site<'_, '_>) -> bool {
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
