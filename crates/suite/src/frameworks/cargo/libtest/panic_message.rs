//! Reads the output of a failed Rust test: its panic, and the values that an assertion compared.

use std::sync::LazyLock;

use greenlight_readers::location;
use greenlight_readers::test_run::Location;
use regex::Regex;

use crate::text::pattern;

static PANIC: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"panicked at (\S.*?):(\d+):\d+:?$"));
/// Before Rust 1.73 the message preceded the location.
static OLD_PANIC: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"panicked at (?:'|)(?s:(.*?))(?:'|), ([^\s,]+):(\d+):\d+$"));
static NO_PANIC: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^note: test did not panic as expected at (\S+?):(\d+):\d+$"));
/// The values that `assert_eq!` prints; in backticks before Rust 1.73.
static SIDES: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\s*left: `?(.*?)`?,?\n\s*right: `?(.*?)`?(?:: .*)?$"));

/// The first panic in a test's output, or else the whole output.
pub(in crate::frameworks) fn panicked(shown: &str) -> (Option<Location>, String) {
    let mut lines = shown.lines();
    let mut place = None;
    let mut message = Vec::new();
    for line in lines.by_ref() {
        let panic = PANIC.as_ref().and_then(|panic| panic.captures(line));
        if let Some(panic) = panic {
            place = location(&panic[1], &panic[2]);
            break;
        }
        if let Some(panic) = OLD_PANIC.as_ref().and_then(|panic| panic.captures(line)) {
            place = location(&panic[2], &panic[3]);
            message.push(panic[1].to_string());
            break;
        }
    }
    if place.is_some() {
        let is_end = |line: &&str| line.starts_with("note: run with") || line.starts_with("stack backtrace:");
        message.extend(lines.by_ref().take_while(|line| !is_end(line)).map(ToString::to_string));
        // The panic that the harness expected follows it.
        let wanted = lines.skip_while(|line| !line.starts_with("note: panic did not contain"));
        message.extend(wanted.map(ToString::to_string));
    } else if let Some(quiet) = NO_PANIC.as_ref().and_then(|quiet| quiet.captures(shown)) {
        place = location(&quiet[1], &quiet[2]);
    }
    let message = message.join("\n");
    if message.trim().is_empty() {
        (place, shown.trim().to_string())
    } else {
        (place, message.trim_end().to_string())
    }
}

/// The expected and the actual value that `assert_eq!` prints; most code writes `assert_eq!(actual, expected)`.
pub(in crate::frameworks) fn sides(message: &str) -> Option<(&str, &str)> {
    let sides = SIDES.as_ref()?.captures(message)?;
    Some((sides.get(2)?.as_str(), sides.get(1)?.as_str()))
}
