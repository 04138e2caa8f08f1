//! Splits a log into lines and removes the prefixes that machines add. Bounded, however long a line or the log is.

use std::borrow::Cow;

use greenlight_readers::test_run::Location;

use crate::text;

/// Maximum length of a line; the rest is left out. Text overwritten after a carriage return does not count.
const MAX_LINE: usize = 256 << 10;

/// Assembles lines from chunks of bytes.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    /// Whether the pending line is full, so that its rest is left out.
    full: bool,
}

impl Lines {
    /// Takes a chunk and passes on every line that ends in it.
    pub(super) fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.pending.is_empty() && !self.full && line.len() <= MAX_LINE {
                each(line);
            } else {
                self.keep(line);
                self.end(&mut each);
            }
        }
        self.keep(bytes);
    }

    /// Passes on what is left without a newline.
    pub(super) fn end(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.pending.is_empty() || self.full {
            each(&self.pending);
        }
        self.pending.clear();
        self.full = false;
    }

    fn keep(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(MAX_LINE) {
            let drawn_over = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\r');
            match drawn_over(piece) {
                // A carriage return discards the text before it, unless it is part of a Windows line ending.
                Some(at) if at + 1 < piece.len() => {
                    self.pending.clear();
                    self.full = false;
                    self.pending.extend_from_slice(&piece[at + 1..]);
                    continue;
                }
                _ => {}
            }
            let room = MAX_LINE.saturating_sub(self.pending.len());
            self.full |= piece.len() > room;
            self.pending.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }
}

/// The kinds of lines in a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogLine<'a> {
    Plain(Cow<'a, str>),
    /// The beginning of a group that can be folded.
    Group(Cow<'a, str>),
    EndGroup,
    /// What a runner or a step marks as an error, with the location it names.
    Error(Cow<'a, str>, Option<Location>),
    /// Nothing of interest to people.
    Nothing,
}

/// A line as text, without colours and other control characters.
pub(super) fn cleaned(line: &[u8]) -> Cow<'_, str> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) if line.iter().all(plain) => Cow::Borrowed(text),
        _ => Cow::Owned(text::clean(line)),
    }
}

/// Classifies a line, after removing the prefixes of the machines it went through.
pub(super) fn read(line: &str) -> LogLine<'_> {
    let line = without_prefixes(line);
    // The format in which runners write them to logs:
    // <https://github.com/actions/runner/blob/main/docs/adrs/0276-problem-matchers.md>
    if let Some((mark, rest)) = line.strip_prefix("##[").and_then(|rest| rest.split_once(']')) {
        match mark {
            "group" | "section" => return LogLine::Group(rest.into()),
            "endgroup" => return LogLine::EndGroup,
            "debug" => return LogLine::Nothing,
            "error" => return LogLine::Error(error(rest), None),
            "warning" | "notice" | "command" => return LogLine::Plain(rest.into()),
            _ => {}
        }
    }
    if let Some(rest) = line.strip_prefix("[command]") {
        return LogLine::Plain(rest.into());
    }
    line.strip_prefix("::")
        .and_then(command)
        .unwrap_or(LogLine::Plain(line.into()))
}

/// A workflow command as steps print it:
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
fn command(line: &str) -> Option<LogLine<'_>> {
    let (head, message) = line.split_once("::")?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let message = unescaped(message);
    Some(match name {
        "group" => LogLine::Group(message),
        "endgroup" => LogLine::EndGroup,
        "debug" | "add-mask" | "stop-commands" | "save-state" | "set-output" | "echo" => LogLine::Nothing,
        "warning" | "notice" => LogLine::Plain(message),
        "error" => {
            let property = |name: &str| {
                let mut pairs = properties.split(',').filter_map(|pair| pair.trim().split_once('='));
                pairs.find(|(key, _)| *key == name).map(|(_, value)| unescaped(value))
            };
            let place = property("file").map(|path| Location {
                path: text::one_line(&path, 1_000),
                line: property("line").and_then(|line| line.parse().ok()).unwrap_or(1),
            });
            LogLine::Error(error_owned(message), place)
        }
        _ => return None,
    })
}

/// The text of an error without its mark. A location at its beginning is kept.
fn error(text: &str) -> Cow<'_, str> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let has_place = first.contains(['.', '/']) && first.contains([':', '(']);
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if has_place || says_so {
        text.into()
    } else {
        format!("Error: {text}").into()
    }
}

fn error_owned(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => error(text),
        Cow::Owned(text) => Cow::Owned(error(&text).into_owned()),
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let text = text.replace("%0D", "").replace("%0A", "\n").replace("%3A", ":");
    text.replace("%2C", ",").replace("%25", "%").into()
}

