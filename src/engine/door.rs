//! What differs between the places where a run happens: a pull request on GitHub, a checkout on this machine, and the
//! recording of an earlier run. The loop in `drive` is the same for all of them.

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::Broken;
use super::activity::Activity;
use super::work::Engine;
use super::worktree::Worktree;
use crate::agent::Live;
use crate::domain::budget::Left;
use crate::domain::run::{End, GateNeeded, JobReading, Next, Run, Step};
use crate::repair;
use crate::suite::Suite;

/// Whether the run takes its next step.
#[derive(Debug)]
pub enum Turn {
    /// Take this step.
    Take(Next),
    /// The run changed, so compute the next step again.
    Again,
    /// Stop here: another process continues the run, or nothing does.
    Leave,
}

/// The result of waiting for a person.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Waiting {
    /// The answer.
    Answered(Step),
    /// The answer comes later, and the process that receives it continues the run.
    Leave,
    /// Something else happened, so compute the next step again.
    Again,
}

/// Where a run happens: how its steps are stored, what it works on, who is asked, and where a fix lands. Methods
/// return an error when the network, the disk or the sandbox fails; every other result is a step.
pub trait Door: Sync {
    /// Appends a step to the journal, then applies it to the run.
    fn append(&self, run: &mut Run, step: Step) -> impl Future<Output = Result<(), Broken>> + Send;

    /// The time by the clock of the journal.
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Whether a model may work in this run without executing anything.
    fn has_reader(&self, run: &Run) -> bool;

    /// Whether this process may take the step `next` now.
    fn turn(&mut self, run: &mut Run, next: Next) -> impl Future<Output = Result<Turn, Broken>> + Send;

    /// Shows the state of the run. Nothing is posted twice.
    fn announce(&self, run: &Run) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Lays out the tree and its configuration, or returns the end of a run that cannot continue.
    fn set_up(&self, run: &Run) -> impl Future<Output = Result<Result<Worktree, End>, Broken>> + Send;

    /// Whether a worktree that was set up earlier is still the right one.
    fn still_fits(&self, worktree: &Worktree, run: &Run) -> bool;

    /// Cancelled when the work has to stop.
    fn cancel(&self) -> CancellationToken;

    /// What the run may still spend.
    fn left(&self, run: &Run, worktree: &Worktree) -> impl Future<Output = Result<Left, Broken>> + Send;

    /// The suite with its dependencies installed, or the end of a run that cannot run it. `None` if the tree has no
    /// tests.
    fn suite(&self, worktree: &Worktree) -> impl Future<Output = Result<Result<Option<Suite>, End>, Broken>> + Send;

    /// Reads the CI log.
    fn read_log(&self, run: &Run) -> impl Future<Output = Result<JobReading, Broken>> + Send;

    /// Runs the tests, and compares the failures with the base.
    fn reproduce(
        &self,
        run: &Run,
        worktree: &Worktree,
        suite: &Suite,
    ) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Runs the tests on an approved proposal.
    fn verify(
        &self,
        run: &mut Run,
        worktree: &Worktree,
        suite: &Suite,
    ) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// The engine that works on a fix, or the end of a run that has spent its limits.
    fn engine(&self, run: &Run, worktree: &Worktree, may_execute: bool) -> Result<Engine<'_>, End>;

    /// Receives the model's output as it is generated.
    fn live(&self, run: &Run) -> Box<Live>;

    /// Receives the progress of a search without a model.
    fn progress(&self, _progress: &repair::Progress) {}

    /// Called when this kind of work begins, for those who watch.
    fn begins(&self, _activity: Activity) {}

    /// Awaits a piece of work that may show nothing for a long time.
    fn watched<T: Send>(&self, work: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
        work
    }

    /// Called with the run after each piece of work.
    fn worked(&self, _run: &Run, _worktree: &Worktree) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Posts the proposal where people review it.
    fn post_review(&self, run: &Run) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Opens a gate, or ends a run for which an approval would be useless.
    fn open_gate(
        &self,
        run: &Run,
        needed: GateNeeded,
        worktree: Option<&Worktree>,
    ) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Waits for an answer, or leaves the waiting to somebody else.
    fn wait(&mut self, run: &Run) -> impl Future<Output = Result<Waiting, Broken>> + Send;

    /// Lands the approved patch.
    fn land(&self, run: &Run) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Replaces the end of a run if the door knows more about it.
    fn end(&self, _run: &Run, end: End) -> impl Future<Output = Result<End, Broken>> + Send {
        async { Ok(end) }
    }
}
