//! One file per thing greenlight does. This one has the only `match` on an event.
//!
//! A refusal is an answer, not an error. An error is logged once, by the door, and reported in one short sentence
//! without details. The run ends and says so, so that nothing hangs.

mod activity;
mod again;
mod announce;
mod answer;
mod append;
mod attempt;
mod base;
mod begin;
mod branch_rules;
pub mod budget;
pub mod bundle;
mod cancel;
mod checks_failed;
mod comment;
mod context;
mod door;
mod drive;
mod early;
mod forget;
pub mod gate;
mod identify;
mod interrupt;
mod land;
mod merge;
mod model_stream;
mod propose;
mod pull_request;
mod reading;
mod recall;
mod reconcile_suggestions;
mod record;
pub mod replay;
mod reproduced;
mod retarget;
mod retention;
mod retry;
mod set_up;
mod split;
mod start;
mod stop;
pub mod suggest;
mod suitable;
mod suites;
mod undo;
mod urgent;
mod verdict;
mod vouch;
pub mod work;
pub mod worktree;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use activity::{Activities, Activity, CurrentActivity, UnderWayNow, purpose_in_words};
pub use context::Context;
pub use door::{Door, Turn, Waiting};
pub use drive::drive;
pub use identify::identify;
pub use interrupt::{Interrupt, Interrupts};
pub use model_stream::{Chunk, Listening, ModelStream, Overheard};
pub use retention::{Amount, Prunable, Stored, prunable, prune};
pub use split::split;
pub use suitable::sandbox_label;

use crate::config::allow_list::AllowList;
use crate::config::retention::Retention;
use crate::domain::command::Command;
use crate::domain::event::{Event, Fact};
use crate::domain::id::{CommitSha, InstallationId, PullRequestId, RepositoryName};
use crate::domain::mode::Mode;
use crate::domain::model::Who;
use crate::domain::permission::{Cancel, authorize};
use crate::domain::run::{End, Run};
use crate::domain::worker_labels::WorkerLabels;
use crate::github::{GitHub, PullRequest};
use crate::journal::Journal;
use crate::metrics::Metrics;
use crate::openai::OpenAi;
use crate::sandbox::{Sandbox, Unusable};
use crate::traces::Traces;
use crate::{agent, checkout, git, github, journal, lease, sandbox, suite};

/// The engine's dependencies; created once by each entry point.
pub struct App {
    pub github: GitHub,
    pub journal: Journal,
    /// The sandbox, or why this machine has none. Without one, everything that needs it is refused with that reason.
    pub sandbox: Result<Sandbox, Unusable>,
    /// The model and its name. `None` means the built-in repair engine alone.
    pub model: Option<(OpenAi, String)>,
    /// Which engine works on a fix.
    pub who: Who,
    /// greenlight's own folder: mirrors, trees, copies.
    pub folder: PathBuf,
    pub allow_list: AllowList,
    pub interrupts: Interrupts,
    /// What runs are doing right now.
    pub activities: Activities,
    /// The models' output while it is generated.
    pub voices: ModelStream,
    /// The folder for bundles of all runs, for later analysis. `None` writes none.
    pub bundles: Option<PathBuf>,
    /// How long data is kept.
    pub retention: Retention,
    pub metrics: Arc<Metrics>,
    /// Where traces are sent. `None` sends none.
    pub traces: Option<Traces>,
    /// The labels of this worker. `None` where the machine is not chosen by greenlight, such as in a GitHub Action.
    pub labels: Option<WorkerLabels>,
}

