//! A statement that is missing, assembled like others of the function: what it does to one variable is done to another,
//! with another value, or once more where a block ends.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::known_names::{KnownNames, around};
use super::super::rank::nearness;
use super::super::scope::functions;
use super::super::site::{Edit, Site};
use super::super::statements::{LOOPS, after, before};
use crate::template::Template;

/// Maximum number of statements that are assembled for one place.
const MAX_MADE: usize = 36;
/// Maximum number of values and targets that a statement is given.
const MAX_VALUES: usize = 6;
const MAX_STATEMENT: usize = 80;
/// How the number of elements is asked for.
const SIZES: [&str; 5] = ["len(", ".len()", ".length", ".size()", ".length()"];
/// Maximum number of variables that are assigned to each other.
const MAX_COPIED: usize = 4;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let is_statement = language.blocks.contains(&place.parent_kind()) && !place.kind().contains("comment");
    let own = functions(place).next();
    let (Some(own), true) = (own, is_statement) else { return };
    let is_last = place.node().next_named_sibling().is_none();
    let is_return = place.kind() == language.returns.0 || place.text().starts_with(language.returns.1);
    let follows_loop = place
        .node()
        .prev_named_sibling()
        .is_some_and(|previous| is_loop(previous.kind()));
    if place.node().prev_named_sibling().is_none() && !is_return {
        for (rank, statement) in remembered(place, known, own).into_iter().enumerate() {
            found.push(before(place, &statement, Template::Missing).similar(nearness(rank)));
        }
    }
    if let Some(statement) = exchange(place) {
        found.push(before(place, &statement, Template::Missing));
    }
    for (rank, statement) in for_last_element(place).into_iter().enumerate() {
        found.push(before(place, &statement, Template::Missing).similar(nearness(rank)));
    }
    // Where a block ends, and what comes after a loop: elsewhere a missing statement would rather break the rest.
    if !(is_last || follows_loop) {
        return;
    }
    for (rank, statement) in assembled(place, known, own).into_iter().enumerate() {
        let share = nearness(rank);
        // What is remembered from one round of a loop to the next is read before it changes.
        if follows_loop || is_return || is_copy(&statement) {
            found.push(before(place, &statement, Template::Missing).similar(share));
        }
        if !follows_loop && !is_return {
            found.push(after(place, &statement, Template::Missing).similar(share));
        }
    }
}

/// Two values are exchanged by way of a third: between `t = a` and `b = t` belongs `a = b`.
fn exchange(place: &Site<'_, '_>) -> Option<String> {
    let kept = place.source.text_of(place.node().prev_named_sibling()?);
    let (code, end) = match place.text().strip_suffix(';') {
        Some(code) => (code, ";"),
        None => (place.text(), ""),
    };
    let (declared, first) = kept.trim_end_matches(';').split_once('=')?;
    let (second, third) = code.split_once('=')?;
    let name = declared.trim_end_matches(':').split_whitespace().last()?;
    let [first, second, third] = [first, second, third].map(str::trim);
    let is_exchange = third == name && first != second && !first.is_empty() && first.len() <= MAX_STATEMENT;
    (is_exchange && !first.starts_with('=') && !second.contains(' ')).then(|| format!("{first} = {second}{end}"))
}

