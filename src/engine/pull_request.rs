//! A run on a pull request: its steps are in the service's journal, its state is shown on GitHub, and its fix lands
//! on the pull request's branch.

use std::sync::Arc;

use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::sync::{Mutex, OnceCell};
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Entered};
use super::announce::Shown;
use super::base::Reproduced;
use super::door::{Door, Turn, Waiting};
use super::drive::{drive, takes_a_worker};
use super::interrupt::Working;
use super::start::Begun;
use super::stop::stop;
use super::suggest::can_be_pushed;
use super::work::Engine;
use super::worktree::{self, ListedFiles, Worktree};
use super::{
    App, Broken, Context, again, announce, budget, land, propose, reading, record, reproduced, retry, set_up, suitable,
    vouch,
};
use crate::agent::{Live, Model as _, Speech};
use crate::domain::budget::Left;
use crate::domain::run::{End, GateNeeded, JobReading, Next, Run, Step};
use crate::metrics::StepTimer;
use crate::sandbox::Code;
use crate::suite::Suite;
use crate::{github, journal, traces};

/// Continues a run with the current state of its pull request.
///
/// # Errors
/// When GitHub or the journal cannot be reached; any other error ends the run.
pub(super) async fn resume(app: &App, mut run: Run) -> Result<(), Broken> {
    let Some(id) = run.started.pull_request().cloned() else {
        return Err(Broken::Bug(format!("{} is not a run on a pull request", run.id())));
    };
    match Context::of(app, run.started.installation, &id).await {
        Ok(context) => drive_in(&context, run).await,
        Err(broken) => {
            if broken.is_not_installed() {
                end_unsaid(app, &mut run).await?;
            }
            Err(broken)
        }
    }
}

/// Ends a run where greenlight may no longer post anything. Nothing is posted or retried.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn end_unsaid(app: &App, run: &mut Run) -> Result<(), Broken> {
    if run.end.is_none() {
        app.append(run, Step::Ended(End::Cancelled { by: None })).await?;
    }
    Ok(app.append(run, Step::Announced).await?)
}

/// Appends the end of a run.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn end(context: &Context<'_>, run: &mut Run, end: End) -> Result<(), Broken> {
    Ok(context.app.append(run, Step::Ended(end)).await?)
}

/// Drives a run that was just begun, or continues it.
///
/// # Errors
/// As for [`drive_in`].
pub(super) async fn drive_begun(context: &Context<'_>, begun: Begun) -> Result<(), Broken> {
    let shown = match begun.is_first_on_head {
        true => Shown::nothing_on(&begun.run.started.head),
        false => Shown::default(),
    };
    drive_from(context, begun.run, shown).await
}

/// Drives a run. An error on the way ends it, and is posted.
///
/// # Errors
/// When its end cannot be appended or posted.
pub(super) async fn drive_in(context: &Context<'_>, run: Run) -> Result<(), Broken> {
    drive_from(context, run, Shown::default()).await
}

/// Drives a run of which `shown` is known to be on GitHub already.
async fn drive_from(context: &Context<'_>, mut run: Run, shown: Shown) -> Result<(), Broken> {
    // From here on, every line of the log about this work names it.
    tracing::Span::current().record("run.id", tracing::field::display(run.id()));
    let working = context.app.interrupts.enter(context.id(), &run.started.head);
    // From here on a push interrupts the run. If there was an earlier one, the pull request is fetched again.
    let context = &context.up_to_date().await;
    Box::pin(vouch::check_approvals(context, std::slice::from_mut(&mut run))).await?;
    if context.pull_request.is_from_fork() {
        run.forget_consent_by_config();
    }
    let mut door = OnPullRequest {
        context,
        working,
        is_vouched: context.app.journal.is_own(),
        shown: Mutex::new(shown),
        listed: OnceCell::new(),
        timer: StepTimer::default(),
        entered: context.app.activities.enter(run.id()),
    };
    // Boxed, because the future is deeply nested.
    // What an urgent event leads to is not urgent, unless the door says so.
    let traces = context.app.traces.as_ref();
    let id = run.id().clone();
    let driven = traces::root(traces, &id, github::urgent(false, drive(&mut door, &mut run)))
        .boxed()
        .await;
    match driven {
        Ok(()) => Ok(()),
        // Another worker continues it.
        Err(broken) if broken.is_taken() => Ok(()),
        Err(broken) if broken.is_not_installed() => end_refused(context.app, &mut run, broken).await,
        Err(broken) if run.end.is_some() => Err(broken),
        // The next process resumes the run.
        Err(_) if is_ending().await => std::future::pending().await,
        // The run stays open, and resumes later or elsewhere.
        Err(broken) if broken.must_wait() => Err(broken),
        // So does a process that can do the work.
        Err(broken @ Broken::Elsewhere(_)) => Err(broken),
        Err(broken) => {
            tracing::error!(run.id = %run.id(), error = %broken, "a run broke");
            end(
                context,
                &mut run,
                End::GaveUp {
                    reason: public_reason(&broken),
                },
            )
            .await?;
            match drive(&mut door, &mut run).boxed().await {
                Err(broken) if broken.is_not_installed() => end_refused(context.app, &mut run, broken).await,
                done => done,
            }
        }
    }
}

