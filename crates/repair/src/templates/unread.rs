//! Whether an edit leaves a variable that nothing reads any more.

use std::collections::BTreeSet;
use std::ops::Range;

use super::scope::is_bound;
use super::site::Site;
use crate::syntax::{Below, Source};

/// Where the only target counts the turns of a loop.
const LOOPS: &[&str] = &[
    "enhanced_for_statement",
    "for_expression",
    "for_in_clause",
    "for_in_statement",
    "for_statement",
    "range_clause",
];
/// Maximum number of variables that are looked for.
const MAX_WORDS: usize = 12;

/// Whether the function around an edit binds a variable that it read before the edit and does not read after it. What
/// only counts the turns of a loop is often not read, and an edit that reads a variable that nothing read before may
/// have found the right one.
pub(crate) fn leaves_unread(before: &Source, after: &Source, range: &Range<usize>, replacement: &str) -> bool {
    let replaced = before.text.get(range.clone()).unwrap_or_default();
    let kept: BTreeSet<&str> = words(replacement).collect();
    let own: BTreeSet<&str> = words(replaced).collect();
    let is_found = |word: &&&str| {
        let was = Uses::of(before, range.start, word);
        was.bound > 0 && was.read == 0
    };
    if kept.difference(&own).take(MAX_WORDS).any(|word| is_found(&word)) {
        return false;
    }
    let gone: BTreeSet<&str> = own.difference(&kept).copied().collect();
    gone.into_iter().take(MAX_WORDS).any(|word| {
        let now = Uses::of(after, range.start, word);
        now.bound > 0 && now.read == 0 && Uses::of(before, range.start, word).read > 0
    })
}

/// The names in a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(move |c| !is_of_word(c))
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// How often the innermost function around a place binds a name, and how often it reads it.
struct Uses {
    bound: usize,
    read: usize,
}

impl Uses {
    fn of(source: &Source, at: usize, name: &str) -> Self {
        let language = source.language;
        let mut uses = Self { bound: 0, read: 0 };
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
            // Rust formats `{name}` in a text.
            if place.kind().contains("string") && place.text().contains(&format!("{{{name}")) {
                uses.read += 1;
                return Below::Skip;
            }
            if !place.kind().ends_with("identifier") || place.text() != name || bytes.start < function.start {
                return Below::Enter;
            }
            let is_member = (place.parent_kind(), place.field()) == (language.attribute.0, language.attribute.2);
            if is_member || (place.parent_kind() == "keyword_argument" && place.field() == "name") {
                return Below::Enter;
            }
            match is_bound(&place) {
                true if LOOPS.contains(&place.parent_kind()) => {}
                true => uses.bound += 1,
                false => uses.read += 1,
            }
            Below::Enter
        });
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, (from, to): (&str, &str), expected: bool) {
        let start = text.find(from).unwrap();
        let [before, after] =
            [text.to_string(), text.replacen(from, to, 1)].map(|text| Source::parse(path, text).unwrap());
        let found = leaves_unread(&before, &after, &(start..start + from.len()), to);
        assert_eq!(found, expected, "{}", after.text);
    }

    #[test]
    fn a_variable_that_nothing_reads_any_more_is_found() {
        let python = "def f(xs, n):\n    return sum(c * n ** i for i, c in enumerate(xs))\n";
        check("f.py", python, ("c * n", "n * n"), true);
        check("f.py", python, ("c * n ** i", "c * n"), true);
        check("f.py", python, ("c * n", "c + n"), false);
        check("f.py", "def f(a, b):\n    return a.b + b\n", ("+ b", "+ a"), true);
        check(
            "f.py",
            "def f(a, b):\n    return a + b + b\n",
            ("a + b", "a + a"),
            false,
        );
        // The turns of a loop.
        let turns = "def f(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n\n";
        check("f.py", turns, ("+= x", "+= 1"), false);
        let script = "const f = (a, b) => {\n  const c = a + b\n  return c\n}\n";
        check("f.js", script, ("return c", "return a"), true);
        check("f.js", script, ("a + b", "a + a"), true);
        check(
            "f.rs",
            "fn f(a: i32, b: i32) -> i32 { a + b }\n",
            ("a + b", "a + a"),
            true,
        );
        check(
            "f.go",
            "package f\n\nfunc f(a, b int) int { return a + b }\n",
            ("a + b", "a + a"),
            true,
        );
        let numbered = "def f(xs):\n    t = 0\n    for i, x in enumerate(xs):\n        t += i\n    return t\n";
        check("f.py", numbered, ("+= i", "+= x"), false);
        check("f.py", numbered, ("+= i", "+= t"), true);
        let formatted =
            "fn f(a: i32) -> String {\n    let t = a + 1;\n    let c = t * 2;\n    format!(\"{t} {c}\")\n}\n";
        check("f.rs", formatted, ("t * 2", "a * 2"), false);
        // Outside of a function, others may read it.
        check("f.py", "a = 1\nb = a\n", ("b = a", "b = 2"), false);
    }
}
