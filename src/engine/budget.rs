//! What a run may still spend, summed over everything that shares the same limits.

use jiff::{SignedDuration, Timestamp};

use super::worktree::Worktree;
use super::{Broken, Context};
use crate::config::repository::RunLimits;
use crate::domain::budget::{self, Allowance, Estimate, Left, Scope, Used};
use crate::domain::gate::Gate;
use crate::domain::id::{Account, RunId};
use crate::domain::run::{Consent, Origin, Run, Step};
use crate::domain::spend::Spend;
use crate::journal::{Journal, Reservation};

/// How long a run waits before it looks again, if others have reserved all that is left.
const WAIT: SignedDuration = SignedDuration::from_mins(1);
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
async fn left(context: &Context<'_>, run: &Run, limits: &RunLimits) -> Result<Left, Broken> {
    let runs = sharing(context, limits).await?;
    Ok(of_shared(context, run, limits, (&runs, &[])))
}

/// Reserves what a run may spend until [`release`], so that runs at the same time do not exceed the limits that they
/// share. Returns what is left for it.
///
/// # Errors
/// [`Broken::Reserved`] if only other runs' reservations leave nothing, or when the journal cannot be used.
pub(super) async fn reserve(context: &Context<'_>, run: &Run, limits: &RunLimits) -> Result<Left, Broken> {
    let Journal::Database(database) = &context.app.journal else {
        return left(context, run, limits).await;
    };
    if context.app.model.is_none() || shares_nothing(limits) {
        return left(context, run, limits).await;
    }
    let own = of_run(run, limits);
    let reservation = Reservation {
        run: run.id().clone(),
        amount: Spend {
            turns: own
                .turns
                .map_or(0, |amount| u32::try_from(amount.left).unwrap_or(u32::MAX)),
            prompt_tokens: own.tokens.map_or(0, |amount| amount.left),
            cost_micros: own.cost_micros.map(|amount| amount.left),
            ..Spend::default()
        },
        spent: run.spent,
    };
    let earlier = database.reserve(&context.id().repository, &reservation).await?;
    // Read afterwards: what an earlier run spent until it ended its reservation is in the journal.
    let runs = sharing(context, limits).await?;
    let left = of_shared(context, run, limits, (&runs, &earlier));
    let is_reserved = left.exhausted().is_some() && of_shared(context, run, limits, (&runs, &[])).exhausted().is_none();
    if is_reserved {
        database.end_reservation(run.id()).await?;
        return Err(Broken::Reserved(database.now() + WAIT));
    }
    Ok(left)
}

/// Ends a run's reservation, after what it spent was recorded.
pub(super) async fn release(context: &Context<'_>, run: &Run) {
    if let Journal::Database(database) = &context.app.journal
        && context.app.model.is_some()
        && let Err(error) = database.end_reservation(run.id()).await
    {
        tracing::warn!(run.id = %run.id(), %error, "a reservation was not ended");
    }
}

fn shares_nothing(limits: &RunLimits) -> bool {
    let shared = [&limits.pull_request, &limits.user, &limits.day];
    shared.iter().all(|allowed| allowed.allowance() == Allowance::default())
}

/// What counts of a run with which another one shares limits.
struct Sharing {
    run: RunId,
    started: Timestamp,
    is_on_this_pull_request: bool,
    on_behalf_of: Option<Account>,
    used: Used,
    has_ended: bool,
}

impl Sharing {
    fn of(context: &Context<'_>, run: &Run) -> Self {
        Self {
            run: run.id().clone(),
            started: run.started.at,
            is_on_this_pull_request: run.started.is_on(context.id()),
            on_behalf_of: on_behalf_of(run).cloned(),
            used: used(run),
            has_ended: run.end.is_some(),
        }
    }
}

/// The runs with which a run shares limits.
async fn sharing(context: &Context<'_>, limits: &RunLimits) -> Result<Vec<Sharing>, Broken> {
    let mut all = Vec::new();
    if shares_nothing(limits) {
        return Ok(all);
    }
    let mut take = |run: Run| all.push(Sharing::of(context, &run));
    let journal = &context.app.journal;
    journal
        .each_run_in(&context.id().repository, MAX_RUNS, &mut take)
        .await?;
    Ok(all)
}

/// What is left for a run, given the runs of its repository and what some of them have reserved.
fn of_shared(
    context: &Context<'_>,
    run: &Run,
    limits: &RunLimits,
    (runs, reserved): (&[Sharing], &[Reservation]),
) -> Left {
    let mut counted = vec![own(run, limits)];
    if shares_nothing(limits) {
        return budget::left(&counted);
    }
    let since = context.app.journal.now().checked_sub(DAY).unwrap_or(Timestamp::MIN);
    let recent = |other: &&Sharing| other.started >= since;
    let of_one = runs.iter().filter(|other| other.is_on_this_pull_request);
    counted.push((
        Scope::PullRequest,
        limits.pull_request.allowance(),
        sum(of_one, reserved),
    ));
    if let Some(person) = on_behalf_of(run) {
        let theirs = runs
            .iter()
            .filter(recent)
            .filter(|other| other.on_behalf_of.as_ref().is_some_and(|other| other.is(person)));
        counted.push((Scope::User, limits.user.allowance(), sum(theirs, reserved)));
    }
    let of_day = sum(runs.iter().filter(recent), reserved);
    counted.push((Scope::Day, limits.day.allowance(), of_day));
    budget::left(&counted)
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

fn sum<'a>(runs: impl Iterator<Item = &'a Sharing>, reserved: &[Reservation]) -> Used {
    let with_reserved = |other: &Sharing| {
        let Sharing { run, used, .. } = other;
        let reservation = reserved.iter().find(|reservation| reservation.run == *run);
        let outstanding = reservation
            .filter(|_| !other.has_ended)
            .map(|of| outstanding(of, &used.spend));
        Used {
            spend: used.spend + outstanding.unwrap_or_default(),
            ..*used
        }
    };
    runs.map(with_reserved).fold(Used::default(), |sum, one| Used {
        spend: [sum.spend, one.spend].into_iter().sum::<Spend>(),
        patch_lines: sum.patch_lines.saturating_add(one.patch_lines),
    })
}

/// The part of a reservation that the run has not spent yet.
fn outstanding(reservation: &Reservation, spent: &Spend) -> Spend {
    let (amount, before) = (&reservation.amount, &reservation.spent);
    let tokens = spent.tokens().saturating_sub(before.tokens());
    let cost = |spend: &Spend| spend.cost_micros.unwrap_or(0);
    Spend {
        turns: amount.turns.saturating_sub(spent.turns.saturating_sub(before.turns)),
        prompt_tokens: amount.tokens().saturating_sub(tokens),
        cost_micros: amount
            .cost_micros
            .map(|amount| amount.saturating_sub(cost(spent).saturating_sub(cost(before)))),
        ..Spend::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_no_longer_reserved() {
        let spend = |turns, tokens, cost_micros| Spend {
            turns,
            prompt_tokens: tokens,
            cost_micros,
            ..Spend::default()
        };
        let reservation = Reservation {
            run: RunId("r1".into()),
            amount: spend(10, 1_000, Some(500)),
            spent: spend(2, 100, None),
        };
        assert_eq!(
            outstanding(&reservation, &spend(2, 100, None)),
            spend(10, 1_000, Some(500))
        );
        assert_eq!(
            outstanding(&reservation, &spend(5, 700, Some(200))),
            spend(7, 400, Some(300))
        );
        assert_eq!(
            outstanding(&reservation, &spend(90, 9_000, Some(900))),
            spend(0, 0, Some(0))
        );
    }
}