/// Ends a run that cannot say anything any more, because greenlight is not installed there.
async fn end_refused(app: &App, run: &mut Run, refused: Broken) -> Result<(), Broken> {
    match end_unsaid(app, run).await {
        // The handler of the change of the installation ended it already.
        Ok(()) | Err(Broken::Journal(journal::Error::Taken)) => Err(refused),
        broken => broken,
    }
}

/// Whether this process is shutting down. Blocking tasks then fail because the runtime has no threads any more, which
/// says nothing about the run.
pub(super) async fn is_ending() -> bool {
    tokio::task::spawn_blocking(|| ()).await.is_err()
}

/// The reason that is posted. Errors of the model and of GitHub help the maintainer; other details do not.
fn public_reason(broken: &Broken) -> String {
    match broken {
        Broken::Agent(error) => format!("The model could not be used: {error}"),
        Broken::GitHub(error) => format!("GitHub could not be used: {error}"),
        Broken::Land(error) => format!("The commit could not be made: {error}"),
        Broken::Git(error) => format!("The code could not be fetched: {error}"),
        _ => "Something broke on greenlight's side; its log has the details. `/greenlight fix` tries again.".into(),
    }
}

/// An active run on a pull request.
struct OnPullRequest<'a> {
    context: &'a Context<'a>,
    working: Working,
    /// Whether everything the run relies on was verified on GitHub, if others can write to the journal.
    is_vouched: bool,
    shown: Mutex<Shown>,
    /// The files of the pull request, once they are listed.
    listed: OnceCell<Arc<ListedFiles>>,
    timer: StepTimer,
    /// Tells those who watch what is under way.
    entered: Entered,
}

impl OnPullRequest<'_> {
    /// Fetches what the work on a run is going to need. If that fails, it is fetched again where it is needed.
    async fn fetch_ahead(&self, run: &Run) {
        let listed = self.listed.get_or_try_init(|| worktree::list(self.context));
        let (listed, commits) = tokio::join!(listed, worktree::commits_of(self.context, run));
        if let Some(error) = listed.err().or(commits.err()) {
            tracing::debug!(run.id = %run.id(), %error, "the code could not be fetched ahead");
        }
    }
}

