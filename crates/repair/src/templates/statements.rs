//! Adds, removes and moves statements.

use std::collections::BTreeSet;

use super::known_names::{KnownNames, Snippet};
use super::rank::falling;
use super::scope::functions;
use super::site::{Edit, Site};
use crate::template::Template;

const MAX_DONORS: usize = 5;
const MAX_GUARDS: usize = 24;
const MAX_STATEMENT: usize = 800;
const MAX_VALUES: usize = 5;
/// Loop kinds of all languages.
pub(super) const LOOPS: &[&str] = &["for", "while", "loop", "do", "enhanced_for"];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if language.blocks.contains(&place.kind()) || place.kind() == "block" {
        empty_block(place, known, found);
    }
    let is_statement = place.node().is_named() && language.blocks.contains(&place.parent_kind());
    if !is_statement || place.kind().contains("comment") || place.text().len() > MAX_STATEMENT {
        return;
    }
    guard(place, known, found);
    swap(place, found);
    enter_block(place, found);
    donors(place, known, found);
    surplus(place, found);
}

/// The whitespace before the statement on its line. `None` if other code precedes it.
fn indent<'t>(place: &Site<'_, 't>) -> Option<&'t str> {
    let before = place.source.text.get(..place.node().start_byte())?;
    let line = before.rsplit('\n').next()?;
    line.trim().is_empty().then_some(line)
}

/// A new line before the node, with the node's indentation.
pub(super) fn before(place: &Site<'_, '_>, text: &str, template: Template) -> Edit {
    let at = place.node().start_byte();
    let replacement = indent(place).map_or_else(|| format!("{text} "), |indent| format!("{text}\n{indent}"));
    Edit {
        range: at..at,
        replacement,
        template,
        similarity: 1.0,
    }
}

/// A new line after the node, with the node's indentation.
pub(super) fn after(place: &Site<'_, '_>, text: &str, template: Template) -> Edit {
    let at = place.node().end_byte();
    Edit {
        range: at..at,
        replacement: indent(place).map_or_else(|| format!(" {text}"), |indent| format!("\n{indent}{text}")),
        template,
        similarity: 1.0,
    }
}

/// Removes the statement.
fn surplus(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let kind = place.kind();
    if place.source.language.functions.contains(&kind) || kind.contains("class") || kind == "decorated_definition" {
        return;
    }
    let is_only = place.above(1).is_some_and(|block| block.node.named_child_count() <= 1);
    let left = if place.source.language.style.is_indented && is_only {
        "pass"
    } else {
        ""
    };
    found.push(place.edit(left, Template::Surplus));
}

/// Swaps the statement and the next one.
fn swap(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some(next) = place.node().next_named_sibling() else {
        return;
    };
    let text = place.source.text_of(next);
    if text.len() > MAX_STATEMENT || next.kind().contains("comment") {
        return;
    }
    let (from, to) = (place.node().end_byte(), next.start_byte());
    if let Some(between) = place.source.text.get(from..to) {
        found.push(Edit {
            range: place.node().start_byte()..next.end_byte(),
            replacement: format!("{text}{between}{}", place.text()),
            template: Template::Move,
            similarity: 0.8,
        });
    }
}

/// Moves the last statement of a block after the block. Out of a loop, that is often the fix; out of a condition or
/// anything else, it may leave the condition out.
pub(super) fn leave_block(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if !place.source.language.blocks.contains(&place.parent_kind()) || place.text().len() > MAX_STATEMENT {
        return;
    }
    if place.node().next_named_sibling().is_some() || place.node().prev_named_sibling().is_none() {
        return;
    }
    let (Some(own), Some(outer)) = (indent(place), place.above(2)) else {
        return;
    };
    let Some(block) = place.above(1).map(|step| step.node) else {
        return;
    };
    let language = place.source.language;
    let is_owner = language.owners.iter().any(|(kind, _)| *kind == outer.node.kind());
    if is_owner || language.functions.contains(&outer.node.kind()) {
        return;
    }
    let template = match LOOPS.iter().any(|kind| outer.node.kind().starts_with(kind)) {
        true => Template::Leave,
        false => Template::Move,
    };
    let column = outer.node.start_position().column;
    let Some(outside) = own.get(..column) else { return };
    if place.source.language.style.is_indented {
        let moved = place.text().replace(&format!("\n{own}"), &format!("\n{outside}"));
        let start = place.node().start_byte() - own.len();
        let range = start..place.node().end_byte();
        let replacement = format!("{outside}{moved}");
        found.push(Edit {
            range,
            replacement,
            template,
            similarity: 1.0,
        });
    } else if outer.node.end_byte() == block.end_byte() {
        let range = place.node().start_byte()..block.end_byte();
        let replacement = format!("}}\n{outside}{}", place.text());
        found.push(Edit {
            range,
            replacement,
            template,
            similarity: 0.8,
        });
    }
}

