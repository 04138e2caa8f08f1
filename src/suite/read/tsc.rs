//! Reads the errors of the TypeScript compiler, plain or drawn for people.

use std::sync::LazyLock;

use regex::Regex;

use super::{Printed, Reading, Trouble, location};
use crate::domain::test_run::TestRun;
use crate::suite::text::pattern;

static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:([^\s(][^(]*?)(?:\((\d+),\d+\):|:(\d+):\d+ -) )?error (TS\d+): (.+)$"));

pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let mut reading = Reading::default();
    let (mut missing, mut all) = (0u32, 0u32);
    let mut lines = printed.text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(found) = ERROR.as_ref().and_then(|pattern| pattern.captures(line)) else {
            continue;
        };
        all = all.saturating_add(1);
        // A module that is not there, not one without types: <https://typescript.tv/errors/>.
        missing += u32::from(matches!(&found[4], "TS2307" | "TS2792"));
        let line_number = found.get(2).or_else(|| found.get(3)).map_or("", |line| line.as_str());
        let place = found.get(1).and_then(|path| location(path.as_str(), line_number));
        let mut message = vec![found[5].to_string()];
        while let Some(more) = lines.next_if(|more| more.starts_with("  ") && !more.trim().is_empty()) {
            message.push(more.to_string());
        }
        let before = reading.diagnostics.len();
        if before < TestRun::MAX_FAILURES {
            reading.diagnose(&found[4], place, &message.join("\n"));
        }
        reading.failed = reading
            .failed
            .saturating_add(u32::from(reading.diagnostics.len() == before));
    }
    if all > 0 {
        reading.tell("errors", all);
    }
    if all > 0 && missing == all {
        reading.trouble = Some(Trouble::MissingModule);
    }
    reading
}
