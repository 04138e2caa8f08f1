//! Parses what Perl and Bats print around the Test Anything Protocol: comments with the location of a failure and its
//! values, and the summary of `prove`.

use std::sync::LazyLock;

use regex::Regex;

use super::{ParsedRun, location};
use crate::Location;
use crate::text::pattern;

/// Bats' `(in test file a.bats, line 4)` and Perl's ` at a.t line 1.`.
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)(?:in test file (\S.*?), line (\d+)\)|^ *at (\S.*?) line (\d+)\.$)"));
static COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^ *got: (.*)\n *expected: (.*)$"));
/// `Files=1, Tests=5,  0 wallclock secs`, and `a.t (Wstat: 512 (exited 2) Tests: 5 Failed: 2)`.
static PROVED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Files=\d+, Tests=(\d+),"));
static FAILED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\S+) +\(Wstat: \d+ .*Tests: \d+ Failed: (\d+)\)$"));

/// Whether Perl printed it, which counts a test with subtests as one.
pub(crate) fn is_perl(text: &str) -> bool {
    text.lines().any(|line| {
        let comment = line.trim_start();
        line.starts_with("Files=")
            || comment.starts_with("# Looks like you ")
            || comment.starts_with("#   Failed test")
            || comment.starts_with("#   Failed (TODO) test")
    })
}

/// The location of a failure, from the comments below its result.
pub(crate) fn place(comments: &str) -> Option<Location> {
    let found = PLACE.as_ref()?.captures(comments)?;
    let (path, line) = (found.get(1).or(found.get(3))?, found.get(2).or(found.get(4))?);
    location(path.as_str(), line.as_str())
}

/// The expected and actual value of a test, from the comments below its result.
pub(crate) fn compared(comments: &str) -> Option<(String, String)> {
    let found = COMPARED.as_ref()?.captures(comments)?;
    Some((found[2].to_string(), found[1].to_string()))
}

/// Parses the summary of `prove`, which does not print single results by default. `None` if there is none.
pub(crate) fn read(text: &str) -> Option<ParsedRun> {
    let mut parsed = ParsedRun::default();
    let (mut all, mut red) = (None, 0u32);
    for line in text.lines() {
        if let Some(sum) = PROVED.as_ref().and_then(|sum| sum.captures(line)) {
            let sum = sum[1].parse().unwrap_or(0);
            all = Some(all.unwrap_or(0u32).saturating_add(sum));
        } else if let Some(file) = FAILED.as_ref().and_then(|file| file.captures(line)) {
            red = red.saturating_add(file[2].parse().unwrap_or(0));
            parsed.fail(&file[1], None, line);
        }
    }
    parsed.reconcile_totals(all?.saturating_sub(red), red, 0);
    Some(parsed)
}
