//! What went wrong, in one line: what a person reads first about a failing test.
//!
//! Frameworks put it first, last, or in between: after the frames of a traceback, before those of a stack, or beside a
//! mark. Which line it is follows from the shape of the text, so that frameworks nobody has seen read well, too.

use std::sync::LazyLock;

use regex::Regex;

use crate::complaint::complaint;
use crate::failure::{Failure, Location, WHOLE_COMMAND};
use crate::text::pattern;

/// The maximum length of a line about a failure, in characters.
const MAX_LINE: usize = 300;
/// The maximum length of an expected or actual value, in characters.
const MAX_VALUE: usize = 60;

/// The first line of a Python traceback.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// `src/a.js:3`, `file:///a.mjs:3:7`: a line that only says where.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\S+:\d+(?::\d+)?:?$"));
/// `TypeError: …`, `Error [ERR_MODULE_NOT_FOUND]: …`, `java.io.IOException: …`.
static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:Uncaught )?[\w.$]*(?:Error|Exception)(?: \[\w+\])?: \S"));
/// `a_test.go:7: …`, `./a.go:3:37: …`.
static BEFORE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\S+?):(\d+)(?::\d+)?: (?:error: )?(\S.*)$"));

/// What Jest prints above a syntax error.
const UNREADABLE: &str = "Jest encountered an unexpected token";

impl Failure {
    /// What went wrong, in one line, with the values that were compared if the line lacks them. Empty if the message
    /// is.
    pub fn cause(&self) -> String {
        let lines: Vec<&str> = self.message.lines().collect();
        let complaint = (self.name == WHOLE_COMMAND).then(|| complaint(&self.message, 1));
        let line = complaint.as_deref().or_else(|| telling(&lines)).unwrap_or_default();
        let line = without_place(line.trim(), self.location.as_ref());
        let line = short(without_remark(line).trim(), MAX_LINE);
        match self.values(&line) {
            Some(values) => format!("{} ({values})", line.trim_end_matches([':', '.'])),
            None => match rest(&lines, &line) {
                Some(rest) => short(&format!("{line} {rest}"), MAX_LINE),
                None => line,
            },
        }
    }

    /// What a compiler suggests: its first line of help.
    pub fn help(&self) -> Option<String> {
        let lines = self.message.lines().map(|line| line.trim().trim_start_matches("= "));
        let help = lines.filter_map(|line| line.strip_prefix("help: ")).next()?;
        Some(short(help.trim(), MAX_LINE))
    }

    /// The name. `None` for a diagnostic that is named after its own message.
    pub fn title(&self) -> Option<&str> {
        let name = self.name.trim_end_matches(':').trim();
        let cause = self.cause();
        let is_cut = name.len() > MAX_LINE && name.starts_with(cause.trim_end_matches('…'));
        (!name.is_empty() && cause.trim_end_matches(':') != name && !is_cut).then_some(&*self.name)
    }

    /// Everything about it in one line: the test, the place, and the cause.
    pub fn headline(&self) -> String {
        let place = self.location.as_ref().map(|at| format!("{}:{}", at.path, at.line));
        let what = match (self.title(), place) {
            (Some(title), Some(place)) => format!("{title} ({place})"),
            (Some(title), None) => title.to_owned(),
            (None, place) => place.unwrap_or_default(),
        };
        match (what, self.cause()) {
            (what, cause) if cause.is_empty() => what,
            (what, cause) if what.is_empty() => cause,
            (what, cause) => format!("{what}: {cause}"),
        }
    }

    /// The values that were compared, unless the line has both.
    fn values(&self, line: &str) -> Option<String> {
        let (expected, actual) = (self.expected.as_deref()?, self.actual.as_deref()?);
        let is_told = |value: &str| value.trim().is_empty() || line.contains(value.trim());
        if is_told(expected) && is_told(actual) {
            return None;
        }
        let value = |text: &str| short(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_VALUE);
        Some(format!("expected {}, received {}", value(expected), value(actual)))
    }
}

/// The next line of a message, if this one only announces it: `Expected values to be strictly equal:`.
fn rest<'a>(lines: &[&'a str], line: &str) -> Option<&'a str> {
    if !line.ends_with(':') {
        return None;
    }
    let at = lines.iter().position(|other| other.contains(line))?;
    let mut after = lines[at + 1..].iter().map(|line| line.trim());
    after.find(|line| says(line)).filter(|line| !is_frame(line))
}

