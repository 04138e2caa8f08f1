//! The work itself, the same for every door: reproduce, work out a patch, and prove it on a fresh copy.

mod again;
mod confirm;
mod debug;
mod explanation;
mod ground;
mod history;
mod judge;
mod ladder;
mod limit;
mod limits;
mod minimize;
mod model;
mod of_repair;
mod on_head;
mod prove;
mod refactor;
mod remembered;
mod reproduce;
mod resolve;
mod searched;
mod tdd;
mod timeout_estimator;
pub mod turned_down;

pub use again::judge_again;
pub use explanation::BASE;
use futures::future::BoxFuture;
pub use prove::prove;
pub use reproduce::{Base, LayOut, Scope, reproduce};
pub use resolve::{edits, resolve};
use tokio_util::sync::CancellationToken;

use self::ground::{Ground, Top};
use self::ladder::Rungs;
use self::turned_down::Rejected;
use super::Broken;
use super::worktree::Worktree;
use crate::agent::{Live, Recorded};
use crate::domain::budget::{BudgetKind, Left};
use crate::domain::execution::Deferred;
use crate::domain::explanation::Explanation;
use crate::domain::finding::Finding;
use crate::domain::id::CommitSha;
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::model::Who;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Proposal, TestsFirst};
use crate::domain::reply;
use crate::domain::run::{End, JobReading, Run, TurnedDown};
use crate::domain::search::Search;
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::openai::OpenAi;
use crate::repair;
use crate::suite::{self, Suite};

/// What a recording is called where a model is named.
const RECORDED: &str = "recorded";

/// Who works.
#[derive(Clone, Copy)]
pub enum Engine<'a> {
    BuiltIn,
    /// The model, once the built-in engine has found nothing.
    Auto {
        model: &'a OpenAi,
        name: &'a str,
    },
    Model {
        model: &'a OpenAi,
        name: &'a str,
    },
    /// What a model said in an earlier run.
    Recorded {
        model: &'a Recorded,
    },
}

impl<'a> Engine<'a> {
    /// Who works on a run now.
    ///
    /// # Errors
    /// The end of a run that may use nothing more.
    pub fn choose(
        model: Option<(&'a OpenAi, &'a str)>,
        who: Who,
        (run, left): (&Run, &Left),
        may_execute: bool,
    ) -> Result<Self, End> {
        let is_new = run.said.is_empty();
        Ok(match (model, left.exhausted()) {
            // What costs nothing needs no more than that something may land.
            (Some(_), Some(kind))
                if is_new && (kind == BudgetKind::PatchLines || !may_execute || !run.started.mode.is_debug()) =>
            {
                let reason = left.reached(kind);
                return Err(End::GaveUp { reason });
            }
            (Some((model, name)), _) if who == Who::Model => Self::Model { model, name },
            (Some(_), Some(_)) if is_new => Self::BuiltIn,
            (Some((model, name)), _) => Self::Auto { model, name },
            (None, _) => Self::BuiltIn,
        })
    }
}

/// How far a mode has come: what it works on next follows from that.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    pub mode: &'a Mode,
    /// The tests that were written first, once they are.
    pub tests_first: Option<&'a TestsFirst>,
}

impl<'a> Brief<'a> {
    /// What a run starts from.
    pub fn of(run: &'a Run, worktree: &'a Worktree) -> Self {
        let (before, triage) = run.reproduced.as_ref().map(|(before, triage)| (before, triage)).unzip();
        Self {
            mode: &run.started.mode,
            tests_first: run.tests_first.as_ref(),
            turned_down_tests: &run.turned_down_tests,
            may_ask: run.may_ask(),
            memory: &worktree.memory,
            head: &run.started.head,
            before,
            triage,
            reading: run.reading.as_ref(),
            turned_down: &run.turned_down,
            search: &run.search,
            said: &run.said,
        }
    }

    pub fn stage(&self) -> Stage<'a> {
        Stage {
            mode: self.mode,
            tests_first: self.tests_first,
        }
    }
}

