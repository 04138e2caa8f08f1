//! Determines from a repository's workflow files what the failed step of a CI job ran, and where.
//!
//! Values that the files do not contain (outputs of other steps, secrets, the scripts of remote actions) are unknown,
//! and then there is no step: nothing is guessed. `discover/step.rs` decides which line of a script runs tests.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax>

mod action_commands;
mod actions;
mod composite;
mod exported;
mod expression;
mod files;
mod legs;
mod listed;
mod matrix;
mod needed;
mod node;
mod other_ci;
mod purpose;
mod run_script;
mod script_text;
mod shown;
mod step_script;
mod steps;
mod test_steps;

use std::rc::Rc;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;

use self::expression::{Scope, interpolate, literals};
use self::files::WorkflowFiles;
pub use self::listed::{CiWorkflow, ci_workflows};
pub(crate) use self::node::{Node, parse, texts_at};
pub use self::test_steps::test_steps;

/// The root of the checkout in scripts and paths.
pub(crate) const WORKSPACE: &str = "$GITHUB_WORKSPACE";
/// Events for which a workflow tests what people push or propose.
const EVENTS: [&str; 5] = [
    "push",
    "pull_request",
    "pull_request_target",
    "merge_group",
    "workflow_call",
];
/// Maximum depth of workflows that call workflows; GitHub has a limit, too.
const MAX_CALLS: usize = 5;
/// GitHub truncates a job's name after this many characters.
const MAX_SHOWN_NAME: usize = 100;

/// The failed step of a job, as GitHub names it.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The workflow file.
    pub workflow: &'a RepoPath,
    /// The name of the job, with the values of its matrix.
    pub job: &'a str,
    /// The names of the job's steps, in order.
    pub steps: &'a [String],
    /// The index of the failed step.
    pub failed: usize,
}

/// Reads a file of the base branch. `None` if there is none.
pub type ReadFile<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// The step as the files of the base branch describe it. `None` if it cannot be determined.
///
/// Files are requested as needed. A reader that does not have one yet may note it, fetch it, and call this again.
pub fn failed_step(failed: &Failed<'_>, read: &mut ReadFile<'_>) -> Option<CiStep> {
    let mut files = WorkflowFiles::new(read);
    let found = in_workflow((failed.workflow.as_str(), failed.job), &Scope::default(), 0, &mut files)?;
    let mut step = None;
    for place in &found {
        let other = steps::resolve(failed, place, &mut files)?;
        // If several jobs have the same name, all of them must agree on the step.
        if step.get_or_insert_with(|| other.clone()) != &other {
            return None;
        }
    }
    step
}

/// A job that may be the failed one, with its workflow.
struct JobMatch {
    workflow: Rc<Node>,
    /// The index of the job.
    job: usize,
    scope: Scope,
}

/// The jobs of a workflow that GitHub would show with this name.
fn in_workflow(
    (path, name): (&str, &str),
    scope: &Scope,
    depth: usize,
    files: &mut WorkflowFiles<'_, '_>,
) -> Option<Vec<JobMatch>> {
    if depth > MAX_CALLS {
        return None;
    }
    let workflow = files.document(path)?;
    let mut places = Vec::new();
    for (number, (key, job)) in workflow.get("jobs")?.entries().iter().enumerate() {
        let combinations = match job.get("strategy").and_then(|strategy| strategy.get("matrix")) {
            // If the matrix is computed, the job's name may still exclude this job.
            Some(matrix) => matrix::combinations(matrix, scope).unwrap_or_default(),
            None => vec![Vec::new()],
        };
        files.look_at(1 + combinations.len())?;
        for combination in combinations {
            let own = Scope {
                matrix: combination,
                ..scope.clone()
            };
            let names = names(key, job, &own);
            let called = job.get("uses").and_then(Node::text);
            if let Some(called) = called {
                let rest = names
                    .iter()
                    .find_map(|own| name.strip_prefix(own.as_str())?.strip_prefix(" / "));
                let (Some(rest), Some(called)) = (rest, local(called)) else {
                    continue;
                };
                let called_scope = called_scope(job, &own, &called, files);
                places.extend(in_workflow((&called, rest), &called_scope?, depth + 1, files)?);
            } else if names.iter().any(|own| is_shown_as(own, name)) {
                places.push(JobMatch {
                    workflow: Rc::clone(&workflow),
                    job: number,
                    scope: own,
                });
            }
        }
    }
    (!places.is_empty()).then_some(places)
}

/// The names with which GitHub may show a job.
fn names(key: &str, job: &Node, scope: &Scope) -> Vec<String> {
    let values = matrix::display_names(&scope.matrix).join(", ");
    let with_values = |name: &str| match values.as_str() {
        "" => name.to_string(),
        values => format!("{name} ({values})"),
    };
    match job.get("name").and_then(Node::scalar) {
        None => vec![with_values(key)],
        Some(name) => interpolate(&name, scope)
            .map(|name| vec![with_values(&name), name])
            .unwrap_or_default(),
    }
}

fn is_shown_as(name: &str, shown: &str) -> bool {
    let cut = shown.strip_suffix("...").or_else(|| shown.strip_suffix('…'));
    name == shown || cut.is_some_and(|cut| shown.len() >= MAX_SHOWN_NAME && name.starts_with(cut))
}

/// The path that a `uses:` value refers to in this repository.
fn local(uses: &str) -> Option<String> {
    let path: RepoPath = uses.strip_prefix("./")?.trim_end_matches('/').parse().ok()?;
    Some(path.to_string())
}

/// The inputs that a called workflow can refer to, given or by default.
fn called_scope(job: &Node, scope: &Scope, called: &str, files: &mut WorkflowFiles<'_, '_>) -> Option<Scope> {
    let workflow = files.document(called)?;
    let declared = workflow
        .get("on")
        .and_then(|on| on.get("workflow_call"))
        .and_then(|call| call.get("inputs"));
    Some(Scope {
        inputs: inputs(declared, job.get("with"), scope),
        runner_os: scope.runner_os,
        elsewhere: scope.elsewhere,
        is_for_changes: scope.is_for_changes,
        ..Scope::default()
    })
}

/// Inputs by name: the given value, else the default; unknown values are left out.
fn inputs(declared: Option<&Node>, given: Option<&Node>, scope: &Scope) -> std::collections::BTreeMap<String, String> {
    let declared = declared.map(Node::entries).unwrap_or_default().iter();
    declared
        .filter_map(|(name, input)| {
            let given = given.and_then(|given| given.get(name));
            let value = match given.or_else(|| input.get("default")) {
                Some(value) => interpolate(&value.scalar()?, scope)?,
                None => String::new(),
            };
            Some((name.clone(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests;
