//! Progress of long work. On a terminal, indicatif redraws it in place; elsewhere, it is a line every now and then.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio::time::{MissedTickBehavior, interval_at};

use super::redrawn::RedrawnLine;
use super::terminal;
use crate::domain::clock::in_words;
use crate::domain::count::count;
use crate::engine::purpose_in_words;
use crate::suite::{INSTALL_STEP, Purpose, RunClock, Suite};

/// Shorter work shows nothing on a terminal.
const SILENT: Duration = Duration::from_secs(1);
/// How often the line on a terminal is redrawn.
const REDRAWN: Duration = Duration::from_secs(1);
/// How often a line is printed where there is no terminal.
const PRINTED: Duration = Duration::from_secs(30);

/// Two lines about a search are at least this far apart, and while it continues, not much more than `MOST`.
const LEAST: Duration = Duration::from_secs(2);
const MOST: Duration = Duration::from_secs(20);

/// When work is ended at the latest.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Unknown,
    /// After this time.
    Whole(Duration),
    /// Each step after this time. The number of steps is not known in advance.
    Step(Duration),
}

/// Work that may take long.
#[derive(Debug, Clone)]
pub(super) struct LongWork {
    /// What it is, unless tests run.
    what: &'static str,
    began: Instant,
    /// How long it took last time.
    last: Option<Duration>,
    limit: Limit,
    /// Which tests run meanwhile.
    clock: RunClock,
}

impl LongWork {
    /// An installation, which took this long last time.
    pub(super) fn installation(last: Option<Duration>) -> Self {
        Self {
            what: "installing",
            began: Instant::now(),
            last,
            limit: Limit::Step(INSTALL_STEP),
            clock: RunClock::default(),
        }
    }

    /// The tests of a suite, of which the first run took this long last time.
    pub(super) fn tests(suite: &Suite, last: Option<Duration>) -> Self {
        Self {
            what: "running the tests",
            last,
            ..Self::beside(suite, suite.command.timeout)
        }
    }

    /// Work of the built-in engine or a model, which runs the tests of a suite now and then, and ends after a time limit.
    pub(super) fn beside(suite: &Suite, limit: Duration) -> Self {
        Self {
            what: "looking for a solution",
            limit: Limit::Whole(limit),
            clock: suite.clock.clone(),
            ..Self::installation(None)
        }
    }

    /// What is under way, for how long, and how much longer if it takes as long as last time. Where the number of runs is
    /// not known in advance, how long each takes instead.
    fn line(&self, now: Instant) -> String {
        let tests = self.clock.under_way();
        let what = tests.map_or(self.what, |tests| purpose_in_words(tests.purpose));
        let since = tests.map_or(self.began, |tests| tests.since);
        let so_far = now.saturating_duration_since(since);
        let is_first = tests.is_none_or(|tests| tests.purpose == Purpose::Reproduction);
        let last = tests.and_then(|tests| tests.last).or(self.last.filter(|_| is_first));
        let ended = tests.map_or(0, |tests| tests.ended);
        let limit = if is_first { self.limit } else { Limit::Unknown };
        let outlook = outlook(so_far, ended, last, limit);
        format!("  {what} for {}{outlook}", whole_seconds(so_far))
    }

    /// Does the work, and says what it is and how long it takes.
    pub(super) async fn telling<T>(self, work: impl Future<Output = T>) -> T {
        if terminal::is_quiet() {
            work.await
        } else if std::io::stderr().is_terminal() {
            self.redrawing(work).await
        } else {
            self.printing(work).await
        }
    }

    async fn redrawing<T>(self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(SILENT) => {}
        }
        let style = style("{line}").with_key("line", move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
            let _cannot_fail = line.write_str(&terminal::on_one_line(&self.line(Instant::now())));
        });
        let line = RedrawnLine::add(ProgressBar::new_spinner().with_style(style));
        line.bar().enable_steady_tick(REDRAWN);
        work.await
    }

    async fn printing<T>(self, work: impl Future<Output = T>) -> T {
        let mut tick = interval_at(tokio::time::Instant::now() + PRINTED, PRINTED);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = tick.tick() => terminal::mention(&self.line(Instant::now())),
            }
        }
    }
}

/// A search over edits, shown from the first report to the drop.
#[derive(Debug)]
pub(super) struct SearchProgress {
    limit: Duration,
    began: Option<Instant>,
    /// When a line was printed last.
    last: Option<Instant>,
    /// A line is due at this many edits.
    next: u32,
    bar: Option<RedrawnLine>,
}

