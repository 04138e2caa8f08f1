//! Reads what Vitest writes: its JSON where it came to that, else its text.

use std::sync::LazyLock;

use regex::Regex;

use super::javascript::{blocks, compared, frame, not_loaded, notice_memory, read_results, settle_from, until};
use super::{Printed, Reading, Trouble};
use crate::suite::text::pattern;

static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^ ❯ (?:.* )?([^\s:]+):(\d+):\d+$"));
static UNHANDLED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^⎯+ (Unhandled Rejection|Uncaught Exception|Unhandled Error) ⎯+$"));

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let mut reading = Reading::default();
    // A report that knows of no failure may not be the one that the run wrote: red text goes before it.
    let is_read = read_results(printed.reports, &mut reading);
    if !is_read || !reading.shows_a_failure() && read_text(printed.text).failed > 0 {
        reading = read_text(printed.text);
    }
    let has_none = printed.text.contains("No test files found, exiting with code 1");
    if !reading.ran() && reading.diagnostics.is_empty() && has_none {
        reading.trouble = Some(Trouble::NotFound);
    }
    read_unhandled(printed.text, &mut reading);
    notice_memory(printed.text, &mut reading);
    reading
}

/// Errors that belong to no test fail the whole run, although they are in none of its sums.
fn read_unhandled(text: &str, reading: &mut Reading) {
    let title = |line: &str| Some(UNHANDLED.as_ref()?.captures(line)?[1].to_lowercase());
    let (passed, failed, skipped) = (reading.passed, reading.failed, reading.skipped);
    let before = reading.failures.len();
    for (title, body) in blocks(text, title) {
        reading.crash(&title, &until(&body, &["⎯⎯⎯", " Test Files  "]));
    }
    if reading.failures.len() > before {
        reading.settle(passed, failed, skipped);
    }
}

fn read_text(text: &str) -> Reading {
    let mut reading = Reading::default();
    for (title, body) in blocks(text, |line| line.strip_prefix(" FAIL  ").map(ToString::to_string)) {
        let body = until(&body, &["⎯⎯⎯"]);
        let place = frame(&body, &FRAME);
        match title.split_once(" > ") {
            Some(_) => {
                reading.fail(&title, place, &body);
                if let Some((expected, actual)) = compared(&body) {
                    reading.compare(&expected, &actual);
                }
            }
            None => not_loaded(title.split(" [ ").next().unwrap_or(&title), place, &body, &mut reading),
        }
    }
    // What passed is shown without its suites, if at all: only counted.
    settle_from(text, "Tests  ", &mut reading);
    reading
}
