//! One interpreter with a separate workspace, which handles one request at a time. Either an answer arrives within
//! the limit, or there is none, no matter what happens to the interpreter.

use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{CellOutcome, Language, Session};
use greenlight_suite as suite;
use greenlight_tree::checkout::Workspace;
use greenlight_units::clock::millis;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::protocol::{AnswerPiece, HarnessRequest, Start, Started};
use crate::task::Task;

/// Maximum lifetime of an interpreter.
const LIFE: Duration = Duration::from_secs(2 * 3600);
/// Time limit for loading the harness and the tests.
const START: Duration = Duration::from_secs(120);
/// How much longer than its time limit a harness may take to finish its last piece of work.
const GRACE: Duration = Duration::from_secs(200);
/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 8 << 20;
/// Maximum number of pieces of one answer.
const MAX_PIECES: usize = 1_000;
/// Maximum size of the names in one request, in bytes.
const MAX_NAMES: usize = 300 << 10;

/// The code that runs in the interpreter of a language.
pub(super) struct Harness {
    pub(super) language: Language,
    /// Defines `_greenlight`, which takes a request as text and returns a piece of an answer.
    pub(super) code: String,
}

/// An interpreter with the tests loaded.
pub(super) struct Lane {
    session: Session,
    language: Language,
    /// Outlives the session, which runs in it.
    _workspace: Workspace,
    pub(super) started: Started,
}

/// The result of a request.
pub(super) enum LaneAnswer<T> {
    Answer(T),
    /// No valid answer; the interpreter may be gone.
    Nonsense,
    Stopped,
}

impl Lane {
    /// Starts an interpreter and loads the tests into it. `None` if the failure does not occur there, or when
    /// stopped.
    pub(super) async fn new(
        task: &Task<'_>,
        harness: &Harness,
        stop: &CancellationToken,
    ) -> Result<Option<Self>, suite::Error> {
        let workspace = task.checkout.fresh_copy(&task.suite.workspaces).await?;
        suite::prepare(task.suite, &workspace, stop).await?;
        let place = suite::place_of_tests(task.suite, &workspace);
        let mut policy = task.suite.policy.clone();
        policy.limits.wall = LIFE;
        let session = task.suite.sandbox.session(harness.language, &place, &policy).await?;
        let mut lane = Self {
            session,
            language: harness.language,
            _workspace: workspace,
            started: Started::default(),
        };
        let loaded = lane.session.execute(&harness.code, START, stop).await?;
        if loaded.outcome != CellOutcome::Ok {
            tracing::debug!(outcome = ?loaded.outcome, "the harness cannot be loaded");
            return Ok(None);
        }
        let Some(framework) = framework(task) else {
            return Ok(None);
        };
        let failing: Vec<String> = task.before.failing_names().map(String::from).collect();
        let start = Start {
            argv: &task.suite.command.argv,
            framework: &framework,
            failing: few(&failing),
            passing: few(&task.before.passed_names),
            was_ended: task.before.outcome.was_ended(),
            limit_ms: millis(START),
        };
        let answer = lane.ask::<Started>(&HarnessRequest::Start(start), START, stop).await?;
        let LaneAnswer::Answer(started) = answer else {
            tracing::debug!("the harness does not answer");
            return Ok(None);
        };
        if started.why.is_some() || started.failing.is_empty() {
            tracing::debug!("the failure does not occur in a warm interpreter");
            return Ok(None);
        }
        lane.started = started;
        Ok(Some(lane))
    }

    /// Sends a request with this time limit, and joins the pieces of the answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        request: &HarnessRequest<'_>,
        limit: Duration,
        stop: &CancellationToken,
    ) -> Result<LaneAnswer<T>, suite::Error> {
        let mut text = String::new();
        let Some(mut piece) = self.piece(request, limit + GRACE, stop).await? else {
            return Ok(silent(stop));
        };
        let total = piece.total;
        for _ in 0..MAX_PIECES {
            text.push_str(&piece.text);
            if text.len() >= total || total > MAX_ANSWER {
                break;
            }
            match self
                .piece(&HarnessRequest::More { from: text.len() }, GRACE, stop)
                .await?
            {
                Some(next) if next.total == total && !next.text.is_empty() => piece = next,
                _ => return Ok(silent(stop)),
            }
        }
        Ok(match serde_json::from_str(&text) {
            Ok(answer) if text.len() == total => LaneAnswer::Answer(answer),
            _ => LaneAnswer::Nonsense,
        })
    }

    async fn piece(
        &mut self,
        request: &HarnessRequest<'_>,
        limit: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<AnswerPiece>, suite::Error> {
        let Ok(request_text) = serde_json::to_string(request) else {
            return Ok(None);
        };
        // A JSON string is a valid string literal in Python and JavaScript.
        let text = serde_json::Value::from(request_text.as_str());
        let code = match self.language {
            // The thread that takes requests waits for the one that runs the tests.
            Language::Node => format!("await _greenlight({text})"),
            // The text has no other character with a meaning between these quotes.
            Language::Bash => format!("_greenlight '{}'", request_text.replace('\'', "'\\''")),
            Language::Python => format!("_greenlight({text})"),
        };
        let cell = match self.session.execute(&code, limit, stop).await {
            Ok(cell) => cell,
            // It has reached its maximum number of cells.
            Err(sandbox::Error::InvalidCommand(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(match cell.outcome {
            // The value of a cell of bash is its exit code.
            CellOutcome::Ok if self.language == Language::Bash => serde_json::from_str(&cell.stdout.text()).ok(),
            CellOutcome::Ok => serde_json::from_str(&cell.value).ok(),
            _ => None,
        })
    }
}

fn silent<T>(stop: &CancellationToken) -> LaneAnswer<T> {
    match stop.is_cancelled() {
        true => LaneAnswer::Stopped,
        false => LaneAnswer::Nonsense,
    }
}

/// The name of the framework as in the settings.
fn framework(task: &Task<'_>) -> Option<String> {
    let name = serde_json::to_value(task.suite.command.framework).ok()?;
    Some(name.as_str()?.to_owned())
}

/// As many of the names as fit into one request.
fn few(names: &[String]) -> &[String] {
    let mut bytes = 0;
    let fits = |name: &&String| {
        bytes += name.len() + 8;
        bytes <= MAX_NAMES
    };
    let count = names.iter().take_while(fits).count();
    names.get(..count).unwrap_or_default()
}
