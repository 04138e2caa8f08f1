//! The work itself, the same for every door: reproduce, work out a patch, and prove it on a fresh copy.

mod confirm;
mod debug;
mod history;
mod limit;
mod limits;
mod minimize;
mod model;
mod pace;
mod prove;
mod refactor;
mod remembered;
mod reproduce;
mod resolve;
mod tdd;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent::{Live, Recorded};
use crate::checkout::{Checkout, Workspace};
use crate::domain::execution::Deferred;
use crate::domain::explanation::Explanation;
use crate::domain::finding::Finding;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Author, Claim, Evidence, Proposal};
use crate::domain::reply;
use crate::domain::run::{Reading, Run, TestsFirst, TurnedDown};
use crate::domain::spend::Spend;
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::guard;
use crate::openai::OpenAi;
use crate::repair;
use crate::suite::{self, Suite};

pub use prove::prove;
pub use reproduce::{Base, LayOut, Wants, reproduce};
pub use resolve::{edits, resolve};

use super::Broken;
use super::desk::Desk;

/// How many candidates the built-in engine tries at most.
const MAX_CANDIDATES: u32 = 2_000;

/// What a recording is called where a model is named.
const RECORDED: &str = "recorded";

/// Who works.
#[derive(Clone, Copy)]
pub enum Engine<'a> {
    BuiltIn,
    Model {
        model: &'a OpenAi,
        name: &'a str,
    },
    /// What a model said in an earlier run.
    Recorded {
        model: &'a Recorded,
    },
}

/// How far a mode has come: what it works on next follows from that.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    pub mode: &'a Mode,
    /// The tests that were written first, once they are.
    pub tests_first: Option<&'a TestsFirst>,
}

impl<'a> Brief<'a> {
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
    /// The red run; none when nothing may be executed.
    pub before: Option<&'a TestRun>,
    /// How often it was red.
    pub triage: Option<&'a Triage>,
    pub reading: Option<&'a Reading>,
    pub turned_down: &'a [TurnedDown],
    /// What this run used up that was not counted when it was worked out what is left.
    pub uncounted: Spend,
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
}