/// What a loop leaves to do for the last element: a statement of its body, with that element in place of the loop's, as
/// in `out.append(items[-1])` after `for item in items[:-1]: out.append(item)`.
fn for_last_element(place: &Site<'_, '_>) -> Vec<String> {
    let Some(each) = place.node().prev_named_sibling() else {
        return Vec::new();
    };
    // In Rust, a loop is an expression.
    let each = match each.kind() {
        "expression_statement" => each.named_child(0).unwrap_or(each),
        _ => each,
    };
    let text = |names: &[&str]| {
        let part = names.iter().find_map(|name| each.child_by_field_name(name));
        part.map(|part| place.source.text_of(part))
    };
    let (Some(body), Some(last)) = (
        each.child_by_field_name("body").filter(|_| is_loop(each.kind())),
        place.source.language.style.elements.get(1),
    ) else {
        return Vec::new();
    };
    let counted = counted_to(place, each, body);
    if !counted.is_empty() {
        return counted;
    }
    let element = text(&["left", "pattern", "name"]).filter(|name| is_name(name));
    let collection = text(&["right", "value"]).map(|text| {
        let end = text.find(['[', '(']).unwrap_or(text.len());
        let base = text[..end].trim_start_matches('&');
        base.strip_suffix(".slice").unwrap_or(base)
    });
    let texts = statements(body)
        .into_iter()
        .map(|statement| place.source.text_of(statement))
        .filter(|text| text.len() <= MAX_STATEMENT && !text.contains('\n'));
    let collection = collection.filter(|name| is_name(name) && name.len() <= MAX_STATEMENT);
    match (element, collection) {
        (Some(element), Some(collection)) => texts
            .filter_map(|text| with_word(text, element, &last.replace("{}", collection)))
            .filter(|made| made.len() <= 4 * MAX_STATEMENT)
            .collect(),
        _ => Vec::new(),
    }
}

/// The first statements of a block.
fn statements(block: Node<'_>) -> Vec<Node<'_>> {
    // Go has a list in its blocks.
    let list = block.named_child(0).filter(|first| first.kind() == "statement_list");
    let block = list.unwrap_or(block);
    block.named_children(&mut block.walk()).take(MAX_COPIED).collect()
}

/// The same for a loop that counts: `out.append(items[len(items) - 1])` after `for i in range(len(items) - 1)`.
fn counted_to(place: &Site<'_, '_>, each: Node<'_>, body: Node<'_>) -> Vec<String> {
    let source = place.source;
    let head = source
        .text
        .get(each.start_byte()..body.start_byte())
        .unwrap_or_default();
    let Some(bound) = last_bound(head).filter(|_| head.len() <= 2 * MAX_STATEMENT) else {
        return Vec::new();
    };
    let words = head.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut names = words.filter(|word| !["for", "let", "int", "var", "const", "range", ""].contains(word));
    let Some(name) = names.next().filter(|name| is_name(name)) else {
        return Vec::new();
    };
    let texts = statements(body).into_iter().map(|statement| source.text_of(statement));
    let texts = texts.filter(|text| text.len() <= MAX_STATEMENT && !text.contains('\n'));
    let last = format!("{bound} - 1");
    let (mut element, mut made) = (None, Vec::new());
    for text in texts {
        let declared = text
            .trim_end_matches(';')
            .split_once(" = ")
            .or_else(|| text.split_once(" := "));
        // The loop's element has a name.
        if let Some((names, value)) = declared
            && let Some(value) = with_word(value, name, &last).filter(|_| element.is_none())
        {
            element = names.rsplit(' ').next().map(|name| (name, value));
        } else if let Some((own, value)) = &element
            && let Some(statement) = with_word(text, own, value)
        {
            made.push(statement);
        } else {
            made.extend(with_word(text, name, &last));
        }
    }
    made
}

/// The size in the bound of a loop that leaves out the last element: `len(a)` in `i < len(a)-1`, `range(len(a) - 1)` and
/// `0..a.len() - 1`.
fn last_bound(head: &str) -> Option<&str> {
    let at = head.rfind(" - 1").or_else(|| head.rfind("-1"))?;
    let (before, rest) = head.split_at(at);
    let rest = rest.trim_start_matches([' ', '-']).strip_prefix('1')?.trim_start();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '(' | ')');
    let word = before.rsplit(|c| !is_part(c)).next()?;
    let bound = word.rsplit("..").next()?;
    let is_range = bound.starts_with("range(");
    let bound = bound.strip_prefix("range(").unwrap_or(bound);
    let begins = before.strip_suffix(bound)?.trim_end();
    let is_end = rest.is_empty() || rest.starts_with([')', ';', '{', ':']);
    let is_bound = is_range || begins.ends_with(['<', ',']) || begins.ends_with("..");
    let balance = |mark: char| bound.matches(mark).count();
    let is_size = SIZES.iter().any(|size| bound.contains(size));
    (is_end && is_bound && is_size && balance('(') == balance(')')).then_some(bound)
}

