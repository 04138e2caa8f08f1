//! Reads what failures complain about, and where in the tree.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Failure, TestRun};
use greenlight_tree::checkout::Checkout;
use regex::Regex;

use super::place::HintPlace;
use super::renames::Renames;
use super::{Hint, Problem, is_editable, languages};
use crate::generated::is_generated;
use crate::task::Task;
use crate::tools::resolved;

/// Limits on the failures that are read, on the length of their messages, and on the places in one of them.
const MAX_FAILURES: usize = 40;
const MAX_MESSAGE: usize = 16 << 10;
const MAX_PLACES: usize = 30;
/// Maximum number of problems that are worked on at once.
const MAX_PROBLEMS: usize = 20;
/// `File "path", line 3`, and `path:3`.
const AT: &str =
    r#"File "(?<py>[^"\n]+)", line (?<pyl>[0-9]{1,7})|(?<path>[\w./+@-]+\.\w{1,5})[:(](?<line>[0-9]{1,7})"#;

/// What a run complains about. Each complaint once.
pub(super) fn of_run(task: &Task<'_>, (tree, renames): (&Checkout, &Renames), run: &TestRun) -> Vec<Problem> {
    let mut found: Vec<Problem> = Vec::new();
    let mut add = |problem: Option<Problem>| {
        if let Some(problem) = problem
            && found.len() < MAX_PROBLEMS
            && !found.contains(&problem)
        {
            found.push(problem);
        }
    };
    for failure in run.failures.iter().take(MAX_FAILURES) {
        add(of_failure(task, (tree, renames), failure));
    }
    if run.failures.is_empty() {
        let whole = Failure {
            message: run.tail.clone(),
            ..Failure::default()
        };
        add(of_failure(task, (tree, renames), &whole));
    }
    found
}

fn of_failure(task: &Task<'_>, (tree, renames): (&Checkout, &Renames), failure: &Failure) -> Option<Problem> {
    let start = failure.message.len().saturating_sub(MAX_MESSAGE);
    let message = failure.message.get(failure.message.ceil_char_boundary(start)..)?;
    let named = match message.contains(&failure.name) {
        true => "",
        false => failure.name.as_str(),
    };
    let message = format!("{message}\n{named}");
    let mut places = Vec::new();
    if let Some(location) = &failure.location {
        places.push((location.path.clone(), location.line));
    }
    places.extend(printed(&message));
    let mut seen = BTreeSet::new();
    for (path, line) in places.into_iter().take(MAX_PLACES) {
        let Some(path) = resolved(tree, task.suite.command.directory.as_ref(), &path) else {
            continue;
        };
        let text = tree.read_text(path.as_str()).unwrap_or_default();
        if !is_editable(task, &path) || is_generated(path.as_str(), &text) || !seen.insert((path.clone(), line)) {
            continue;
        }
        if let Some(problem) = at((tree, renames), (&path, line), &message) {
            return Some(problem);
        }
    }
    None
}

/// The problem at one line, if anything is known to do about the message.
pub(super) fn at(
    (tree, renames): (&Checkout, &Renames),
    (path, line): (&RepoPath, u32),
    message: &str,
) -> Option<Problem> {
    let place = HintPlace::new(tree, (path, line), tree.read_text(path.as_str())?, message)?;
    let said = languages::hints(&place);
    let renamed = renames.hints(&place);
    let says = said.as_ref().or(renamed.first()).map(|(says, _)| says.clone())?;
    let hints = renamed.into_iter().chain(said).flat_map(|(_, hints)| hints);
    let mut hints: Vec<Hint> = hints.filter(|hint| !hint.changes.is_empty()).collect();
    hints.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    (!hints.is_empty()).then(|| Problem {
        file: path.to_string(),
        says,
        hints,
    })
}

/// The places that a message prints.
fn printed(message: &str) -> Vec<(String, u32)> {
    // The pattern is a constant; the tests fail if it is invalid.
    let Ok(at) = Regex::new(AT) else { return Vec::new() };
    let all = at.captures_iter(message).filter_map(|captures| {
        let path = captures.name("py").or_else(|| captures.name("path"))?;
        let line = captures.name("pyl").or_else(|| captures.name("line"))?;
        Some((path.as_str().to_string(), line.as_str().parse().ok()?))
    });
    all.take(MAX_PLACES).collect()
}
