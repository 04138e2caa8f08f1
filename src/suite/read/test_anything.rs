//! Reads the Test Anything Protocol of any producer (<https://testanything.org>), and the summary of Perl's `prove`.
//!
//! Only points at the left margin are tests: what is indented are the parts of the one that follows.
//!
//! Not here: `node --test`, which speaks the protocol with marks of its own.

use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, Trouble, location};
use crate::suite::text::pattern;

static PLAN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^1\.\.(\d+)(?: *#.*)?$"));
static POINT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(not )?ok\b(?: (\d+))?(?: -)?(?: (.*))?$"));
static DIRECTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?i)^(.*?) ?# ?(skip|todo)\b(.*)$"));
/// `# (in test file a.bats, line 4)` of Bats, `#   at a.t line 1.` of Perl, `at: a.js:3:1`.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?m)(?:in test file (\S.*?), line (\d+)\)|^# +at (\S.*?) line (\d+)\.|\bat: .*?([^\s(']+\.\w+):(\d+))")
});
static COMPARED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(?m)^# +got: (.*)\n# +expected: (.*)$"));
/// `Files=1, Tests=5,  0 wallclock secs`, and `a.t (Wstat: 512 (exited 2) Tests: 5 Failed: 2)`.
static PROVED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Files=\d+, Tests=(\d+),"));
static PROVE_FAILED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\S+) +\(Wstat: \d+ .*Tests: \d+ Failed: (\d+)\)$"));

/// One point with what follows it.
struct Point {
    name: String,
    message: Vec<String>,
}

pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let mut failed: Option<Point> = None;
    let (mut planned, mut seen) = (0u32, 0u32);
    for line in text.lines() {
        if let Some(plan) = PLAN.as_ref().and_then(|plan| plan.captures(line)) {
            planned = planned.saturating_add(plan[1].parse().unwrap_or(0));
        } else if let Some(point) = POINT.as_ref().and_then(|point| point.captures(line)) {
            close(&mut reading, failed.take());
            if point.get(2).or(point.get(3)).is_none() {
                // The verdict of `prove` on a whole file.
                continue;
            }
            seen = seen.saturating_add(1);
            let told = point.get(3).map_or("", |told| told.as_str());
            let directive = DIRECTIVE.as_ref().and_then(|directive| directive.captures(told));
            let name = directive
                .as_ref()
                .map_or(told, |found| found.get(1).map_or("", |name| name.as_str()));
            let number = || {
                point
                    .get(2)
                    .map_or_else(|| seen.to_string(), |number| number.as_str().to_string())
            };
            let name = if name.is_empty() { number() } else { name.to_string() };
            let is_red = point.get(1).is_some();
            match directive.map(|found| found[2].to_lowercase()) {
                Some(word) if word == "skip" => reading.skip_named(&name),
                Some(_) if is_red => reading.fail_as_expected(),
                _ if is_red => {
                    failed = Some(Point {
                        name,
                        message: Vec::new(),
                    })
                }
                _ => reading.pass(&name),
            }
        } else if let Some(reason) = line.strip_prefix("Bail out!") {
            close(&mut reading, failed.take());
            reading.diagnose("the tests were given up", None, reason.trim());
            reading.trouble = Some(Trouble::NotCollected);
        } else if let Some(point) = &mut failed
            && line.starts_with(['#', ' '])
            && point.message.len() < 100
        {
            point.message.push(line.to_string());
        }
    }
    close(&mut reading, failed);
    if seen > 0 && planned > seen {
        let message = format!("{planned} tests were planned, and {seen} ran");
        reading.crash("the plan", &message);
    }
    if seen == 0 {
        proved(text, &mut reading);
    }
    reading
}

fn close(reading: &mut Reading, point: Option<Point>) {
    let Some(point) = point else { return };
    let message = point.message.join("\n");
    let place = PLACE
        .as_ref()
        .and_then(|place| place.captures(&message))
        .and_then(|place| {
            let path = place.get(1).or(place.get(3)).or(place.get(5))?;
            let line = place.get(2).or(place.get(4)).or(place.get(6))?;
            location(path.as_str(), line.as_str())
        });
    reading.fail(&point.name, place, &message);
    if let Some(compared) = COMPARED.as_ref().and_then(|compared| compared.captures(&message)) {
        reading.compare(&compared[2], &compared[1]);
    }
}

/// The summary of `prove`, which keeps the points to itself.
fn proved(text: &str, reading: &mut Reading) {
    let (mut all, mut red) = (0u32, 0u32);
    for line in text.lines() {
        if let Some(sum) = PROVED.as_ref().and_then(|sum| sum.captures(line)) {
            all = all.saturating_add(sum[1].parse().unwrap_or(0));
        } else if let Some(file) = PROVE_FAILED.as_ref().and_then(|file| file.captures(line)) {
            red = red.saturating_add(file[2].parse().unwrap_or(0));
            reading.fail(&file[1], None, line);
        }
    }
    if all > 0 {
        reading.settle(all.saturating_sub(red), red, 0);
    }
}
