//! Assertions of C and C++: where they failed, and what they compared.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;
use crate::{Location, location};

/// `path:line:` in the format of assert, GoogleTest, Catch2, doctest and Unity.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)(?:^|[\s:])(/?[\w./+-]+\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx)):(\d+)(?::|$)"));
/// Unity: `Expected 1 Was 2`.
static UNITY: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)\bExpected (\S.*?) Was (\S.*?)\.?$"));
/// Catch2: the assertion with the values of its expressions.
static CATCH: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^ *with expansion:\n +(\S.*?) == (\S.*)$"));
/// GoogleTest, which prints the value of an expression below it.
static GOOGLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?m)^Expected equality of these values:\n  (.+)\n(?:    Which is: (.+)\n)?  (.+)(?:\n    Which is: (.+))?",
    )
});

/// The first place that a message names.
pub fn place(message: &str) -> Option<Location> {
    let found = PLACE.as_ref()?.captures(message)?;
    location(&found[1], &found[2])
}

/// The expected and the actual value of an assertion.
pub fn compared(message: &str) -> Option<(String, String)> {
    if let Some(found) = UNITY.as_ref().and_then(|unity| unity.captures(message)) {
        return Some((found[1].to_string(), found[2].to_string()));
    }
    if let Some(found) = CATCH.as_ref().and_then(|catch| catch.captures(message)) {
        return Some((found[2].to_string(), found[1].to_string()));
    }
    let found = GOOGLE.as_ref()?.captures(message)?;
    let value = |at: usize| found.get(at).map(|value| value.as_str().to_string());
    // A value that is written out is the expected one. The order has no meaning.
    match (value(2), value(4)) {
        (Some(actual), None) => Some((value(3)?, actual)),
        (None, Some(actual)) => Some((value(1)?, actual)),
        (Some(first), Some(second)) => Some((second, first)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_expressions() {
        #[track_caller]
        fn check(message: &str, expected: &str, actual: &str) {
            assert_eq!(compared(message), Some((expected.into(), actual.into())), "{message}");
        }
        check("a.c:3:adds:FAIL: Expected 3 Was -1.", "3", "-1");
        check(
            "a.cpp:9: FAILED:\n  REQUIRE( add(1, 2) == 3 )\nwith expansion:\n  -1 == 3\n",
            "3",
            "-1",
        );
        let google = "a.cc:9: Failure\nExpected equality of these values:\n";
        check(&format!("{google}  add(1, 2)\n    Which is: -1\n  3"), "3", "-1");
        check(&format!("{google}  3\n  add(1, 2)\n    Which is: -1\n"), "3", "-1");
        check(
            &format!("{google}  add(1)\n    Which is: 0\n  one()\n    Which is: 1\n"),
            "1",
            "0",
        );
        assert_eq!(compared("a.cc:9: Failure\nValue of: a\n  Actual: false\n"), None);
    }
}
