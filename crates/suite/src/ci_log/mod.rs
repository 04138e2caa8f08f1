//! Distils the log of a failed CI job: removes what machines added, and keeps the first cause with its context.
//!
//! The log is read as a stream and only bounded parts of it are kept, so its length does not matter. Not here:
//! fetching the log, and deciding what it means. Strangers write logs: the text is cleaned, and nothing in it
//! controls greenlight.

mod archive;
mod causes;
mod common;
mod stream;
mod window;

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Failure, Location, TestRun};
use greenlight_redact::redact;
use regex::Regex;

pub use self::archive::distil_archive;
use self::causes::{Causes, MAX_EXCERPT};
pub use self::common::GreenLog;
use self::stream::{Lines, LogLine, cleaned};
use self::window::Window;
use super::text;
use crate::framework::Framework;
use crate::parse::recognise::recognise;

/// How much of a log is read; a note in the excerpt says that the rest was left out.
const MAX_LOG: u64 = 1 << 30;
/// The excerpt is at most one tenth of the log, but may always be `MIN_EXCERPT` bytes long.
const PART: u64 = 10;
const MIN_EXCERPT: usize = 2 << 10;
/// Maximum length of the first failure's message when it is put before an excerpt that lacks it.
const MAX_TELLING: usize = 600;

/// What remains of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distillate {
    /// Failing tests and diagnostics parsed from the log, in its order.
    pub failures: Vec<Failure>,
    /// The first cause with its context, further causes as far as there is room, and the end; at most 8 KiB and, if
    /// the log has more than a few hundred lines, at most a tenth of it.
    pub excerpt: String,
    /// The framework whose output was recognised.
    pub framework: Option<Framework>,
    /// Whether the first cause in the excerpt is about one of the failures. If not, it may be a line that every run of
    /// the job prints, which a green log tells: see [`Distiller::beside`].
    pub begins_with_failure: bool,
}

/// Distils a log while it is being read.
#[derive(Debug, Default)]
pub struct Distiller {
    lines: Lines,
    state: LogState,
}

#[derive(Debug, Default)]
struct LogState {
    green: Option<GreenLog>,
    /// The first line of the script that failed, if known.
    script: Option<String>,
    taken: u64,
    part: StepOutput,
    /// The failed part of an earlier step.
    failed: Option<StepOutput>,
    /// The last part that may contain a cause, in case no part is marked as failed.
    last: Option<StepOutput>,
    /// The title of the current group, which may be the header of a step.
    header: Option<String>,
    notes: Vec<String>,
}

/// The kept part of one step's output.
#[derive(Debug, Default)]
struct StepOutput {
    title: String,
    /// 1 if a line in it was marked as an error, 2 if the step also ended with one.
    failed: u8,
    /// Errors that name a location.
    named: Vec<Failure>,
    causes: Causes,
    window: Window,
}

/// Distils the plain text of one job's log.
///
/// # Errors
/// When the log cannot be read.
pub fn distil(mut log: impl Read) -> io::Result<Distillate> {
    let mut distiller = Distiller::default();
    distiller.take_all(&mut log)?;
    Ok(distiller.finish())
}

impl Distiller {
    /// Leaves out lines that a green log of the same job has, too.
    #[must_use]
    pub fn beside(mut self, green: GreenLog) -> Self {
        self.state.green = Some(green);
        self
    }

    /// Prefers the step that runs this script.
    #[must_use]
    pub fn of_script(mut self, script: &str) -> Self {
        let first = script.trim_start().lines().next().unwrap_or_default();
        self.state.script = Some(format!("Run {}", first.trim_end()));
        self
    }

