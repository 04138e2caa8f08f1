//! Results that get lost: of a method that returns a changed copy, of one that changes its object and returns nothing,
//! and of a function that prints what it should return, or ends without returning it.

use greenlight_syntax::Language as Syntax;

use super::super::known_names::KnownNames;
use super::super::rank::nearness;
use super::super::scope::functions;
use super::super::site::{Edit, Site};
use super::super::statements::after;
use crate::template::Template;

/// Maximum number of bytes of a statement.
const MAX_STATEMENT: usize = 120;
/// Maximum number of variables that are offered, or whose size is, as the result of a function.
const MAX_VARIABLES: usize = 4;
/// Methods that return a changed copy, in any of the languages.
const OF_COPIES: &[&str] = &[
    "capitalize",
    "concat",
    "difference",
    "filter",
    "intersection",
    "lower",
    "lstrip",
    "map",
    "minusDays",
    "padEnd",
    "padStart",
    "plusDays",
    "replace",
    "replaceAll",
    "rstrip",
    "slice",
    "strip",
    "substring",
    "title",
    "toLowerCase",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimStart",
    "union",
    "upper",
];
/// Methods that change their object, and do not return it.
const IN_PLACE: &[(Syntax, &[&str])] = &[
    (
        Syntax::Python,
        &[
            "add", "append", "clear", "discard", "extend", "insert", "remove", "reverse", "sort", "update",
        ],
    ),
    (Syntax::JavaScript, &["push", "unshift"]),
    (Syntax::TypeScript, &["push", "unshift"]),
    (Syntax::Tsx, &["push", "unshift"]),
    (Syntax::Java, &["add", "addAll", "put"]),
];
/// Copies of a value that Python changes in place.
const COPIES: [(&str, &str); 2] = [("sort()", "sorted({})"), ("reverse()", "{}[::-1]")];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    last(place, known, found);
    let text = place.text();
    if text.len() > MAX_STATEMENT || text.contains('\n') {
        return;
    }
    let language = place.source.language;
    let end = if text.ends_with(';') { ";" } else { "" };
    let code = text.trim_end_matches(';');
    if place.kind() == "expression_statement" {
        if let Some((object, method, _)) = called(code)
            && OF_COPIES.contains(&method)
            && is_path(object)
        {
            found.push(place.edit(format!("{object} = {code}{end}"), Template::Result));
        }
        if let Some((target, value)) = code.split_once(" = ")
            && let Some((object, method, _)) = called(value)
            && object == target
            && is_in_place(language.syntax, method)
        {
            found.push(place.edit(format!("{value}{end}"), Template::Result));
        }
        let printed = code.strip_prefix("print(").and_then(|rest| rest.strip_suffix(')'));
        if let Some(value) = printed.filter(|value| !value.is_empty() && !returns_a_value(place, known)) {
            found.push(place.edit(format!("{} {value}{end}", language.returns.1), Template::Result));
        }
    }
    if place.kind() == language.returns.0
        && let Some(value) = code.strip_prefix(language.returns.1).map(str::trim)
        && let Some((object, method, _)) = called(value)
        && is_in_place(language.syntax, method)
        && is_path(object)
    {
        let start = place.source.text.get(..place.node().start_byte()).unwrap_or_default();
        let indent = start.rsplit('\n').next().filter(|line| line.trim().is_empty());
        if let Some(indent) = indent {
            let text = format!("{value}{end}\n{indent}{} {object}{end}", language.returns.1);
            found.push(place.edit(text, Template::Result));
        }
    }
    let is_value = language.calls.contains(&place.kind()) && place.parent_kind() != "expression_statement";
    for (ending, copy) in COPIES.iter().filter(|_| is_value && language.syntax == Syntax::Python) {
        if let Some(object) = code.strip_suffix(ending).and_then(|rest| rest.strip_suffix('.')) {
            found.push(place.edit(copy.replace("{}", object), Template::Result));
        }
    }
}

