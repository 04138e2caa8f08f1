//! What differs between the places where a run happens: a pull request on GitHub, a checkout on this machine, and the
//! recording of an earlier run. The loop in `drive` is the same for all of them.

use tokio_util::sync::CancellationToken;

use super::Broken;
use super::work::Engine;
use super::worktree::Worktree;
use crate::agent::Live;
use crate::domain::budget::Left;
use crate::domain::run::{End, GateNeeded, JobReading, Next, Run, Step};
use crate::repair;
use crate::suite::Suite;

/// Whether a run does what comes next.
#[derive(Debug)]
pub enum Turn {
    /// It does this.
    Take(Next),
    /// The run changed, and what comes next is to be asked again.
    Again,
    /// Somebody else continues the run, or nobody does.
    Leave,
}

/// What became of waiting for a person.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Waiting {
    /// The answer.
    Answered(Step),
    /// It comes later, and anyone who receives it continues the run.
    Leave,
    /// Something else came, and what comes next is to be asked again.
    Again,
}

/// Where a run happens: how its steps are kept, what it works on, who is asked, and where a fix lands. Methods return
/// an error when the network, the disk or the sandbox fails; everything else is a step.
pub trait Door: Sync {
    /// Writes a step down, then adds it to the run.
    fn append(&self, run: &mut Run, step: Step) -> impl Future<Output = Result<(), Broken>> + Send;

    /// Whether a model can work from reading alone in this run.
    fn has_reader(&self, run: &Run) -> bool;

    /// Whether `next` may be done now, by this process.
    fn turn(&mut self, run: &mut Run, next: Next) -> impl Future<Output = Result<Turn, Broken>> + Send;

    /// Shows the state of the run. What is shown already is not shown again.
    fn announce(&self, run: &Run) -> impl Future<Output = Result<(), Broken>> + Send;

    /// The tree and its rules, or the end of a run that cannot work.
    fn set_up(&mut self, run: &Run) -> impl Future<Output = Result<Result<Worktree, End>, Broken>> + Send;

    /// Whether a worktree that was set up earlier still is the right one.
    fn still_fits(&self, worktree: &Worktree, run: &Run) -> bool;

    /// Cancelled when the work has to stop.
    fn cancel(&self) -> CancellationToken;

    /// What may still be used up.
    fn left(&self, run: &Run, worktree: &Worktree) -> impl Future<Output = Result<Left, Broken>> + Send;

    /// The suite with what its tests need, or the end of a run that cannot run them. `None` if the tree has no tests.
    fn suite(&self, worktree: &Worktree) -> impl Future<Output = Result<Result<Option<Suite>, End>, Broken>> + Send;

    /// What CI said.
    fn read_log(&self, run: &Run) -> impl Future<Output = Result<JobReading, Broken>> + Send;

    /// Runs the tests, and compares what is red with the base.
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

    /// Who works on a fix, or the end of a run that may use nothing more.
    fn engine(&self, run: &Run, worktree: &Worktree, may_execute: bool) -> Result<Engine<'_>, End>;

    /// Receives what the model says while it says it.
    fn live(&self, run: &Run) -> Box<Live>;

    /// Receives how far a search without a model is.
    fn progress(&self, _progress: &repair::Progress) {}

    /// Does a piece of work that shows nothing for long.
    fn watched<T: Send>(&self, work: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
        work
    }

    /// Called with the run after each piece of work.
    fn worked(&self, _run: &Run, _worktree: &Worktree) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Puts the proposal where people read it.
    fn post_review(&self, run: &Run) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Opens a gate, or ends a run for which it would lead nowhere.
    fn open_gate(
        &self,
        run: &Run,
        needed: GateNeeded,
        worktree: Option<&Worktree>,
    ) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// Waits for an answer, or leaves that to somebody else.
    fn wait(&mut self, run: &Run) -> impl Future<Output = Result<Waiting, Broken>> + Send;

    /// Lands what was approved.
    fn land(&self, run: &Run) -> impl Future<Output = Result<Step, Broken>> + Send;

    /// The end of a run, in case the door knows better.
    fn end(&self, _run: &Run, end: End) -> impl Future<Output = Result<End, Broken>> + Send {
        async { Ok(end) }
    }
}
