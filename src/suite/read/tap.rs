//! Reads what `node --test` prints: TAP (<https://testanything.org>) or its own tree for people.

use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, location};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

static POINT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^( *)(not )?ok \d+(?: - (.*))?$"));
static SUBTEST: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^( *)# Subtest: (.*)$"));
static DIRECTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(.*?) # (SKIP|TODO)\b ?(.*)$"));
static NODE_PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^'?(?:file://)?(.+?):(\d+):\d+'?$"));
static TREE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^( *)([✔✖﹣▶]) (.+?)(?: \([\d.]+ms\)(?: # (.*))?)?$"));
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^[#ℹ] (tests|pass|fail|cancelled|skipped|todo) (\d+)$"));

/// One `ok` or `not ok` with what follows it.
struct Point {
    depth: usize,
    name: String,
    ok: bool,
    directive: Option<String>,
    yaml: Vec<String>,
    comments: Vec<String>,
}

pub(super) fn read(text: &str) -> Reading {
    let mut reading = if text.contains("TAP version 1") {
        read_tap(text)
    } else {
        read_tree(text)
    };
    // Names of suites are results in TAP, but not tests: the sums know.
    let (mut passed, mut failed, mut cancelled, mut skipped, mut seen) = (0u32, 0u32, 0u32, 0u32, false);
    let mut filtered = 0u32;
    for line in text.lines() {
        let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) else {
            filtered += u32::from(line.ends_with("# SKIP test name does not match pattern"));
            continue;
        };
        let number: u32 = sum[2].parse().unwrap_or(0);
        match &sum[1] {
            "tests" => (passed, failed, cancelled, skipped, seen) = (0, 0, 0, 0, true),
            "pass" => passed = number,
            "fail" => failed = number,
            "cancelled" => cancelled = number,
            _ => skipped = skipped.saturating_add(number),
        }
    }
    if seen {
        let broken = u32::try_from(reading.diagnostics.len()).unwrap_or(0);
        let failed = failed.saturating_add(cancelled).saturating_sub(broken);
        reading.settle(passed, failed, skipped.saturating_sub(filtered));
    }
    reading
}

fn read_tap(text: &str) -> Reading {
    let mut reading = Reading::default();
    // The comments before a result: what its file printed.
    let mut comments: Vec<String> = Vec::new();
    let mut parents: Vec<String> = Vec::new();
    let mut point: Option<Point> = None;
    for line in text.lines() {
        if let Some(found) = POINT.as_ref().and_then(|pattern| pattern.captures(line)) {
            if let Some(point) = point.take() {
                settle_point(&mut reading, &point, &parents);
            }
            let depth = found[1].len() / 4;
            let name = found.get(3).map_or("", |name| name.as_str());
            let directive = DIRECTIVE.as_ref().and_then(|directive| directive.captures(name));
            point = Some(Point {
                depth,
                ok: found.get(2).is_none(),
                name: unescaped(
                    directive
                        .as_ref()
                        .map_or(name, |d| d.get(1).map_or("", |name| name.as_str())),
                ),
                directive: directive.as_ref().map(|d| d[2].to_string()),
                yaml: Vec::new(),
                comments: std::mem::take(&mut comments),
            });
        } else if let Some(subtest) = SUBTEST.as_ref().and_then(|subtest| subtest.captures(line)) {
            if let Some(point) = point.take() {
                settle_point(&mut reading, &point, &parents);
            }
            parents.truncate(subtest[1].len() / 4);
            parents.push(unescaped(&subtest[2]));
        } else if let Some(point) = &mut point
            && line.starts_with(' ')
        {
            if point.yaml.len() < 200 {
                point.yaml.push(line.to_string());
            }
        } else if let Some(comment) = line.strip_prefix("# ")
            && comments.len() < 200
        {
            comments.push(comment.to_string());
        }
    }
    if let Some(point) = point {
        settle_point(&mut reading, &point, &parents);
    }
    reading
}

fn settle_point(reading: &mut Reading, point: &Point, parents: &[String]) {
    let value = |key: &str| {
        let line = point.yaml.iter().find_map(|line| line.trim_start().strip_prefix(key));
        line.map(str::trim)
    };
    let mut names: Vec<&str> = parents.iter().take(point.depth).map(String::as_str).collect();
    names.push(&point.name);
    let name = names.join(" > ");
    let is_suite = value("type:") == Some("'suite'") || value("failureType:") == Some("'subtestsFailed'");
    match (point.ok, point.directive.as_deref()) {
        (_, Some(_)) => reading.skip(),
        _ if is_suite => {}
        (true, None) => reading.pass(&name),
        (false, None) => {
            let message = message(&point.yaml);
            let place = value("location:").and_then(place);
            // A file that could not be loaded, or whose process died, is reported like a test.
            let is_file = value("exitCode:").is_some();
            if is_file && value("signal:").is_some_and(|signal| signal != "~") {
                reading.crash(&name, &message);
            } else if is_file {
                reading.diagnose(&name, place, &point.comments.join("\n"));
            } else {
                reading.fail(&name, place, &message);
            }
        }
    }
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

fn place(value: &str) -> Option<Location> {
    let place = NODE_PLACE.as_ref()?.captures(value)?;
    location(&place[1], &place[2])
}

/// The YAML block from `error:` on, without the keys that say nothing.
fn message(yaml: &[String]) -> String {
    let kept = yaml.iter().filter(|line| {
        let line = line.trim();
        !["---", "..."].contains(&line)
            && ![
                "duration_ms:",
                "location:",
                "failureType:",
                "code:",
                "exitCode:",
                "signal:",
            ]
            .iter()
            .any(|key| line.starts_with(key))
    });
    let kept: Vec<&str> = kept.map(String::as_str).collect();
    let indent = kept.first().map_or(0, |line| line.len() - line.trim_start().len());
    let lines = kept
        .iter()
        .map(|line| line.get(indent..).unwrap_or_else(|| line.trim_start()));
    lines.collect::<Vec<_>>().join("\n")
}

fn read_tree(text: &str) -> Reading {
    let mut reading = Reading::default();
    let mut parents: Vec<String> = Vec::new();
    let mut failing: Option<(String, String)> = None;
    let (tree, details) = text.split_once("\n✖ failing tests:").unwrap_or((text, ""));
    for line in tree.lines() {
        let Some(found) = TREE.as_ref().and_then(|tree| tree.captures(line)) else {
            if let Some((_, message)) = failing
                .as_mut()
                .filter(|(_, message)| message.len() < 2 * super::MAX_MESSAGE)
            {
                message.push_str(line);
                message.push('\n');
            }
            continue;
        };
        if let Some((name, message)) = failing.take() {
            reading.fail(&name, tree_place(details, &name), message.trim_end());
        }
        let depth = found[1].len() / 2;
        let closes = parents.len() > depth && parents.get(depth).is_some_and(|parent| *parent == found[3]);
        parents.truncate(depth);
        let name = parents
            .iter()
            .map(String::as_str)
            .chain([&found[3]])
            .collect::<Vec<_>>()
            .join(" > ");
        let directive = found.get(4).is_some();
        match &found[2] {
            "▶" => parents.push(found[3].to_string()),
            _ if closes => {}
            "﹣" => reading.skip(),
            _ if directive => reading.skip(),
            "✔" => reading.pass(&name),
            _ => failing = Some((name, String::new())),
        }
    }
    if let Some((name, message)) = failing {
        reading.fail(&name, tree_place(details, &name), message.trim_end());
    }
    reading
}

/// `test at test/shop.test.js:5:1` stands above the repeated failure.
fn tree_place(details: &str, name: &str) -> Option<Location> {
    let leaf = name.rsplit(" > ").next().unwrap_or(name);
    let mut lines = details.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some(at) = line.strip_prefix("test at ")
            && next.strip_prefix("✖ ").is_some_and(|next| next.starts_with(leaf))
        {
            return place(at);
        }
    }
    None
}
