//! Fills what looks as if something is missing: conditions that are always true, bodies that do nothing, null where a
//! value could be.

use super::known_names::{FunctionBody, KnownNames};
use super::rank::falling;
use super::scope::functions;
use super::site::{Edit, Site};
use super::statements::before;
use crate::template::Template;

const MAX_VALUES: usize = 8;
const MAX_COLLECTIONS: usize = 24;
const MAX_CONDITIONS: usize = 24;
const MAX_BODIES: usize = 16;
const MAX_PARTS: usize = 8;
/// A longer body is not trivial.
const MAX_TRIVIAL: usize = 48;
/// What is often left of a function's body, without its delimiters.
const TRIVIAL: &[&str] = &[
    "",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "0.0",
    "1.0",
    "-1.0",
    "None",
    "()",
    "Ok(())",
    "Default::default()",
    "String::new()",
    "\"\".into()",
    "\"\"",
    "''",
    "vec![]",
    "Vec::new()",
    "null",
    "undefined",
    "{}",
    "[]",
    "pass",
    "nil",
    "Some(0)",
    "Some(1)",
    "Ok(0)",
    "Ok(1)",
    "Some(true)",
    "Some(false)",
    "Ok(true)",
    "Ok(false)",
];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    jump(place, found);
    if !place.node().is_named() {
        return;
    }
    condition(place, known, found);
    something(place, known, found);
    if place.source.language.functions.contains(&place.kind()) {
        body(place, known, found);
    }
    sign(place, found);
    binding(place, found);
}

/// `break` becomes `continue`, and vice versa.
fn jump(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let other = match place.text() {
        "break" => "continue",
        "continue" => "break",
        _ => return,
    };
    if place.node().child_count() == 0 {
        found.push(place.edit(other, Template::Jump));
    }
}

/// A condition in place of a constant one.
fn condition(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !place.is_condition() || !language.truths.contains(&place.text()) {
        return;
    }
    let own = functions(place).next().unwrap_or(0);
    let at = place.node().start_byte();
    let mut others: Vec<(bool, usize, &str)> = known
        .conditions
        .iter()
        .filter(|piece| !language.truths.contains(&piece.text.as_str()))
        .map(|piece| (piece.function != own, piece.at.abs_diff(at), piece.text.as_str()))
        .collect();
    others.sort_unstable();
    let variables = known.variables_at(place);
    let not = language.negation.0;
    let mut texts = Vec::new();
    let names = || {
        variables
            .iter()
            .rev()
            .take(MAX_VALUES)
            .filter(|name| name.as_str() != language.this)
    };
    if place.parent_kind().starts_with("for") {
        let pairs = names().flat_map(|a| names().filter(move |b| *b != a).map(move |b| format!("{a} < {b}")));
        texts.extend(pairs.take(MAX_CONDITIONS));
    }
    texts.extend(names().flat_map(|name| [(*name).clone(), format!("{not}{name}")]));
    for name in names() {
        let ways = language.style.is_nothing.1.iter();
        texts.extend(ways.map(|way| way.replace("{}", name)));
        texts.extend([format!("{name} > 0"), format!("{name} < 0")]);
    }
    for pair in variables.windows(2).take(MAX_VALUES) {
        texts.extend(["<", ">", "=="].map(|operator| format!("{} {operator} {}", pair[0], pair[1])));
    }
    let others = others.into_iter().map(|(_, _, text)| text.to_string());
    // In Java, where `while (true)` needs none.
    let ending = (language.syntax == greenlight_syntax::Language::Java)
        .then(|| ending(place))
        .flatten();
    for (rank, text) in others
        .take(MAX_CONDITIONS)
        .chain(texts)
        .enumerate()
        .take(3 * MAX_CONDITIONS)
    {
        let mut edit = place.edit(text, Template::Condition).similar(falling(rank));
        if let Some((end, rest)) = &ending {
            edit.range.end = *end;
            edit.replacement.push_str(rest);
        }
        found.push(edit);
    }
}

