//! Several faults at once. Each is searched for with one of the failing tests, on top of the edits that were found
//! before it; the other failing tests are excused in the meantime.

use greenlight_readers::test_run::{Outcome, TestRun, is_better};
use greenlight_suite as suite;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::found::{End, Finding, Origin, PassingPatch, Progress, Tried};
use crate::task::{Budget, Task};

/// This part of a budget is kept for looking at tests one at a time.
const SHARE: u32 = 4;
/// Maximum number of tests that are looked at.
const MAX_TESTS: usize = 6;

/// What the search for one edit that repairs everything may use up.
pub(super) fn together(task: &Task<'_>, budget: &Budget) -> Budget {
    match is_divisible(task) {
        true => Budget {
            candidates: budget.candidates - budget.candidates / SHARE,
            wall: budget.wall - budget.wall / SHARE,
        },
        false => *budget,
    }
}

/// Whether tests fail that can be looked at one at a time.
fn is_divisible(task: &Task<'_>) -> bool {
    task.before.outcome == Outcome::Failed
        && !task.left_out.edits
        && task.before.failures.len() > 1
        && task.before.knows_all_names()
}

/// The edits that were found so far.
struct Progressing {
    pieces: Vec<PassingPatch>,
    /// The run of the whole suite with all of them.
    now: TestRun,
}

/// Looks at failing tests one at a time, after a search for one edit found nothing.
///
/// # Errors
/// When the sandbox fails.
pub(super) async fn search(
    task: &Task<'_>,
    (budget, deadline): (&Budget, Instant),
    end: End,
    progress: &mut (dyn FnMut(Progress) + Send),
    cancel: &CancellationToken,
) -> Result<End, suite::Error> {
    let (mut tried, ended): (Tried, fn(Tried) -> End) = match end {
        End::NotFound(tried) => (tried, End::NotFound),
        End::BudgetSpent(tried) => (tried, End::BudgetSpent),
        End::Found(_) | End::Cancelled => return Ok(end),
    };
    if !is_divisible(task) || !tried.findings.is_empty() {
        return Ok(ended(tried));
    }
    let mut found = Progressing {
        pieces: Vec::new(),
        now: task.before.clone(),
    };
    let mut seen: Vec<String> = Vec::new();
    loop {
        let names = unseen(&found.now, &seen);
        let Some(name) = names.first().cloned() else { break };
        // Each has the same share, because one that no edit repairs uses up all of it.
        let share = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let left = Budget {
            candidates: budget.candidates.saturating_sub(tried.candidates) / share,
            wall: deadline.saturating_duration_since(Instant::now()) / share,
        };
        seen.push(name.clone());
        if left.candidates == 0 || left.wall.is_zero() {
            break;
        }
        match one(task, (&found, &name), &left, (&mut tried, progress), cancel).await? {
            End::Cancelled => return Ok(End::Cancelled),
            End::Found(piece) => {
                found.now = piece.after.clone();
                found.pieces.push(*piece);
            }
            End::NotFound(_) | End::BudgetSpent(_) => {}
        }
        if is_better(task.before, &found.now).is_ok() {
            break;
        }
    }
    Ok(match joined(task, found, &mut tried) {
        Some(passing) => End::Found(Box::new(passing)),
        None => ended(tried),
    })
}

/// The failing tests that are still to be looked at.
fn unseen(now: &TestRun, seen: &[String]) -> Vec<String> {
    let names = now
        .failing_names()
        .filter(|name| seen.iter().all(|other| other != name));
    names
        .take(MAX_TESTS.saturating_sub(seen.len()))
        .map(String::from)
        .collect()
}

/// Searches for an edit with which this test passes, and no other gets worse.
async fn one(
    task: &Task<'_>,
    (found, name): (&Progressing, &str),
    budget: &Budget,
    (tried, progress): (&mut Tried, &mut (dyn FnMut(Progress) + Send)),
    cancel: &CancellationToken,
) -> Result<End, suite::Error> {
    let others: Vec<String> = found
        .now
        .failing_names()
        .filter(|other| *other != name)
        .map(String::from)
        .collect();
    let mut before = found.now.clone().excusing(&others);
    before.unstable.clone_from(&task.before.unstable);
    let mut checkout = task.checkout.clone();
    if let Some(last) = found.pieces.last() {
        checkout.reset();
        checkout.apply(&last.patch);
    }
    let task = Task {
        checkout: &checkout,
        before: &before,
        // What failed for all tests together may pass for one of them.
        tried: &[],
        ..*task
    };
    let so_far = tried.candidates;
    let mut report = |now: Progress| {
        tried.candidates = so_far.saturating_add(now.tried);
        progress(Progress {
            tried: tried.candidates,
            total_estimate: so_far.saturating_add(now.total_estimate),
            // A search for other tests may still need it.
            failed: None,
            ..now
        });
    };
    Box::pin(super::one_edit(&task, budget, &mut report, cancel)).await
}

/// All edits as one patch, if every test passes with it. If some still fail, it becomes a finding.
fn joined(task: &Task<'_>, found: Progressing, tried: &mut Tried) -> Option<PassingPatch> {
    let patch = found.pieces.last()?.patch.clone();
    if task.excluded.contains(&patch.digest()) {
        return None;
    }
    let explanation = listed(&found.pieces);
    if is_better(task.before, &found.now).is_ok() {
        return Some(PassingPatch {
            patch,
            explanation,
            candidates_tried: tried.candidates,
            origin: Origin::Edit,
            suspects: tried.suspects.clone(),
            after: found.now,
        });
    }
    tried.findings.push(Finding {
        patch,
        explanation,
        still_failing: found.now.failed,
        risks: vec!["the tests that still fail may need other changes to the same code".into()],
    });
    None
}

/// What became what, of all of them in one sentence.
fn listed(pieces: &[PassingPatch]) -> String {
    let mut sentence = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        sentence += match at {
            0 => "",
            _ if at + 1 < pieces.len() => ", ",
            1 => " and ",
            _ => ", and ",
        };
        sentence += &piece.explanation;
    }
    sentence
}