/// What came of it.
pub enum Outcome {
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

/// How the work is watched from outside.
pub struct Watch<'a, 'k> {
    pub keep: &'a mut Keep<'k>,
    pub progress: &'a mut Progress<'k>,
    /// Hears of the model's replies as they come in.
    pub live: &'a Live,
    pub cancel: &'a CancellationToken,
}

/// A new copy of a tree, for its tests to run in.
pub(super) async fn copied(checkout: &Checkout, suite: &Suite) -> Result<Workspace, Broken> {
    let (checkout, within) = (checkout.clone(), suite.workspaces.clone());
    let copied = tokio::task::spawn_blocking(move || checkout.workspace(&within)).await;
    Ok(copied.map_err(|error| Broken::Bug(error.to_string()))??)
}

/// Runs the whole suite on a fresh copy of the head with a patch.
async fn run_with(desk: &Desk, suite: &Suite, patch: &Patch, cancel: &CancellationToken) -> Result<TestRun, Broken> {
    let mut patched = desk.checkout.clone();
    patched.reset();
    patched.apply(patch);
    let workspace = copied(&patched, suite).await?;
    let ran = suite::run(suite, &workspace, &[], cancel).await?;
    tokio::task::spawn_blocking(move || drop(workspace));
    Ok(ran)
}

/// What was installed, as an approval says it; none if nothing was.
fn installed(desk: &Desk, suite: &Suite) -> Option<String> {
    let something = !suite.installed.env.is_empty() || !suite.installed.mounts.is_empty();
    let command = desk.install_settings(Vec::new()).command;
    something.then(|| command.unwrap_or_else(|| "the dependencies, from their registries".into()))
}

/// Works out a patch. With a suite it is proved; without, nothing is executed and it is only read.
///
/// # Errors
/// When the sandbox, the model or the journal cannot be used.
pub async fn work(
    desk: &Desk,
    suite: Option<&Suite>,
    engine: Engine<'_>,
    brief: &Brief<'_>,
    watch: Watch<'_, '_>,
) -> Result<Outcome, Broken> {
    if let (Mode::Debug, Some(suite), Some(before), []) = (brief.mode, suite, brief.before, brief.said) {
        let (head, triage) = (brief.head, brief.triage);
        let red = Red { head, before, triage };
        let known = (brief.memory, brief.turned_down);
        if let Some(proposal) = remembered::remembered(desk, suite, known, &red, watch.cancel).await? {
            return Ok(Outcome::Proposed(proposal));
        }
    }
    match (engine, suite, brief.before) {
        (Engine::Model { model, name }, suite, _) => model::work(desk, suite, (model, name), brief, watch).await,
        (Engine::Recorded { model }, suite, _) => model::work(desk, suite, (model, RECORDED), brief, watch).await,
        (Engine::BuiltIn, _, _) if !brief.mode.is_debug() => Ok(Outcome::Refused {
            reason: reply::needs_a_model(brief.mode),
        }),
        (Engine::BuiltIn, Some(suite), Some(before)) => built_in(desk, (suite, before), brief, watch).await,
        (Engine::BuiltIn, _, _) => Ok(Outcome::GaveUp {
            reason: "the built-in engine works only with tests it may run".into(),
        }),
    }
}

async fn built_in(
    desk: &Desk,
    (suite, before): (&Suite, &TestRun),
    brief: &Brief<'_>,
    watch: Watch<'_, '_>,
) -> Result<Outcome, Broken> {
    let Watch { progress, cancel, .. } = watch;
    let (remembered, _) = brief.memory.turned_down(before);
    let excluded: Vec<String> = brief
        .turned_down
        .iter()
        .map(|down| down.proposal.patch.digest())
        .chain(remembered)
        .collect();
    let task = repair::Task {
        checkout: &desk.checkout,
        suite,
        before,
        changed: &desk.changed,
        originals: &desk.originals,
        protected: &|path| desk.config.protect.paths.covers(path),
        excluded: &excluded,
        tried: &[],
    };
    let budget = repair::Budget {
        candidates: MAX_CANDIDATES,
        wall: desk.config.limits.wall,
    };
    let found = match repair::search(&task, &budget, progress, cancel).await? {
        repair::End::Found(found) => *found,
        repair::End::NotFound(tried) if tried.candidates == 0 => {
            let reason = "The built-in engine found nothing that it could edit: it makes small edits to Rust and Python \
                          code that builds, outside of tests and protected paths. A model can do more";
            return Ok(Outcome::GaveUp { reason: reason.into() });
        }
        repair::End::NotFound(repair::Tried { candidates: tried, .. }) => {
            return Ok(Outcome::GaveUp {
                reason: format!("The built-in engine tried {tried} small edits, and none makes the tests pass"),
            });
        }
        repair::End::BudgetSpent(repair::Tried { candidates: tried, .. }) => {
            let reason = if tried >= MAX_CANDIDATES {
                format!("The built-in engine tried {tried} small edits, which is its limit")
            } else {
                let wall = humantime::format_duration(desk.config.limits.wall);
                format!("The built-in engine tried {tried} small edits until the time limit of {wall} was reached")
            };
            return Ok(Outcome::LimitReached { reason, found: None });
        }
        repair::End::Cancelled => return Ok(Outcome::Interrupted),
    };
    let is_protected = |path: &RepoPath| desk.config.protect.paths.covers(path);
    let inputs = desk.inputs(Some(before));
    let weakenings = |patch: &Patch| guard::weakenings(patch, &inputs);
    let fits = proposal::check(&found.patch, Claim::Fix, &desk.bounds(&is_protected, &weakenings));
    let mut evidence = fits.and_then(|_| proposal::prove(brief.head, &found.patch, before.clone(), found.after));
    if let Ok(proof) = &mut evidence {
        let mut patched = desk.checkout.clone();
        patched.reset();
        patched.apply(&found.patch);
        let (head, triage) = (brief.head, brief.triage);
        let red = Red { head, before, triage };
        match confirm::confirm(desk, suite, &patched, &red, cancel).await? {
            Ok(runs) => proof.confirmed = runs,
            Err(unfit) => evidence = Err(unfit),
        }
    }
    Ok(match evidence {
        Ok(evidence) => Outcome::Proposed(Box::new(Proposal {
            head: brief.head.clone(),
            patch: found.patch,
            summary: found.explanation,
            author: Author::BuiltIn,
            weakens: Vec::new(),
            tests_first: None,
            measures: None,
            evidence: Some(Evidence {
                triage: brief.triage.cloned(),
                install: installed(desk, suite),
                ..evidence
            }),
        })),
        Err(unfit) => Outcome::GaveUp {
            reason: format!("The built-in engine's edit did not hold on a fresh copy: {unfit}"),
        },
    })
}