/// The end of an endless loop that is the last statement of its function, and the text up to there with what the
/// function returns if the loop does end: without it, that would not compile.
fn ending(place: &Site<'_, '_>) -> Option<(usize, String)> {
    let (source, language) = (place.source, place.source.language);
    let mut around = (1..=2).filter_map(|levels| place.above(levels));
    let endless = around.find(|step| step.node.kind() == "while_statement")?.node;
    let function = place.path.iter().rev().map(|step| step.node);
    let function = function
        .clone()
        .find(|node| language.functions.contains(&node.kind()))?;
    let mut next = endless.next_named_sibling();
    while let Some(comment) = next.filter(|node| node.kind().contains("comment")) {
        next = comment.next_named_sibling();
    }
    let is_last = next.is_none() && endless.parent() == function.child_by_field_name("body");
    let value = match source.text_of(function.child_by_field_name("type").filter(|_| is_last)?) {
        "void" => return None,
        "boolean" | "Boolean" => "false",
        "int" | "long" | "double" | "Integer" | "Long" | "Double" => "0",
        _ => language.nothing,
    };
    let before = source.text.get(..endless.start_byte())?.rsplit('\n').next()?;
    let indent = before.get(..before.len() - before.trim_start().len())?;
    let rest = source.text.get(place.node().end_byte()..endless.end_byte())?;
    let (keyword, end) = (language.returns.1, language.returns.2);
    Some((endless.end_byte(), format!("{rest}\n{indent}{keyword} {value}{end}")))
}

/// A variable in place of `None`, `null` and the like, and of an empty collection that is iterated over.
fn something(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let text = place.text();
    let is_nothing = (text == language.nothing || text == "undefined") && place.node().child_count() == 0;
    let is_empty = place.stands_in(language.iterables) && text.chars().all(|c| "[](){}&".contains(c));
    let most = if is_empty { MAX_COLLECTIONS } else { MAX_VALUES };
    if !(is_nothing || is_empty) || place.parent_kind() == "comparison_operator" {
        return;
    }
    // `size=None` was probably `size=size`.
    let keyword = place
        .above(1)
        .and_then(|step| step.node.child_by_field_name("name"))
        .map(|name| place.source.text_of(name));
    let bound = place.above(1).and_then(|step| step.node.child_by_field_name("left"));
    let bound = bound.map(|bound| place.source.text_of(bound));
    let variables = known.variables_at(place);
    let mut ranked: Vec<&str> = variables
        .iter()
        .map(|name| name.as_str())
        .filter(|name| Some(*name) != bound)
        .collect();
    ranked.sort_by_key(|name| Some(*name) != keyword);
    for (rank, name) in ranked.iter().take(most).enumerate() {
        found.push(place.edit(*name, Template::Something).similar(falling(rank)));
    }
    let at = place.node().start_byte();
    let parent = place.parent_kind();
    let mut pieces: Vec<(bool, usize, &str)> = known
        .expressions
        .iter()
        .filter(|piece| piece.text != text && piece.text.len() < 60)
        .map(|piece| (piece.parent != parent, piece.at.abs_diff(at), piece.text.as_str()))
        .collect();
    pieces.sort_unstable();
    pieces.dedup_by(|a, b| a.2 == b.2);
    let plain = ["0", "1", "-1"].into_iter().chain(language.empties.iter().copied());
    let plain = plain.filter(|plain| *plain != text);
    let pieces = pieces.into_iter().take(MAX_VALUES).map(|(_, _, piece)| piece);
    for (rank, value) in plain.chain(pieces).enumerate() {
        found.push(place.edit(value, Template::Something).similar(0.7 * falling(rank)));
    }
}

/// Adds a decorator or keyword to a method that binds it as its first parameter's name suggests.
fn binding(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_method = language.functions.contains(&place.kind())
        && place
            .above(2)
            .is_some_and(|step| language.owners.iter().any(|(kind, _)| *kind == step.node.kind()));
    if !is_method {
        return;
    }
    let parameters = place.node().child_by_field_name("parameters");
    let first = parameters.and_then(|list| list.named_child(0));
    let first = first.map_or("", |first| place.source.text_of(first));
    let binder = language
        .binders
        .iter()
        .find(|(name, _)| *name == first || name.is_empty());
    let Some((_, binder)) = binder else { return };
    // A method with further parameters is not a property.
    if first == language.this && parameters.is_some_and(|list| list.named_child_count() > 1) {
        return;
    }
    found.push(before(place, binder, Template::Binding));
}

