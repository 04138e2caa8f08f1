//! Scans a log for lines that look like causes and keeps each with its context, and the end of the log; all of it
//! bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

use regex::Regex;

use crate::text;

/// Maximum size of an excerpt in bytes.
pub(super) const MAX_EXCERPT: usize = 8 << 10;
/// Lines kept above and below a cause.
const BEFORE: usize = 4;
const AFTER: u64 = 24;
/// Lines kept below each further cause in the same window.
const AFTER_ANOTHER: u64 = 14;
/// Lines kept at the end of a log. The last few of them take precedence over the lines before the first cause.
const ENDING: usize = 12;
const LAST: usize = 3;
/// Maximum length of a line in an excerpt.
const MAX_LINE: usize = 400;

/// A line with its number.
type NumberedLine = (u64, String);

/// What is kept of one part of a log.
#[derive(Debug, Default)]
pub(super) struct Causes {
    number: u64,
    before: VecDeque<NumberedLine>,
    ending: VecDeque<NumberedLine>,
    /// Causes by certainty: `hints` are lines that may be a cause, `certain` those that are one.
    hints: Windows,
    certain: Windows,
}

/// Lines around causes.
#[derive(Debug, Default)]
struct Windows {
    all: Vec<Window>,
    open_until: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Window {
    before: Vec<NumberedLine>,
    lines: Vec<NumberedLine>,
}

impl Causes {
    /// Takes the next line. Returns whether it is certainly part of a cause.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let weight = weight(line);
        let kept = (self.number, shortened(line).to_string());
        self.number += 1;
        self.hints.take(&kept, weight > 0, &self.before);
        self.certain.take(&kept, weight > 1, &self.before);
        for (ring, room) in [(&mut self.before, BEFORE), (&mut self.ending, ENDING)] {
            if ring.len() == room {
                ring.pop_front();
            }
            ring.push_back(kept.clone());
        }
        weight > 1
    }

    /// Whether any line is certainly part of a cause.
    pub(super) fn are_certain(&self) -> bool {
        !self.certain.all.is_empty()
    }

    /// The first line of the first cause.
    pub(super) fn first(&self) -> Option<&str> {
        Some(self.windows().all.first()?.lines.first()?.1.as_str())
    }

    /// The lines that are certainly causes, or those that may be.
    fn windows(&self) -> &Windows {
        match self.are_certain() {
            true => &self.certain,
            false => &self.hints,
        }
    }

    /// Counts a line without keeping it, so that the excerpt shows a gap in its place.
    pub(super) fn pass(&mut self) {
        self.number += 1;
    }

    /// The first cause, the end, the context of the cause, and further causes, as far as there is room.
    pub(super) fn excerpt(&self, room: usize) -> String {
        let (first, others) = match self.windows().all.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        let ending: Vec<&NumberedLine> = self.ending.iter().collect();
        let (end, last) = ending.split_at(ending.len().saturating_sub(LAST));
        let lines = first.into_iter().flat_map(|window| &window.lines);
        let context = first.into_iter().flat_map(|window| window.before.iter().rev());
        let others = others
            .iter()
            .flat_map(|window| window.before.iter().chain(&window.lines));
        // Each group must leave a reserve for the groups after it: the first cause leaves a fifth.
        let mut kept: BTreeMap<u64, &str> = BTreeMap::new();
        let mut left = room;
        for (lines, reserve) in [
            (lines.collect::<Vec<_>>(), room / 5),
            (last.iter().rev().copied().collect(), 0),
            (context.collect(), 0),
            (end.iter().rev().copied().collect(), room / 8),
            (others.collect(), room / 16),
        ] {
            for (number, line) in lines {
                // A line, its newline, and possibly a mark for the lines left out before it.
                let cost = line.len() + 7;
                if kept.contains_key(number) {
                    continue;
                }
                if left < reserve + cost {
                    break;
                }
                left -= cost;
                kept.insert(*number, line);
            }
        }
        render(&kept)
    }
}

