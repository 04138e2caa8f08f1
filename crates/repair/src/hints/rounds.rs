//! Settles complaints round by round: a fix may reveal further complaints, as many compilers stop at the first phase
//! that fails. Each round applies the likeliest untried hint for every complaint, and keeps those that settled theirs.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use greenlight_suite as suite;
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

use super::tool_problems::Examiner;
use super::{Hint, HintEdit, Problem, Settled, changed, is_editable};
use crate::task::Task;

/// Maximum number of rounds.
const ROUNDS: usize = 6;
/// Maximum number of alternatives that are tried for one complaint.
const MAX_ALTERNATIVES: usize = 8;
/// A hint that is this much likelier than the next one is not in doubt.
const CLEAR: f32 = 0.9;
/// The weight of a fix of several rounds whose hints had alternatives about as likely: a finding at most.
const DOUBTFUL: f32 = 0.25;

/// Which alternative is next for a complaint: by file and message.
type Turns = BTreeMap<(String, String), usize>;

/// Texts that settle all complaints, and variants of them with the other hints.
pub(super) async fn settled(task: &Task<'_>, stop: &CancellationToken) -> Result<Vec<Settled>, suite::Error> {
    let mut examiner = Examiner::new(task);
    let first = examiner.first(stop).await?;
    let mut found = Vec::new();
    if first.is_empty() || stop.is_cancelled() {
        return Ok(found);
    }
    // Each complaint alone, in all ways, is tried anyway: the tests decide.
    let mut turns = Turns::new();
    let mut tree = task.checkout.clone();
    let mut problems = first.clone();
    let (mut weight, mut is_of_a_tool) = (1.0_f32, true);
    for round in 0..ROUNDS {
        let Some(step) = applied(task, &tree, &problems, &turns) else {
            break;
        };
        let remaining = examiner.examine(&step.tree, stop).await?;
        if stop.is_cancelled() {
            return Ok(Vec::new());
        }
        let keys: BTreeSet<_> = problems.iter().map(key).collect();
        let failed: BTreeSet<_> = remaining.iter().map(key).filter(|key| keys.contains(key)).collect();
        if remaining.is_empty() {
            weight = weight.min(step.weight);
            is_of_a_tool &= step.is_of_a_tool;
            if round > 0 && step.is_in_doubt {
                weight = DOUBTFUL;
            }
            if round > 0 {
                found.push(all(task, &step.tree, weight, is_of_a_tool));
            }
            break;
        }
        // Keep what settled its complaint, and take the next alternative for the rest.
        let kept: Vec<Problem> = problems
            .iter()
            .filter(|problem| !failed.contains(&key(problem)))
            .cloned()
            .collect();
        if let Some(kept) = applied(task, &tree, &kept, &turns) {
            tree = kept.tree;
            weight = weight.min(if kept.is_in_doubt { DOUBTFUL } else { kept.weight });
            is_of_a_tool &= kept.is_of_a_tool;
        }
        for key in failed {
            *turns.entry(key).or_insert(0) += 1;
        }
        problems = if kept.is_empty() {
            problems
        } else {
            examiner.examine(&tree, stop).await?
        };
    }
    found.extend(variants(task, &first));
    Ok(found)
}

/// All complaints at once with their likeliest hints, and each of them with its alternatives.
fn variants(task: &Task<'_>, problems: &[Problem]) -> Vec<Settled> {
    let mut found = Vec::new();
    let mut add = |turns: &Turns, problems: &[Problem]| {
        if let Some(step) = applied(task, task.checkout, problems, turns) {
            found.push(all(task, &step.tree, step.weight, step.is_of_a_tool));
        }
    };
    add(&Turns::new(), problems);
    let keys: BTreeSet<_> = problems.iter().map(key).collect();
    for one in &keys {
        for turn in 1..MAX_ALTERNATIVES {
            add(&Turns::from([(one.clone(), turn)]), problems);
        }
        // Complaints may follow from another one.
        let alone: Vec<Problem> = problems
            .iter()
            .filter(|problem| key(problem) == *one)
            .cloned()
            .collect();
        for turn in (0..MAX_ALTERNATIVES).filter(|_| keys.len() > 1) {
            add(&Turns::from([(one.clone(), turn)]), &alone);
        }
    }
    found
}

fn key(problem: &Problem) -> (String, String) {
    (problem.file.clone(), problem.says.clone())
}

/// A tree with one hint for each problem.
struct Round {
    tree: Checkout,
    weight: f32,
    is_of_a_tool: bool,
    /// Whether another hint was about as likely.
    is_in_doubt: bool,
}

fn applied(task: &Task<'_>, tree: &Checkout, problems: &[Problem], turns: &Turns) -> Option<Round> {
    let mut step = Round {
        tree: tree.clone(),
        weight: 1.0,
        is_of_a_tool: true,
        is_in_doubt: false,
    };
    let mut changes: BTreeSet<HintEdit> = BTreeSet::new();
    for problem in problems {
        let turn = turns.get(&key(problem)).copied().unwrap_or(0);
        let Some(hint) = problem.hints.get(turn).filter(|hint| is_permitted(task, hint)) else {
            // With an explicit turn there must be such an alternative.
            if turn > 0 {
                return None;
            }
            continue;
        };
        let mut next = changes.clone();
        next.extend(hint.changes.iter().cloned());
        if texts(&step.tree, &next).is_none() {
            continue;
        }
        changes = next;
        step.weight = step.weight.min(hint.weight);
        step.is_of_a_tool &= hint.is_of_a_tool;
        let rival = problem.hints.get(turn + 1).map_or(0.0, |rival| rival.weight);
        step.is_in_doubt |= rival >= hint.weight * CLEAR;
    }
    let texts = texts(&step.tree, &changes).filter(|texts| !texts.is_empty())?;
    for (path, text) in texts {
        step.tree.edit_text(path, text);
    }
    Some(step)
}

fn is_permitted(task: &Task<'_>, hint: &Hint) -> bool {
    hint.changes.iter().all(|change| is_editable(task, &change.path))
}

/// The texts that these changes make. `None` if some do not fit.
fn texts(tree: &Checkout, changes: &BTreeSet<HintEdit>) -> Option<BTreeMap<RepoPath, String>> {
    let mut by_path: BTreeMap<&RepoPath, Vec<&HintEdit>> = BTreeMap::new();
    for change in changes {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut found = BTreeMap::new();
    for (path, changes) in by_path {
        let text = tree.read_text(path.as_str())?;
        found.insert(path.clone(), changed(&text, &changes)?);
    }
    Some(found)
}

/// What differs between the task's tree and this one.
fn all(task: &Task<'_>, tree: &Checkout, weight: f32, is_of_a_tool: bool) -> Settled {
    let paths: BTreeSet<RepoPath> = tree.patch().paths().cloned().collect();
    let texts = paths.into_iter().filter_map(|path| {
        let text = tree.read_text(path.as_str())?;
        (task.checkout.read_text(path.as_str()).as_ref() != Some(&text)).then_some((path, text))
    });
    Settled {
        texts: texts.collect(),
        weight,
        is_of_a_tool,
    }
}
