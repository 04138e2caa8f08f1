//! Results that get lost: of a method that returns a changed copy, of one that changes its object and returns nothing,
//! and of a function that prints what it should return, or ends without returning it.

use greenlight_syntax::Language as Syntax;
use tree_sitter::Node;

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
/// Methods of lists and arrays that change their object, and do not return it.
const IN_PLACE: &[(Syntax, &[&str])] = &[
    (
        Syntax::Python,
        &["append", "clear", "extend", "insert", "remove", "reverse", "sort"],
    ),
    (Syntax::JavaScript, &["push", "unshift"]),
    (Syntax::TypeScript, &["push", "unshift"]),
    (Syntax::Tsx, &["push", "unshift"]),
];
/// Statements after which a function does not go on.
const LEAVING: [&str; 2] = ["raise_statement", "throw_statement"];
/// Copies of a value that Python changes in place.
const COPIES: [(&str, &str); 2] = [("sort()", "sorted({})"), ("reverse()", "{}[::-1]")];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    last(place, known, found);
    let text = place.text();
    if text.len() > MAX_STATEMENT || text.contains('\n') {
        return;
    }
    let language = place.source.language;
    if language.blocks.contains(&place.parent_kind()) {
        statement(place, known, found);
    }
    let is_value = language.calls.contains(&place.kind()) && place.parent_kind() != "expression_statement";
    for (ending, copy) in COPIES.iter().filter(|_| is_value && language.syntax == Syntax::Python) {
        if let Some(object) = text.strip_suffix(ending).and_then(|rest| rest.strip_suffix('.')) {
            found.push(place.edit(copy.replace("{}", object), Template::Result));
        }
    }
}

/// The edits of a statement on one line.
fn statement(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    let Some(inner) = place.node().named_child(0) else {
        return;
    };
    let end = if place.text().ends_with(';') { ";" } else { "" };
    let is_call = |node: &Node<'_>| language.calls.contains(&node.kind());
    let keyword = language.returns.1;
    if place.kind() == "expression_statement" && is_call(&inner) {
        let code = place.source.text_of(inner);
        if let Some((object, method)) = called(code)
            && OF_COPIES.contains(&method)
            && object != language.this
            && known.variables_at(place).iter().any(|name| *name == object)
        {
            found.push(place.edit(format!("{object} = {code}{end}"), Template::Result));
        }
        let printed = code.strip_prefix("print(").and_then(|rest| rest.strip_suffix(')'));
        if let Some(value) = printed.filter(|value| !value.is_empty() && !returns_a_value(place, known)) {
            found.push(place.edit(format!("{keyword} {value}{end}"), Template::Result));
        }
    }
    let sides = ["left", "right"].map(|side| inner.child_by_field_name(side));
    if let [Some(target), Some(value)] = sides
        && inner.kind().contains("assignment")
        && is_call(&value)
        && let Some((object, method)) = called(place.source.text_of(value))
        && object == place.source.text_of(target)
        && is_in_place(language.syntax, method)
    {
        // It removes something: some values of the same interface return a changed copy.
        found.push(place.edit(format!("{}{end}", place.source.text_of(value)), Template::Unwrap));
    }
    if place.kind() == language.returns.0
        && is_call(&inner)
        && let Some((object, method)) = called(place.source.text_of(inner))
        && is_in_place(language.syntax, method)
        && is_path(object)
    {
        let start = place.source.text.get(..place.node().start_byte()).unwrap_or_default();
        let indent = start.rsplit('\n').next().filter(|line| line.trim().is_empty());
        if let Some(indent) = indent {
            let value = place.source.text_of(inner);
            let text = format!("{value}{end}\n{indent}{keyword} {object}{end}");
            found.push(place.edit(text, Template::Result));
        }
    }
}

/// `return x` at the end of a function that can end without returning.
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
    let leaves = place.kind() == language.returns.0 || LEAVING.contains(&place.kind());
    let name = place.above(2).and_then(|outer| outer.node.child_by_field_name("name"));
    let is_initialiser = name.is_some_and(|name| ["__init__", "constructor"].contains(&place.source.text_of(name)));
    if !(is_last && is_of_function && can_end_so) || leaves || is_initialiser {
        return;
    }
    // Behind a comment on the same line.
    let rest = place.source.text.get(place.node().end_byte()..).unwrap_or_default();
    let rest = rest.split('\n').next().unwrap_or_default();
    let is_comment = rest.trim_start().starts_with(['#', '/']);
    let moved = if is_comment { rest.trim_end().len() } else { 0 };
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
        let mut edit = after(place, &statement, Template::Result).similar(nearness(rank));
        edit.range = edit.range.start + moved..edit.range.end + moved;
        found.push(edit);
    }
}

/// The object and the name of a called method.
fn called(code: &str) -> Option<(&str, &str)> {
    code.split_once('(')?.0.rsplit_once('.')
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
    fn what_is_no_result_is_not_kept_or_returned() {
        for (path, text, part) in [
            ("a.py", "def f(x):\n    x.append(1)\n    return x\n", "x = x.append(1)"),
            (
                "a.py",
                "def f(x):\n    print(x)\n    return x + 1\n",
                "return x\n    return",
            ),
            ("a.py", "def f(x):\n    print(x) or g(x)\n", "return x) or g(x"),
            ("a.py", "import os\n\n\ndef f(a, b):\n    os.replace(a, b)\n", "os = "),
            (
                "a.py",
                "class A:\n    def f(self, a):\n        self.strip()\n        return a\n",
                "self = ",
            ),
            (
                "a.py",
                "class A:\n    def __init__(self, a):\n        self.a = a\n",
                "= a\n        return",
            ),
            ("a.py", "def f(x):\n    raise ValueError(x)\n", ")\n    return x"),
            (
                "a.js",
                "function f(s) { s.trim() && g(s); return s; }\n",
                "s = s.trim() &&",
            ),
            (
                "a.js",
                "function f(x, c) {\n  if (c)\n    return x.push(1);\n  return 0;\n}\n",
                "x.push(1);\n    return x;",
            ),
            ("A.java", "class A { void f(int x) { int y = x + 1; } }\n", "return y"),
            (
                "A.java",
                "class A { B f(B x) { x = x.add(1); return x; } }\n",
                "{ x.add(1)",
            ),
        ] {
            offers_not(path, text, part);
        }
        let commented = "def f(x):\n    y = x + 1  # one more\n";
        offers(
            "a.py",
            commented,
            &["def f(x):\n    y = x + 1  # one more\n    return y\n"],
        );
    }
}
