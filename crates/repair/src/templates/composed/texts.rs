//! Text that is missing between two concatenated values.

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

/// `a + b` becomes `a + " " + b`.
pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
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
    use crate::templates::{KnownNames, Stage, edits};

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