    /// Takes the next bytes of the log. Breaks when it has enough.
    pub fn take(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let Self { lines, state } = self;
        let room = MAX_LOG.saturating_sub(state.taken);
        let taken = usize::try_from(room).map_or(bytes.len(), |room| bytes.len().min(room));
        state.taken += taken as u64;
        lines.take(&bytes[..taken], |line| state.line(line));
        if taken < bytes.len() {
            self.note("only the first GiB of the log was read");
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Adds a note about a missing part of the log to the excerpt.
    pub fn note(&mut self, note: &str) {
        let note = format!("[{note}]");
        if !self.state.notes.contains(&note) {
            self.state.notes.push(note);
        }
    }

    /// Ends the last line even if it has no newline.
    fn end_line(&mut self) {
        let Self { lines, state } = self;
        lines.end(|line| state.line(line));
    }

    fn take_all(&mut self, log: &mut dyn Read) -> io::Result<()> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            match log.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) if self.take(&chunk[..count]).is_break() => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Finishes the log and returns what remains of it.
    pub fn finish(mut self) -> Distillate {
        self.end_line();
        let mut state = self.state;
        state.close_part();
        let mut part = state.failed.take().or(state.last.take()).unwrap_or_default();
        let log = part.window.into_text();
        let (framework, mut failures) = match recognise(&log) {
            Some((framework, parsed)) => (Some(framework), parsed.into_failures()),
            None => (None, Vec::new()),
        };
        for failure in failures.iter_mut().chain(&mut part.named) {
            failure.location = failure.location.take().and_then(in_repository);
            failure.message = redact(&failure.message);
        }
        // Errors that are named by their location alone may be in every run of the job.
        let first = part.causes.first();
        let begins_with_failure = first.is_some_and(|line| failures.iter().any(|failure| is_about(line, failure)));
        let is_new = |named: &Failure| failures.iter().all(|failure| failure.location != named.location);
        let named: Vec<Failure> = part.named.into_iter().filter(is_new).collect();
        failures.extend(named);
        failures.truncate(TestRun::MAX_FAILURES);
        let tenth = usize::try_from(state.taken / PART).unwrap_or(MAX_EXCERPT);
        let room = tenth.clamp(MIN_EXCERPT, MAX_EXCERPT);
        Distillate {
            excerpt: redact(&excerpt(&part.causes, &failures, (&state.notes, &part.title), room)),
            failures,
            framework,
            begins_with_failure,
        }
    }
}

impl LogState {
    fn line(&mut self, line: &[u8]) {
        let line = cleaned(line);
        match stream::read(&line) {
            LogLine::Nothing => {}
            LogLine::EndGroup => self.header = None,
            LogLine::Group(title) => {
                self.header = title.starts_with("Run ").then(|| title.to_string());
                self.plain(&title);
            }
            LogLine::Plain(text) => {
                // Runners print these below the name of a step before they start it.
                let starts = text.starts_with("shell: ") || text == "with:";
                if let Some(title) = self.header.as_ref().filter(|_| starts) {
                    let title = causes::shortened(title).to_string();
                    self.close_part();
                    self.part.title = title;
                } else if text == "Post job cleanup." {
                    self.close_part();
                }
                self.plain(&text);
            }
            LogLine::Error(text, place) => {
                let ends = text.contains("Process completed with exit code") || text.contains("operation was cancel");
                self.part.failed = self.part.failed.max(1 + u8::from(ends));
                if place.is_some() && self.part.named.len() < TestRun::MAX_FAILURES {
                    let message = text.strip_prefix("Error: ").unwrap_or(&text);
                    self.part.named.push(Failure {
                        name: text::one_line(message, 200),
                        location: place,
                        message: text::bounded(message, 4_000),
                        ..Failure::default()
                    });
                }
                for line in text.lines() {
                    self.plain(line);
                }
            }
        }
    }

    fn plain(&mut self, line: &str) {
        // The step's script and environment are not output.
        let is_output = self.header.is_none();
        let is_known = || self.green.as_ref().is_some_and(|green| green.has(line));
        if is_output && !is_known() {
            if self.part.causes.take(line) {
                self.part.window.found();
            }
        } else {
            self.part.causes.pass();
        }
        self.part.window.take(line);
    }

    /// Ends the part of a step. A failed part is kept if it is the first, or runs the script that was asked for.
    fn close_part(&mut self) {
        let part = std::mem::take(&mut self.part);
        let rank = |part: &StepOutput| (part.failed, self.script.as_ref() == Some(&part.title));
        if part.failed > 0 && self.failed.as_ref().is_none_or(|failed| rank(failed) < rank(&part)) {
            self.failed = Some(part);
        } else if !part.window.is_empty()
            && (part.causes.are_certain() || self.last.as_ref().is_none_or(|last| !last.causes.are_certain()))
        {
            self.last = Some(part);
        }
    }
}

/// Builds the excerpt: notes first, then the first failure if the text around the causes lacks it, then the causes.
fn excerpt(causes: &Causes, failures: &[Failure], (notes, title): (&[String], &str), room: usize) -> String {
    let mut parts: Vec<String> = notes.to_vec();
    if !title.is_empty() {
        parts.push(title.to_string());
    }
    let head = |parts: &[String]| parts.iter().map(|part| part.len() + 1).sum::<usize>();
    let shown = causes.excerpt(room.saturating_sub(head(&parts)));
    if let Some(first) = failures.first().filter(|first| !tells(&shown, first)) {
        let message = text::bounded(first.message.trim(), MAX_TELLING);
        parts.push(format!("{}: {message}", causes::shortened(&first.name)));
        parts.push("[…]".into());
        parts.push(causes.excerpt(room.saturating_sub(head(&parts))));
    } else {
        parts.push(shown);
    }
    parts.join("\n").trim_end().to_string()
}

/// Whether a text contains the most telling line of a failure's message.
fn tells(text: &str, failure: &Failure) -> bool {
    let mut lines = failure.message.lines().map(str::trim).filter(|line| !line.is_empty());
    let certain = lines.clone().find(|line| causes::weight(line) == 2);
    certain
        .or_else(|| lines.next())
        .is_none_or(|line| text.contains(causes::shortened(line)))
}

/// A shorter name of a test, such as `1`, is in many lines.
const MIN_NAME: usize = 4;

/// Whether a line names a failing test, or is part of its message.
fn is_about(line: &str, failure: &Failure) -> bool {
    let own_name = failure
        .name
        .rsplit(['.', ':', '/', '>', '#'])
        .next()
        .unwrap_or_default()
        .trim();
    (own_name.len() >= MIN_NAME && line.contains(own_name)) || failure.message.contains(line.trim())
}

/// Turns a location into a path in the repository: hosted runners check out below a fixed directory.
fn in_repository(place: Location) -> Option<Location> {
    static CHECKOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        text::pattern(r"^(?:(?:/home/runner/work|/Users/runner/work|/__w)/[^/]+/[^/]+|/github/workspace)/")
    });
    let relative = CHECKOUT.as_ref()?.replace(&place.path, "");
    let relative = relative.trim_start_matches("./").parse::<RepoPath>().ok()?;
    Some(Location {
        path: relative.to_string(),
        line: place.line,
    })
}

#[cfg(test)]
mod tests;