fn is_loop(kind: &str) -> bool {
    LOOPS.iter().any(|known| kind.starts_with(known))
}

/// The text with another expression in place of every such word. `None` if it has none.
fn with_word(text: &str, word: &str, other: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut made, mut rest, mut is_changed) = (String::new(), text, false);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let previous = made.chars().chain(before.chars()).next_back();
        let is_whole = !previous.is_some_and(|c| is_part(c) || c == '.') && !after.starts_with(is_part);
        let is_alone = matches!(previous, Some('(' | '[')) && after.starts_with([')', ']']);
        made += before;
        match is_whole {
            true if is_alone || !is_operation(other) => made += other,
            true => made += &format!("({other})"),
            false => made += word,
        }
        is_changed |= is_whole;
        rest = after;
    }
    made += rest;
    is_changed.then_some(made)
}

/// Whether there is a space outside of brackets.
fn is_operation(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().any(|c| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        c == ' ' && depth == 0
    })
}

/// What the function looks for in a collection may never have been put there: `seen.add(x);` for `seen.contains(x)`.
fn remembered(place: &Site<'_, '_>, known: &KnownNames, own: usize) -> Vec<String> {
    let mut made: Vec<String> = Vec::new();
    for piece in around(&known.conditions, place.node().start_byte()) {
        for way in [".contains(", ".has("] {
            let Some((before, after)) = piece.text.split_once(way) else {
                continue;
            };
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let name = before.rsplit(|c| !is_part(c)).next().unwrap_or_default();
            let value = after.split(|c| !is_part(c)).next().unwrap_or_default();
            let statement = format!("{name}.add({value});");
            let is_whole = !name.is_empty() && !value.is_empty() && after[value.len()..].starts_with(')');
            if is_whole && piece.function == own && made.len() < MAX_VALUES && !made.contains(&statement) {
                made.push(statement);
            }
        }
    }
    made
}

