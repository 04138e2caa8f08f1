//! Replaces an expression with one from elsewhere in the file: one of the same kind, or one derived from the same
//! variable.

use std::collections::BTreeSet;

use super::known_names::{KnownNames, Snippet};
use super::scope::functions;
use super::site::{Edit, Site};
use crate::template::Template;

/// Maximum number of donors for one expression, and of snippets that are compared for it.
const MAX_DONORS: usize = 12;
const MAX_COMPARED: usize = 300;
const MAX_REPLACED: usize = 160;
/// Maximum number of derived expressions for one variable, and their maximum length beyond its name.
const MAX_DERIVED: usize = 4;
const MAX_BEYOND: usize = 24;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let node = place.node();
    if !node.is_named() || node.end_byte() - node.start_byte() > MAX_REPLACED || language.truths.contains(&place.text())
    {
        return;
    }
    if place.is_condition() {
        offer(place, &known.conditions, found);
    } else if place.stands_in(language.values)
        || language.arguments.contains(&place.parent_kind())
        || matches!(
            place.field(),
            "left" | "right" | "value" | "consequence" | "alternative"
        ) && is_expression(place)
        || place.parent_kind() == "comparison_operator" && is_expression(place)
    {
        offer(place, &known.expressions, found);
    }
}

/// `path` becomes `path.slice(1)` if that occurs elsewhere in the file: both places often mean the same.
pub(super) fn derived(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_value = place.stands_in(language.values)
        || language.arguments.contains(&place.parent_kind())
        || (matches!(place.field(), "left" | "right" | "value") && is_expression(place));
    if !is_value || place.kind() != "identifier" {
        return;
    }
    let own = Words::of(place);
    let is_made_of = |piece: &&Snippet| {
        let beyond = piece.text.strip_prefix(own.text);
        beyond.is_some_and(|beyond| beyond.len() <= MAX_BEYOND && beyond.starts_with(['.', '[']))
    };
    let mut pieces: Vec<&Snippet> = known.expressions.iter().filter(is_made_of).collect();
    // An expression from a similar position is likelier.
    let far = |piece: &&Snippet| {
        (
            piece.parent != own.parent,
            piece.function != own.function,
            piece.at.abs_diff(own.at),
        )
    };
    pieces.sort_by_key(far);
    let mut seen = BTreeSet::new();
    let distinct = pieces.into_iter().filter(|piece| seen.insert(piece.text.as_str()));
    for piece in distinct.take(MAX_DERIVED) {
        let similarity = if piece.function == own.function { 1.0 } else { 0.8 };
        found.push(place.edit(piece.text.as_str(), Template::Derived).similar(similarity));
    }
}

fn is_expression(place: &Site<'_, '_>) -> bool {
    let is_target = place.field() == "left" && place.parent_kind().contains("assignment");
    !is_target
        && (place.source.language.operands.contains(&place.kind())
            || matches!(place.kind(), "array" | "list" | "object"))
}

fn offer(place: &Site<'_, '_>, pieces: &[Snippet], found: &mut Vec<Edit>) {
    let own = Words::of(place);
    // Only the nearest snippets are compared.
    let from = pieces
        .partition_point(|piece| piece.at < own.at)
        .saturating_sub(MAX_COMPARED / 2);
    let mut best: Vec<(f32, &Snippet)> = pieces
        .iter()
        .skip(from)
        .take(MAX_COMPARED)
        .filter(|piece| piece.text != own.text)
        .map(|piece| (own.similarity(piece), piece))
        .collect();
    best.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then_with(|| a.1.at.abs_diff(own.at).cmp(&b.1.at.abs_diff(own.at)))
    });
    let mut seen = BTreeSet::new();
    let distinct = best.into_iter().filter(|(_, piece)| seen.insert(piece.text.as_str()));
    for (similarity, piece) in distinct.take(MAX_DONORS) {
        found.push(place.edit(piece.text.as_str(), Template::Donor).similar(similarity));
    }
}

/// The words of an expression, for comparing donors.
struct Words<'t> {
    kind: &'t str,
    parent: &'t str,
    text: &'t str,
    at: usize,
    function: usize,
    words: BTreeSet<&'t str>,
}

impl<'t> Words<'t> {
    fn of(place: &Site<'_, 't>) -> Self {
        Self {
            kind: place.kind(),
            parent: place.parent_kind(),
            text: place.text(),
            at: place.node().start_byte(),
            function: functions(place).next().unwrap_or(0),
            words: words(place.text()).collect(),
        }
    }

    fn similarity(&self, piece: &Snippet) -> f32 {
        let mut similarity = 0.3;
        let mut add = |is_so: bool, share: f32| similarity += if is_so { share } else { 0.0 };
        add(piece.kind == self.kind, 0.2);
        add(piece.parent == self.parent, 0.15);
        add(piece.function == self.function, 0.15);
        add(words(&piece.text).any(|word| self.words.contains(word)), 0.2);
        similarity
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.len() > 1)
}
