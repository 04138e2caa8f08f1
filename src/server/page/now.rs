//! What a run is doing while somebody looks at it: the last row of its timeline.

use std::time::Duration;

use jiff::Timestamp;

use super::bars::scaled;
use crate::domain::clock::in_words;
use crate::domain::count::count;
use crate::domain::run::Run;
use crate::engine::UnderWayNow;

/// What is under way, as the timeline shows it.
pub(super) struct NowRow {
    /// As the kind of a step. Empty if only the next step is known.
    pub(super) kind: &'static str,
    pub(super) what: String,
    /// For the script, which counts on.
    pub(super) seconds: u64,
    pub(super) took: String,
    pub(super) left: String,
    /// The width of its bar.
    pub(super) whole: u64,
}

/// Names what is under way, so that a page can tell whether it shows something else.
pub(super) fn name_of(activity: Option<UnderWayNow>) -> &'static str {
    activity.map_or("", |activity| activity.what)
}

/// `None` if the run waits or is over. `activity` is what this process knows of it, `newest` when the last step was
/// recorded, and `longest` the longest of them in milliseconds.
pub(super) fn now_row(
    run: &Run,
    activity: Option<UnderWayNow>,
    (newest, longest): (Timestamp, u64),
    now: Timestamp,
) -> Option<NowRow> {
    let step = run.doing()?;
    let since_newest = now.as_millisecond().saturating_sub(newest.as_millisecond());
    let since_newest = Duration::from_millis(u64::try_from(since_newest).unwrap_or(0));
    let elapsed = whole_seconds(activity.map_or(since_newest, |activity| activity.elapsed));
    let runs = activity.map_or(0, |activity| activity.runs);
    let left = activity.and_then(|activity| activity.left).map(whole_seconds);
    let what = activity.map_or(step, |activity| activity.what);
    Some(NowRow {
        kind: activity.map_or("", |activity| activity.kind),
        what: match runs {
            0 => what.into(),
            runs => format!("{what}, {} so far", count(runs.into(), "run")),
        },
        seconds: elapsed.as_secs(),
        took: in_words(elapsed),
        left: left.map_or_else(String::new, |left| format!(", about {} left", in_words(left))),
        whole: scaled(elapsed.as_millis().try_into().unwrap_or(u64::MAX), longest),
    })
}

fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs())
}