/// Moves a statement after a block to its end.
fn enter_block(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some(previous) = place.node().prev_named_sibling() else {
        return;
    };
    let Some(block) = previous
        .child_by_field_name("body")
        .or_else(|| previous.child_by_field_name("consequence"))
    else {
        return;
    };
    if block.end_byte() != previous.end_byte() || place.source.language.functions.contains(&previous.kind()) {
        return;
    }
    let Some(own) = indent(place) else { return };
    if place.source.language.style.is_indented {
        let column = block.start_position().column;
        if column <= own.len() || place.text().contains('\n') {
            return;
        }
        let inside = " ".repeat(column.min(200));
        let start = place.node().start_byte() - own.len();
        let replacement = format!("{inside}{}", place.text());
        found.push(Edit {
            range: start..place.node().end_byte(),
            replacement,
            template: Template::Move,
            similarity: 1.0,
        });
    } else if place.source.text_of(block).ends_with('}') {
        let range = block.end_byte() - 1..place.node().end_byte();
        let replacement = format!("    {}\n{own}}}", place.text());
        found.push(Edit {
            range,
            replacement,
            template: Template::Move,
            similarity: 0.8,
        });
    }
}

/// An early return before the statement, if it is the first of a function or a loop.
fn guard(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let is_first = place
        .node()
        .prev_named_sibling()
        .is_none_or(|previous| previous.kind() == "expression_statement" && place.source.language.style.is_indented);
    let outer = place.above(2).map_or("", |step| step.node.kind());
    let is_function = place.source.language.functions.contains(&outer);
    let is_loop = LOOPS.iter().any(|kind| outer.starts_with(kind));
    if is_loop {
        for jump in place.source.language.jumps {
            found.push(before(place, jump, Template::Guard));
        }
    }
    if !is_first || !is_function {
        return;
    }
    let language = place.source.language;
    let (_, keyword, end) = language.returns;
    let [before_it, then, after_it] = language.style.branch;
    let own = functions(place).next().unwrap_or(0);
    let returned = known
        .returns
        .iter()
        .filter(|piece| piece.function == own)
        .map(|piece| piece.text.as_str());
    let mut seen = BTreeSet::new();
    let values = returned
        .filter(|text| text.len() < 30)
        .chain(language.empties.iter().copied());
    let values: Vec<&str> = values.filter(|value| seen.insert(*value)).take(MAX_VALUES).collect();
    let mut count = 0;
    for name in known
        .variables_at(place)
        .into_iter()
        .filter(|name| *name != language.this)
        .take(MAX_VALUES)
    {
        let condition = language.style.is_nothing.0.replace("{}", name);
        for value in &values {
            let text = format!("{before_it}{condition}{then}{keyword} {value}{end}{after_it}");
            found.push(before(place, &text, Template::Guard).similar(falling(count)));
            count += 1;
            if count >= MAX_GUARDS {
                return;
            }
        }
    }
}

/// Statements from elsewhere in the file, the nearest first.
fn nearest(known: &KnownNames, own: usize, at: usize) -> Vec<&Snippet> {
    let from = known
        .statements
        .partition_point(|piece| piece.at < at)
        .saturating_sub(200);
    let mut all: Vec<&Snippet> = known.statements.iter().skip(from).take(400).collect();
    all.sort_by_key(|piece| (piece.function != own, piece.at.abs_diff(at)));
    let mut seen = BTreeSet::new();
    all.retain(|piece| seen.insert(piece.text.as_str()));
    all
}

fn donors(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let own = functions(place).next().unwrap_or(0);
    let others = nearest(known, own, place.node().start_byte());
    let others = others.into_iter().filter(|piece| piece.text != place.text());
    for (rank, piece) in others.take(MAX_DONORS).enumerate() {
        let near = 0.9 * falling(rank);
        found.push(before(place, &piece.text, Template::Statement).similar(near));
        if !place.text().contains('\n') && !place.source.language.returns.0.eq(place.kind()) {
            found.push(after(place, &piece.text, Template::Statement).similar(0.8 * near));
        }
    }
}

/// Adds a statement to `{}`.
fn empty_block(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let is_empty = match place.node().named_child_count() {
        0 => place.text().starts_with('{'),
        1 => place.text().trim() == "pass",
        _ => false,
    };
    if !is_empty {
        return;
    }
    let own = functions(place).next().unwrap_or(0);
    let language = place.source.language;
    let (_, keyword, end) = language.returns;
    let variables = known
        .variables_at(place)
        .into_iter()
        .take(MAX_VALUES)
        .map(|name| format!("{keyword} {name}{end}"));
    let plain = language.empties.iter().map(|value| format!("{keyword} {value}{end}"));
    let near = nearest(known, own, place.node().start_byte());
    let near = near.into_iter().take(24).map(|piece| piece.text.clone());
    let jumps = language.jumps.iter().map(ToString::to_string);
    for (rank, text) in near.chain(jumps).chain(variables).chain(plain).enumerate() {
        let text = if place.source.language.style.is_indented {
            text
        } else {
            format!("{{ {text} }}")
        };
        found.push(place.edit(text, Template::Donor).similar(falling(rank)));
    }
}