/// How far a run has come.
pub fn stage(run: &Run) -> Stage<'_> {
    Stage {
        mode: &run.started.mode,
        tests_first: run.tests_first.as_ref(),
    }
}

/// What the work starts from.
pub struct Brief<'a> {
    pub mode: &'a Mode,
    /// The tests that were written first, once they are.
    pub tests_first: Option<&'a TestsFirst>,
    /// Why such tests were turned down.
    pub turned_down_tests: &'a [String],
    /// How many calls of the model may still be put before a person.
    pub may_ask: u32,
    /// What the repository taught.
    pub memory: &'a Memory,
    pub head: &'a CommitSha,
    /// The red run. `None` when nothing may be executed.
    pub before: Option<&'a TestRun>,
    /// How often it was red.
    pub triage: Option<&'a Triage>,
    pub reading: Option<&'a JobReading>,
    pub turned_down: &'a [TurnedDown],
    /// What was searched without a model so far.
    pub search: &'a Search,
    /// The transcript so far, when the work was cut off.
    pub said: &'a [serde_json::Value],
}

/// What a patch has to be better than.
#[derive(Clone, Copy)]
pub struct Red<'a> {
    pub head: &'a CommitSha,
    /// The red run on it.
    pub before: &'a TestRun,
    /// How often it was red, where that was counted: as often is the patched tree to be green.
    pub triage: Option<&'a Triage>,
    /// The patch as it is on the head, where that is known and the red run is of the merge with the base branch.
    pub on_head: Option<&'a Patch>,
}

/// What came of it.
pub enum WorkOutcome {
    Proposed(Box<Proposal>),
    /// The tests of a specification, which fail as they should.
    TestsWritten(Box<TestsFirst>),
    /// Why the tests fail.
    Explained(Box<Explanation>),
    /// The model waits for a person's word.
    Deferred(Box<Deferred>),
    /// The model acts by code alone, and nothing may be executed.
    ActsByCode,
    GaveUp {
        reason: String,
    },
    /// The mode has nothing to begin with, and says what would help.
    Refused {
        reason: String,
    },
    /// Nothing is there that the mode is for.
    NothingToDo {
        reason: String,
    },
    /// Nothing that small edits came to is sure enough to be proposed.
    NotFound {
        reason: String,
        search: Box<Search>,
    },
    /// A limit ended it before it had looked everywhere; with what was found by then, not proved.
    LimitReached {
        reason: String,
        found: Option<Box<Finding>>,
    },
    Interrupted,
}

/// Keeps an item of the transcript; called before the item is relied on.
pub type Keep<'a> = dyn FnMut(serde_json::Value) -> BoxFuture<'a, anyhow::Result<()>> + Send + 'a;

/// Tells how far the search is.
pub type Progress<'a> = dyn FnMut(repair::Progress) + Send + 'a;

/// Keeps a part of a search.
pub type Searched<'a> = dyn FnMut(Search) -> BoxFuture<'a, anyhow::Result<()>> + Send + 'a;

/// How the work is watched from outside.
pub struct Watch<'a, 'k> {
    pub keep: &'a mut Keep<'k>,
    pub progress: &'a mut Progress<'k>,
    pub searched: &'a mut Searched<'k>,
    /// Hears of the model's replies as they come in.
    pub live: &'a Live,
    pub cancel: &'a CancellationToken,
}

/// Runs the whole suite on a fresh copy of the head with a patch.
async fn run_with(
    worktree: &Worktree,
    suite: &Suite,
    patch: &Patch,
    cancel: &CancellationToken,
) -> Result<TestRun, Broken> {
    let mut patched = worktree.checkout.clone();
    patched.reset();
    patched.apply(patch);
    Ok(suite::run_fresh(suite, &patched, &[], cancel).await?)
}

