//! The timeline of a run, with durations as bars to scale.

use super::text::time;
use crate::domain::clock::millis_in_words;
use crate::summary::TimelineEntry;

/// The width of the longest bar, in the units of its view box.
const FULL: u64 = 1_000;
/// From this difference on, in milliseconds, what was measured is told apart from the time around it.
const APART: u64 = 500;

/// An entry of the timeline, as a bar.
pub(super) struct Bar {
    pub(super) entry: TimelineEntry,
    pub(super) at: String,
    pub(super) took: String,
    /// Whether it is the time that people took.
    pub(super) is_wait: bool,
    /// Of [`FULL`]: the whole time, and the part of it that was measured. 0 if it is not known.
    pub(super) whole: u64,
    pub(super) measured: u64,
}

/// The length of a bar for this many milliseconds, if the longest one is for `longest`.
pub(super) fn scaled(ms: u64, longest: u64) -> u64 {
    (ms.saturating_mul(FULL) / longest.max(1)).clamp(1, FULL)
}

fn whole(entry: &TimelineEntry) -> Option<u64> {
    entry.since_ms.max(entry.ms)
}

fn is_wait(entry: &TimelineEntry) -> bool {
    entry.kind == "answer"
}

/// The milliseconds that the longest bar is for: those of the longest entry which is not a wait for people.
pub(super) fn longest(entries: &[TimelineEntry]) -> u64 {
    let at_work = entries.iter().filter(|entry| !is_wait(entry)).filter_map(whole).max();
    let longest = at_work.or_else(|| entries.iter().filter_map(whole).max());
    longest.unwrap_or(0)
}

/// Bars to the scale of the longest entry. What people took to answer has the same scale, and at most its length.
pub(super) fn bars(entries: Vec<TimelineEntry>) -> Vec<Bar> {
    let longest = longest(&entries);
    let scaled = |ms: Option<u64>| ms.map_or(0, |ms| scaled(ms, longest));
    let bar = |entry: TimelineEntry| Bar {
        at: time(entry.at),
        took: took(&entry),
        is_wait: is_wait(&entry),
        whole: scaled(whole(&entry)),
        measured: scaled(entry.ms),
        entry,
    };
    entries.into_iter().map(bar).collect()
}

fn took(entry: &TimelineEntry) -> String {
    let measured = entry.ms.map(millis_in_words);
    match (entry.since_ms, entry.ms) {
        (Some(since), Some(ms)) if since >= ms.saturating_add(APART) => {
            let measured = measured.unwrap_or_default();
            let what = match entry.kind.as_str() {
                "tests" | "base" | "triage" | "proof" => "in tests",
                "search" => "searching",
                "model" => "waiting for the model",
                _ => "at work",
            };
            format!("{}, {measured} of it {what}", millis_in_words(since))
        }
        (Some(since), None) => millis_in_words(since),
        _ => measured.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: &str, ms: Option<u64>, since_ms: Option<u64>) -> TimelineEntry {
        TimelineEntry {
            place: 0,
            steps: 1,
            kind: kind.into(),
            what: String::new(),
            at: jiff::Timestamp::UNIX_EPOCH,
            ms,
            since_ms,
        }
    }

    #[test]
    fn bars_are_to_scale_and_waiting_does_not_shrink_the_work() {
        let shown = bars(vec![
            entry("started", None, None),
            entry("tests", Some(5_000), Some(20_000)),
            entry("model", None, Some(10_000)),
            entry("answer", Some(86_400_000), None),
            entry("proof", Some(3_000), Some(3_100)),
        ]);
        let shown: Vec<_> = shown
            .iter()
            .map(|bar| (bar.took.as_str(), bar.is_wait, bar.whole, bar.measured))
            .collect();
        assert_eq!(
            shown,
            [
                ("", false, 0, 0),
                ("20 s, 5 s of it in tests", false, 1_000, 250),
                ("10 s", false, 500, 0),
                ("1 day", true, 1_000, 1_000),
                ("3 s", false, 155, 150),
            ]
        );
        assert_eq!(bars(vec![entry("answer", Some(7), None)])[0].whole, 1_000);
    }
}