impl Door for OnPullRequest<'_> {
    async fn append(&self, run: &mut Run, step: Step) -> Result<(), Broken> {
        let took = Some(self.timer.lap());
        Ok(self.context.app.append_timed(run, step, took).await?)
    }

    fn now(&self) -> Timestamp {
        self.context.app.journal.now()
    }

    /// A model that acts by code needs an interpreter, and so permission to run code. And no model works on a
    /// stranger's code unless a person asked for it.
    fn has_reader(&self, run: &Run) -> bool {
        let model = self.context.app.model.as_ref().filter(|_| !run.needs_execution);
        model
            .is_some_and(|(model, _)| run.may_execute() || (!run.started.asks_first && model.speech() == Speech::Tools))
    }

    async fn turn(&mut self, run: &mut Run, next: Next) -> Result<Turn, Broken> {
        self.timer.restart();
        let context = self.context;
        let next = vouch::or_proved_again(context, run, next);
        match stop(context, run, &next, &mut self.working).await? {
            Some(Some(end)) => {
                self.append(run, Step::Ended(end)).await?;
                return Ok(Turn::Again);
            }
            Some(None) => return Ok(Turn::Leave),
            None => {}
        }
        if !self.is_vouched && vouch::rests_on_a_word(&next) {
            self.is_vouched = Box::pin(again::is_vouched(context, run)).await?;
            return Ok(Turn::Again);
        }
        if !context.may_work && takes_a_worker(&next) {
            return Ok(match self.working.leave() {
                Ok(()) => Turn::Leave,
                Err(_) => Turn::Again,
            });
        }
        Ok(Turn::Take(next))
    }

    async fn announce(&self, run: &Run) -> Result<(), Broken> {
        let announcing = async { announce::announce(self.context, run, &mut *self.shown.lock().await).await };
        github::urgent(run.end.is_some(), announcing).await
    }

    async fn set_up(&self, run: &Run) -> Result<Result<Worktree, End>, Broken> {
        set_up::set_up(self.context, run, &self.listed).await
    }

    /// Once only the merge is known to be red, the work continues there.
    fn still_fits(&self, worktree: &Worktree, run: &Run) -> bool {
        worktree.merge.is_some() == run.red_merge().is_some()
    }

    fn cancel(&self) -> CancellationToken {
        self.working.token().clone()
    }

    async fn left(&self, run: &Run, worktree: &Worktree) -> Result<Left, Broken> {
        budget::reserve(self.context, run, &worktree.config.limits).await
    }

    async fn suite(&self, worktree: &Worktree) -> Result<Result<Option<Suite>, End>, Broken> {
        let app = self.context.app;
        let code = if self.context.pull_request.is_from_fork() {
            Code::OfFork
        } else {
            Code::Trusted
        };
        let refused = |reason: String| Ok(Err(End::Refused { reason }));
        let sandbox = app.sandbox.as_ref().map_err(Clone::clone).and_then(|sandbox| {
            let required = &worktree.config.sandbox.require;
            sandbox.suffices(code, required).map(|()| sandbox)
        });
        let sandbox = match sandbox {
            Ok(sandbox) => sandbox,
            Err(unusable) => {
                suitable::look_for_sandbox(self.context, &worktree.config).await?;
                return refused(format!("{unusable}. Nothing was executed."));
            }
        };
        let Ok(command) = worktree.test_command() else {
            return Ok(Ok(None));
        };
        let mut suite = worktree.suite(sandbox, command);
        let settings = worktree.install_settings(app.github.hosts());
        // A failed installation is an environment problem and says nothing about the tests.
        match worktree.install(&mut suite, &settings, self.working.token()).await? {
            Ok(()) => Ok(Ok(Some(suite))),
            Err(reason) => Ok(Err(End::NotJudged {
                reason: format!("The tests were not run: {reason}"),
            })),
        }
    }

    async fn read_log(&self, run: &Run) -> Result<JobReading, Broken> {
        // The check run is the first that people see of it.
        let (read, announced, ()) = tokio::join!(
            reading::read_log(self.context, run),
            self.announce(run),
            self.fetch_ahead(run)
        );
        announced?;
        read
    }

    async fn reproduce(&self, run: &Run, worktree: &Worktree, suite: &Suite) -> Result<Step, Broken> {
        let reproduced = reproduced::reproduce(self.context, run, (worktree, suite), self.working.token());
        let Reproduced { before, triage, .. } = Box::pin(reproduced).await?;
        Ok(Step::Reproduced { before, triage })
    }

    async fn verify(&self, run: &mut Run, worktree: &Worktree, suite: &Suite) -> Result<Step, Broken> {
        again::verify(self.context, run, (worktree, suite), self.working.token()).await
    }

    fn engine(&self, run: &Run, worktree: &Worktree, may_execute: bool) -> Result<Engine<'_>, End> {
        let app = self.context.app;
        let model = app.model.as_ref().map(|(model, name)| (model, name.as_str()));
        Engine::choose(model, app.who, (run, &worktree.left), may_execute)
    }

    fn live(&self, run: &Run) -> Box<Live> {
        Box::new(self.context.app.voices.of(run.id()))
    }

    fn begins(&self, activity: Activity) {
        self.entered.current.begins(activity);
    }

    async fn worked(&self, run: &Run, worktree: &Worktree) {
        budget::release(self.context, run).await;
        record::record(self.context, run, worktree).await;
    }

    async fn post_review(&self, run: &Run) -> Result<Step, Broken> {
        let before = self.context.before_review().await;
        let listed = self.listed.get().map(Arc::as_ref);
        let posted = propose::post_review(self.context, run, (listed, before.as_ref()));
        // The gate that follows needs the rules. Without an answer, they are asked again there.
        let rules = async {
            match can_be_pushed(&self.context.pull_request) {
                true => self.context.branch_rules().await.map(|_| ()),
                false => Ok(()),
            }
        };
        tokio::join!(posted, rules).0
    }

    async fn open_gate(&self, run: &Run, needed: GateNeeded, worktree: Option<&Worktree>) -> Result<Step, Broken> {
        let step = propose::open_gate(self.context, run, needed, worktree).await?;
        budget::estimated(self.context, run, step, worktree).await
    }

    async fn wait(&mut self, _run: &Run) -> Result<Waiting, Broken> {
        // A cancellation that arrived during the announcement interrupted the run, and the loop handles it.
        Ok(match self.working.leave() {
            Ok(()) => Waiting::Leave,
            Err(_) => Waiting::Again,
        })
    }

    async fn land(&self, run: &Run) -> Result<Step, Broken> {
        github::urgent(true, land::land(self.context, run)).await
    }

    async fn end(&self, run: &Run, end: End) -> Result<End, Broken> {
        retry::or_passed_meanwhile(self.context, run, end).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shutdown_of_the_runtime_is_recognised() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        let ends = || {
            let _entered = handle.enter();
            futures::executor::block_on(is_ending())
        };
        assert!(!ends());
        runtime.shutdown_background();
        assert!(ends());
    }
}