/// Statements of the function with other values and targets, the nearest first.
fn assembled(place: &Site<'_, '_>, known: &KnownNames, own: usize) -> Vec<String> {
    let language = place.source.language;
    let at = place.node().start_byte();
    let mut near: Vec<(usize, &str)> = around(&known.statements, at)
        .iter()
        .filter(|piece| piece.function == own && piece.text.len() <= MAX_STATEMENT)
        .filter(|piece| !piece.text.starts_with(language.returns.1))
        .map(|piece| (piece.at.abs_diff(at), piece.text.as_str()))
        .collect();
    near.sort_unstable();
    let variables = known.variables_at(place);
    let variables: Vec<&String> = variables.into_iter().filter(|name| *name != language.this).collect();
    let mut seen: BTreeSet<String> = BTreeSet::from([place.text().to_string()]);
    let mut made = Vec::new();
    for (_, statement) in near {
        for version in versions(statement, &variables) {
            if made.len() < MAX_MADE && seen.insert(version.clone()) {
                made.push(version);
            }
        }
    }
    made
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether the statement assigns one variable to another.
fn is_copy(statement: &str) -> bool {
    let sides = statement.trim_end_matches(';').split_once(" = ");
    sides.is_some_and(|(target, value)| is_name(target) && is_name(value) && !value.starts_with(char::is_numeric))
}

/// `list.append(a)` with other values; `n += 1` for other variables and by other amounts.
fn versions(statement: &str, variables: &[&String]) -> Vec<String> {
    let (code, end) = match statement.strip_suffix(';') {
        Some(code) => (code, ";"),
        None => (statement, ""),
    };
    let nearest = || variables.iter().rev().take(MAX_VALUES);
    if let Some((called, argument)) = code.strip_suffix(')').and_then(|code| code.split_once('('))
        && called.contains('.')
        && !called.contains([' ', '='])
        && !argument.contains([',', '('])
    {
        let receiver = called.split('.').next().unwrap_or_default();
        let method = called.strip_prefix(receiver).unwrap_or_default();
        let others = || nearest().filter(|name| name.as_str() != receiver);
        let values = others().map(|name| format!("{called}({name}){end}"));
        let receivers = others().filter(|name| name.as_str() != argument);
        let receivers = receivers.map(|name| format!("{name}{method}({argument}){end}"));
        return std::iter::once(statement.to_string())
            .chain(values)
            .chain(receivers)
            .collect();
    }
    for operator in [" += ", " -= "] {
        if let Some((target, value)) = code.split_once(operator) {
            let other = if operator == " += " { " -= " } else { " += " };
            let mut made = vec![statement.to_string()];
            for name in nearest() {
                if name.as_str() == target {
                    made.push(format!("{target}{other}{value}{end}"));
                    continue;
                }
                made.push(format!("{name}{operator}{value}{end}"));
                made.push(format!("{name}{other}{value}{end}"));
                made.push(format!("{target}{operator}{name}{end}"));
            }
            return made;
        }
    }
    if let Some((target, value)) = code.split_once(" = ")
        && is_copy(statement)
    {
        let near: Vec<&&String> = nearest().take(MAX_COPIED).collect();
        let pairs = near.iter().flat_map(|one| near.iter().map(move |other| (one, other)));
        let pairs = pairs.filter(|(one, other)| one != other);
        let mut made = vec![statement.to_string(), format!("{value} = {target}{end}")];
        made.extend(pairs.map(|(one, other)| format!("{one} = {other}{end}")));
        return made;
    }
    if code.contains(" = ") && !code.starts_with(['{', '[']) && !code.contains("let ") && !code.contains("const ") {
        return vec![statement.to_string()];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn what_a_counting_loop_leaves_is_done_for_the_last_element() {
        for (path, text, loop_, statement) in [
            (
                "A.java",
                "class A {\n    List<B> f(List<B> a, List<B> b) {\n        for (int i = 0; i < a.size() - 1; i++) {\n            b.add(a.get(i));\n        }\n        return b;\n    }\n}\n",
                "        return b;",
                "        b.add(a.get(a.size() - 1));\n",
            ),
            (
                "a.py",
                "def f(a, b):\n    for i in range(len(a) - 1):\n        b.append(a[i])\n    return b\n",
                "    return b",
                "    b.append(a[len(a) - 1])\n",
            ),
            (
                "a.go",
                "package a\n\nfunc f(a []int, b []int) []int {\n\tfor i := 0; i < len(a)-1; i++ {\n\t\tn := a[i]\n\t\tb = append(b, n)\n\t}\n\treturn b\n}\n",
                "\treturn b",
                "\tb = append(b, a[len(a) - 1])\n",
            ),
            (
                "a.rs",
                "fn f(a: &[u8], b: &mut Vec<u8>) {\n    for i in 0..a.len() - 1 {\n        b.push(a[i]);\n    }\n    g(b);\n}\n",
                "    g(b);",
                "    b.push(a[a.len() - 1]);\n",
            ),
        ] {
            offers(path, text, &[&text.replacen(loop_, &format!("{statement}{loop_}"), 1)]);
        }
        offers(
            "a.py",
            "def f(a, b):\n    for i in range(len(a) - 1):\n        b += a[i] * i\n    return b\n",
            &[
                "def f(a, b):\n    for i in range(len(a) - 1):\n        b += a[i] * i\n    b += a[len(a) - 1] * (len(a) - 1)\n    return b\n",
            ],
        );
        for head in ["range(len(a) - 10)", "range(len(a) - 1, -1, -1)", "range((len(a) - 1))"] {
            let text = format!("def f(a, b):\n    for i in {head}:\n        b.append(a[i])\n    return b\n");
            offers_not("a.py", &text, "    b.append(a[len(a) - 1");
        }
        let whole = "def f(a, b):\n    for i in range(len(a)):\n        b.append(a[i])\n    return b\n";
        offers_not("a.py", whole, "a[len(a) - 1]");
    }

    #[test]
    fn a_word_is_replaced_as_a_whole() {
        for (text, expected) in [
            ("b.append(x)", Some("b.append(y)")),
            ("x + 1", Some("y + 1")),
            ("x.x(xx, x)", Some("y.x(xx, y)")),
            ("xx", None),
            ("é.x", None),
        ] {
            assert_eq!(with_word(text, "x", "y").as_deref(), expected, "{text}");
        }
    }
}
