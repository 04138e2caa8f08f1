//! Distils the log of a failed CI job: what a machine added is taken away, the first cause and its context kept.
//!
//! Not here: getting the log, and saying what it means. A log is text of strangers; it is bounded and cleaned, and
//! nothing in it steers.

use std::sync::LazyLock;

use regex::Regex;

use super::{Framework, read, text};
use crate::domain::id::RepoPath;
use crate::domain::test_run::{Failure, Location};

/// Most bytes of a log that are read from its start and again from its end; the middle of a longer log is skipped.
const MAX_READ: usize = 4 << 20;
/// Longest excerpt.
const MAX_EXCERPT: usize = 8 << 10;
/// Lines kept above and below a cause.
const BEFORE: usize = 4;
const AFTER: usize = 24;
/// Lines kept at the end.
const ENDING: usize = 12;
/// Longest line of an excerpt.
const MAX_LINE: usize = 400;

/// What is left of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distillate {
    /// Failing tests and diagnostics that could be read from the log, in its order.
    pub failures: Vec<Failure>,
    /// The first cause with its context, further ones as far as there is room, and the end; at most 8 KiB.
    pub excerpt: String,
    /// Whose output was recognised.
    pub framework: Option<Framework>,
}

/// Distils the plain text of one job's log.
pub fn distil(log: &[u8]) -> Distillate {
    let log = plain(log);
    let (framework, mut failures) = match read::recognise(&log) {
        Some((framework, reading)) => (Some(framework), reading.into_failures()),
        None => (None, Vec::new()),
    };
    for failure in &mut failures {
        failure.location = failure.location.take().and_then(in_repository);
    }
    Distillate {
        excerpt: excerpt(&log),
        failures,
        framework,
    }
}

/// A place as a path of the repository: hosted runners check out below a fixed directory.
fn in_repository(place: Location) -> Option<Location> {
    static CHECKOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(r"^(?:(?:/home/runner/work|/Users/runner/work|/__w)/[^/]+/[^/]+|/github/workspace)/")
    });
    let relative = CHECKOUT.as_ref()?.replace(&place.path, "");
    let relative = relative.trim_start_matches("./").parse::<RepoPath>().ok()?;
    Some(Location {
        path: relative.to_string(),
        line: place.line,
    })
}

/// The log without time stamps, colours, group markers and the prefixes of workflow commands.
fn plain(log: &[u8]) -> String {
    static STAMP: LazyLock<Option<Regex>> =
        LazyLock::new(|| text::pattern(r"^\u{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?"));
    // As runners write them to logs, and as steps print them:
    // <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(
            r"^(?:##\[(group|endgroup|error|warning|notice|debug|command|section)\]|\[command\]|::(error|warning|notice|debug|group|endgroup)(?: [^:]*)?::)",
        )
    });
    let mut plain = String::new();
    for part in ends(log) {
        for line in text::clean(part).lines() {
            let line = STAMP.as_ref().map_or(line.into(), |stamp| stamp.replace(line, ""));
            let Some(mark) = MARK.as_ref().and_then(|mark| mark.captures(&line)) else {
                plain.push_str(&line);
                plain.push('\n');
                continue;
            };
            let kind = mark
                .get(1)
                .or_else(|| mark.get(2))
                .map_or("command", |kind| kind.as_str());
            let rest = &line[mark[0].len()..];
            match kind {
                "endgroup" | "debug" => continue,
                "error" if !rest.to_ascii_lowercase().starts_with("error") => plain.push_str("Error: "),
                _ => {}
            }
            plain.push_str(rest);
            plain.push('\n');
        }
    }
    plain
}

/// All of a log, or its two ends cut at line ends.
fn ends(log: &[u8]) -> Vec<&[u8]> {
    if log.len() <= 2 * MAX_READ {
        return vec![log];
    }
    let newline = |byte: &u8| *byte == b'\n';
    let head = &log[..MAX_READ];
    let head = &head[..head.iter().rposition(newline).map_or(head.len(), |at| at + 1)];
    let tail = &log[log.len() - MAX_READ..];
    let tail = &tail[tail.iter().position(newline).map_or(0, |at| at + 1)..];
    vec![head, b"[the middle of the log was skipped]\n", tail]
}

