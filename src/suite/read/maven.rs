//! Reads what Surefire prints when Maven runs Java tests, and the errors of javac that Maven passes on.

use std::sync::LazyLock;

use regex::Regex;

use super::{Reading, Trouble, location};
use crate::domain::test_run::Location;
use crate::suite::text::pattern;

/// With the time per class, without it the sum of a module.
static SUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(.*)$"));
/// `[ERROR] com.example.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!`, or before Surefire 2.13
/// `adds(com.example.CalcTest)  Time elapsed: …`.
static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^(?:\[ERROR\] )?\s*(\S+?)(?:\((\S+)\))? +(?:--? )?Time elapsed: .* <<< (FAILURE|ERROR)!")
});
static FRAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+at (?:\S+/)?([\w.$]+)\.[\w$<>]+\((\w+\.(?:java|kt|scala)):(\d+)\)$"));
static COMPILER: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\[ERROR\] (/?\S+\.(?:java|kt|scala)):\[?(\d+)(?:,\d+)?\]? (.+)$"));

pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let (mut run, mut red, mut skipped) = (0u32, 0u32, 0u32);
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        if let Some(error) = COMPILER.as_ref().and_then(|compiler| compiler.captures(line)) {
            reading.diagnose(&error[3], location(&error[1], &error[2]), line);
        }
        if let Some(sum) = SUM.as_ref().and_then(|sum| sum.captures(line)) {
            close(&mut reading, open.take());
            if !sum[5].contains("Time elapsed") {
                let number = |index: usize| sum[index].parse::<u32>().unwrap_or(0);
                run = run.saturating_add(number(1));
                red = red.saturating_add(number(2)).saturating_add(number(3));
                skipped = skipped.saturating_add(number(4));
            }
        } else if let Some(failed) = FAILED.as_ref().and_then(|failed| failed.captures(line)) {
            close(&mut reading, open.take());
            let name = match failed.get(2) {
                Some(class) => format!("{}.{}", class.as_str(), &failed[1]),
                None => failed[1].to_string(),
            };
            open = Some((name, Vec::new()));
        } else if line.is_empty() || line.starts_with("[INFO]") {
            close(&mut reading, open.take());
        } else if let Some((_, lines)) = &mut open
            && lines.len() < 100
        {
            lines.push(line);
        }
    }
    close(&mut reading, open);
    if run > 0 {
        reading.settle(run.saturating_sub(red).saturating_sub(skipped), red, skipped);
    }
    let unresolved = text.contains("Could not resolve dependencies") || text.contains("could not be resolved");
    if run == 0 && reading.diagnostics.is_empty() && unresolved {
        reading.trouble = Some(Trouble::Environment);
    }
    reading
}

fn close(reading: &mut Reading, open: Option<(String, Vec<&str>)>) {
    if let Some((name, lines)) = open {
        let place = place(&name, &lines);
        reading.fail(&name, place, &lines.join("\n"));
    }
}

/// The frame in the test's own class; a frame has no directory, so the package stands in for it.
fn place(name: &str, lines: &[&str]) -> Option<Location> {
    let class = name.rsplit_once('.').map_or(name, |(class, _)| class);
    lines.iter().find_map(|line| {
        let frame = FRAME.as_ref()?.captures(line)?;
        if frame[1] != *class && !frame[1].starts_with(&format!("{class}$")) {
            return None;
        }
        let package = class
            .rsplit_once('.')
            .map(|(package, _)| package.replace('.', "/") + "/");
        location(&format!("{}{}", package.unwrap_or_default(), &frame[2]), &frame[3])
    })
}