/// `-x` becomes `x`.
fn sign(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let inside = place.text().strip_prefix(language.negation.0);
    // An index is a number.
    if let Some(inside) = inside.filter(|_| place.kind() == language.negation.1)
        && language.positions.contains(&place.parent_kind())
    {
        found.push(place.edit(format!("-{inside}"), Template::Sign));
    }
    let is_unary = matches!(place.kind(), "unary_expression" | "unary_operator");
    let inside = place.text().strip_prefix(['-', '+', '~']);
    if let (true, Some(inside)) = (is_unary, inside)
        && !inside.starts_with(|c: char| c.is_ascii_digit())
    {
        found.push(place.edit(inside, Template::Sign));
        if let Some(rest) = place.text().strip_prefix('+') {
            found.push(place.edit(format!("-{rest}"), Template::Sign));
        }
    }
}

/// A body for a function with a trivial one: derived from its name, or copied from its siblings.
fn body(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let source = place.source;
    let Some(node) = place.node().child_by_field_name("body") else {
        return;
    };
    let text = source.text_of(node);
    let inside = text.trim().trim_start_matches('{').trim_end_matches('}').trim();
    let inside = inside.trim_start_matches("return").trim_end_matches(';').trim();
    if text.len() > MAX_TRIVIAL
        || !(TRIVIAL.contains(&inside) || inside.starts_with("Default::") || inside.starts_with("String"))
    {
        return;
    }
    let name = place
        .node()
        .child_by_field_name("name")
        .map_or("", |name| source.text_of(name));
    let parameters = place
        .node()
        .child_by_field_name("parameters")
        .map_or("", |list| source.text_of(list));
    let result = place
        .node()
        .child_by_field_name("return_type")
        .map_or("", |result| source.text_of(result));
    let range = node.byte_range();
    let mut push = |replacement: String, rank: usize| {
        found.push(Edit {
            range: range.clone(),
            replacement,
            template: Template::Body,
            similarity: falling(rank),
        });
    };
    let mut rank = 0;
    for value in by_name(place, known, name, parameters) {
        let value = source.language.style.body.replace("{}", &value);
        push(value, rank);
        rank += 1;
    }
    let at = place.node().start_byte();
    let far = |body: &FunctionBody| {
        (
            body.parameters != parameters,
            body.result != result,
            shared(&body.name, name),
            body.at.abs_diff(at),
        )
    };
    let mut bodies: Vec<&FunctionBody> = known
        .bodies
        .iter()
        .filter(|body| body.at != at && body.text != text)
        .collect();
    bodies.sort_by_key(|body| far(body));
    for body in bodies.into_iter().take(MAX_BODIES) {
        push(body.text.clone(), rank);
        rank += 1;
    }
}

/// What a function with this name usually returns.
fn by_name(place: &Site<'_, '_>, known: &KnownNames, name: &str, parameters: &str) -> Vec<String> {
    let this = place.source.language.this;
    let names = parameters.trim_matches(['(', ')']).split(',').filter_map(|parameter| {
        let name = parameter.split([':', '=']).next()?.trim().trim_start_matches("mut ");
        (!name.is_empty() && !name.trim_start_matches(['&', '*']).contains(this) && name.len() < 40).then_some(name)
    });
    let arguments = names.collect::<Vec<_>>().join(", ");
    let mut values = Vec::new();
    let parts = known.parts.iter().filter(|((_, value), _)| value == this);
    let parts: std::collections::BTreeSet<&String> = parts.flat_map(|(_, parts)| parts).collect();
    if !this.is_empty() {
        let part = name
            .trim_start_matches("get_")
            .trim_start_matches("as_")
            .trim_end_matches("_mut");
        if parts.iter().any(|known| *known == part) {
            values.extend([
                format!("{this}.{part}"),
                format!("&{this}.{part}"),
                format!("{this}.{part}.clone()"),
            ]);
        }
        if name == "is_empty" {
            values.push(format!("{this}.len() == 0"));
        }
        for part in parts.into_iter().take(MAX_PARTS) {
            values.push(format!("{this}.{part}.{name}({arguments})"));
            values.push(format!("{this}.{part}"));
            values.push(format!("&{this}.{part}"));
        }
        if let Some(rest) = name.strip_prefix("is_not_") {
            values.push(format!("!{this}.is_{rest}({arguments})"));
        }
    }
    if !arguments.is_empty() && !arguments.contains(',') {
        values.push(arguments);
    }
    values
}

/// A distance that is smaller the more leading letters two names share.
fn shared(a: &str, b: &str) -> usize {
    40_usize.saturating_sub(a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count())
}