/// Removes timestamps, and the prefixes of BuildKit, `act` and GitLab.
fn without_prefixes(line: &str) -> &str {
    let mut line = line.trim_start_matches('\u{feff}');
    // A container's own timestamps may follow the runner's.
    for _ in 0..3 {
        let shorter = stamp(line).or_else(|| build_kit(line)).or_else(|| act(line));
        match shorter {
            Some(shorter) => line = shorter,
            None => break,
        }
    }
    line
}

/// `2026-11-20T07:39:00.1688150Z `, and GitLab's suffix: `01O `.
fn stamp(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let fixed = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let is_stamp = bytes.len() > 19
        && fixed.iter().all(|(at, byte)| bytes[*at] == *byte)
        && digits(0..4)
        && digits(5..7)
        && digits(8..10)
        && digits(11..13)
        && digits(14..16)
        && digits(17..19);
    if !is_stamp {
        return None;
    }
    let rest = line[19..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let rest = rest.strip_prefix('Z').or_else(|| rest.strip_prefix("+00:00"))?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let mark = rest.as_bytes();
    let is_mark = mark.len() >= 4
        && mark[0].is_ascii_hexdigit()
        && mark[1].is_ascii_hexdigit()
        && matches!(mark[2], b'O' | b'E')
        && matches!(mark[3], b' ' | b'+');
    Some(if is_mark { &rest[4..] } else { rest })
}

/// `#12 3.456 `.
fn build_kit(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let (seconds, rest) = rest.split_once(' ')?;
    let (whole, part) = seconds.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(number) && is_number(whole) && is_number(part)).then_some(rest)
}

/// `[CI/test]   | `.
fn act(line: &str) -> Option<&str> {
    let (job, rest) = line.strip_prefix('[')?.split_once(']')?;
    let text = rest.trim_start().strip_prefix('|')?;
    (job.contains('/') && job.len() < 200).then(|| text.strip_prefix(' ').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        let mut each = |line: &[u8]| all.push(cleaned(line).into_owned());
        for chunk in chunks {
            lines.take(chunk, &mut each);
        }
        lines.end(&mut each);
        all
    }

    #[test]
    fn lines_are_put_together_from_chunks() {
        assert_eq!(
            lines(&[b"on", b"e\ntw", b"o\r\n", b"\nthree"]),
            ["one", "two", "", "three"]
        );
        assert_eq!(lines(&[b"10%\r50%", b"\r100%\r\n"]), ["100%"]);
        assert_eq!(lines(&[b"a\xffb\x1b[31mc\x1b[0m\n"]), ["a\u{fffd}bc"]);
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut lines = Lines::default();
        for _ in 0..64 {
            lines.take(&[b'x'; 100_000], |_| {});
            assert!(lines.pending.capacity() <= 4 * MAX_LINE);
        }
        let mut lengths = Vec::new();
        lines.take(b"\nnext\n", |line| lengths.push(line.len()));
        assert_eq!(lengths, [MAX_LINE, 4]);
    }

    #[test]
    fn prefixes_of_machines_disappear() {
        #[track_caller]
        fn check(line: &str, expected: &str) {
            assert_eq!(without_prefixes(line), expected, "{line}");
        }
        check("\u{feff}2026-11-20T07:39:00.1688150Z hello", "hello");
        check("2026-11-20T07:39:00Z", "");
        check(
            "2026-11-20T07:39:00.1Z 2026-11-20T07:39:00.123456789Z  in a container",
            " in a container",
        );
        check("2026-11-20T07:39:00.123456Z 01O of GitLab", "of GitLab");
        check("#12 3.456 of BuildKit", "of BuildKit");
        check("#12 is an issue", "#12 is an issue");
        check("[CI/test]   | of act", "of act");
        check("[a] | b", "[a] | b");
        check("2026-11-20 is a day", "2026-11-20 is a day");
        check("2026-11-20T07:39:00 ä", "2026-11-20T07:39:00 ä");
    }

    #[test]
    fn marks_and_commands_are_read() {
        #[track_caller]
        fn check(line: &str, expected: LogLine<'_>) {
            assert_eq!(read(line), expected, "{line}");
        }
        check("##[group]Run it", LogLine::Group("Run it".into()));
        check("::group::Run it", LogLine::Group("Run it".into()));
        check("##[endgroup]", LogLine::EndGroup);
        check(
            "##[error]Process completed",
            LogLine::Error("Error: Process completed".into(), None),
        );
        check(
            "##[error]src/a.ts(3,5): error TS2322: no",
            LogLine::Error("src/a.ts(3,5): error TS2322: no".into(), None),
        );
        let place = Location {
            path: "a,b.py".into(),
            line: 7,
        };
        check(
            "::error file=a%2Cb.py,line=7,title=T::one%0Atwo 100%25",
            LogLine::Error("Error: one\ntwo 100%".into(), Some(place)),
        );
        check("::add-mask::secret", LogLine::Nothing);
        check("::std::vector", LogLine::Plain("::std::vector".into()));
        check("[command]/usr/bin/git", LogLine::Plain("/usr/bin/git".into()));
    }
}