/// How much a line looks like the reason of a failure: 0 not at all, 2 like its very place.
fn weight(line: &str) -> u8 {
    static CAUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(
            r"^error(?:\[E\d+\])?: |panicked at |^E   |^(?:FAIL|ERROR): |^\s*--- FAIL: |^\s*not ok \d|^\s+● |^\s*[✕✖×] |^ FAIL  |^Traceback \(most recent call last\)|^_{3,} .+ _{3,}$|<<< (?:FAILURE|ERROR)!|\bAssertion(?:Error|FailedError)?\b|\S+\.\w{1,5}[:(]\d+[,:]\d+\)?:? error\b|: fatal error: |^\S+\.go:\d+:\d+: |[Ss]egmentation fault|overflowed its stack|[Oo]ut of memory|command not found|ModuleNotFoundError|SyntaxError|Cannot find module",
        )
    });
    static HINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(
            r"(?i)\berror\b|\bfailed\b|\bfailure\b|\bexception\b|\bfatal\b|\bdenied\b|\btimed? ?out\b|exit(?:ed)? (?:with )?(?:code|status)",
        )
    });
    // Sums, and what only repeats that something failed before.
    static NOISE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(
            r"^error: (?:could not compile|test failed|aborting due)|^Error: Process completed with exit code|\b0 (?:failed|errors?|failures?)\b|Failures: 0, Errors: 0|(?:^| )ok$|\.\.\. ok|^\s*Compiling |^\s*Download",
        )
    });
    let line = shortened(line);
    let is = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(line));
    if is(&NOISE) {
        0
    } else if is(&CAUSE) {
        2
    } else {
        u8::from(is(&HINT))
    }
}

/// The first cause first in room and in order, then others while there is room, then the end.
fn excerpt(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let weights: Vec<u8> = lines.iter().map(|line| weight(line)).collect();
    let strongest = weights.iter().copied().max().unwrap_or(0);
    let mut keep = vec![false; lines.len()];
    let mut room = MAX_EXCERPT;
    let ending = lines.len().saturating_sub(ENDING)..lines.len();
    let causes = (0..lines.len()).filter(|&at| strongest > 0 && weights[at] == strongest);
    let windows = causes.map(|at| at.saturating_sub(BEFORE)..(at + AFTER).min(lines.len()));
    // The first cause may take three quarters; the end is kept in any case.
    let mut first = true;
    let reserve = MAX_EXCERPT / 4;
    for window in windows.take(200) {
        let limit = if first { reserve } else { reserve / 2 };
        mark(&lines, &mut keep, window, &mut room, limit);
        first = false;
        if room <= reserve {
            break;
        }
    }
    mark(&lines, &mut keep, ending, &mut room, 0);
    render(&lines, &keep)
}

/// Keeps the lines of a window while more than `reserve` bytes of room remain.
fn mark(lines: &[&str], keep: &mut [bool], window: std::ops::Range<usize>, room: &mut usize, reserve: usize) {
    for at in window {
        // A line, its end, and possibly a mark for what was left out before it.
        let cost = shortened(lines[at]).len() + 8;
        if !keep[at] {
            if room.saturating_sub(cost) <= reserve {
                return;
            }
            keep[at] = true;
            *room -= cost;
        }
    }
}

fn shortened(line: &str) -> &str {
    line[..line.floor_char_boundary(MAX_LINE)].trim_end()
}

fn render(lines: &[&str], keep: &[bool]) -> String {
    let mut excerpt = String::new();
    let mut gap = false;
    for (line, keep) in lines.iter().zip(keep) {
        if !keep {
            gap = true;
            continue;
        }
        if gap && !excerpt.is_empty() {
            excerpt.push_str("[…]\n");
        }
        gap = false;
        let line = shortened(line);
        // Empty lines cost nothing to read and separate what belongs apart, but one is enough.
        if !(line.is_empty() && (excerpt.is_empty() || excerpt.ends_with("\n\n"))) {
            excerpt.push_str(line);
            excerpt.push('\n');
        }
    }
    let excerpt = excerpt.trim_end();
    excerpt.to_string()
}

#[cfg(test)]
mod tests;
