//! Changes a text, a number, or a bound of a slice.

use super::error_names;
use super::known_names::{KnownNames, Snippet};
use super::presence::is_path;
use super::rank::{falling, nearness};
use super::site::{Edit, Site};
use crate::expected;
use crate::template::Template;

const MAX_OTHERS: usize = 12;
const MAX_AFFIX: usize = 4;
const MAX_TEXT: usize = 200;
/// How far a number is shifted.
const MAX_SHIFT: u64 = 10;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !place.node().is_named() {
        return;
    }
    if language.strings.contains(&place.kind()) && place.text().len() <= MAX_TEXT && !is_documentation(place) {
        text(place, known, found);
        character(place, found);
        interpolated(place, found);
    }
    if matches!(place.kind(), "char_literal" | "character_literal" | "rune_literal") {
        character(place, found);
    }
    let is_number = |kind: &str| language.integers.contains(&kind) || language.floats.contains(&kind);
    if is_number(place.kind()) {
        number(place, known, found);
    }
    slice(place, found);
}

/// Another character in a literal of one: another separator, or the next letter or digit.
fn character(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    const SEPARATORS: [char; 12] = [',', ';', ':', '.', '-', '_', '/', ' ', '|', '=', '+', '*'];
    let whole = place.text();
    let mut inside = whole.chars().skip_while(|c| !matches!(c, '"' | '\'' | '`')).skip(1);
    let (Some(own), Some('"' | '\'' | '`'), None) = (inside.next(), inside.next(), inside.next()) else {
        return;
    };
    let others: Vec<char> = if own.is_ascii_alphanumeric() {
        let next = [u32::from(own) + 1, u32::from(own) - 1]
            .into_iter()
            .filter_map(char::from_u32);
        next.filter(char::is_ascii_alphanumeric).collect()
    } else if SEPARATORS.contains(&own) {
        SEPARATORS.into_iter().filter(|other| *other != own).collect()
    } else {
        return;
    };
    let (before, after) = whole.split_at(whole.rfind(own).unwrap_or(0));
    for other in others {
        let after = after.get(own.len_utf8()..).unwrap_or_default();
        found.push(
            place
                .edit(format!("{before}{other}{after}"), Template::Text)
                .similar(0.9),
        );
    }
}

/// `"{name}"` becomes `f"{name}"`, and `'${name}'` becomes a template literal.
fn interpolated(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let Some((open, mark)) = place.source.language.style.interpolation else {
        return;
    };
    let text = place.text();
    // Keys, attributes and modules are plain text, and `"{name}".format(…)` is filled in by its method.
    let is_kept = matches!(place.parent_kind(), "attribute" | "member_expression" | "jsx_attribute")
        || place.field() == "key"
        || place.parent_kind().contains("import");
    let mut names = text.split(open).skip(1).peekable();
    let has_names =
        names.peek().is_some() && names.all(|rest| rest.split_once('}').is_some_and(|(name, _)| is_path(name)));
    if !has_names || is_kept || !text.starts_with(['"', '\'']) {
        return;
    }
    let made = if mark.chars().all(char::is_alphabetic) {
        format!("{mark}{text}")
    } else {
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        if inside.contains(mark) || inside.contains('\\') {
            return;
        }
        format!("{mark}{inside}{mark}")
    };
    found.push(place.edit(made, Template::Text));
}

/// A text that is a whole statement is documentation.
fn is_documentation(place: &Site<'_, '_>) -> bool {
    place.parent_kind() == "expression_statement"
}