/// The line that says what went wrong.
fn telling<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let marked: Vec<&str> = lines.iter().filter_map(|line| marked(line)).collect();
    if let Some(first) = marked.first() {
        // A syntax error begins with the file and ends with what is wrong.
        let is_place = first.starts_with("File \"");
        return if is_place {
            marked.iter().rev().find(|line| says(line)).copied()
        } else {
            Some(first)
        };
    }
    if let Some(error) = of_traceback(lines) {
        return Some(error);
    }
    let mut told = lines.iter().copied().filter(|line| says(line) && !is_frame(line));
    let first = told.next()?;
    let error = |line: &&str| ERROR.as_ref().is_some_and(|error| error.is_match(line.trim()));
    if first.trim_start().starts_with("● ") {
        // A heading of Jest's, and then another one if it cannot parse a file.
        let next = told.next();
        let is_heading = next.is_some_and(|next| next.trim() == UNREADABLE);
        return told.find(error).filter(|_| is_heading).or(next).or(Some(first));
    }
    if PLACE.as_ref().is_some_and(|place| place.is_match(first.trim())) {
        // Node shows where, the code, and only then what.
        return told.clone().find(error).or_else(|| told.next()).or(Some(first));
    }
    Some(first)
}

/// Pytest's text about an error, without its mark.
/// <https://docs.pytest.org/en/stable/how-to/output.html>
fn marked(line: &str) -> Option<&str> {
    let text = line.strip_prefix("E ")?.trim();
    (!text.is_empty()).then_some(text)
}

/// Whether a line has words, and not only marks below other lines.
fn says(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// The error below the last traceback.
fn of_traceback<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let traceback = lines.iter().rposition(|line| line.trim() == TRACEBACK)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines.get(traceback)?);
    let mut after = lines.iter().skip(traceback + 1).copied();
    after.find(|line| says(line) && indent(line) <= own)
}

/// Whether a line is a frame of a stack: `at f (a.js:1:2)`, `f (node:internal/x:1:2)`.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    let is_place = |text: &str| PLACE.as_ref().is_some_and(|place| place.is_match(text));
    let of_call = line.strip_suffix(')').and_then(|line| line.rsplit_once('('));
    let is_call = of_call.is_some_and(|(_, place)| is_place(place) || place.ends_with(".java"));
    line.strip_prefix("at ")
        .is_some_and(|rest| is_call || is_place(rest) || rest.starts_with("new "))
        || is_call
}

/// The line without the place at its beginning, if that is said separately.
fn without_place<'a>(line: &'a str, location: Option<&Location>) -> &'a str {
    let Some((found, at)) = BEFORE.as_ref().and_then(|before| before.captures(line)).zip(location) else {
        return line;
    };
    let (path, number) = (found.get(1).map_or("", |path| path.as_str()), &found[2]);
    let is_same = at.line.to_string() == *number && at.path.ends_with(path.trim_start_matches("./"));
    found.get(3).filter(|_| is_same).map_or(line, |rest| rest.as_str())
}

