//! Names that the pull request replaced by others. What still has the old name was forgotten.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use similar::{DiffOp, TextDiff};

use super::place::occurrences;
use super::{Hint, HintEdit};
use crate::hints::place::HintPlace;
use crate::task::Task;

/// Limits on the changed files that are compared, on the size of each in bytes, and on the time that one takes.
const MAX_FILES: usize = 100;
const MAX_BYTES: usize = 256 << 10;
const MAX_COMPARING: Duration = Duration::from_millis(50);
/// The same for all files together.
const MAX_ALL: Duration = Duration::from_millis(500);
/// Maximum number of names, of their occurrences in one file that are replaced, and of a line's tokens.
const MAX_NAMES: usize = 200;
const MAX_OCCURRENCES: usize = 100;
const MAX_TOKENS: usize = 200;
/// Maximum number of lines of a message that are read.
const MAX_COMPLAINTS: usize = 20;

/// Names of values and words of languages, which are no names of the project.
const WORDS: [&str; 24] = [
    "True",
    "False",
    "None",
    "true",
    "false",
    "null",
    "nil",
    "undefined",
    "self",
    "this",
    "super",
    "and",
    "or",
    "not",
    "if",
    "else",
    "return",
    "break",
    "continue",
    "for",
    "while",
    "let",
    "const",
    "var",
];
/// Words before a name that define it.
const DEFINE: [&str; 14] = [
    "class",
    "const",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "interface",
    "let",
    "static",
    "struct",
    "trait",
    "type",
    "var",
];
/// What messages say about a name that does not exist.
const COMPLAINTS: [&str; 14] = [
    "not defined",
    "undefined",
    "no attribute",
    "annot find",
    "not found",
    "not provide",
    "unresolved",
    "no member",
    "not a function",
    "unexpected keyword",
    "cannot import",
    "not exist",
    "no method",
    "unknown",
];

/// New names by old ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Renames(BTreeMap<String, String>);

impl Renames {
    /// Reads them from the lines that the pull request changed, and in which nothing but one name is different.
    pub(super) fn of(task: &Task<'_>) -> Self {
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        let began = Instant::now();
        let mut texts = Vec::new();
        for (path, before) in task.originals.iter().take(MAX_FILES) {
            let Some(after) = task.checkout.read_text(path.as_str()) else {
                continue;
            };
            if before.len().max(after.len()) > MAX_BYTES {
                continue;
            }
            if began.elapsed() > MAX_ALL {
                break;
            }
            for (old, new) in between(before, &after) {
                if found.len() >= MAX_NAMES {
                    break;
                }
                let known = found.entry(old).or_insert_with(|| Some(new.clone()));
                // One that became several others is none of them.
                *known = known.take().filter(|known| *known == new);
            }
            texts.push(after);
        }
        let is_gone = |old: &str| began.elapsed() < 2 * MAX_ALL && !texts.iter().any(|text| defines(text, old));
        let found = found.into_iter().filter_map(|(old, new)| Some((old, new?)));
        Self(found.filter(|(old, _)| is_gone(old)).collect())
    }

    /// The new name where the message names the old one: in the whole file, and in its line alone.
    pub(super) fn hints(&self, place: &HintPlace<'_>) -> Vec<(String, Vec<Hint>)> {
        let complaints = place
            .message
            .lines()
            .filter(|line| COMPLAINTS.iter().any(|words| line.contains(words)));
        let complaints: Vec<&str> = complaints.take(MAX_COMPLAINTS).collect();
        let is_missed = |name: &str| complaints.iter().any(|line| occurrences(line, name).next().is_some());
        let forgotten = self.0.iter().filter(|(old, _)| is_missed(old));
        let hints = forgotten.map(|(old, new)| {
            let all = occurrences(&place.text, old).take(MAX_OCCURRENCES);
            let all: Vec<HintEdit> = all.map(|at| place.change(at..at + old.len(), new.as_str())).collect();
            let whole = Some(Hint::new(all, 1.0)).filter(|hint| !hint.changes.is_empty());
            let line = place.rename(old, new, 0.99);
            (format!("renamed {old}"), whole.into_iter().chain(line).collect())
        });
        hints.filter(|(_, hints): &(_, Vec<Hint>)| !hints.is_empty()).collect()
    }
}

/// The names that differ in otherwise equal lines of two texts.
fn between(before: &str, after: &str) -> Vec<(String, String)> {
    let mut comparison = TextDiff::configure();
    let diff = comparison.timeout(MAX_COMPARING).diff_lines(before, after);
    let mut found = Vec::new();
    for op in diff.ops() {
        if let DiffOp::Replace {
            old_index,
            old_len,
            new_index,
            new_len,
        } = *op
        {
            let pairs = (0..old_len.min(new_len)).filter_map(|at| {
                let old = diff.old_slice(old_index + at)?;
                renamed(old, diff.new_slice(new_index + at)?)
            });
            found.extend(pairs);
        }
    }
    found
}

/// The name in a line, and the one in its place in another line.
fn renamed(old: &str, new: &str) -> Option<(String, String)> {
    let mut pairs = tokens(old).zip(tokens(new)).take(MAX_TOKENS);
    if tokens(old).take(MAX_TOKENS).count() != tokens(new).take(MAX_TOKENS).count() {
        return None;
    }
    let (from, to) = pairs.find(|(a, b)| a != b)?;
    let is_name = |word: &str| {
        word.len() > 1 && word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !WORDS.contains(&word)
    };
    let is_same = |(a, b): (&str, &str)| a == b || (a, b) == (from, to);
    (is_name(from) && is_name(to) && pairs.all(is_same)).then(|| (from.to_string(), to.to_string()))
}

/// Whether a text defines a name, as far as the word before it tells.
fn defines(text: &str, name: &str) -> bool {
    occurrences(text, name).take(MAX_OCCURRENCES).any(|at| {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        DEFINE.contains(&word)
    })
}

/// Words and the characters between them, without white space.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, more) = rest.split_at(end);
        rest = more;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_replaced_is_found_and_nothing_else() {
        let found = |before: &str, after: &str| {
            let all = between(before, after);
            all.into_iter()
                .map(|(old, new)| format!("{old}>{new}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            found("def gross(p, r):\n    return p\n", "def add_tax(p, r):\n    return p\n"),
            "gross>add_tax"
        );
        assert_eq!(found("a = gross(gross(1))\n", "a = net( net(1) )\n"), "gross>net");
        for (before, after) in [
            ("x = ab + cd\n", "x = cd + ab\n"),
            ("x = ab\n", "x = 12\n"),
            ("x = ab\n", "x = ab + cd\n"),
            ("x = ab\n", ""),
            ("return True\n", "return False\n"),
        ] {
            assert_eq!(found(before, after), "", "{before} {after}");
        }
        assert!(defines("def load (x):\n", "load") && defines("export function load(", "load"));
        assert!(!defines("return load(x)\n", "load"));
        let long = "x ".repeat(100_000);
        assert_eq!(found(&format!("{long}ab\n"), &format!("{long}cd\n")), "");
    }
}
