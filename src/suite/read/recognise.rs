//! Finds out whose output a text is, or the outputs of several frameworks one after another.

use super::{Printed, Reading, read_printed};
use crate::suite::Framework;

/// What only one framework prints. Those that run the tests of others come first: what they pass on is theirs already.
const MARKS: [(Framework, &[&str]); 25] = [
    (Framework::Ctest, &["% tests passed, ", "\nNo tests were found!!!"]),
    (
        Framework::Nextest,
        &["\n Nextest run ID ", "\n     Summary [", "\n    Starting "],
    ),
    (
        Framework::Cargo,
        &["\ntest result: ", "error: could not compile", "\nerror[E"],
    ),
    (
        Framework::Gradle,
        &["\nBUILD FAILED in ", "\nBUILD SUCCESSFUL in ", "\n> Task :"],
    ),
    (Framework::Maven, &["Tests run: ", "COMPILATION ERROR"]),
    (
        Framework::Pytest,
        &[" test session starts ===", "short test summary info"],
    ),
    (Framework::Unittest, &[" tests in ", " test in "]),
    (
        Framework::Go,
        &["--- FAIL: ", "\n{\"Time\":", "\n{\"Action\":", "\nok  \t", "\nFAIL\t"],
    ),
    (Framework::Node, &["\n# duration_ms ", "\n\u{2139} pass ", "\n# pass "]),
    (Framework::Vitest, &[" Test Files  "]),
    (Framework::Jest, &["\nTest Suites: "]),
    (Framework::Mocha, &[" passing ("]),
    (Framework::Bun, &["\nbun test v"]),
    (Framework::Rspec, &[" examples, ", "\n1 example, "]),
    (
        Framework::Minitest,
        &[
            " assertions, ",
            " (LoadError)\n",
            " (SyntaxError)\n",
            "[BUG] Segmentation fault",
        ],
    ),
    (
        Framework::Phpunit,
        &["\nPHPUnit ", "\nPHP Fatal error: ", "\nPHP Parse error: "],
    ),
    (Framework::Dotnet, &["! - Failed: ", "!  - Failed: "]),
    (Framework::Tap, &["\nok ", "\nnot ok ", "\nFiles="]),
    (Framework::Tsc, &["): error TS", " - error TS"]),
    (Framework::Eslint, &["\n\u{2716} "]),
    (Framework::Ruff, &["\nFound "]),
    (Framework::Mypy, &["\nFound ", ": error: "]),
    (Framework::GoVet, &["\n# "]),
    (
        Framework::Compiler,
        &[
            ": error: ",
            ": fatal error: ",
            "undefined reference to",
            ": error CS",
            "\nCMake Error",
            "cannot find -l",
        ],
    ),
    (Framework::Rustc, &["\nerror: "]),
];

/// Finds the frameworks that a text comes from by what only they print, and reads it as each of them. Their results are
/// added up; the framework that is named is the first that shows a failure, else the first that ran anything.
///
/// What CTest, Node and the like ran and passed on is not counted again, and diagnostics are only looked for where no
/// test is red.
pub(in crate::suite) fn recognise(text: &str) -> Option<(Framework, Reading)> {
    let text = format!("\n{text}");
    let mut found: Vec<(Framework, Reading)> = Vec::new();
    for (framework, marks) in MARKS {
        let is_marked = marks.iter().any(|mark| text.contains(mark)) && may_be(framework, &text);
        if !is_marked || is_told(framework, &found) {
            continue;
        }
        let printed = Printed {
            text: &text,
            reports: &[],
        };
        let reading = read_printed(framework, &printed);
        let says = reading.ran() || reading.shows_a_failure() || reading.trouble.is_some();
        // Biome and others end with the sum that Ruff and mypy end with.
        let is_but_a_sum = reading.diagnostics.is_empty() && reading.trouble.is_none();
        // A test framework without a result ran nothing, which is said too. Silent linters say nothing.
        if !framework.is_linter() || (says && !is_but_a_sum) {
            found.push((framework, reading));
        }
    }
    let first = found
        .iter()
        .position(|(_, reading)| reading.shows_a_failure())
        .or_else(|| found.iter().position(|(_, reading)| reading.ran()))
        .unwrap_or_default();
    let framework = found.get(first)?.0;
    let mut all = Reading::default();
    // The failure goes before everything else, as do its lines in what is kept.
    let reading = found.remove(first).1;
    all.add(reading);
    found.into_iter().for_each(|(_, reading)| all.add(reading));
    Some((framework, all))
}

/// What a mark alone does not say.
fn may_be(framework: Framework, text: &str) -> bool {
    match framework {
        Framework::Unittest => text.contains("\nRan "),
        Framework::Minitest => {
            !text.contains(" assertions, ") || text.contains(" failures, ") && text.contains(" errors")
        }
        Framework::Rspec => text.contains(" failure"),
        Framework::Phpunit => text.contains(" by Sebastian Bergmann") || text.contains("\nPHP "),
        Framework::Tap => text.contains("\n1..") || text.contains("\nResult: "),
        // C compilers print their errors in the same form, but of other files.
        Framework::Mypy => {
            [".py:", ".pyi:", ".ipynb:"].iter().any(|kind| text.contains(kind)) && text.contains(": error")
        }
        Framework::Nextest => text.contains("tests run"),
        Framework::Gradle => text.contains(" FAILED") || text.contains(" PASSED") || text.contains("BUILD "),
        _ => true,
    }
}

/// Whether another framework has told already what this one would.
fn is_told(framework: Framework, found: &[(Framework, Reading)]) -> bool {
    let is_there = |other: Framework| found.iter().any(|(framework, _)| *framework == other);
    let has = |other: Framework| {
        found
            .iter()
            .any(|(framework, reading)| *framework == other && reading.ran())
    };
    let is_red = found
        .iter()
        .any(|(_, reading)| reading.failed > 0 || !reading.diagnostics.is_empty());
    match framework {
        _ if has(Framework::Ctest) => true,
        Framework::Tap => is_there(Framework::Node),
        Framework::Maven => has(Framework::Gradle),
        Framework::Cargo => has(Framework::Nextest),
        framework => framework.is_linter() && is_red,
    }
}