/// The line without a runner's remark on how values are compared.
fn without_remark(line: &str) -> &str {
    match line.rsplit_once(" // ") {
        Some((told, remark)) if remark.ends_with("equality") => told,
        _ => line,
    }
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::location;

    fn failure(message: &str) -> Failure {
        Failure {
            message: message.into(),
            ..Failure::default()
        }
    }

    #[track_caller]
    fn check(message: &str, expected: &str) {
        assert_eq!(failure(message).cause(), expected);
    }

    #[test]
    fn the_line_that_pytest_marks_is_the_cause() {
        check(
            "ImportError while importing test module '/w/test_a.py'.\nHint: make sure\nTraceback:\na.py:1: in <module>\n    import x\nE   ModuleNotFoundError: No module named 'x'\nE\n",
            "ModuleNotFoundError: No module named 'x'",
        );
        check(
            "E     File \"/w/a.py\", line 1\nE       def f(a)\nE               ^\nE   SyntaxError: expected ':'",
            "SyntaxError: expected ':'",
        );
        check(
            "def test_a():\n>   assert f() == 2\nE   assert 1 == 2\nE    +  where 1 = f()",
            "assert 1 == 2",
        );
    }

    #[test]
    fn a_line_that_announces_another_is_shown_with_it() {
        check(
            "Expected values to be strictly equal:\n\nundefined !== 3\n\n    at f (/w/a.test.js:5:10)",
            "Expected values to be strictly equal: undefined !== 3",
        );
        check(
            "fare.c: In function 'fare':\nfare.c:1:20: error: 'x' undeclared",
            "fare.c: In function 'fare': fare.c:1:20: error: 'x' undeclared",
        );
        check("It fails:\n    at f (/w/a.test.js:5:10)", "It fails:");
    }

    #[test]
    fn a_traceback_ends_with_the_cause() {
        check(
            "Traceback (most recent call last):\n  File \"t.py\", line 9, in test\n    due(1)\n    ^^^^^^\nNameError: name 'datetime' is not defined\n",
            "NameError: name 'datetime' is not defined",
        );
        check("Traceback (most recent call last):\nKilled", "Killed");
    }

    #[test]
    fn frames_code_and_remarks_are_not_the_cause() {
        check(
            "node:internal/modules/esm/resolve:873\n  throw new ERR_MODULE_NOT_FOUND(packageName);\n        ^\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /workspace/add.js\n    at packageResolve (node:internal/modules/esm/resolve:873:9)",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /workspace/add.js",
        );
        check(
            "file:///workspace/a.js:2\nexport const = 1\n             ^\n\nSyntaxError: Unexpected token '='",
            "SyntaxError: Unexpected token '='",
        );
        check("    at f (a.js:1:2)\nTest.run (node:internal/test:7:2)\nboom", "boom");
        check(
            "AssertionError: expected -1 to be 3 // Object.is equality\n    at /w/a.js:3:40",
            "AssertionError: expected -1 to be 3",
        );
        check(
            "see https://a.test // not a remark",
            "see https://a.test // not a remark",
        );
        check("", "");
        check("\n  ^^^^\n", "");
    }

    #[test]
    fn output_that_nobody_reads_is_searched_for_an_error() {
        let command = Failure {
            name: WHOLE_COMMAND.into(),
            ..failure(
                "protoc --version\nmake: protoc: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
            )
        };
        assert_eq!(command.cause(), "make: protoc: No such file or directory");
    }

    #[test]
    fn compared_values_are_added_where_they_are_missing() {
        let compared = |message: &str, expected: &str, actual: &str| {
            let failure = Failure {
                expected: Some(expected.into()),
                actual: Some(actual.into()),
                ..failure(message)
            };
            failure.cause()
        };
        assert_eq!(
            compared(
                "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 3\nReceived: -1",
                "3",
                "-1"
            ),
            "Error: expect(received).toBe(expected) (expected 3, received -1)"
        );
        assert_eq!(
            compared("AssertionError: -1 != 3", "3", "-1"),
            "AssertionError: -1 != 3"
        );
        let long = compared("not equal:", &"x".repeat(1_000), "a\n  b");
        assert_eq!(long, format!("not equal (expected {}…, received a b)", "x".repeat(60)));
    }

    #[test]
    fn a_headline_says_everything_once() {
        let at = location("src/a.rs", "2");
        let compiler = "error[E0599]: no method `sb`\n --> src/a.rs:2:7\n  |\nhelp: there is a method `sub`\n  |";
        let diagnostic = Failure {
            name: "error[E0599]: no method `sb`".into(),
            location: at.clone(),
            ..failure(compiler)
        };
        assert_eq!(diagnostic.headline(), "src/a.rs:2: error[E0599]: no method `sb`");
        assert_eq!(diagnostic.help().as_deref(), Some("there is a method `sub`"));
        let test = Failure {
            name: "TestAdd".into(),
            location: at,
            ..failure("    a.rs:2: got 1")
        };
        assert_eq!(test.headline(), "TestAdd (src/a.rs:2): got 1");
        assert_eq!(test.help(), None);
        let same_word = Failure {
            name: "deep".into(),
            ..failure("not deep equal")
        };
        assert_eq!(same_word.headline(), "deep: not deep equal");
        let bare = Failure {
            name: "t".into(),
            ..failure("")
        };
        assert_eq!(bare.headline(), "t");
    }

    #[test]
    fn a_line_without_end_is_cut_and_read_in_linear_time() {
        let long = format!("{}Error: {}", "a".repeat(200_000), "b ".repeat(200_000));
        assert!(failure(&long).cause().chars().count() <= MAX_LINE + 1);
        let many = "x (y:1:1)\n".repeat(100_000);
        assert_eq!(failure(&many).cause(), "");
    }
}
