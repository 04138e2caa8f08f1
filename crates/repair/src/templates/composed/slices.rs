//! A sequence becomes a part of it.

use super::super::known_names::KnownNames;
use super::super::rank::nearness;
use super::super::role::{MAX_TEXT, Role, role};
use super::super::site::{Edit, Site};
use super::others;
use crate::template::Template;

/// Maximum number of variables that are offered as bounds.
const MAX_BOUNDS: usize = 5;

pub(super) fn edits(place: &Site<'_, '_>, known: &KnownNames, found: &mut Vec<Edit>) {
    other_end(place, found);
    let language = place.source.language;
    let is_iterated = language.iterables.contains(&(place.parent_kind(), place.field()));
    let is_given = matches!(role(place), Some(Role::Given | Role::Argument | Role::Compared));
    let is_list = matches!(place.kind(), "list_comprehension" | "array" | "list");
    let is_sequence = (language.operands.contains(&place.kind()) && !place.kind().starts_with("binary")) || is_list;
    if !(is_iterated || is_given) || !is_sequence || place.text().len() > MAX_TEXT || place.callee() == Some("range") {
        return;
    }
    let share = if is_iterated { 1.0 } else { 0.9 };
    let text = place.text();
    let mut push = |way: &str, bound: &str, share: f32| {
        let made = way.replace("{bound}", bound).replace("{}", text);
        found.push(place.edit(made, Template::Sliced).similar(share));
    };
    for way in language.style.parts {
        push(way, "1", share);
    }
    for way in language.style.rearranged {
        push(way, "", 0.9 * share);
    }
    for (rank, bound) in others(place, known).take(MAX_BOUNDS).enumerate() {
        for way in language.style.parts {
            push(way, bound, share * nearness(rank));
        }
    }
}

/// `a[:-1]` becomes `a[1:]`, and vice versa.
fn other_end(place: &Site<'_, '_>, found: &mut Vec<Edit>) {
    let language = place.source.language;
    if !language.positions.contains(&place.kind()) && !language.calls.contains(&place.kind()) {
        return;
    }
    let text = place.text();
    for [one, other] in [["[:-1]", "[1:]"], [".slice(0, -1)", ".slice(1)"]] {
        for [from, to] in [[one, other], [other, one]] {
            if let Some(value) = text.strip_suffix(from).filter(|value| value.len() <= MAX_TEXT) {
                found.push(place.edit(format!("{value}{to}"), Template::Sliced));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::templates::tests::offers;

    #[test]
    fn a_part_is_cut_off_at_the_other_end() {
        offers(
            "f.py",
            "def f(a):\n    return a[:-1]\n",
            &["def f(a):\n    return a[1:]\n"],
        );
        offers("f.js", "f = (a) => a.slice(1);\n", &["f = (a) => a.slice(0, -1);\n"]);
    }
}
