//! The work that is the same for every door: reproduce, work out a patch, and prove it on a fresh copy.

mod again;
mod confirm;
mod debug;
mod explanation;
mod first_run;
mod ground;
mod history;
mod judge;
mod lacking;
mod ladder;
mod laid_out;
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
mod tested_tree;
mod timeout_estimator;
pub mod turned_down;

pub use again::judge_again;
pub use explanation::BASE;
use futures::future::BoxFuture;
pub(super) use lacking::is_installed;
pub use lacking::why_not_judged;
pub use laid_out::{Base, LayOut};
pub use prove::prove;
pub use reproduce::{Scope, reproduce};
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

/// The name of a recorded model.
const RECORDED: &str = "recorded";

/// What works on a run.
#[derive(Clone, Copy)]
pub enum Engine<'a> {
    BuiltIn,
    /// The model, after the built-in engine has found nothing.
    Auto {
        model: &'a OpenAi,
        name: &'a str,
    },
    Model {
        model: &'a OpenAi,
        name: &'a str,
    },
    /// A model's replies from an earlier run.
    Recorded {
        model: &'a Recorded,
    },
}

impl<'a> Engine<'a> {
    /// Chooses the engine for a run.
    ///
    /// # Errors
    /// The end of a run that has spent its limits.
    pub fn choose(
        model: Option<(&'a OpenAi, &'a str)>,
        who: Who,
        (run, left): (&Run, &Left),
        may_execute: bool,
    ) -> Result<Self, End> {
        let is_new = run.said.is_empty();
        Ok(match (model, left.exhausted()) {
            // The built-in engine costs no tokens, so it needs only some patch lines left.
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

/// How far a run of some mode has come, which decides what it works on next.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    pub mode: &'a Mode,
    /// The tests that were written first, once there are any.
    pub tests_first: Option<&'a TestsFirst>,
}

impl<'a> Brief<'a> {
    /// The input of a run's work.
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

/// The input of the work.
pub struct Brief<'a> {
    pub mode: &'a Mode,
    /// The tests that were written first, once there are any.
    pub tests_first: Option<&'a TestsFirst>,
    /// Why earlier versions of such tests were turned down.
    pub turned_down_tests: &'a [String],
    /// How many more of the model's calls may be put before a person.
    pub may_ask: u32,
    /// What greenlight remembers of the repository.
    pub memory: &'a Memory,
    pub head: &'a CommitSha,
    /// The failing run. `None` if nothing may be executed.
    pub before: Option<&'a TestRun>,
    /// The verdicts on its failures, and how often they occurred.
    pub triage: Option<&'a Triage>,
    pub reading: Option<&'a JobReading>,
    pub turned_down: &'a [TurnedDown],
    /// What the search without a model has tried so far.
    pub search: &'a Search,
    /// The transcript so far, if the work was interrupted.
    pub said: &'a [serde_json::Value],
}

/// The failing run that a patch has to improve on.
#[derive(Clone, Copy)]
pub struct Red<'a> {
    pub head: &'a CommitSha,
    /// The failing run on that head.
    pub before: &'a TestRun,
    /// How often it failed, if that was counted: the patched tree has to pass as often.
    pub triage: Option<&'a Triage>,
    /// The patch as it is on the head, if it is known and the failing run is of the merge with the base branch.
    pub on_head: Option<&'a Patch>,
}

/// The result of the work.
pub enum WorkOutcome {
    Proposed(Box<Proposal>),
    /// The tests of a specification, which fail as they should.
    TestsWritten(Box<TestsFirst>),
    /// Why the tests fail.
    Explained(Box<Explanation>),
    /// The model waits for a person's answer.
    Deferred(Box<Deferred>),
    /// The model acts only by code, and nothing may be executed.
    ActsByCode,
    GaveUp {
        reason: String,
    },
    /// The mode lacks something, and the reason says what would help.
    Refused {
        reason: String,
    },
    /// The mode has nothing to do.
    NothingToDo {
        reason: String,
    },
    /// The small edits produced nothing that is sure enough to be proposed.
    NotFound {
        reason: String,
        search: Box<Search>,
    },
    /// A limit ended the work early, with the unproved patch found by then.
    LimitReached {
        reason: String,
        found: Option<Box<Finding>>,
    },
    Interrupted,
}

/// Appends an item of the transcript. Called before anything relies on the item.
pub type Keep<'a> = dyn FnMut(serde_json::Value) -> BoxFuture<'a, anyhow::Result<()>> + Send + 'a;

/// Reports the progress of the search.
pub type Progress<'a> = dyn FnMut(repair::Progress) + Send + 'a;

/// Appends a part of a search.
pub type Searched<'a> = dyn FnMut(Search) -> BoxFuture<'a, anyhow::Result<()>> + Send + 'a;

/// Callbacks of the work.
pub struct Watch<'a, 'k> {
    pub keep: &'a mut Keep<'k>,
    pub progress: &'a mut Progress<'k>,
    pub searched: &'a mut Searched<'k>,
    /// Receives the model's replies as they are generated.
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

/// What was installed, as an approval shows it. `None` if nothing was.
fn installed(worktree: &Worktree, suite: &Suite) -> Option<String> {
    let command = worktree.install_settings(Vec::new()).command;
    is_installed(suite).then(|| command.unwrap_or_else(|| "the dependencies, from their registries".into()))
}

/// Works out a patch. With a suite the patch is proved; without one, nothing is executed and the patch is only read.
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
    // Boxed, because the future is deeply nested and a worker's stack is small.
    let outcome = Box::pin(on_worktree(worktree, suite, engine, brief, watch)).await?;
    on_head::landing(worktree, turned_down::with_rejections(outcome, brief)).await
}

/// Works out a patch for the worktree itself.
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
        Engine::BuiltIn if is_climbed => Ok(searched::not_found(search, worktree)),
        Engine::BuiltIn => Ok(WorkOutcome::GaveUp {
            reason: "the built-in engine needs permission to run the tests".into(),
        }),
    }
}

/// Climbs the ladder if there are failing tests that may run, and no model has begun.
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
    // A model that has begun continues. The built-in engine ignores an earlier transcript.
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