impl Windows {
    fn take(&mut self, kept: &NumberedLine, is_cause: bool, before: &VecDeque<NumberedLine>) {
        if self.bytes > MAX_EXCERPT {
            return;
        }
        let number = kept.0;
        let is_open = number < self.open_until && !self.all.is_empty();
        if is_cause && !is_open {
            self.all.push(Window {
                before: before.iter().cloned().collect(),
                lines: Vec::new(),
            });
            self.open_until = number + AFTER;
        } else if is_cause {
            self.open_until = self.open_until.max(number + AFTER_ANOTHER);
        } else if !is_open {
            return;
        }
        if let Some(window) = self.all.last_mut() {
            self.bytes += kept.1.len() + 1;
            window.lines.push(kept.clone());
        }
    }
}

/// How much a line looks like the reason for a failure: 0 not at all, 1 possibly, 2 almost certainly.
pub(super) fn weight(line: &str) -> u8 {
    const CAUSE: &str = r"^error(?:\[[\w:-]+\])?: |panicked at |^E   |^(?:FAIL|ERROR): |^\s*--- FAIL: |^\s*not ok \d|^\s+● |^\s*[✕✖×] |^ FAIL  |^\(fail\) |^Traceback \(most recent call last\)|^_{3,} .+ _{3,}$|<<< (?:FAILURE|ERROR)!|\bAssertion(?:Error|FailedError)?\b|\S+\.\w{1,5}[:(]\d+[,:]\d+\)?:? (?:fatal )?error\b|^\S+\.\w{1,5}:\d+(?::\d+)?: (?:fatal )?error: |: fatal error: |^\S+\.go:\d+:\d+: |^\[ERROR\] \S+\.(?:java|kt|scala):|: error CS\d+|^\s+\d+\) Failure:|^\s+Failure/Error:|^\s+\d+\) \S|\*\*\*Failed|\*\*\*Exception|^\s*Failed \S+ \[|^\S+ > .+ FAILED$|^::error|[Ss]egmentation fault|overflowed its stack|[Oo]ut of memory|command not found|ModuleNotFoundError|SyntaxError|Cannot find module|^\S+:\d+:\d+: [A-Z]+\d+ |No space left on device";
    const HINT: &str = r"(?i:\berror\b|\bfailed\b|\bfailure\b|\bexception\b|\bfatal\b|\bdenied\b|\btimed? ?out\b|exit(?:ed)? (?:with )?(?:code|status))";
    static ANY: LazyLock<Option<Regex>> = LazyLock::new(|| text::pattern(&format!("{CAUSE}|{HINT}")));
    static CERTAIN: LazyLock<Option<Regex>> = LazyLock::new(|| text::pattern(CAUSE));
    // Summaries, and lines that only repeat that something failed before.
    static NOISE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(
            r"^error: (?:could not compile|test failed|aborting due|\d+ targets? failed)|^Error: Process completed with exit code|\b0 (?:failed|errors?|failures?|failing)\b|Failures: 0, Errors: 0|(?:^| )ok$|\.\.\. ok|\bPASSED\b|^\s*Compiling |^\s*Download",
        )
    });
    let line = shortened(line);
    let is = |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(line));
    // For nearly all lines this first check decides.
    if !is(&ANY) || is(&NOISE) {
        0
    } else {
        1 + u8::from(is(&CERTAIN))
    }
}

pub(super) fn shortened(line: &str) -> &str {
    line[..line.floor_char_boundary(MAX_LINE)].trim_end()
}

fn render(kept: &BTreeMap<u64, &str>) -> String {
    let mut excerpt = String::new();
    let mut expected = None;
    for (number, line) in kept {
        if expected.is_some_and(|expected| expected != *number) && !excerpt.is_empty() {
            excerpt.push_str("[…]\n");
        }
        expected = Some(number + 1);
        // Empty lines are cheap and separate unrelated text, but one at a time is enough.
        if !(line.is_empty() && (excerpt.is_empty() || excerpt.ends_with("\n\n"))) {
            excerpt.push_str(line);
            excerpt.push('\n');
        }
    }
    excerpt.trim_end().to_string()
}