impl SearchProgress {
    /// For a search that ends after `limit` at the latest.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            began: None,
            last: None,
            next: 0,
            bar: None,
        }
    }

    /// Reports how many edits were tried, out of about how many.
    pub(super) fn report(&mut self, tried: u32, about: u32) {
        if terminal::is_quiet() {
            return;
        }
        let about = about.max(tried);
        if !std::io::stderr().is_terminal() {
            if let Some(line) = self.line(tried, about, Instant::now()) {
                terminal::mention(&format!("  {line}"));
            }
            return;
        }
        let limit = self.limit;
        let bar = self.bar.get_or_insert_with(|| {
            let style = style("  [{bar:24}] {pos} of about {len} edits tried, at most {left} left").with_key(
                "left",
                move |state: &ProgressState, line: &mut dyn std::fmt::Write| {
                    let left = state.eta().min(limit.saturating_sub(state.elapsed()));
                    let _cannot_fail = line.write_str(&whole_seconds(left));
                },
            );
            RedrawnLine::add(ProgressBar::new(u64::from(about)).with_style(style))
        });
        bar.bar().set_length(u64::from(about));
        bar.bar().set_position(u64::from(tried));
    }

    /// The line to print now, if one is due: at twice as many edits as the one before, or after a while. What is left is
    /// an estimate, and never more than the limit leaves.
    fn line(&mut self, tried: u32, about: u32, now: Instant) -> Option<String> {
        let began = *self.began.get_or_insert(now);
        let since = now.saturating_duration_since(self.last.unwrap_or(began));
        if since < LEAST || (tried < self.next && since < MOST) {
            return None;
        }
        self.last = Some(now);
        self.next = tried.saturating_mul(2);
        let so_far = now.saturating_duration_since(began);
        let left = so_far
            .checked_mul(about.saturating_sub(tried))
            .map_or(Duration::MAX, |all| all / tried.max(1));
        let left = whole_seconds(left.min(self.limit.saturating_sub(so_far)));
        Some(format!("{tried} of about {about} edits tried, at most {left} left"))
    }
}

/// A style from a constant template.
fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The estimate after this number of runs, the newest of which took `last`. Where that is unknown, what the limit leaves.
fn outlook(so_far: Duration, ended: u32, last: Option<Duration>, limit: Limit) -> String {
    match (ended, last) {
        (0, Some(last)) => left("about", last, so_far),
        (0, None) => match limit {
            Limit::Unknown => String::new(),
            Limit::Whole(limit) => left("at most", limit, so_far),
            Limit::Step(limit) => format!(", at most {} for each step", in_words(limit)),
        },
        (_, Some(last)) => format!(", {} so far, about {} each", count(ended.into(), "run"), in_words(last)),
        (_, None) => format!(", {} so far", count(ended.into(), "run")),
    }
}

/// How much of `whole` is left, if anything.
fn left(how_sure: &str, whole: Duration, so_far: Duration) -> String {
    let left = whole.checked_sub(so_far);
    left.map_or_else(String::new, |left| format!(", {how_sure} {} left", whole_seconds(left)))
}

/// Whole seconds, and at least one.
fn whole_seconds(time: Duration) -> String {
    in_words(Duration::from_secs(time.as_secs().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(180);

    #[tokio::test]
    async fn the_result_of_the_work_is_returned() {
        let work = || LongWork::installation(None);
        assert_eq!(work().printing(async { 7 }).await, 7);
        assert_eq!(work().redrawing(async { 7 }).await, 7);
    }

    #[test]
    fn the_line_says_what_is_under_way_and_what_is_left() {
        let work = LongWork::installation(Some(Duration::from_secs(90)));
        let after = |seconds| work.line(work.began + Duration::from_secs(seconds));
        assert_eq!(after(2), "  installing for 2 s, about 1 min 28 s left");
        assert_eq!(after(91), "  installing for 1 min 31 s");
        let plain = LongWork::installation(None);
        let line = "  installing for 1 s, at most 15 min for each step";
        assert_eq!(plain.line(plain.began), line);
        let five = Duration::from_secs(5);
        assert_eq!(outlook(five, 1, None, Limit::Unknown), ", 1 run so far");
        let last = Some(Duration::from_secs(2));
        assert_eq!(
            outlook(five, 2, last, Limit::Unknown),
            ", 2 runs so far, about 2 s each"
        );
        let limit = Limit::Whole(Duration::from_secs(65));
        assert_eq!(outlook(five, 0, None, limit), ", at most 1 min left");
        assert_eq!(outlook(five, 0, last, limit), "");
        assert_eq!(outlook(Duration::from_secs(70), 0, None, limit), "");
    }

    #[test]
    fn a_search_prints_few_lines_and_says_what_is_left() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut search = SearchProgress::new(LIMIT);
        assert_eq!(search.line(1, 1_000, at(0)), None);
        assert_eq!(search.line(90, 1_000, at(1)), None);
        assert_eq!(
            search.line(100, 1_000, at(10)).as_deref(),
            Some("100 of about 1000 edits tried, at most 1 min 30 s left")
        );
        assert_eq!(search.line(300, 1_000, at(11)), None, "too soon");
        assert_eq!(search.line(150, 1_000, at(20)), None, "too little");
        assert!(search.line(200, 1_000, at(20)).is_some());
        assert!(search.line(201, 1_000, at(41)).is_some(), "after a while");
        assert!(
            search.line(u32::MAX, 5, at(90)).is_some(),
            "no matter what the estimate was"
        );
        let mut slow = SearchProgress::new(LIMIT);
        assert_eq!(slow.line(1, 20_000, at(0)), None);
        assert_eq!(
            slow.line(7, 20_000, at(20)).as_deref(),
            Some("7 of about 20000 edits tried, at most 2 min 40 s left")
        );
    }
}
