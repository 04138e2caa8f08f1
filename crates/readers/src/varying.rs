//! Recognises names of tests that may differ from run to run: those that contain a time, an address, a temporary path
//! or a random number. Only another run can tell whether they do.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

static VARIES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?xi) \b0x[0-9a-f]{6,}
        | /tmp/ | /var/folders/ | \\temp\\ | /tmp[0-9a-z_]{6,}
        | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b
        | \b\d{4}-\d\d-\d\d[T\ _-]\d\d[:.-]?\d\d | \b\d\d:\d\d:\d\d
        | \d{9,} | \d\.\d{6,} | \b(?:[a-f]+\d|\d+[a-f])[0-9a-f]{10,}\b",
    )
});

/// Whether a name looks like one of them.
pub(crate) fn may_vary(name: &str) -> bool {
    VARIES.as_ref().is_some_and(|varies| varies.is_match(name))
}

/// A line of a file, as in `sums.py:12`.
static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\.[A-Za-z]{1,4}):\d{1,7}\b"));

/// A name without the line numbers in it.
pub(crate) fn without_lines(name: &str) -> Cow<'_, str> {
    LINE.as_ref()
        .map_or(Cow::Borrowed(name), |line| line.replace_all(name, "$1:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_addresses_paths_and_random_numbers_may_vary() {
        for (name, expected) in [
            ("test_a.py::test_age[1732585267]", true),
            ("test_a.py::test_age[2026-11-26 01:41:07.123456]", true),
            ("test_a.py::test_of[<object at 0x7f3a5c0d1e50>]", true),
            ("test_a.py::test_in[/tmp/pytest-of-ada/pytest-3]", true),
            ("test_a.py::test_id[0b9b7c0e-7a1a-4c38-9d6e-2f2d3f5a9c11]", true),
            ("sums › adds 0.7234511", true),
            ("test_a.py::test_id[9f86d081884c7d65]", true),
            ("test_a.py::test_add[1-2-3]", false),
            ("test_a.py::test_year[2024-01-31]", false),
            ("test_a.py::test_half[0.125]", false),
            ("tests::feedback_is_added", false),
        ] {
            assert_eq!(may_vary(name), expected, "{name}");
        }
    }
}
