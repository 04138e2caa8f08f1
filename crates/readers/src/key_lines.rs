//! The lines of a failure message that say what went wrong, which are rarely the first ones.

use crate::Failure;

/// The first line of a Python traceback.
const TRACEBACK: &str = "Traceback (most recent call last):";

impl Failure {
    /// At most `most` lines of the message that say what went wrong: those that pytest marks with `E`, or the end of
    /// a Python traceback from the innermost call on, or otherwise the first ones.
    pub fn key_lines(&self, most: usize) -> Vec<&str> {
        let lines: Vec<&str> = self.message.lines().collect();
        let marked: Vec<&str> = lines.iter().filter_map(|line| marked(line)).take(most).collect();
        if !marked.is_empty() {
            return marked;
        }
        let start = of_traceback(&lines).unwrap_or_default();
        lines.into_iter().skip(start).take(most).collect()
    }
}

/// Pytest's text about an error, without its mark.
/// <https://docs.pytest.org/en/stable/how-to/output.html>
fn marked(line: &str) -> Option<&str> {
    let text = line.strip_prefix("E ")?.trim();
    (!text.is_empty()).then_some(text)
}

/// The index of the innermost call in the last traceback, if that ends with an error.
fn of_traceback(lines: &[&str]) -> Option<usize> {
    let traceback = lines.iter().rposition(|line| line.trim() == TRACEBACK)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines.get(traceback)?);
    let after = lines.iter().enumerate().skip(traceback + 1);
    let (error, _) = after
        .clone()
        .find(|(_, line)| !line.trim().is_empty() && indent(line) <= own)?;
    let call = lines
        .get(..error)?
        .iter()
        .rposition(|line| line.trim_start().starts_with("File \""));
    Some(call.filter(|call| *call > traceback).unwrap_or(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(message: &str, most: usize) -> String {
        let failure = Failure {
            message: message.into(),
            ..Failure::default()
        };
        failure.key_lines(most).join("\n")
    }

    #[test]
    fn only_lines_that_pytest_marks_are_shown() {
        let message = "ImportError while importing test module '/w/test_a.py'.\nHint: make sure\nTraceback:\na.py:1: in <module>\n    import x\nE   ModuleNotFoundError: No module named 'x'\nE\n";
        assert_eq!(key(message, 6), "ModuleNotFoundError: No module named 'x'");
        assert_eq!(key("E   a\nE   b\nE   c", 2), "a\nb");
    }

    #[test]
    fn a_traceback_is_shown_from_its_innermost_call() {
        let message = "Traceback (most recent call last):\n  File \"t.py\", line 9, in test\n    due(1)\n  File \"a.py\", line 5, in due\n    datetime.now()\n    ^^^^^^^^\nNameError: name 'datetime' is not defined\n";
        let expected = "  File \"a.py\", line 5, in due\n    datetime.now()\n    ^^^^^^^^\nNameError: name 'datetime' is not defined";
        assert_eq!(key(message, 6), expected);
        let unfinished = "Traceback (most recent call last):\n  File \"t.py\", line 9, in test";
        assert_eq!(key(unfinished, 6), unfinished);
        assert_eq!(key("Traceback (most recent call last):\nKilled", 6), "Killed");
    }

    #[test]
    fn other_messages_begin_at_the_beginning() {
        assert_eq!(key("a\nb\nc", 2), "a\nb");
        assert_eq!(key("", 6), "");
        assert_eq!(key("Expected: 1\nE2E failed", 6), "Expected: 1\nE2E failed");
    }
}
