//! Reads from the workflow files of a repository what the failed step of a CI job ran, and where.
//!
//! What is not written down there (outputs of other steps, secrets, the scripts of remote actions) is not known, and
//! then there is no step: nothing is guessed. Which line of a script runs tests is for `find/step.rs` to say.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax>

mod expression;
mod files;
mod matrix;
mod node;
mod steps;

use std::rc::Rc;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;

use self::expression::{Scope, interpolate, literals};
use self::files::WorkflowFiles;
use self::node::Node;

/// What stands for the root of the checkout in scripts and paths.
pub(super) const WORKSPACE: &str = "$GITHUB_WORKSPACE";
/// How deep workflows may call workflows; GitHub has a limit, too.
const MAX_CALLS: usize = 5;
/// A job's name on GitHub is cut after this many characters.
const MAX_SHOWN_NAME: usize = 100;

/// The failed step of a job, as GitHub names it.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The file of the workflow.
    pub workflow: &'a RepoPath,
    /// The name of the job, with the values of its matrix.
    pub job: &'a str,
    /// The names of the job's steps in order.
    pub steps: &'a [String],
    /// Which of them failed.
    pub failed: usize,
}

/// Reads a file of the base branch. `None` if there is none.
pub type ReadFile<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// The step as the files of the base branch describe it. `None` if they do not tell.
///
/// Files are asked for as they are needed; a reader that does not have one yet may note it, get it, and ask again.
pub fn failed_step(failed: &Failed<'_>, read: &mut ReadFile<'_>) -> Option<CiStep> {
    let mut files = WorkflowFiles::new(read);
    let found = in_workflow((failed.workflow.as_str(), failed.job), &Scope::default(), 0, &mut files)?;
    let mut step = None;
    for place in &found {
        let other = steps::resolve(failed, place, &mut files)?;
        // Where several jobs have the same name it must not matter which one is meant.
        if step.get_or_insert_with(|| other.clone()) != &other {
            return None;
        }
    }
    step
}

/// A job that may be the one that failed, with the workflow it is in.
struct JobMatch {
    workflow: Rc<Node>,
    /// Which of its jobs.
    job: usize,
    scope: Scope,
}

/// The jobs of a workflow that GitHub would show under a name.
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
            // One that is computed may still be told by its job's name to be another one.
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

/// The names under which GitHub may show a job.
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

/// A path of this repository that `uses:` names.
fn local(uses: &str) -> Option<String> {
    let path: RepoPath = uses.strip_prefix("./")?.trim_end_matches('/').parse().ok()?;
    Some(path.to_string())
}

/// What a workflow that is called may name: its inputs, given or by default.
fn called_scope(job: &Node, scope: &Scope, called: &str, files: &mut WorkflowFiles<'_, '_>) -> Option<Scope> {
    let workflow = files.document(called)?;
    let declared = workflow
        .get("on")
        .and_then(|on| on.get("workflow_call"))
        .and_then(|call| call.get("inputs"));
    Some(Scope {
        inputs: inputs(declared, job.get("with"), scope),
        runner_os: scope.runner_os,
        ..Scope::default()
    })
}

/// Inputs by name: what is given, else the default; what cannot be known is left out.
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
