//! What a run may still spend, summed over everything that shares the same limits.

use jiff::{SignedDuration, Timestamp};

use super::worktree::Worktree;
use super::{Broken, Context};
use crate::config::repository::RunLimits;
use crate::domain::budget::{self, Allowance, Estimate, Left, Scope, Used};
use crate::domain::gate::Gate;
use crate::domain::id::Account;
use crate::domain::run::{Consent, Origin, Run, Step};
use crate::domain::spend::Spend;

/// The length of a day for the daily limit.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How many runs of a repository are read, newest first.
const MAX_RUNS: usize = 2_000;
/// How many runs the usual spending is computed from, newest first.
const MAX_TYPICAL: usize = 50;

/// Computes what is left for a run.
///
/// # Errors
/// When the journal cannot be read.
pub(super) async fn left(context: &Context<'_>, run: &Run, limits: &RunLimits) -> Result<Left, Broken> {
    let mut counted = vec![own(run, limits)];
    let shared = [&limits.pull_request, &limits.user, &limits.day];
    if shared.iter().all(|allowed| allowed.allowance() == Allowance::default()) {
        return Ok(budget::left(&counted));
    }
    let id = context.id();
    let runs = context.app.journal.runs_in(&id.repository, MAX_RUNS).await?;
    let since = Timestamp::now().checked_sub(DAY).unwrap_or(Timestamp::MIN);
    let recent = |other: &&Run| other.started.at >= since;
    let of_one = runs.iter().filter(|other| other.started.is_on(id));
    counted.push((Scope::PullRequest, limits.pull_request.allowance(), sum(of_one)));
    if let Some(person) = on_behalf_of(run) {
        let theirs = runs
            .iter()
            .filter(recent)
            .filter(|other| on_behalf_of(other).is_some_and(|other| other.is(person)));
        counted.push((Scope::User, limits.user.allowance(), sum(theirs)));
    }
    counted.push((Scope::Day, limits.day.allowance(), sum(runs.iter().filter(recent))));
    Ok(budget::left(&counted))
}

/// What is left for a run alone, if it shares no limit with others.
pub fn of_run(run: &Run, limits: &RunLimits) -> Left {
    budget::left(&[own(run, limits)])
}

fn own(run: &Run, limits: &RunLimits) -> (Scope, Allowance, Used) {
    // The lines of one proposal do not count towards the next.
    let used = Used {
        spend: run.spent,
        patch_lines: 0,
    };
    (Scope::Run, limits.allowance(), used)
}

/// Adds an estimate of what the model will use to a gate, if there is a model.
///
/// # Errors
/// When the journal cannot be read.
pub(super) async fn estimated(
    context: &Context<'_>,
    run: &Run,
    step: Step,
    worktree: Option<&Worktree>,
) -> Result<Step, Broken> {
    Ok(match (step, &context.app.model, worktree) {
        (Step::GateOpened(gate), Some(_), Some(worktree)) => Step::GateOpened(Gate {
            estimate: Some(estimate(context, run, &worktree.config.limits).await?),
            ..gate
        }),
        (step, _, _) => step,
    })
}

/// The estimate shown at a gate: what the model has used, what runs here usually use, and what it may still use.
///
/// # Errors
/// When the journal cannot be read.
async fn estimate(context: &Context<'_>, run: &Run, limits: &RunLimits) -> Result<Estimate, Broken> {
    let runs = context
        .app
        .journal
        .runs_in(&context.id().repository, MAX_TYPICAL)
        .await?;
    let used_a_model = |other: &&Run| other.id() != run.id() && other.spent.turns > 0 && other.end.is_some();
    let spent: Vec<Spend> = runs.iter().filter(used_a_model).map(|other| other.spent).collect();
    Ok(Estimate {
        spent: run.spent,
        typical: budget::mean(&spent),
        at_most: left(context, run, limits).await?.at_most(),
    })
}

/// The account whose limits a run draws on: the person who asked for it, or the author whose code the configuration
/// lets it run.
fn on_behalf_of(run: &Run) -> Option<&Account> {
    match (&run.started.origin, &run.started.consent) {
        (Origin::Comment { by, .. } | Origin::Rerun { by, .. } | Origin::Label { by }, _)
        | (_, Consent::Config { author: by }) => Some(by),
        _ => None,
    }
}

fn used(run: &Run) -> Used {
    let proposals = run.turned_down.iter().map(|down| &down.proposal).chain(&run.proposal);
    Used {
        spend: run.spent,
        patch_lines: proposals.map(|proposal| proposal.patch.changed_lines() as u64).sum(),
    }
}

fn sum<'a>(runs: impl Iterator<Item = &'a Run>) -> Used {
    runs.map(used).fold(Used::default(), |sum, one| Used {
        spend: [sum.spend, one.spend].into_iter().sum::<Spend>(),
        patch_lines: sum.patch_lines.saturating_add(one.patch_lines),
    })
}