/// What was installed, as an approval says it. `None` if nothing was.
fn installed(worktree: &Worktree, suite: &Suite) -> Option<String> {
    let something = !suite.installed.env.is_empty() || !suite.installed.mounts.is_empty();
    let command = worktree.install_settings(Vec::new()).command;
    (something && !suite.installed.is_reused)
        .then(|| command.unwrap_or_else(|| "the dependencies, from their registries".into()))
}

/// Works out a patch. With a suite it is proved; without, nothing is executed and it is only read.
///
/// # Errors
/// When the sandbox, the model or the journal cannot be used.
pub async fn work(
    worktree: &Worktree,
    suite: Option<&Suite>,
    engine: Engine<'_>,
    brief: &Brief<'_>,
    watch: Watch<'_, '_>,
) -> Result<WorkOutcome, Broken> {
    // On the heap: what follows is many futures deep, and a worker's stack is not.
    let outcome = Box::pin(on_worktree(worktree, suite, engine, brief, watch)).await?;
    on_head::landing(worktree, turned_down::with_rejections(outcome, brief)).await
}

/// The same, with the patch as it is on the worktree.
async fn on_worktree(
    worktree: &Worktree,
    suite: Option<&Suite>,
    engine: Engine<'_>,
    brief: &Brief<'_>,
    mut watch: Watch<'_, '_>,
) -> Result<WorkOutcome, Broken> {
    let ladder = Box::pin(ladder(worktree, suite, engine, brief, &mut watch)).await?;
    let (search, is_climbed) = match ladder {
        Some(Top::Proposed(proposal)) => return Ok(WorkOutcome::Proposed(proposal)),
        Some(Top::Interrupted) => return Ok(WorkOutcome::Interrupted),
        Some(Top::NotFound(search)) => (search, true),
        None => (Box::new(brief.search.clone()), false),
    };
    let brief = &Brief {
        search: &search,
        ..*brief
    };
    match engine {
        Engine::Model { model, name } | Engine::Auto { model, name } => {
            Box::pin(model::work(worktree, suite, (model, name), brief, watch)).await
        }
        Engine::Recorded { model } => Box::pin(model::work(worktree, suite, (model, RECORDED), brief, watch)).await,
        Engine::BuiltIn if *brief.mode == Mode::Explain => {
            explanation::explain(worktree, suite, brief, watch.cancel).await
        }
        Engine::BuiltIn if !brief.mode.is_debug() => Ok(WorkOutcome::Refused {
            reason: reply::needs_a_model(brief.mode),
        }),
        Engine::BuiltIn if is_climbed => Ok(searched::not_found(search, &worktree.config)),
        Engine::BuiltIn => Ok(WorkOutcome::GaveUp {
            reason: "the built-in engine works only with tests it may run".into(),
        }),
    }
}

/// Goes up the ladder, where there is something to climb: red tests that may run, and no model that has begun.
async fn ladder(
    worktree: &Worktree,
    suite: Option<&Suite>,
    engine: Engine<'_>,
    brief: &Brief<'_>,
    watch: &mut Watch<'_, '_>,
) -> Result<Option<Top>, Broken> {
    let (Mode::Debug, Some(suite), Some(before)) = (brief.mode, suite, brief.before) else {
        return Ok(None);
    };
    // A model that has begun continues; what it said is nothing to an engine without one.
    if !brief.said.is_empty() && !matches!(engine, Engine::BuiltIn) {
        return Ok(None);
    }
    let (head, triage) = (brief.head, brief.triage);
    let turned_down = Rejected::of(worktree, brief, before).await?;
    let ground = Ground {
        worktree,
        suite,
        red: Red {
            head,
            before,
            triage,
            on_head: None,
        },
        brief,
        turned_down: &turned_down,
    };
    let rungs = match engine {
        Engine::BuiltIn => Rungs::All { before_a_model: false },
        Engine::Auto { .. } => Rungs::All { before_a_model: true },
        Engine::Model { .. } | Engine::Recorded { .. } => Rungs::Memory,
    };
    ladder::climb(ground, rungs, watch).await.map(Some)
}
