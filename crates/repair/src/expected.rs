//! Extracts texts that failures print: the expected ones and the actual ones. They come from untrusted code and are
//! only inserted into string literals.

use std::collections::BTreeSet;

use greenlight_readers::test_run::TestRun;
use greenlight_redact::hidden;
use regex::Regex;

/// Maximum number of texts that are kept, and maximum length of one in bytes.
const MAX_TEXTS: usize = 40;
const MAX_TEXT: usize = 200;
/// Maximum number of bytes of a failure's message that are searched.
const MAX_MESSAGE: usize = 64 * 1024;
/// A quoted text on one line, one line of a diff as pytest and unittest print it, and what tests in Go say: `got a, want b`
/// and `f() = a, want b`.
const PRINTED: &[&str] = &[
    r#""((?:[^"\\\n]|\\.){1,200})""#,
    r"'((?:[^'\\\n]|\\.){1,200})'",
    r"`([^`\\\n]{1,200})`",
    r"(?m)^[ E]*[-+] (\S[^\n]{0,199})$",
    r#"(?:\b[Gg]ot:?| =) ([^\s"',;][^\n"',;]{0,199})[,;] (?:want|expected)"#,
    r#"(?m)\b(?:[Ww]ant|[Ee]xpected):? ([^\s"',;][^\n"',;]{0,199})(?:[,;] got|$)"#,
];

/// Maximum number of replacements offered for one text, and of its occurrences that are considered.
const MAX_OFFERED: usize = 8;
const MAX_PLACES: usize = 20;

/// The texts that failures print, each once, in order of appearance.
pub(super) fn texts(before: &TestRun) -> Vec<String> {
    let patterns: Vec<Regex> = PRINTED.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect();
    let mut seen = BTreeSet::new();
    let mut texts = Vec::new();
    for failure in &before.failures {
        let end = failure.message.floor_char_boundary(MAX_MESSAGE);
        let message = failure.message.get(..end).unwrap_or_default();
        let found = patterns.iter().flat_map(|pattern| pattern.captures_iter(message));
        let quoted = found.filter_map(|captures| Some(captures.get(1)?.as_str()));
        for text in quoted.filter(|text| text.len() <= MAX_TEXT && hidden(text).next().is_none()) {
            if texts.len() >= MAX_TEXTS {
                return texts;
            }
            if seen.insert(text.to_string()) {
                texts.push(text.to_string());
            }
        }
    }
    texts
}

/// Replacements for `own`, a part of one printed text, that turn this text into another printed one. Empty if `own`
/// occurs in no printed text.
pub(super) fn instead_of(own: &str, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for actual in texts.iter().map(String::as_str).chain(own.is_empty().then_some("")) {
        for (at, _) in actual.match_indices(own).take(MAX_PLACES) {
            let (before, after) = (&actual[..at], &actual[at + own.len()..]);
            for expected in texts.iter().filter(|expected| *expected != actual) {
                let middle = expected.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                if let Some(middle) = middle.filter(|middle| *middle != own && !middle.is_empty())
                    && !found.iter().any(|known| known == middle)
                {
                    found.push(middle.to_string());
                    if found.len() >= MAX_OFFERED {
                        return found;
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use greenlight_readers::test_run::{Failure, Outcome};

    use super::*;

    fn printed(messages: &[&str]) -> Vec<String> {
        let failure = |message: &&str| Failure {
            message: (*message).into(),
            ..Failure::default()
        };
        texts(&TestRun {
            failures: messages.iter().map(failure).collect(),
            ..TestRun::without_result("pytest", Outcome::Failed, "")
        })
    }

    #[test]
    fn texts_are_read_as_frameworks_print_them() {
        for message in [
            "AssertionError: 'a cat' != 'a dog'\n- a cat\n+ a dog",
            "AssertionError: assert 'a c...' == 'a d...'\n\n  - a dog\n  ?   -\n  + a cat",
            "assert 'a cat' == 'a dog'",
            "  left: \"a cat\"\n right: \"a dog\"",
            "Expected: \"a dog\"\nReceived: \"a cat\"",
            "+   message: 'a cat',\n-   message: 'a dog',",
            "cats_test.go:9: got a cat, want a dog",
            "cats_test.go:9: Cat() = a cat, want a dog",
            "cats_test.go:9: expected a dog, got a cat, want a cat",
        ] {
            let mut texts = printed(&[message]);
            texts.retain(|text| !text.contains("..."));
            texts.sort_unstable();
            assert_eq!(texts, ["a cat", "a dog"], "{message}");
        }
        assert!(printed(&["no text is here", "don't"]).is_empty());
        let many: Vec<String> = (0..1_000).map(|n| format!("'{n}'")).collect();
        assert_eq!(printed(&[&many.join(" ")]).len(), MAX_TEXTS);
        assert!(printed(&[&format!("'{}'", "x".repeat(500))]).is_empty());
        assert!(printed(&["'a\u{202e}b'", "'a\rb'"]).is_empty());
    }

    #[test]
    fn a_part_of_what_there_was_becomes_that_of_what_was_expected() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let both = texts(&["7 cat!", "7 dog!"]);
        assert_eq!(instead_of("cat", &both), ["dog"]);
        assert_eq!(instead_of(" cat!", &both), [" dog!"]);
        assert_eq!(instead_of("dog", &both), ["cat"]);
        assert!(instead_of("cow", &both).is_empty());
        assert!(instead_of("7", &both).is_empty());
        assert_eq!(instead_of("", &texts(&["it is missing"])), ["it is missing"]);
        assert_eq!(instead_of("", &texts(&["ab", "a-b"])), ["-", "ab", "a-b"]);
        assert!(instead_of("cat", &texts(&["7 cat!"])).is_empty());
        // With a lot of output, still only a few are offered.
        let many: Vec<String> = (1..40).map(|n| "a".repeat(n)).collect();
        assert_eq!(instead_of("a", &many).len(), MAX_OFFERED);
    }
}
