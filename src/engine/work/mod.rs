//! The work itself, the same for every door: reproduce, work out a patch, and prove it on a fresh copy.

mod minimize;
mod model;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Author, Claim, Evidence, OwnTests, Proposal, Unfit};
use crate::domain::run::{Reading, TurnedDown};
use crate::domain::test_run::{TestRun, is_better};
use crate::domain::triage::{Triage, judge};
use crate::guard;
use crate::openai::OpenAi;
use crate::repair;
use crate::suite::{self, Suite};

use super::Broken;
use super::desk::Desk;

/// How many candidates the built-in engine tries at most.
const MAX_CANDIDATES: u32 = 2_000;

/// Who works.
#[derive(Clone, Copy)]
pub enum Engine<'a> {
    BuiltIn,
    Model { model: &'a OpenAi, name: &'a str },
}

/// What the work starts from.
pub struct Brief<'a> {
    pub head: &'a CommitSha,
    /// The red run; none when nothing may be executed.
    pub before: Option<&'a TestRun>,
    /// How often it was red.
    pub triage: Option<Triage>,
    pub reading: Option<&'a Reading>,
    pub turned_down: &'a [TurnedDown],
    /// The transcript so far, when the work was cut off.
    pub said: &'a [serde_json::Value],
}

/// What came of it.
pub enum Outcome {
    Proposed(Box<Proposal>),
    GaveUp {
        reason: String,
    },
    /// A limit ended it before it had looked everywhere.
    LimitReached {
        reason: String,
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
    pub cancel: &'a CancellationToken,
}

/// Runs the whole suite on a fresh copy, and when it is red once more, to tell a bug from a flaky test.
///
/// The failing tests alone are enough to see red again. Only when they pass alone, which may also mean that they need
/// the others before them, the whole suite is run a second time.
///
/// # Errors
/// When the sandbox cannot be used.
pub async fn reproduce(desk: &Desk, suite: &Suite, cancel: &CancellationToken) -> Result<(TestRun, Triage), Broken> {
    let (checkout, within) = (desk.checkout.clone(), suite.workspaces.clone());
    let copied = tokio::task::spawn_blocking(move || checkout.workspace(&within)).await;
    let workspace = copied.map_err(|error| Broken::Bug(error.to_string()))??;
    let first = suite::run(suite, &workspace, &[], cancel).await?;
    let mut runs = vec![first];
    if !runs[0].is_green() && !cancel.is_cancelled() {
        let failing: Vec<String> = runs[0].failing_names().map(ToString::to_string).collect();
        let again = match failing.as_slice() {
            [] => None,
            failing => Some(suite::run(suite, &workspace, failing, cancel).await?),
        };
        runs.push(match again {
            Some(red) if red.outcome == runs[0].outcome => red,
            _ => suite::run_fresh(suite, &desk.checkout, &[], cancel).await?,
        });
    }
    // Removing a large tree takes a while.
    tokio::task::spawn_blocking(move || drop(workspace));
    let triage = judge(&runs);
    // The whole suite's red run is the one to show and to work on.
    let shown = runs.iter().position(|run| !run.is_green()).unwrap_or(0);
    Ok((runs.swap_remove(shown), triage))
}

/// Proves a patch: the whole suite on a fresh copy of the patched tree, held against the red run. A fix that changes
/// tests as well has to hold with the tests as they were, too.
///
/// # Errors
/// When the sandbox cannot be used; a patch that does not prove itself is `Ok(Err(why))`.
pub async fn prove(
    desk: &Desk,
    suite: &Suite,
    (patch, claim): (&Patch, Claim),
    (head, before): (&CommitSha, &TestRun),
    cancel: &CancellationToken,
) -> Result<Result<Evidence, Unfit>, Broken> {
    let is_protected = |path: &RepoPath| desk.config.protect.paths.covers(path);
    let inputs = desk.inputs(Some(before));
    let weakenings = |patch: &Patch| guard::weakenings(patch, &inputs);
    if let Err(unfit) = proposal::check(patch, claim, &desk.bounds(&is_protected, &weakenings)) {
        return Ok(Err(unfit));
    }
    let own_tests = match claim {
        Claim::TestMayBeWrong => None,
        Claim::Fix => match with_own_tests(desk, suite, patch, before, cancel).await? {
            Ok(own_tests) => own_tests,
            Err(unfit) => return Ok(Err(unfit)),
        },
    };
    let mut patched = desk.checkout.clone();
    patched.reset();
    patched.apply(patch);
    let after = suite::run_fresh(suite, &patched, &[], cancel).await?;
    Ok(
        proposal::prove(head, patch, before.clone(), after).map(|evidence| Evidence {
            // What a caller knows better than from the one run it has shown here.
            triage: Some(judge(std::slice::from_ref(before))),
            install: installed(desk, suite),
            own_tests,
            ..evidence
        }),
    )
}

/// Runs the patched code with the tests of the head; none if the patch leaves the tests alone.
async fn with_own_tests(
    desk: &Desk,
    suite: &Suite,
    patch: &Patch,
    before: &TestRun,
    cancel: &CancellationToken,
) -> Result<Result<Option<OwnTests>, Unfit>, Broken> {
    if !patch.files().any(|(path, change)| guard::touches_tests(path, change)) {
        return Ok(Ok(None));
    }
    let Some(own) = guard::with_own_tests(patch) else {
        return Ok(Err(Unfit::OwnTestsUnknown));
    };
    let mut patched = desk.checkout.clone();
    patched.reset();
    patched.apply(&own);
    let after = suite::run_fresh(suite, &patched, &[], cancel).await?;
    Ok(match is_better(before, &after) {
        Ok(()) => Ok(Some(OwnTests {
            passed: after.passed,
            failed: after.failed,
        })),
        Err(why) => Err(Unfit::OwnTests(why)),
    })
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
    match (engine, suite, brief.before) {
        (Engine::Model { model, name }, suite, _) => model::work(desk, suite, (model, name), brief, watch).await,
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
    let excluded: Vec<String> = brief
        .turned_down
        .iter()
        .map(|down| down.proposal.patch.digest())
        .collect();
    let task = repair::Task {
        checkout: &desk.checkout,
        suite,
        before,
        changed: &desk.changed,
        protected: &|path| desk.config.protect.paths.covers(path),
        excluded: &excluded,
    };
    let budget = repair::Budget {
        candidates: MAX_CANDIDATES,
        wall: desk.config.limits.wall,
    };
    let found = match repair::search(&task, &budget, progress, cancel).await? {
        repair::End::Found(found) => found,
        repair::End::NotFound { tried: 0, .. } => {
            let reason = "The built-in engine found nothing that it could edit: it makes small edits to Rust and Python \
                          code that builds, outside of tests and protected paths. A model can do more";
            return Ok(Outcome::GaveUp { reason: reason.into() });
        }
        repair::End::NotFound { tried, .. } => {
            return Ok(Outcome::GaveUp {
                reason: format!("The built-in engine tried {tried} small edits, and none makes the tests pass"),
            });
        }
        repair::End::BudgetSpent { tried, .. } => {
            let reason = if tried >= MAX_CANDIDATES {
                format!("The built-in engine tried {tried} small edits, which is its limit")
            } else {
                let wall = humantime::format_duration(desk.config.limits.wall);
                format!("The built-in engine tried {tried} small edits until the time limit of {wall} was reached")
            };
            return Ok(Outcome::LimitReached { reason });
        }
        repair::End::Cancelled => return Ok(Outcome::Interrupted),
    };
    let is_protected = |path: &RepoPath| desk.config.protect.paths.covers(path);
    let inputs = desk.inputs(Some(before));
    let weakenings = |patch: &Patch| guard::weakenings(patch, &inputs);
    let fits = proposal::check(&found.patch, Claim::Fix, &desk.bounds(&is_protected, &weakenings));
    Ok(
        match fits.and_then(|_| proposal::prove(brief.head, &found.patch, before.clone(), found.after)) {
            Ok(evidence) => Outcome::Proposed(Box::new(Proposal {
                head: brief.head.clone(),
                patch: found.patch,
                summary: found.explanation,
                author: Author::BuiltIn,
                weakens: Vec::new(),
                evidence: Some(Evidence {
                    triage: brief.triage,
                    install: installed(desk, suite),
                    ..evidence
                }),
            })),
            Err(unfit) => Outcome::GaveUp {
                reason: format!("The built-in engine's edit did not hold on a fresh copy: {unfit}"),
            },
        },
    )
}
