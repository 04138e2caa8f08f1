//! Extracts the expected and the actual value from failure messages of the assertion libraries of Go and Java. Other
//! messages are ignored.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

/// Patterns for values on one line, or in angle brackets over several lines.
type Patterns = [LazyLock<Option<Regex>>; 4];

/// Patterns in which the expected value comes first.
static JAVA: [LazyLock<Option<Regex>>; 5] = [
    // JUnit 4 and 5, and kotlin.test.
    LazyLock::new(|| pattern(r"(?s)[Ee]xpected: ?<(.*?)> but was: ?<(.*?)>(?:\n|$)")),
    // Hamcrest.
    LazyLock::new(|| pattern(r"(?m)^Expected: (.+)\n\s+but: (?:was )?(.+)$")),
    // AssertJ since 3.18, and Truth.
    LazyLock::new(|| pattern(r"(?m)^\s*expected *: *(.+)\n\s*but was *: *(.+)$")),
    // TestNG.
    LazyLock::new(|| pattern(r"(?m)expected \[(.*?)\] but found \[(.*?)\]$")),
    // JUnit 5, if the types differ.
    LazyLock::new(|| pattern(r"(?m)expected: (\S+<.*>) but was: (\S+<.*>)$")),
];
/// AssertJ, where the actual value comes first.
static ASSERTJ: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?m)^Expecting(?: actual)?:\s*\n\s*(.+)\n\s*(?:to be equal to|to be the same as|to contain|to start with|to end with):?\s*\n\s*(.+)$",
    )
});
/// testify.
static TESTIFY: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\s*expected *: ?(.*)\n\s*actual *: ?(.*)$"));
static GOT_WANT: Patterns = [
    LazyLock::new(|| pattern(r"(?mi)\bgot:? *= *(.+?)[,;]? *want(?:ed)?:? *= *(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)\bgot:? +(.+?)[,;]? +want(?:ed)?:? +(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)= +(.+?)[,;] +want:? +(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)^\s*got:? *(.+)\n\s*want:? *(.+)$")),
];
static WANT_GOT: Patterns = [
    LazyLock::new(|| pattern(r"(?mi)\bwant(?:ed)?:? *= *(.+?)[,;]? *got:? *= *(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)\bwant(?:ed)?:? +(.+?)[,;]? +(?:but )?got:? +(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)\bexpected:? +(.+?)[,;]? +(?:but )?(?:got|was|found|actual):? +(.+)$")),
    LazyLock::new(|| pattern(r"(?mi)^\s*want:? *(.+)\n\s*got:? *(.+)$")),
];

/// The expected and actual value of a failure in Java or Kotlin.
pub fn java(message: &str) -> Option<(String, String)> {
    let known = JAVA.iter().find_map(|pattern| pair(pattern, message));
    known.or_else(|| pair(&ASSERTJ, message).map(swapped))
}

/// The expected and actual value of a failure in Go.
pub fn go(message: &str) -> Option<(String, String)> {
    if let Some(difference) = difference(message) {
        return Some(difference);
    }
    pair(&TESTIFY, message)
        .or_else(|| WANT_GOT.iter().find_map(|pattern| pair(pattern, message)))
        .or_else(|| GOT_WANT.iter().find_map(|pattern| pair(pattern, message)).map(swapped))
}

fn pair(pattern: &LazyLock<Option<Regex>>, message: &str) -> Option<(String, String)> {
    let found = pattern.as_ref()?.captures(message)?;
    Some((found[1].trim_end().to_string(), found[2].trim_end().to_string()))
}

fn swapped((first, second): (String, String)) -> (String, String) {
    (second, first)
}

/// The lines of a diff printed by go-cmp: `(-want +got)`, or the other way round.
fn difference(message: &str) -> Option<(String, String)> {
    let want_first = message.contains("(-want +got)") || message.contains("(-want, +got)");
    let got_first = message.contains("(-got +want)") || message.contains("(-got, +want)");
    if !want_first && !got_first {
        return None;
    }
    let side = |mark: char| {
        // go-cmp uses non-breaking spaces as separators.
        let lines = message
            .lines()
            .filter_map(|line| line.trim_start_matches([' ', '\t', '\u{a0}']).strip_prefix(mark))
            .map(|line| line.trim_matches([' ', '\t', '\u{a0}']).trim_end_matches(','));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (minus, plus) = (side('-'), side('+'));
    if minus.is_empty() && plus.is_empty() {
        return None;
    }
    Some(if want_first { (minus, plus) } else { (plus, minus) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Option<(String, String)>, expected: &str, actual: &str) {
        assert_eq!(found, Some((expected.to_string(), actual.to_string())));
    }

    #[test]
    fn expected_and_actual_values_are_found_in_java() {
        check(
            java("org.opentest4j.AssertionFailedError: expected: <3> but was: <-1>\n\tat x"),
            "3",
            "-1",
        );
        check(
            java("java.lang.AssertionError: expected:<[a]b> but was:<[c]b>"),
            "[a]b",
            "[c]b",
        );
        check(
            java("java.lang.AssertionError: \nExpected: is <1>\n     but: was <2>"),
            "is <1>",
            "<2>",
        );
        check(
            java("org.opentest4j.AssertionFailedError: \nexpected: 3\n but was: -1"),
            "3",
            "-1",
        );
        check(java("expected: 1\nbut was : 2"), "1", "2");
        check(java("java.lang.AssertionError: expected [3] but found [-1]"), "3", "-1");
        check(
            java("Expecting actual:\n  \"abc\"\nto start with:\n  \"b\""),
            "\"b\"",
            "\"abc\"",
        );
        check(java("expected: <a\nb> but was: <c\nd>"), "a\nb", "c\nd");
        assert_eq!(java("java.lang.IllegalStateException: no sum"), None);
    }

    #[test]
    fn expected_and_actual_values_are_found_in_go() {
        check(go("    shop_test.go:7: Add(1, 2) = -1, want 3"), "3", "-1");
        check(go("x_test.go:3: got 1, want 2"), "2", "1");
        check(go("x_test.go:3: expected 1, got 2"), "1", "2");
        check(go("x_test.go:3: want \"a b\", got \"c\""), "\"a b\"", "\"c\"");
        check(
            go("        \texpected: 3\n        \tactual  : -1\n        \tTest: TestA"),
            "3",
            "-1",
        );
        check(
            go("mismatch (-want +got):\n  shop.Item{\n- \tName: \"a\",\n+ \tName: \"b\",\n  }"),
            "Name: \"a\"",
            "Name: \"b\"",
        );
        assert_eq!(go("    x_test.go:3: it broke"), None);
    }
}
