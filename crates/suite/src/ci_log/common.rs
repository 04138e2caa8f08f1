//! Remembers the lines of a green run of the same job: a line that both logs contain is not a cause.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;

use super::stream::{Lines, LogLine, cleaned, read};

/// Only this many different lines of a green log are remembered.
const MAX_LINES: usize = 300_000;
/// Maximum number of bytes read from a green log.
const MAX_BYTES: u64 = 256 << 20;

/// The lines of a green log, without the numbers and names that change from run to run.
#[derive(Debug, Default)]
pub struct GreenLog {
    lines: Lines,
    known: HashSet<u64>,
    taken: u64,
}

impl GreenLog {
    /// Takes the next bytes of the log. Breaks when it has enough.
    pub fn take(&mut self, bytes: &[u8]) -> std::ops::ControlFlow<()> {
        let Self { lines, known, taken } = self;
        *taken += bytes.len() as u64;
        lines.take(bytes, |line| remember(known, line));
        if *taken > MAX_BYTES || known.len() >= MAX_LINES {
            return std::ops::ControlFlow::Break(());
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Whether the log contained this line. Empty lines do not count: every log has them.
    pub(super) fn has(&self, line: &str) -> bool {
        !line.trim().is_empty() && self.known.contains(&normal(line))
    }
}

fn remember(known: &mut HashSet<u64>, line: &[u8]) {
    let line = cleaned(line);
    let (LogLine::Plain(text) | LogLine::Group(text) | LogLine::Error(text, _)) = read(&line) else {
        return;
    };
    if known.len() < MAX_LINES {
        known.insert(normal(&text));
    }
}

/// Hashes a line, treating all numbers, digests, durations and names of temporary files as equal.
fn normal(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let line = line.trim();
    let mut words = line.as_bytes();
    while let Some(first) = words.first() {
        let is_word = first.is_ascii_alphanumeric();
        let end = words.iter().position(|byte| byte.is_ascii_alphanumeric() != is_word);
        let (word, rest) = words.split_at(end.unwrap_or(words.len()));
        words = rest;
        if !is_word {
            hasher.write(word);
            continue;
        }
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_digest = word.len() >= 7 && digits > 0 && word.iter().all(u8::is_ascii_hexdigit);
        // Machine-made names: letters mixed with digits.
        let is_made_up = word.len() >= 6 && digits >= 2 && word.len() - digits >= 2;
        if is_digest || is_made_up {
            hasher.write(b"0");
        } else if digits == 0 {
            hasher.write(word);
        } else {
            let mut in_number = false;
            for byte in word {
                let is_digit = byte.is_ascii_digit();
                if !(is_digit && in_number) {
                    hasher.write_u8(if is_digit { b'0' } else { *byte });
                }
                in_number = is_digit;
            }
        }
        // Skips the rest of a temporary path, up to its next component.
        if word == b"tmp" || word == b"_temp" {
            let end = rest
                .iter()
                .skip(1)
                .position(|byte| matches!(byte, b'/' | b' ' | b'\'' | b'"' | b':'));
            words = &rest[end.map_or(rest.len(), |end| end + 1)..];
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_only_in_what_changes_are_the_same() {
        #[track_caller]
        fn check(one: &str, other: &str, same: bool) {
            let mut green = GreenLog::default();
            assert!(
                green
                    .take(format!("2026-11-20T07:39:00Z {one}\n").as_bytes())
                    .is_continue()
            );
            assert_eq!(green.has(other), same, "{one} / {other}");
        }
        check("Downloaded 3 crates in 1.5s", "Downloaded 12 crates in 0.07s", true);
        check("HEAD is now at 1a2b3c4d5", "HEAD is now at ffee00112233", true);
        check("copy /tmp/tmpabcxyz/a.txt", "copy /tmp/pip-qq/a.txt", true);
        check("copy /tmp/tmpabcxyz/a.txt", "copy /tmp/tmpabcxyz/b.txt", false);
        check("test tests::adds ... ok", "test tests::adds ... FAILED", false);
        check("left: a", "left: b", false);
        check("", "", false);
    }

    #[test]
    fn a_huge_green_log_is_bounded() {
        let mut green = GreenLog::default();
        for number in 0..MAX_LINES + 10 {
            let letters: String = number
                .to_string()
                .bytes()
                .map(|digit| char::from(digit - b'0' + b'a'))
                .collect();
            let _enough = green.take(format!("line {letters}\n").as_bytes());
        }
        assert_eq!(green.known.len(), MAX_LINES);
    }
}
