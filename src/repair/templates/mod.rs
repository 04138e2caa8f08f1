//! Small edits that often are the fix, each at one node of a syntax tree. They only propose: whether an edit parses,
//! compiles and is right is found out by others.

mod bounds;
mod logic;
mod names;
mod operators;
mod values;

use std::ops::Range;

use tree_sitter::Node;

use super::syntax::{Below, Source, Step};

pub(super) use operators::Swap;

/// The idea behind an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Template {
    /// Whether a bound belongs to what it bounds: `<` and `<=`, `..` and `..=`.
    Bound,
    /// `n - 1` where it should be `n`.
    DropOne,
    /// `n` where it should be `n + 1`, in a range, slice or subscript.
    ShiftPosition,
    /// The same anywhere else.
    ShiftValue,
    /// A number that is one off, 0 for 1.
    Constant,
    /// Any other number.
    OtherConstant,
    Truth,
    Comparison,
    Logical,
    Arithmetic,
    Augmented,
    OtherOperator,
    /// An operator that is seldom written for the other by mistake.
    RareOperator,
    DropNegation,
    Negate,
    Arguments,
    Method,
    Attribute,
    Operands,
    Variable,
    /// Takes a condition or an operand away: seldom a fix, often just silence.
    Removal,
    /// A hunk of the pull request, put back.
    Revert,
}

/// What an edit does to the code, whatever the idea behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Swap,
    Shift,
    Constant,
    Negation,
    Replacement,
    Insertion,
    Removal,
    Donor,
    Revert,
}

impl Template {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::DropOne | Self::ShiftPosition | Self::ShiftValue => Kind::Shift,
            Self::Constant | Self::OtherConstant | Self::Truth => Kind::Constant,
            Self::DropNegation | Self::Negate => Kind::Negation,
            Self::Arguments | Self::Method | Self::Attribute | Self::Operands | Self::Variable => Kind::Replacement,
            Self::Removal => Kind::Removal,
            Self::Revert => Kind::Revert,
            _ => Kind::Swap,
        }
    }

    /// How likely the edit is the fix when it lands on the faulty line: the figures order candidates, nothing more.
    pub(super) fn prior(self) -> f32 {
        match self {
            Self::Bound | Self::Revert => 1.0,
            Self::DropOne => 0.95,
            Self::Logical | Self::Arithmetic => 0.85,
            Self::ShiftPosition | Self::DropNegation | Self::Constant => 0.8,
            Self::Comparison | Self::Augmented => 0.75,
            Self::Method | Self::Truth => 0.7,
            Self::Arguments => 0.65,
            Self::Negate => 0.6,
            Self::Attribute | Self::OtherOperator => 0.5,
            Self::ShiftValue | Self::Variable | Self::Operands => 0.45,
            Self::OtherConstant | Self::RareOperator => 0.3,
            Self::Removal => 0.2,
        }
    }
}

/// One range of a file replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
    pub(super) template: Template,
}

/// A node as a template looks at it: with its parents and its text.
pub(super) struct Place<'a, 't> {
    source: &'t Source,
    path: &'a [Step<'t>],
}

impl<'t> Place<'_, 't> {
    fn node(&self) -> Node<'t> {
        self.path[self.path.len() - 1].node
    }

    fn kind(&self) -> &'t str {
        self.node().kind()
    }

    fn field(&self) -> &'t str {
        self.path[self.path.len() - 1].field
    }

    /// The node so many levels up; none above the root.
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

    /// Whether the node stands in one of these fields; an empty field stands for any named child without one.
    fn stands_in(&self, slots: &[(&str, &str)]) -> bool {
        let (parent, field) = (self.parent_kind(), self.field());
        self.node().is_named() && slots.contains(&(parent, field))
    }

    /// Whether the node decides what is done; in some languages, conditions have parentheses of their own.
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

    /// The last part of the name of what is called, if the node is a call.
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
        }
    }
}

/// Every edit of a file inside the definitions that `is_wanted` says yes to by their first byte and last.
pub(super) fn edits(source: &Source, is_wanted: impl Fn(&Range<usize>) -> bool) -> Vec<Edit> {
    let mut found = Vec::new();
    let names = names::Known::of(source);
    source.walk(|path| {
        let place = Place { source, path };
        if is_untouched(&place) {
            return Below::Skip;
        }
        if is_wanted(&place.node().byte_range()) {
            operators::edits(&place, &mut found);
            bounds::edits(&place, &mut found);
            values::edits(&place, &mut found);
            logic::edits(&place, &mut found);
            names::edits(&place, &names, &mut found);
        }
        Below::Enter
    });
    found
}

fn is_untouched(place: &Place<'_, '_>) -> bool {
    let language = place.source.language;
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
