//! Examples in documentation that a patch removes or changes. Where they are run, they are tests.

use greenlight_syntax::{Language, Parsed};

use super::docs::Example;
use super::item_report::ItemReport;
use super::{body, parts};
use crate::domain::id::RepoPath;
use crate::domain::test_path::is_test_path;
use crate::domain::weakening::{Weakening, WeakeningKind};

/// Reports examples that are gone or that say less.
pub(super) fn compare(
    path: &RepoPath,
    before: Option<&Parsed<'_>>,
    after: Option<&Parsed<'_>>,
    found: &mut Vec<Weakening>,
) {
    let (Some(before), Some(after)) = (before, after) else {
        return;
    };
    let (before, after) = (parts::examples(before), parts::examples(after));
    let has = |old: &Example| {
        after.iter().any(|new| {
            let mut lines = new.text.lines();
            old.text.lines().all(|line| lines.any(|other| other == line))
        })
    };
    for gone in before.iter().filter(|old| !has(old)) {
        let shown = body::quoted(gone.text.lines().nth(1).unwrap_or(&gone.text).trim());
        let mut report = ItemReport {
            path,
            test: String::new(),
            found,
        };
        report.say(
            WeakeningKind::ExpectationChanged,
            gone.line,
            format!("a documentation example, which is run as a test, is changed or removed: {shown}"),
        );
    }
}

/// Whether this may be the name of an example that ran: rustdoc's `src/lib.rs - add`, pytest's
/// `src/sums.py::sums.add` and `docs/index.rst::index.rst`, or unittest's `add (sums) Doctest: sums.add`. In Python,
/// that is everything that is not called like a test.
pub(super) fn is_example(language: Language, name: &str) -> bool {
    if language == Language::Rust {
        return name.contains(".rs - ");
    }
    let bare = name.split('[').next().unwrap_or(name);
    let is_called_test = |name: &str| name.to_ascii_lowercase().starts_with("test");
    match bare.split_once("::") {
        Some((path, test)) => {
            let test = test.rsplit("::").next().unwrap_or(test);
            !is_test_path(path) || test.contains('.') || !is_called_test(test)
        }
        None => {
            let word = bare.split(' ').next().unwrap_or(bare);
            !is_called_test(word.rsplit('.').next().unwrap_or(word)) || bare.to_ascii_lowercase().contains("doctest")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_ran_are_recognised_by_their_names() {
        for (language, name, expected) in [
            (Language::Rust, "src/lib.rs - add", true),
            (Language::Rust, "crate:src/lib.rs - Sums::add #2", true),
            (Language::Rust, "tests::adds", false),
            (Language::Python, "src/sums.py::sums.add", true),
            (Language::Python, "src/pkg/sums.py::pkg.sums.add", true),
            (Language::Python, "README.rst::README.rst", true),
            (Language::Python, "tests/test_sums.py::test_sums.helper", true),
            (Language::Python, "tests/test_sums.py::TestSums::test_add[1.5]", false),
            (Language::Python, "test_sums.TotalTest.test_total", false),
            (Language::Python, "add (sums) Doctest: sums.add", true),
        ] {
            assert_eq!(is_example(language, name), expected, "{name}");
        }
    }
}