fn text(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    let whole = place.text();
    let Some(open) = whole.find(['"', '\'', '`']) else {
        return;
    };
    let quote = whole.get(open..=open).unwrap_or("\"");
    let (Some(start), Some(inside)) = (whole.get(..=open), whole.get(open + 1..whole.len().saturating_sub(1))) else {
        return;
    };
    let quoted = |text: &str| format!("{start}{text}{quote}");
    let mut push = |text: &str, template, similarity| {
        if text != inside {
            found.push(place.edit(quoted(text), template).similar(similarity));
        }
    };
    for length in 1..=MAX_AFFIX.min(inside.len() / 2) {
        let (before, after) = (inside.get(..length), inside.get(inside.len() - length..));
        if let (Some(before), Some(after), Some(rest)) = (before, after, inside.get(length..inside.len() - length))
            && before == after
            && !before.trim().is_empty()
        {
            push(rest, Template::Text, 0.9 + 0.1 * f32::from(u8::from(length == 2)));
        }
    }
    push(&inside.to_lowercase(), Template::Text, 0.9);
    push(&inside.to_uppercase(), Template::Text, 0.85);
    let mut letters = inside.chars();
    if let Some(first) = letters.next() {
        let rest = letters.as_str();
        push(
            &(first.to_uppercase().collect::<String>() + &rest.to_lowercase()),
            Template::Text,
            0.8,
        );
        push("", Template::Text, 0.7);
    } else {
        for (rank, common) in [" ", ",", ", ", "\\n", "-", "_", ".", "/", "0"].into_iter().enumerate() {
            push(common, Template::OtherText, falling(rank));
        }
    }
    if !inside.is_empty() && inside.trim() != inside {
        push(inside.trim(), Template::OtherText, 1.0);
    } else if !inside.is_empty() && inside.len() < 20 {
        push(&format!("{inside} "), Template::OtherText, 0.6);
        push(&format!(" {inside}"), Template::OtherText, 0.6);
    }
    for other in expected::instead_of(inside, &known.printed) {
        if !other.contains(['\\', '{', '}', '$', '%']) && !other.contains(quote) {
            let similarity = if is_near(inside, &other) || is_message(place) {
                1.0
            } else {
                0.5
            };
            push(&other, Template::Expected, similarity);
        }
    }
    for (rank, other) in nearest(place, &known.strings).into_iter().enumerate() {
        found.push(place.edit(other, Template::Text).similar(0.85 * falling(rank)));
    }
}

/// Whether two texts are nearly equal at their ends, so that the rest may be a typo. A text that has less in common
/// with what a test expects (`disabled` for `enabled`) is seldom the fault, but replacing it would always please that
/// test.
fn is_near(one: &str, other: &str) -> bool {
    let before = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let [one_rest, other_rest] = [&one.as_bytes()[before..], &other.as_bytes()[before..]];
    let behind = one_rest.iter().rev().zip(other_rest.iter().rev());
    let behind = behind.take_while(|(a, b)| a == b).count();
    4 * (before + behind) >= 3 * one.len().max(other.len())
}

/// Whether the text is the message of an error.
fn is_message(place: &Site<'_, '_>) -> bool {
    let Some(path) = place.path.len().checked_sub(2).and_then(|up| place.path.get(..up)) else {
        return false;
    };
    let source = place.source;
    let is_argument = source.language.arguments.contains(&place.parent_kind());
    is_argument && !path.is_empty() && Site { source, path }.callee().is_some_and(error_names::sounds_like_one)
}

/// Other literals of the file: those in the same kind of expression first, then the nearest.
fn nearest<'k>(place: &Site<'_, '_>, pieces: &'k [Snippet]) -> Vec<&'k str> {
    let (at, parent, own) = (place.node().start_byte(), place.parent_kind(), place.text());
    let mut others: Vec<(bool, usize, &str)> = pieces
        .iter()
        .filter(|piece| piece.text != own && piece.text.len() <= MAX_TEXT && piece.parent != "expression_statement")
        .map(|piece| (piece.parent != parent, piece.at.abs_diff(at), piece.text.as_str()))
        .collect();
    others.sort_unstable();
    let mut seen = std::collections::BTreeSet::new();
    let others = others.into_iter().map(|(_, _, text)| text);
    others.filter(|text| seen.insert(*text)).take(MAX_OTHERS).collect()
}

fn number(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    for (rank, other) in nearest(place, &known.numbers).into_iter().enumerate() {
        found.push(place.edit(other, Template::OtherConstant).similar(nearness(rank)));
    }
    let own = place.text();
    let is_negative = |before: &str| before.ends_with('-');
    if !place
        .source
        .text
        .get(..place.node().start_byte())
        .is_some_and(is_negative)
    {
        // `-0` would change nothing; many searches return `-1` if they find nothing.
        let negative = if own == "0" {
            "-1".to_string()
        } else {
            format!("-{own}")
        };
        found.push(place.edit(negative, Template::OtherConstant).similar(0.9));
    }
    if let Ok(value) = own.parse::<f64>()
        && own.contains('.')
        && own.len() < 16
    {
        for (rank, other) in [value + 1.0, value - 1.0, value * 2.0, value / 2.0, 0.0, 1.0]
            .into_iter()
            .enumerate()
        {
            found.push(
                place
                    .edit(format!("{other:?}"), Template::OtherConstant)
                    .similar(falling(rank)),
            );
        }
    } else if let Ok(value) = own.parse::<u64>() {
        shifted(place, value, found);
        let other = [
            value.checked_mul(2),
            Some(value / 2),
            value.checked_mul(10),
            Some(2),
            Some(10),
            Some(100),
        ];
        for (rank, other) in other.into_iter().flatten().enumerate() {
            found.push(
                place
                    .edit(other.to_string(), Template::OtherConstant)
                    .similar(0.9 * nearness(rank)),
            );
        }
    }
}

