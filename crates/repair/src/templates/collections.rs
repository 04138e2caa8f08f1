//! Changes the initial contents of a list or an object: empty if it is filled later, filled if it is not.

use super::known_names::KnownNames;
use super::rank::falling;
use super::site::{Edit, Site};
use crate::syntax::Step;
use crate::template::Template;

/// Maximum number of variables offered as the content of an empty list.
const MAX_VALUES: usize = 8;
/// Text after the name of a list that adds to it.
const ADDERS: &[&str] = &[".append(", ".extend(", ".push(", ".unshift(", ".insert(", " += "];
/// Text after the name of an object that may set its properties.
const PROPERTIES: &[&str] = &[".", "["];
/// Maximum number of bytes after a collection that are searched for these.
const MAX_FOLLOWED: usize = 20_000;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    if place.node().is_named() {
        start(place, found);
        filling(place, known, found);
    }
}

/// An empty list for one with a single element that is added to later.
fn start(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    if matches!(place.kind(), "array" | "list")
        && place.node().named_child_count() == 1
        && bound(place).is_some_and(|name| is_used(place, name, ADDERS))
    {
        found.push(place.edit("[]", Template::Start));
    }
}

/// Content for an empty collection that nothing is added to later: a variable, or each parameter by name.
fn filling(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_list = matches!(place.kind(), "array" | "list");
    constructed(place, known, found);
    if !(is_list || place.kind() == "object") || place.node().named_child_count() != 0 {
        return;
    }
    let name = bound(place);
    let fillers = if is_list { ADDERS } else { PROPERTIES };
    let is_returned = place.parent_kind() == language.returns.0;
    // A collection inside an object is filled elsewhere.
    let is_own = |name: &str| !name.contains(['.', '[']) && !is_used(place, name, fillers);
    if !(is_returned || name.is_some_and(is_own)) {
        return;
    }
    let variables = known.variables_at(place);
    if is_list {
        let others = variables.iter().filter(|other| Some(other.as_str()) != name);
        for (rank, other) in others.take(MAX_VALUES).enumerate() {
            found.push(
                place
                    .edit(format!("[{other}]"), Template::Filling)
                    .similar(falling(rank)),
            );
        }
        return;
    }
    let parameters = place.path.iter().rev().find_map(|step| {
        let is_function = language.functions.contains(&step.node.kind());
        is_function
            .then(|| step.node.child_by_field_name("parameters"))
            .flatten()
    });
    let Some(parameters) = parameters.filter(|list| list.named_child_count() > 0) else {
        return;
    };
    let mut cursor = parameters.walk();
    let mut names = parameters.named_children(&mut cursor);
    if names.all(|name| name.kind() == "identifier") {
        let names = place.source.text_of(parameters);
        let names = names.trim_matches(['(', ')']).trim();
        found.push(place.edit(format!("{{ {names} }}"), Template::Filling));
    }
}

/// `return new ArrayList<>();` gets a list with a variable.
fn constructed(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_returned = place.parent_kind() == language.returns.0;
    let is_empty = place.kind() == "object_creation_expression" && place.text().ends_with("()");
    let Some(before) = place.text().strip_suffix(')').filter(|_| is_returned && is_empty) else {
        return;
    };
    for (rank, other) in known.variables_at(place).into_iter().take(MAX_VALUES).enumerate() {
        let made = format!("{before}List.of({other}))");
        found.push(place.edit(made, Template::Filling).similar(falling(rank)));
    }
}

/// The name that the value is assigned to, if there is one.
fn bound<'t>(place: &Site<'_, 't>) -> Option<&'t str> {
    let binding = place.above(1)?.node;
    let is_given = matches!(place.field(), "right" | "value")
        && matches!(
            binding.kind(),
            "variable_declarator" | "assignment_expression" | "assignment"
        );
    if !is_given {
        return None;
    }
    let mut fields = ["name", "left"].iter();
    let name = fields.find_map(|field| binding.child_by_field_name(field))?;
    Some(place.source.text_of(name))
}

/// Whether the name is used in one of these ways later in the function.
fn is_used(place: &Site<'_, '_>, name: &str, ways: &[&str]) -> bool {
    let source = place.source;
    let is_function = |step: &&Step<'_>| source.language.functions.contains(&step.node.kind());
    let mut around = place.path.iter().rev();
    let end = around.find(is_function).map(|step| step.node.end_byte());
    let from = place.node().end_byte();
    let until = end.unwrap_or(source.text.len()).min(from.saturating_add(MAX_FOLLOWED));
    let after = source.text.get(from..source.text.floor_char_boundary(until));
    let after = after.unwrap_or_default();
    let is_word = |c: char| c.is_alphanumeric() || "_.$".contains(c);
    ways.iter().any(|way| {
        let used = format!("{name}{way}");
        let mut found = after.match_indices(&used);
        found.any(|(at, _)| !after.get(..at).is_some_and(|before| before.ends_with(is_word)))
    })
}
