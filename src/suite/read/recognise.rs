//! Finds out whose output a text is.

use super::{Printed, Reading, read_printed};
use crate::suite::Framework;

/// Finds the framework that a text comes from by what only that framework prints, and reads it; one that shows a
/// failure goes before one that shows none.
pub(in crate::suite) fn recognise(text: &str) -> Option<(Framework, Reading)> {
    const MARKS: [(Framework, &[&str]); 10] = [
        (
            Framework::Cargo,
            &["\ntest result: ", "error: could not compile", "\nerror[E"],
        ),
        (
            Framework::Pytest,
            &[" test session starts ===", "short test summary info"],
        ),
        (Framework::Unittest, &[" tests in ", " test in "]),
        (
            Framework::Go,
            &["--- FAIL: ", "\n{\"Time\":", "\n{\"Action\":", "\nok  \t", "\nFAIL\t"],
        ),
        (Framework::Node, &["TAP version 1", "\n\u{2139} pass ", "\n# pass "]),
        (Framework::Vitest, &[" Test Files  "]),
        (Framework::Jest, &["\nTest Suites: "]),
        (Framework::Mocha, &[" passing ("]),
        (Framework::Maven, &["Tests run: ", "COMPILATION ERROR"]),
        (Framework::Gradle, &["\n> Task :", "\nFAILURE: Build "]),
    ];
    let text = format!("\n{text}");
    let mut found: Option<(Framework, Reading)> = None;
    for (framework, marks) in MARKS {
        let marked = marks.iter().any(|mark| text.contains(mark));
        if !marked || (framework == Framework::Unittest && !text.contains("\nRan ")) {
            continue;
        }
        let reading = read_printed(
            framework,
            &Printed {
                text: &text,
                reports: &[],
            },
        );
        if reading.shows_a_failure() {
            return Some((framework, reading));
        }
        if found.as_ref().is_none_or(|(_, found)| !found.ran() && reading.ran()) {
            found = Some((framework, reading));
        }
    }
    found
}
