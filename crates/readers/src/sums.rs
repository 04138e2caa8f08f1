//! Parses the totals that small JavaScript runners print for people only: uvu, Jasmine, AVA, node-tap and Karma.
//! Their failures are not parsed.

use std::sync::LazyLock;

use regex::Regex;

use super::{Anomaly, ParsedRun};
use crate::text::pattern;

static UVU: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^  Total: +(\d+)\n  Passed: +(\d+)\n  Skipped: +(\d+)$"));
static UVU_FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"(?m)^ +FAIL +(?:(.+?) +)?"(.+)"$"#));
static JASMINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?m)^(?:Executed )?(\d+)(?: of \d+)? specs?, (\d+) failures?(?:, (\d+) pending specs?)?")
});
static JASMINE_FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^\d+\) (.+)$"));
static AVA: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?m)^  (\d+) (?:tests?|known failures?|uncaught exceptions?|unhandled rejections?)(?: (passed|failed|skipped|todo))?$",
    )
});
static AVA_FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^  ✘ (?:\[fail\]: )?(.+?)(?: .*)?$"));
static TAP: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^Asserts:\s+(?:([\d,]+) failed, )?(?:([\d,]+) passed, )?(?:([\d,]+) skip, )?"));
static KARMA: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"Executed (\d+) of \d+ (?:\((\d+) FAILED\) )?(?:\(skipped (\d+)\) )?"));

/// Parses the output of any of them; the result is empty if it is from none of them.
pub(crate) fn read(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let number = |found: &regex::Captures<'_>, at: usize| -> u32 {
        let digits = found.get(at).map_or("", |found| found.as_str()).replace(',', "");
        digits.parse().unwrap_or(0)
    };
    let last =
        |pattern: &'static LazyLock<Option<Regex>>| pattern.as_ref().and_then(|one| one.captures_iter(text).last());
    let sums = if let Some(found) = last(&UVU) {
        failures(text, &UVU_FAILURE, &mut parsed);
        let (total, passed, skipped) = (number(&found, 1), number(&found, 2), number(&found, 3));
        Some((passed, total.saturating_sub(passed), skipped))
    } else if let Some(found) = last(&JASMINE) {
        failures(text, &JASMINE_FAILURE, &mut parsed);
        let (ran, failed, pending) = (number(&found, 1), number(&found, 2), number(&found, 3));
        Some((ran.saturating_sub(failed).saturating_sub(pending), failed, pending))
    } else if let Some(found) = last(&TAP) {
        Some((number(&found, 2), number(&found, 1), number(&found, 3)))
    } else if let Some(found) = last(&KARMA) {
        let (ran, failed) = (number(&found, 1), number(&found, 2));
        Some((ran.saturating_sub(failed), failed, number(&found, 3)))
    } else {
        ava(text, &mut parsed)
    };
    if let Some((passed, failed, skipped)) = sums {
        parsed.reconcile_totals(passed, failed, skipped);
    }
    let no_browser = [
        "No binary for Chrome",
        "No binary for Firefox",
        "Cannot start Chrome",
        "Executable doesn't exist at ",
    ];
    if !parsed.ran() && no_browser.iter().any(|mark| text.contains(mark)) {
        parsed.anomaly = Some(Anomaly::Environment);
    }
    parsed
}

fn ava(text: &str, parsed: &mut ParsedRun) -> Option<(u32, u32, u32)> {
    let mut sums = (0u32, 0u32, 0u32);
    let mut seen = false;
    for found in AVA.as_ref()?.captures_iter(text) {
        let count: u32 = found[1].parse().ok()?;
        match found.get(2).map(|word| word.as_str()) {
            Some("passed") => sums.0 = count,
            Some("failed") => sums.1 = count,
            Some(_) => sums.2 = sums.2.saturating_add(count),
            None => continue,
        }
        seen = true;
    }
    if seen {
        failures(text, &AVA_FAILURE, parsed);
    }
    seen.then_some(sums)
}

fn failures(text: &str, pattern: &LazyLock<Option<Regex>>, parsed: &mut ParsedRun) {
    for found in pattern
        .as_ref()
        .into_iter()
        .flat_map(|pattern| pattern.captures_iter(text))
        .take(1_000)
    {
        let names: Vec<&str> = found
            .iter()
            .skip(1)
            .flatten()
            .map(|name| name.as_str().trim())
            .collect();
        let from = found.get(0).map_or(0, |all| all.end());
        let body: Vec<&str> = text[from..].lines().take(20).collect();
        parsed.fail(&names.join(" > "), None, &body.join("\n"));
    }
}