/// `return x` at the end of a function that returns nothing.
fn last(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let mut next = place.node().next_named_sibling();
    while let Some(comment) = next.filter(|node| node.kind().contains("comment")) {
        next = comment.next_named_sibling();
    }
    let is_last = place.node().is_named() && next.is_none() && !place.kind().contains("comment");
    let is_of_function = language.blocks.contains(&place.parent_kind())
        && place
            .above(2)
            .is_some_and(|outer| language.functions.contains(&outer.node.kind()));
    let can_end_so = matches!(
        language.syntax,
        Syntax::Python | Syntax::JavaScript | Syntax::TypeScript | Syntax::Tsx
    );
    if !(is_last && is_of_function && can_end_so) || place.kind() == language.returns.0 {
        return;
    }
    let (_, keyword, end) = language.returns;
    // What was declared last is likelier the result than a parameter.
    let variables = known.variables_at(place);
    let near = || variables.iter().rev().filter(|name| name.as_str() != language.this);
    let sizes = near().take(MAX_VARIABLES);
    let sizes = sizes.filter_map(|name| Some(language.style.sizes.first()?.replace("{}", name)));
    let plain = language.truths.iter().chain(&["-1", "0"]).map(ToString::to_string);
    let values = near().take(MAX_VARIABLES).map(|name| (*name).clone());
    for (rank, value) in values.chain(sizes).chain(plain).enumerate() {
        let statement = format!("{keyword} {value}{end}");
        found.push(after(place, &statement, Template::Result).similar(nearness(rank)));
    }
}

/// The object, the name and the arguments of a call of a method.
fn called(code: &str) -> Option<(&str, &str, &str)> {
    let (path, arguments) = code.strip_suffix(')')?.split_once('(')?;
    let (object, method) = path.rsplit_once('.')?;
    Some((object, method, arguments))
}

fn is_in_place(language: Syntax, method: &str) -> bool {
    let mut rows = IN_PLACE.iter();
    rows.any(|(syntax, methods)| *syntax == language && methods.contains(&method))
}

/// Whether the text is a name, or names joined by dots.
fn is_path(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_part)
}

/// Whether the function around the place returns a value anywhere.
fn returns_a_value(place: &Site<'_, '_>, known: &KnownNames) -> bool {
    let own = functions(place).next();
    known.returns.iter().any(|piece| Some(piece.function) == own)
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::{offers, offers_not};

    #[test]
    fn a_lost_result_is_kept() {
        for (path, text, from, to) in [
            (
                "a.py",
                "def f(s):\n    s.strip()\n    return s\n",
                "s.strip()",
                "s = s.strip()",
            ),
            (
                "a.js",
                "function f(s) { s.trim(); return s; }\n",
                "s.trim();",
                "s = s.trim();",
            ),
            (
                "a.py",
                "def f(x):\n    x = x.append(1)\n    return x\n",
                "x = x.a",
                "x.a",
            ),
            (
                "a.py",
                "def f(x):\n    return x.sort()\n",
                "return x.sort()",
                "x.sort()\n    return x",
            ),
            ("a.py", "def f(x):\n    return x.sort()\n", "x.sort()", "sorted(x)"),
            (
                "a.py",
                "def f(x):\n    y = x + 1\n    print(y)\n",
                "print(y)",
                "return y",
            ),
            ("a.py", "def f(x):\n    y = x + 1\n", "x + 1", "x + 1\n    return y"),
            (
                "a.py",
                "def f(x):\n    for y in x:\n        if y:\n            return y\n",
                "return y\n",
                "return y\n    return x\n",
            ),
        ] {
            offers(path, text, &[&text.replacen(from, to, 1)]);
        }
    }

    #[test]
    fn what_is_no_result_is_not_returned() {
        offers_not("a.py", "def f(x):\n    x.append(1)\n    return x\n", "x = x.append(1)");
        offers_not(
            "a.py",
            "def f(x):\n    print(x)\n    return x + 1\n",
            "return x\n    return",
        );
        offers_not("A.java", "class A { void f(int x) { int y = x + 1; } }\n", "return y");
    }
}
