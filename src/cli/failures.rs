//! Failing tests at a terminal: a line for each, what went wrong included. Everything else is shown on request.

use super::terminal;
use crate::domain::test_run::{Failure, TestRun};

/// How many failures are shown, unless all of them are requested.
const SHOWN: usize = 10;
/// How many lines of a message, or of the output, are shown on request.
const MOST_LINES: usize = 60;
/// How many lines of the output are shown if no test is known to have failed.
const LINES: usize = 15;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// One line for each of the first failures.
    Lines,
    /// Every failure with its message.
    Messages,
}

impl Detail {
    pub(super) fn of(is_verbose: bool) -> Self {
        if is_verbose { Self::Messages } else { Self::Lines }
    }
}

/// Shows the failures of a red run, or the end of its output if there are none.
pub(super) fn show(run: &TestRun, detail: Detail) {
    for line in lines(run, detail) {
        terminal::show(&line);
    }
}

fn lines(run: &TestRun, detail: Detail) -> Vec<String> {
    if run.failures.is_empty() {
        return if run.is_green() {
            Vec::new()
        } else {
            output(run, detail)
        };
    }
    let most = match detail {
        Detail::Lines => SHOWN,
        Detail::Messages => run.failures.len(),
    };
    let mut lines: Vec<String> = run
        .failures
        .iter()
        .take(most)
        .flat_map(|failure| of(failure, detail))
        .collect();
    let shown = run.failures.len().min(most);
    let more = (run.failed as usize).max(run.failures.len()) - shown;
    if more > 0 {
        let hint = if shown < run.failures.len() {
            "; `-v` shows them"
        } else {
            ""
        };
        lines.push(format!("  … and {more} more{hint}"));
    }
    lines
}

fn of(failure: &Failure, detail: Detail) -> Vec<String> {
    let mut lines = vec![format!("  {}", failure.headline())];
    match detail {
        Detail::Lines => lines.extend(failure.help().map(|help| format!("      help: {help}"))),
        Detail::Messages => {
            let message = failure.message.lines().take(MOST_LINES);
            lines.extend(message.map(|line| format!("      {line}").trim_end().to_owned()));
        }
    }
    lines
}

/// The end of the output.
fn output(run: &TestRun, detail: Detail) -> Vec<String> {
    let most = match detail {
        Detail::Lines => LINES,
        Detail::Messages => usize::MAX,
    };
    let lines: Vec<&str> = run.tail.lines().collect();
    let from = lines.len().saturating_sub(most);
    lines[from..].iter().map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::{Location, Outcome};

    fn run(failures: usize) -> TestRun {
        let failure = |number: usize| Failure {
            name: format!("test_{number}"),
            location: Some(Location {
                path: "test_a.py".into(),
                line: 7,
            }),
            message: format!("def test():\n>   assert f() == 2\nE   assert {number} == 2"),
            ..Failure::default()
        };
        TestRun {
            failures: (0..failures).map(failure).collect(),
            failed: 40,
            ..TestRun::without_result("pytest", Outcome::Failed, "one\ntwo")
        }
    }

    #[test]
    fn each_failure_is_one_line_and_many_are_summarised() {
        let shown = lines(&run(12), Detail::Lines);
        assert_eq!(shown.len(), SHOWN + 1);
        assert_eq!(shown[0], "  test_0 (test_a.py:7): assert 0 == 2");
        assert_eq!(shown[SHOWN], "  … and 30 more; `-v` shows them");
    }

    #[test]
    fn all_messages_are_shown_on_request() {
        let shown = lines(&run(12), Detail::Messages);
        assert_eq!(
            shown[1..4],
            [
                "      def test():",
                "      >   assert f() == 2",
                "      E   assert 0 == 2"
            ]
        );
        assert_eq!(shown.last().map(String::as_str), Some("  … and 28 more"));
    }

    #[test]
    fn without_failures_the_output_is_shown() {
        assert_eq!(lines(&run(0), Detail::Lines), ["  one", "  two"]);
        assert!(lines(&TestRun::without_result("pytest", Outcome::Passed, "x"), Detail::Lines).is_empty());
    }
}
