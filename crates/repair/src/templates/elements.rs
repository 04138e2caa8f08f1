//! Whether an edit takes an element of a sequence for a position in one.

use std::collections::BTreeSet;
use std::ops::Range;

use super::scope::is_subscripted;
use super::site::Site;
use super::unread::words;
use crate::syntax::{Below, Source};

/// Maximum number of variables that are looked for.
const MAX_WORDS: usize = 12;
const COMPARISONS: [&str; 8] = ["==", "!=", "===", "!==", "<", "<=", ">", ">="];

/// Whether an edit uses a variable as an index or a bound of a slice, which the function around it compares with elements,
/// and never used in that way before. Where sequences hold positions, as in a union-find, such an edit may be right, and
/// is a finding all the same. Only a variable alone counts, not one in a longer expression.
pub(crate) fn takes_element_for_index(
    before: &Source,
    after: &Source,
    range: &Range<usize>,
    replacement: &str,
) -> bool {
    let names: BTreeSet<&str> = words(replacement).collect();
    names.into_iter().take(MAX_WORDS).any(|name| {
        let was = Uses::of(before, range.start, name);
        was.is_element && !was.is_index && Uses::of(after, range.start, name).is_index
    })
}

/// How the innermost function around a place uses a variable.
#[derive(Default)]
struct Uses {
    is_element: bool,
    is_index: bool,
}

impl Uses {
    fn of(source: &Source, at: usize, name: &str) -> Self {
        let mut uses = Self::default();
        let Some(function) = source.function_around(&(at..at + 1)) else {
            return uses;
        };
        let function = function.byte_range();
        source.walk(|path| {
            let place = Site { source, path };
            let bytes = place.node().byte_range();
            if bytes.end <= function.start || bytes.start >= function.end {
                return Below::Skip;
            }
            if place.kind() == "identifier" && place.text() == name {
                uses.is_index |= is_position(&place);
                uses.is_element |= is_compared(&place);
            }
            Below::Enter
        });
        uses
    }
}

fn is_position(place: &Site<'_, '_>) -> bool {
    let is_one = place.source.language.positions.contains(&place.parent_kind());
    is_one && (place.parent_kind() == "slice" || !is_subscripted(place))
}

/// Whether the other side of a comparison is an element of a sequence.
fn is_compared(place: &Site<'_, '_>) -> bool {
    let Some(around) = place.above(1).map(|step| step.node) else {
        return false;
    };
    let mut cursor = around.walk();
    let children: Vec<_> = around.children(&mut cursor).take(8).collect();
    let is_comparison = children.iter().any(|child| COMPARISONS.contains(&child.kind()));
    let positions = place.source.language.positions;
    is_comparison
        && children
            .iter()
            .any(|child| positions.contains(&child.kind()) && child.kind() != "slice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, (from, to): (&str, &str), expected: bool) {
        let start = text.find(from).unwrap();
        let before = Source::parse(path, text.into()).unwrap();
        let after = Source::parse(path, text.replacen(from, to, 1)).unwrap();
        let found = takes_element_for_index(&before, &after, &(start..start + from.len()), to);
        assert_eq!(found, expected, "{}", after.text);
    }

    #[test]
    fn what_is_compared_with_elements_is_no_index() {
        let python = "def f(x, xs):\n    for i in range(len(xs)):\n        if x <= xs[i]:\n            return i\n    return None\n";
        check("a.py", python, ("None", "len(xs[:x])"), true);
        check("a.py", python, ("None", "xs[x]"), true);
        check("a.py", python, ("None", "xs[i]"), false);
        check("a.py", python, ("None", "len(xs)"), false);
        let script = "const f = (x, xs) => { if (x === xs[0]) { return 0 } return 1 };\n";
        check("a.js", script, ("return 1", "return xs[x]"), true);
        let go = "package a\n\nfunc f(x int, xs []int) int {\n\tif x < xs[0] {\n\t\treturn 0\n\t}\n\treturn 1\n}\n";
        check("a.go", go, ("return 1", "return xs[x]"), true);
        let rust = "fn f(x: usize, xs: &[usize]) -> usize { if x < xs[0] { 0 } else { 1 } }\n";
        check("a.rs", rust, ("1 }", "xs[x] }"), true);
        let java = "class A { int f(int x, int[] xs) { if (x < xs[0]) { return 0; } return 1; } }\n";
        check("A.java", java, ("return 1", "return xs[x]"), true);
        // It was both before.
        let both = "def f(x, xs):\n    return xs[x] == x or x == xs[0] or 1\n";
        check("a.py", both, ("or 1", "or xs[x]"), false);
    }
}
