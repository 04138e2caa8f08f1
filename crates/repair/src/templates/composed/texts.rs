//! Text that is missing between two concatenated values, and characters that are missing in a set or too many.

use std::collections::BTreeSet;

use super::super::known_names::{KnownNames, around};
use super::super::rank::falling;
use super::super::role::MAX_TEXT;
use super::super::scope::functions;
use super::super::site::{Edit, Site};
use crate::template::Template;

/// What usually separates the parts of a text.
const SEPARATORS: &[&str] = &[" ", ".", ",", "-", ", ", "_", "/", ":", ": ", "\\n"];
/// Maximum length of a literal of the file that is offered as a separator, with its quotes.
const MAX_LITERAL: usize = 5;

/// Maximum number of characters of a text that is a set of them.
const MAX_SET: usize = 40;
/// What gives a text a name.
const DECLARATIONS: [&str; 7] = [
    "assignment",
    "const_item",
    "const_spec",
    "let_declaration",
    "static_item",
    "var_spec",
    "variable_declarator",
];
/// What follows a text that is searched for a character.
const SEARCHES: [&str; 4] = [".indexOf(", ".includes(", ".contains(", ".find("];

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    set(place, found);
    separated(place, known, found);
}

/// `"aeiouy".includes(c)` becomes `"aeiou".includes(c)`, and `"aeiou"` becomes `"aeiouAEIOU"`.
fn set(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let (whole, language) = (place.text(), place.source.language);
    if !language.strings.contains(&place.kind()) || whole.len() > 2 * MAX_SET {
        return;
    }
    let Some(quote) = whole.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`')) else {
        return;
    };
    let Some(inside) = whole.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) else {
        return;
    };
    // In a regular expression, brackets are around it.
    let class = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (inside, brackets) = class.map_or((inside, ["", ""]), |class| (class, ["[", "]"]));
    let letters: Vec<char> = inside.chars().collect();
    let is_set = (3..=MAX_SET).contains(&letters.len())
        && letters.iter().collect::<BTreeSet<_>>().len() == letters.len()
        && !letters
            .iter()
            .any(|c| c.is_whitespace() || matches!(c, '\\' | '{' | '$' | '%' | '^' | '[' | ']'));
    let behind = place.source.text.get(place.node().end_byte()..).unwrap_or_default();
    let before = place.source.text.get(..place.node().start_byte()).unwrap_or_default();
    let is_searched = SEARCHES.iter().any(|search| behind.starts_with(search)) || before.ends_with(" in ");
    let is_named = DECLARATIONS.contains(&place.parent_kind()) || class.is_some();
    if !is_set || !(is_searched || is_named) {
        return;
    }
    let mut push = |text: String, share: f32| {
        let share = if is_searched { share } else { 0.8 * share };
        let edit = place.edit(
            format!("{quote}{}{text}{}{quote}", brackets[0], brackets[1]),
            Template::OtherText,
        );
        found.push(edit.similar(share));
    };
    let same = |one: &char, other: &char| one.to_lowercase().eq(other.to_lowercase());
    // The last are the likeliest to be too many.
    for (rank, letter) in letters.iter().rev().enumerate() {
        let without = |is_gone: &dyn Fn(&char) -> bool| letters.iter().filter(|c| !is_gone(c)).collect::<String>();
        push(without(&|c| c == letter), falling(rank));
        push(without(&|c| same(c, letter)), 0.95 * falling(rank));
    }
    for count in 2..=letters.len() / 2 {
        push(letters[..letters.len() - count].iter().collect(), falling(count));
    }
    let other = inside.chars().map(|c| match c.is_lowercase() {
        true => c.to_uppercase().next().unwrap_or(c),
        false => c.to_lowercase().next().unwrap_or(c),
    });
    let other: String = other.filter(|c| !letters.contains(c)).collect();
    if !other.is_empty() {
        push(format!("{inside}{other}"), 0.9);
    }
}

/// `a + b` becomes `a + " " + b`.
fn separated(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let (language, node) = (place.source.language, place.node());
    let sides = ["left", "operator", "right"].map(|field| node.child_by_field_name(field));
    let [Some(left), Some(operator), Some(right)] = sides else {
        return;
    };
    let is_text = |kind: &str| language.strings.contains(&kind);
    let is_sum = place.source.text_of(operator) == "+" && language.text_operators.contains(&"+");
    if !is_sum
        || place.kind().contains("assignment")
        || is_text(left.kind())
        || is_text(right.kind())
        || place.text().len() > MAX_TEXT
    {
        return;
    }
    let near = around(&known.strings, node.start_byte());
    let own = functions(place).next().unwrap_or(0);
    let quoted: Vec<&str> = near
        .iter()
        .filter(|piece| piece.function == own)
        .map(|piece| piece.text.as_str())
        .collect();
    let first = quoted.first().copied().or_else(|| Some(near.first()?.text.as_str()));
    let quote = if first.is_some_and(|first| first.ends_with('\'')) {
        '\''
    } else {
        '"'
    };
    let literals = quoted
        .iter()
        .filter(|text| text.len() <= MAX_LITERAL)
        .map(ToString::to_string);
    // Without any text in the function, these are numbers, unless a failure prints a text with the separator.
    let is_printed = |text: &&&str| !quoted.is_empty() || known.printed.iter().any(|printed| printed.contains(**text));
    let separators = SEPARATORS.iter().filter(is_printed);
    let separators = separators.map(|text| format!("{quote}{text}{quote}"));
    let [left, right] = [left, right].map(|side| place.source.text_of(side));
    let mut seen = BTreeSet::from([format!("{quote}{quote}")]);
    for (rank, text) in literals
        .chain(separators)
        .filter(|text| seen.insert(text.clone()))
        .enumerate()
    {
        let made = format!("{left} + {text} + {right}");
        found.push(place.edit(made, Template::OtherText).similar(falling(rank)));
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::Source;
    use crate::templates::tests::{offers, offers_not};
    use crate::templates::{KnownNames, Stage, edits};

    #[test]
    fn characters_are_taken_from_a_set_or_added() {
        offers(
            "a.js",
            "const f = (c) => 'aeiouwy'.includes(c);\n",
            &[
                "const f = (c) => 'aeiou'.includes(c);\n",
                "const f = (c) => 'aeiouy'.includes(c);\n",
                "const f = (c) => 'aeiouwyAEIOUWY'.includes(c);\n",
            ],
        );
        let python = "VOWELS = 'aeiouyAEIOUY'\n\n\ndef f(c):\n    return c in VOWELS\n";
        offers(
            "a.py",
            python,
            &[&python.replace(['y', 'Y'], "").replace("pthon", "python")],
        );
        let go = "package a\n\nvar re = regexp.MustCompile(\"[aeiouwyAEIOUWY]\")\n";
        offers("a.go", go, &[&go.replace(['y', 'Y'], "")]);
        for text in ["const f = (c) => c + 'help';\n", "const f = (c) => c === 'help';\n"] {
            offers_not("a.js", text, "'hel'");
        }
    }

    #[test]
    fn a_separator_is_offered_where_failures_print_texts() {
        let script = "const f = (a, b) => a + b;\n";
        let source = Source::parse("f.js", script.into()).unwrap();
        for (printed, expected) in [(vec![], false), (vec!["left.right".to_string()], true)] {
            let known = KnownNames::of(&source, printed.into());
            let made = edits((&source, &known), Stage::Composed, &(0..script.len()), &|_| true);
            assert_eq!(made.iter().any(|edit| edit.replacement == "a + \".\" + b"), expected);
        }
    }
}