/// An error, as opposed to a refusal.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error(transparent)]
    GitHub(#[from] github::Error),
    #[error(transparent)]
    Land(#[from] github::LandError),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Checkout(#[from] checkout::Error),
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
    #[error(transparent)]
    Suite(#[from] suite::Error),
    #[error(transparent)]
    Agent(#[from] agent::Error),
    #[error("{0}: {1}")]
    Disk(String, io::Error),
    #[error("the head has moved to {head}: make the patch for that commit")]
    HeadMoved { head: CommitSha },
    /// The repository was renamed or transferred to one that the operator does not allow.
    #[error("greenlight is not allowed to work on {0}")]
    NotAllowed(RepositoryName),
    /// A process with these labels can do the work, and this one cannot.
    #[error("a worker with the labels {0} is needed")]
    Elsewhere(WorkerLabels),
    /// Until then, other runs may spend all that is left of the limits that they share.
    #[error("other runs have reserved what is left of a shared limit")]
    Reserved(jiff::Timestamp),
    #[error("a bug in greenlight: {0}")]
    Bug(String),
}

impl Broken {
    fn github(&self) -> Option<&github::Error> {
        match self {
            Self::GitHub(error)
            | Self::Land(github::LandError::GitHub(error))
            | Self::Journal(journal::Error::GitHub(error)) => Some(error),
            _ => None,
        }
    }

    /// The missing permission on GitHub, if that caused the error.
    pub fn lacks(&self) -> Option<&github::MissingPermission> {
        self.github()?.lacks()
    }

    /// When to try again, if a rate limit of GitHub or other runs' reservations caused the error.
    pub fn not_before(&self) -> Option<jiff::Timestamp> {
        match self {
            Self::Reserved(until) => Some(*until),
            _ => self.github()?.not_before(),
        }
    }

    /// Whether the same may succeed later, because GitHub or the journal is unavailable.
    pub fn may_pass(&self) -> bool {
        self.is_without_journal() || self.github().is_some_and(github::Error::may_pass)
    }

    /// Whether GitHub refused the credentials of this process.
    pub fn is_unauthorized(&self) -> bool {
        self.github().is_some_and(github::Error::is_unauthorized)
    }

    /// Whether nothing can be recorded or posted at the moment, not even an end.
    pub fn must_wait(&self) -> bool {
        self.not_before().is_some() || self.is_unauthorized() || self.is_without_journal()
    }

    fn is_without_journal(&self) -> bool {
        matches!(self, Self::Journal(journal::Error::Unavailable(_)))
    }

    /// Whether another process took over, so that this one leaves everything as it is.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Journal(journal::Error::Taken))
            || matches!(self.github(), Some(github::Error::LeaseLost))
            || !lease::may_act()
    }

    /// Whether greenlight is not installed there, so that nothing can be posted.
    pub fn is_not_installed(&self) -> bool {
        matches!(self.github(), Some(github::Error::NotInstalled(_)))
    }
}

/// Handles an event.
///
/// # Errors
/// When something broke. Anything a person should know about it has already been posted.
pub async fn handle(app: &App, event: Event) -> Result<(), Broken> {
    let event = identify::event(app, event).await?;
    let done = dispatch(app, event, true).await;
    if done.is_err() && pull_request::is_ending().await {
        // The next process takes it up again.
        return std::future::pending().await;
    }
    done
}

/// Handles an event that only reads, stops or records something. Returns the runs that can continue now with a
/// worker.
///
/// # Errors
/// As for [`handle`].
pub async fn note(app: &App, event: Event) -> Result<Vec<Run>, Broken> {
    let event = identify::event(app, event).await?;
    let id = match &event.fact {
        Fact::ButtonPressed {
            repository,
            pull_requests,
            ..
        } => pull_requests.first().map(|&number| PullRequestId {
            repository: repository.clone(),
            number,
        }),
        fact => fact.pull_request().cloned(),
    };
    dispatch(app, event, false).await?;
    let Some(id) = id else { return Ok(Vec::new()) };
    let runs = app.journal.runs_of(&id).await?;
    // Active runs count, too: they may have begun before this was recorded. An explanation has a separate lane.
    let is_left = |run: &Run| run.end.is_none() && run.open_gates().is_empty() && run.started.mode != Mode::Explain;
    Ok(runs.into_iter().filter(is_left).collect())
}

/// Interrupts the active run of a pull request if the author of this command may cancel it; with a number, only if the
/// run's work arrived before that piece. The rest of the comment is handled in its lane.
///
/// # Errors
/// When GitHub cannot be reached.
pub async fn stop_at_once(app: &App, event: Event, before: Option<i64>) -> Result<(), Broken> {
    let (id, by, is_bot) = match &event.fact {
        Fact::CommentCreated(comment) if cancels(comment.body.clone()).await => {
            (&comment.pull_request, &comment.author, comment.author_is_bot)
        }
        Fact::CommandGiven {
            pull_request,
            by,
            command: Command::Cancel,
            ..
        } => (pull_request, by, false),
        _ => return Ok(()),
    };
    let asking = async {
        let client = app.github.client(event.installation, &id.repository).await?;
        client.permission(&id.repository, by).await
    };
    let permission = github::urgent(true, asking).await?;
    if let Ok(request) = authorize(Cancel, by, is_bot, permission) {
        app.interrupts
            .interrupt_earlier(id, &Interrupt::Cancelled(request), before);
    }
    Ok(())
}

/// Whether a comment contains the command to cancel.
async fn cancels(body: String) -> bool {
    urgent::commands_in(body).await.contains(&Ok(Command::Cancel))
}

async fn dispatch(app: &App, event: Event, may_work: bool) -> Result<(), Broken> {
    let is_urgent = urgent::is_urgent(&event).await;
    github::urgent(is_urgent, handle_fact(app, event, may_work)).await
}

async fn handle_fact(app: &App, event: Event, may_work: bool) -> Result<(), Broken> {
    let installation = event.installation;
    match event.fact {
        Fact::CommentCreated(comment) => comment::comment(app, installation, (comment, event.received), may_work).await,
        Fact::PullRequestPushed { pull_request, head } => {
            // Deliveries arrive in any order, so only the current head counts.
            tracing::debug!(%pull_request, %head, "pushed");
            end_open_runs(app, (installation, may_work), &pull_request, |run, now| {
                let head = now.head.clone();
                (run.started.head != head).then_some(End::Superseded { head })
            })
            .await?;
            reconcile_suggestions::reconcile(app, installation, &pull_request).await
        }
        Fact::PullRequestClosed { pull_request } => {
            end_open_runs(app, (installation, may_work), &pull_request, |_, now| {
                (!now.is_open).then_some(End::Cancelled { by: None })
            })
            .await?;
            reconcile_suggestions::reconcile(app, installation, &pull_request).await
        }
        // Deliveries arrive in any order, so only the current base counts.
        Fact::PullRequestRetargeted { pull_request } => {
            end_open_runs(app, (installation, may_work), &pull_request, retarget::end).await
        }
        Fact::PullRequestLabelled {
            pull_request,
            label,
            by,
            head,
        } => checks_failed::labelled(app, installation, &pull_request, (&label, &by, &head)).await,
        Fact::ChecksFailed(checks) => checks_failed::checks_failed(app, installation, checks).await,
        Fact::ButtonPressed {
            repository,
            pull_requests,
            head,
            identifier,
            by,
            app: of,
        } => {
            // Only the App that made a check may re-run it.
            let me = app.github.me().await?;
            if of.is_some_and(|slug| format!("{slug}[bot]") != me.as_str()) {
                return Ok(());
            }
            let ids = pull_requests.into_iter().map(|number| PullRequestId {
                repository: repository.clone(),
                number,
            });
            let pressed = (identifier.as_str(), event.received);
            answer::button(app, (installation, may_work), ids.collect(), (&head, pressed, &by)).await
        }
        Fact::CommandGiven {
            pull_request,
            head,
            by,
            command,
        } => answer::given(app, (installation, may_work), &pull_request, (&head, &by, command)).await,
        Fact::InstallationChanged {
            removed, is_suspended, ..
        } => forget::installation_changed(app, (installation, is_suspended), &removed).await,
        Fact::Pinged => Ok(()),
    }
}

/// Removes the working copies that a killed process left behind. Call it at startup, before any work begins.
pub async fn sweep(app: &App) {
    worktree::sweep(&app.folder).await;
}

/// Continues a run that a restart or the clock left open, from its current state in the journal.
///
/// # Errors
/// When something broke.
pub async fn resume(app: &App, run: Run) -> Result<(), Broken> {
    match identify::run(app, &run).await? {
        Some(run) if !run.is_over() => pull_request::resume(app, run).await,
        _ => Ok(()),
    }
}

/// Ends the open runs of a pull request, and announces that.
async fn end_open_runs(
    app: &App,
    (installation, may_work): (Option<InstallationId>, bool),
    id: &PullRequestId,
    end: impl Fn(&Run, &PullRequest) -> Option<End>,
) -> Result<(), Broken> {
    let open: Vec<Run> = app
        .journal
        .runs_of(id)
        .await?
        .into_iter()
        .filter(|run| !run.is_over())
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let mut context = Context::of(app, installation, id).await?;
    context.may_work = may_work;
    for mut run in open {
        if run.end.is_none()
            && let Some(end) = end(&run, &context.pull_request)
        {
            pull_request::end(&context, &mut run, end).await?;
        }
        pull_request::drive_in(&context, run).await?;
    }
    Ok(())
}
