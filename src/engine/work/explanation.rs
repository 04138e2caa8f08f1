//! Explains failing tests without a model: how they fail, since when, and which lines are suspected.

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::{Brief, WorkOutcome};
use crate::domain::count::count;
use crate::domain::explanation::{Because, Explanation};
use crate::domain::id::RepoPath;
use crate::domain::test_run::TestRun;
use crate::domain::triage::Triage;
use crate::repair::{self, Task};
use crate::suite::Suite;

/// How a line about a test refers to the base of a checkout.
pub const BASE: &str = "without your changes";

/// How many places are shown, and with how many lines around each.
const SHOWN: usize = 3;
const AROUND: u32 = 2;

/// Explains why the tests fail, as far as possible without a model.
///
/// # Errors
/// When the tree cannot be read.
pub(super) async fn explain(
    worktree: &Worktree,
    suite: Option<&Suite>,
    brief: &Brief<'_>,
    cancel: &CancellationToken,
) -> Result<WorkOutcome, Broken> {
    let (Some(suite), Some(before), Some(triage)) = (suite, brief.before, brief.triage) else {
        return Ok(WorkOutcome::GaveUp {
            reason: "without a model, an explanation needs permission to run the tests".into(),
        });
    };
    if before.is_green() {
        let reason = format!("nothing to explain: {}", before.summary());
        return Ok(WorkOutcome::NothingToDo { reason });
    }
    let task = Task {
        checkout: &worktree.checkout,
        suite,
        before,
        changed: &worktree.changed,
        originals: &worktree.originals,
        protected: &|_| false,
        excluded: &[],
        turned_down: &[],
        tried: &[],
        left_out: repair::LeftOut::default(),
    };
    let suspects = repair::suspects(&task, cancel).await?;
    if cancel.is_cancelled() {
        return Ok(WorkOutcome::Interrupted);
    }
    let mut shown: Vec<Because> = Vec::new();
    // What says nothing about the code makes no line of it suspect.
    for (path, line) in suspects.iter().filter(|_| !triage.is_not_judged()) {
        let is_shown = |one: &Because| one.path == *path && (one.from..=one.to).contains(line);
        if shown.len() < SHOWN && !shown.iter().any(is_shown) {
            shown.extend(because(worktree, path, *line));
        }
    }
    Ok(WorkOutcome::Explained(Box::new(Explanation {
        root_cause: cause(worktree, before, triage),
        because: shown,
    })))
}

/// The observed facts, one per line.
fn cause(worktree: &Worktree, before: &TestRun, triage: &Triage) -> String {
    let summary = triage.on(BASE);
    let mut lines = vec!["What is known without a model:".to_string()];
    if triage.has_regression() {
        let numbers = summary.lines(triage.tests.iter());
        lines.extend(numbers.into_iter().map(|(name, numbers)| match name {
            "" => format!("- `{}` is {numbers}", before.command),
            name => format!("- {name} is {numbers}"),
        }));
    } else {
        lines.push(format!("- {}", summary.why_not(before)));
    }
    if !worktree.changed.is_empty() {
        let files = count(worktree.changed.len() as u64, "file");
        lines.push(format!("- {files} changed since the base"));
    }
    lines.push("Set GREENLIGHT_MODEL to have a model explain the cause.".into());
    lines.join("\n")
}

/// A suspected place, with the code around it.
fn because(worktree: &Worktree, path: &RepoPath, line: u32) -> Option<Because> {
    let text = worktree.checkout.read_text(path.as_str())?;
    let (from, to) = (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND));
    let shown = text.lines().skip(from as usize - 1).take((to - from) as usize + 1);
    let shown: Vec<&str> = shown.collect();
    let to = from + u32::try_from(shown.len()).ok()?.checked_sub(1)?;
    let is_changed = worktree
        .changed
        .get(path)
        .into_iter()
        .flatten()
        .any(|lines| lines.contains(&line));
    Some(Because {
        path: path.clone(),
        from,
        to,
        says: match is_changed {
            true => format!("line {line}, which you changed, is among the first suspects"),
            false => format!("line {line} is among the first suspects"),
        },
        lines: shown.join("\n"),
    })
}
