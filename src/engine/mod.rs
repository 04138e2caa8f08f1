//! One file per thing greenlight does. This one has the only `match` on an event.
//!
//! A refusal is an answer, not an error. What breaks is logged once, by the door, and said in one short sentence without
//! details; the run it belongs to ends and says so, so that nothing hangs.

mod announce;
mod answer;
mod attempt;
mod base;
mod budget;
pub mod bundle;
mod cancel;
mod checks_failed;
mod comment;
pub mod desk;
mod drive;
mod interrupt;
mod land;
mod propose;
mod reading;
mod record;
pub mod replay;
mod resolve;
mod retry;
mod set_up;
mod settle;
mod start;
mod stop;
pub mod suggest;
mod undo;
mod voices;
pub mod work;

use std::io;
use std::path::PathBuf;

pub use interrupt::{Interrupt, Interrupts};
pub use voices::{Piece, Voices};

use crate::config::allow_list::AllowList;
use crate::domain::event::{Event, Fact, FailedChecks};
use crate::domain::id::{CommitSha, InstallationId, Login, PullRequestId};
use crate::domain::model::Who;
use crate::domain::run::{End, Run};
use crate::github::{Client, GitHub, PullRequest};
use crate::journal::Journal;
use crate::openai::OpenAi;
use crate::sandbox::{Sandbox, Unusable};
use crate::{agent, checkout, git, github, journal, sandbox, suite};

/// Everything the engine works with; made once by a door.
pub struct App {
    pub github: GitHub,
    pub journal: Journal,
    /// Or why this machine cannot confine: then whatever needs the sandbox is refused with that reason.
    pub sandbox: Result<Sandbox, Unusable>,
    /// The model and its name; none means the built-in repair engine alone.
    pub model: Option<(OpenAi, String)>,
    /// Who works out a fix.
    pub who: Who,
    /// greenlight's own folder: mirrors, trees, copies.
    pub folder: PathBuf,
    pub allow_list: AllowList,
    pub interrupts: Interrupts,
    /// What models say while they say it.
    pub voices: Voices,
    /// Where each run is written to for looking into it later; none writes none.
    pub bundles: Option<PathBuf>,
}

/// What broke, as opposed to what was refused.
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
    #[error("the head moved to {head} meanwhile: make the patch for that one")]
    HeadMoved { head: CommitSha },
    #[error("a fault of greenlight's own: {0}")]
    Bug(String),
}

/// One pull request, as it is now, and how to speak to it.
pub struct Context<'a> {
    pub app: &'a App,
    pub client: Client,
    pub installation: Option<InstallationId>,
    pub pull_request: PullRequest,
    pub me: Login,
}

impl<'a> Context<'a> {
    /// Reads the pull request live.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn of(app: &'a App, installation: Option<InstallationId>, id: &PullRequestId) -> Result<Self, Broken> {
        let client = app.github.client(installation, &id.repository).await?;
        let me = app.github.me().await?.clone();
        let pull_request = client.pull_request(id).await?;
        Ok(Self {
            app,
            client,
            installation,
            pull_request,
            me,
        })
    }

    /// The same pull request as it is by now; as it was, if GitHub does not say.
    async fn looked_at_again(&self) -> Self {
        let now = self.client.pull_request(self.id()).await;
        Self {
            app: self.app,
            client: self.client.clone(),
            installation: self.installation,
            pull_request: now.unwrap_or_else(|_| self.pull_request.clone()),
            me: self.me.clone(),
        }
    }

    pub fn id(&self) -> &PullRequestId {
        &self.pull_request.id
    }
}

/// Works an event off.
///
/// # Errors
/// When something broke; what a person should know of it was said to them already.
pub async fn handle(app: &App, event: Event) -> Result<(), Broken> {
    let installation = event.installation;
    match event.fact {
        Fact::CommentCreated(comment) => comment::comment(app, installation, comment, event.received).await,
        Fact::PullRequestPushed { pull_request, head } => {
            // Deliveries come in any order: what counts is where the head is now.
            tracing::debug!(%pull_request, %head, "pushed");
            end_open_runs(app, installation, &pull_request, |run, now| {
                let head = now.head.clone();
                (run.started.head != head).then_some(End::Superseded { head })
            })
            .await?;
            settle::settle(app, installation, &pull_request).await
        }
        Fact::PullRequestClosed { pull_request } => {
            end_open_runs(app, installation, &pull_request, |_, now| {
                (!now.is_open).then_some(End::Cancelled { by: None })
            })
            .await?;
            settle::settle(app, installation, &pull_request).await
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
        } => {
            let ids = pull_requests.into_iter().map(|number| PullRequestId {
                repository: repository.clone(),
                number,
            });
            answer::button(app, installation, ids.collect(), (&head, &identifier, &by)).await
        }
        Fact::CommandGiven {
            pull_request,
            head,
            by,
            command,
        } => answer::given(app, installation, &pull_request, (&head, &by, command)).await,
        Fact::InstallationChanged { .. } | Fact::Pinged => Ok(()),
    }
}

/// Removes the working copies that an earlier process left when it was killed. For a start, before any work.
pub async fn sweep(app: &App) {
    desk::sweep(&app.folder).await;
}

/// An event that names several pull requests, or none, once for each that it is about: nobody works on one beside its
/// lane.
///
/// # Errors
/// When GitHub was to be asked which those are, and cannot be reached.
pub async fn split(app: &App, event: Event) -> Result<Vec<Event>, Broken> {
    let numbers: Vec<u64> = match &event.fact {
        Fact::ChecksFailed(checks) => {
            let ids = checks_failed::pull_requests(app, event.installation, checks).await?;
            ids.into_iter().map(|id| id.number).collect()
        }
        Fact::ButtonPressed { pull_requests, .. } => pull_requests.clone(),
        _ => return Ok(vec![event]),
    };
    let of_one = |number| {
        let mut event = event.clone();
        if let Fact::ChecksFailed(FailedChecks { pull_requests, .. }) | Fact::ButtonPressed { pull_requests, .. } =
            &mut event.fact
        {
            *pull_requests = vec![number];
        }
        event
    };
    Ok(numbers.into_iter().map(of_one).collect())
}

/// Goes on with a run that a restart, or the clock, left open; from where it is by now.
///
/// # Errors
/// When something broke.
pub async fn resume(app: &App, run: Run) -> Result<(), Broken> {
    match app.journal.load(&run.started.pull_request, run.id()).await? {
        Some(run) if !run.is_over() => drive::drive(app, run).await,
        _ => Ok(()),
    }
}

/// Ends what is still open on a pull request, and says so.
async fn end_open_runs(
    app: &App,
    installation: Option<InstallationId>,
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
    let context = Context::of(app, installation, id).await?;
    for mut run in open {
        if run.end.is_none()
            && let Some(end) = end(&run, &context.pull_request)
        {
            drive::end(&context, &mut run, end).await?;
        }
        drive::drive_in(&context, run).await?;
    }
    Ok(())
}