/// A number that is off by more than one, the nearest first: `100` becomes `91`.
fn shifted(place: &Site<'_, '_>, value: u64, found: &mut Vec<Edit>) {
    for by in 2..=MAX_SHIFT {
        for other in [value.checked_add(by), value.checked_sub(by)].into_iter().flatten() {
            let share = 0.8 * nearness(usize::try_from(by).unwrap_or(usize::MAX));
            found.push(place.edit(other.to_string(), Template::OtherConstant).similar(share));
        }
    }
}

/// `a[1:]` becomes `a[:1]`, `a[:]` and so on; `a[1]` becomes `a[1:]`.
fn slice(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    match (place.kind(), place.text().matches(':').count()) {
        ("slice", 1) => {
            let Some((from, to)) = place.text().split_once(':') else {
                return;
            };
            let versions = match (from.trim(), to.trim()) {
                ("", "") => vec![":-1".into(), "1:".into(), "::-1".into()],
                (from, "") => vec![
                    format!(":{from}"),
                    format!("{from}:-1"),
                    ":".into(),
                    format!("::{from}"),
                ],
                ("", to) => vec![format!("{to}:"), format!("1:{to}"), ":".into(), format!("::{to}")],
                (from, to) => vec![format!("{from}:"), format!(":{to}"), format!("{to}:{from}")],
            };
            found.extend(versions.into_iter().map(|version| place.edit(version, Template::Slice)));
        }
        ("slice", 2) => {
            if let Some((bounds, _)) = place.text().rsplit_once(':') {
                found.push(place.edit(bounds, Template::Slice));
            }
        }
        ("slice_expression", 1) => {
            let Some((value, bounds)) = place.text().rsplit_once('[') else {
                return;
            };
            if let Some((from, to)) = bounds.trim_end_matches(']').split_once(':') {
                for version in [format!("{to}:{from}"), format!("{from}:"), format!(":{to}")] {
                    found.push(place.edit(format!("{value}[{version}]"), Template::Slice));
                }
            }
        }
        ("range_expression", 0) => {
            let text = place.text();
            if let Some((from, to)) = text.split_once("..") {
                for version in [format!("{from}.."), format!("..{to}")] {
                    found.push(place.edit(version, Template::Slice));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Source;
    use crate::templates::{Stage, edits};

    /// The replacements of a text, with their weights, if failures printed these texts.
    fn expected(path: &str, text: &str, printed: &[&str]) -> Vec<(String, f32)> {
        let source = Source::parse(path, text.into()).unwrap();
        let known = KnownNames::of(&source, printed.iter().map(ToString::to_string).collect());
        let made = edits((&source, &known), Stage::Wider, &(0..text.len()), &|_| true);
        let made = made.into_iter().filter(|edit| edit.template == Template::Expected);
        made.map(|edit| (edit.replacement.clone(), edit.weight())).collect()
    }

    #[test]
    fn a_mistyped_text_becomes_what_was_expected() {
        let code = "def f(n):\n    return 'must be postive: ' + n\n";
        let printed = ["must be postive: 3", "must be positive: 3"];
        assert_eq!(
            expected("a.py", code, &printed),
            [("'must be positive: '".to_string(), 0.5)]
        );
        assert!(expected("a.py", code, &["must be positive: 3"]).is_empty());
    }

    #[test]
    fn what_only_pleases_a_test_weighs_little() {
        let most = |made: Vec<(String, f32)>| made.into_iter().map(|(_, weight)| weight).fold(0.0, f32::max);
        assert!(most(expected("a.py", "def f():\n    return 'cat'\n", &["cat", "a dog"])) < 0.3);
        assert!(most(expected("a.py", "def f():\n    return ''\n", &["a dog"])) < 0.3);
        let opposite = "def f():\n    return 'disabled'\n";
        assert!(most(expected("a.py", opposite, &["disabled", "enabled"])) < 0.3);
        let thrown = "function f() {\n  throw new TypeError('')\n}\n";
        assert!(most(expected("a.js", thrown, &["it is required"])) >= 0.5);
        assert!(
            most(expected(
                "a.py",
                "def f():\n    raise ValueError('')\n",
                &["it is required"]
            )) >= 0.5
        );
        assert!(expected("a.js", thrown, &["${process.exit()}", "a\\n", "it's"]).is_empty());
    }
}
