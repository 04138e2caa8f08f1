//! Finds the steps of a repository's CI that run its tests, for when no failed step is known. GitHub Actions counts
//! before other systems.

use std::rc::Rc;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;

use super::expression::{MatrixExtent, Scope, is_false};
use super::files::WorkflowFiles;
use super::legs::distance;
use super::needed::tests_an_artifact;
use super::node::Node;
use super::purpose::{
    ASIDE, LATER, MAY_FAIL, is_named, is_usual, leave_out_what_may_fail, rank, rank_of_end_to_end, rank_of_workflow,
};
use super::steps::may_fail;
use super::{EVENTS, JobMatch, MAX_CALLS, ReadFile, called_scope, local, matrix, other_ci, steps};
use crate::discover::runs_plain_programs;

/// The directory in which GitHub looks for workflows.
const WORKFLOWS: &str = ".github/workflows/";
/// Maximum number of workflow files that are read, and of steps that are returned.
const MAX_WORKFLOWS: usize = 30;
const MAX_STEPS: usize = 20;
/// Maximum number of steps of one job with a matrix.
const MAX_PARTS: usize = 8;
/// Maximum number of a matrix' jobs that are examined. The one that fits this machine may be the last: a matrix of five
/// systems and eight versions has forty.
const MAX_LEGS: usize = 64;
/// The steps that run tests, or one that checks in a job without tests, in the order in which they should be tried: workflows and jobs
/// that are named after tests first. Those that are named after something else are left out, and those that test in an
/// unusual way count where nothing else tests.
///
/// `paths` are the files of the tree, in order; `read` is as for [`failed_step`](super::failed_step).
pub fn test_steps<'p>(paths: impl IntoIterator<Item = &'p RepoPath>, read: &mut ReadFile<'_>) -> Vec<CiStep> {
    let mut files = WorkflowFiles::new(read);
    let mut found: Vec<(u32, CiStep)> = Vec::new();
    let paths: Vec<&RepoPath> = paths.into_iter().collect();
    let mut of_github = |elsewhere: Option<&'static str>, files: &mut WorkflowFiles<'_, '_>| {
        let mut is_tested_here = false;
        for path in workflows(paths.iter().copied()) {
            if let Some(workflow) = files.document(path.as_str()) {
                let (steps, system) = workflows_steps(path, &workflow, elsewhere, files);
                is_tested_here |= system.is_none() && steps.iter().any(|(rank, _)| is_usual(*rank));
                found.extend(steps);
            }
        }
        (
            found.iter().any(|(_, step)| !step.is_aside),
            found.iter().any(|(rank, _)| is_usual(*rank)),
            is_tested_here,
        )
    };
    let (has_any, has_usual, is_tested_here) = of_github(None, &mut files);
    if !is_tested_here {
        let mut steps = other_ci::test_steps(paths.iter().copied(), &mut files);
        steps.truncate(MAX_STEPS);
        // What is tested on Windows alone is tested all the same.
        if !steps.is_empty() || !has_usual && !has_any && !of_github(Some("Windows"), &mut files).0 {
            return steps;
        }
    }
    let mut aside: Vec<(u32, CiStep)> = found.extract_if(.., |(_, step)| step.is_aside).collect();
    if has_usual {
        found.retain(|(rank, _)| is_usual(*rank));
    }
    leave_out_what_may_fail(&mut found);
    aside.truncate(MAX_STEPS);
    // Stable: equally ranked steps stay in the order of the files. Services are not started here.
    found.sort_by_key(|(rank, step)| (*rank, !step.services.is_empty()));
    found.truncate(MAX_STEPS);
    found.into_iter().chain(aside).map(|(_, step)| step).collect()
}

/// The workflows among the files of a tree.
pub(super) fn workflows<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> impl Iterator<Item = &'p RepoPath> {
    paths.into_iter().filter(|path| is_workflow(path)).take(MAX_WORKFLOWS)
}

/// The steps of one workflow that run tests, with their ranks. None if it is not for changes of the code. What it tests
/// on macOS alone is tested all the same: the system says so.
pub(super) fn workflows_steps(
    path: &RepoPath,
    workflow: &Rc<Node>,
    elsewhere: Option<&'static str>,
    files: &mut WorkflowFiles<'_, '_>,
) -> (Vec<(u32, CiStep)>, Option<&'static str>) {
    let found = steps_on(path, workflow, elsewhere, files);
    if found.is_empty() && elsewhere.is_none() && !is_for_apple(path) {
        return (steps_on(path, workflow, Some("macOS"), files), Some("macOS"));
    }
    (found, elsewhere)
}

/// Whether a workflow is named after one of Apple's systems or tools.
fn is_for_apple(path: &RepoPath) -> bool {
    const NAMES: [&str; 8] = ["apple", "darwin", "ios", "mac", "macos", "osx", "swift", "xcode"];
    let stem = path
        .as_str()
        .strip_prefix(WORKFLOWS)
        .unwrap_or_default()
        .to_ascii_lowercase();
    stem.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| NAMES.contains(&part))
}

/// The steps of one workflow that run tests on Linux, and on another system.
fn steps_on(
    path: &RepoPath,
    workflow: &Rc<Node>,
    elsewhere: Option<&'static str>,
    files: &mut WorkflowFiles<'_, '_>,
) -> Vec<(u32, CiStep)> {
    let mut found = Vec::new();
    let stem = path.as_str().strip_prefix(WORKFLOWS).unwrap_or_default();
    let is_for_pull_requests = |on: &Node| events(on).any(|event| event.starts_with("pull_request"));
    let rank = rank_of_workflow(stem, workflow.get("on").is_some_and(is_for_pull_requests));
    let is_aside = rank.is_none();
    if workflow.get("on").is_some_and(is_for_changes)
        && let Some(rank) = rank.or_else(|| is_named(stem).then_some(ASIDE))
    {
        let called = CalledWorkflow {
            path: path.clone(),
            workflow: Rc::clone(workflow),
            scope: Scope {
                elsewhere,
                is_for_changes: true,
                ..Scope::default()
            },
            rank,
            depth: 0,
        };
        called.find(files, &mut found);
        found.iter_mut().for_each(|(_, step)| step.is_aside |= is_aside);
    }
    found
}

fn is_workflow(path: &RepoPath) -> bool {
    let name = path.as_str().strip_prefix(WORKFLOWS);
    name.is_some_and(|name| !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml")))
}

/// Whether the events of a workflow include a change of the code.
fn is_for_changes(on: &Node) -> bool {
    events(on).any(|event| EVENTS.contains(&event))
}

/// The events that start a workflow.
pub(super) fn events(on: &Node) -> impl Iterator<Item = &str> {
    let names = on.items().iter().filter_map(Node::text);
    let keys = on.entries().iter().map(|(name, _)| name.as_str());
    on.text().into_iter().chain(names).chain(keys)
}

/// Whether two steps run the same lines in the same place.
fn runs_the_same(one: &CiStep, other: &CiStep) -> bool {
    one.script == other.script && one.directory == other.directory
}

/// A workflow that is started by a change, or called by one that is.
struct CalledWorkflow {
    path: RepoPath,
    workflow: Rc<Node>,
    /// The inputs it is called with.
    scope: Scope,
    /// The rank of what calls it.
    rank: u32,
    depth: usize,
}

impl CalledWorkflow {
    fn find(&self, files: &mut WorkflowFiles<'_, '_>, found: &mut Vec<(u32, CiStep)>) {
        let jobs = self.workflow.get("jobs").map(Node::entries).unwrap_or_default();
        for (number, (key, job)) in jobs.iter().enumerate() {
            // A called workflow is for what its caller is for.
            let end_to_end = rank_of_end_to_end(key);
            let rank = match rank(key).or(end_to_end) {
                Some(own) if self.depth == 0 => self.rank + own,
                Some(_) => self.rank,
                None if is_named(key) => self.rank + ASIDE,
                None => continue,
            };
            let is_aside = rank >= ASIDE;
            if job.get("if").is_some_and(|condition| is_false(condition, &self.scope)) {
                continue;
            }
            // It tests in another system than this one, or what another job has packed.
            let is_elsewhere = job.get("container").is_some();
            let rank = rank + u32::from(is_elsewhere) + if tests_an_artifact(job) { LATER } else { 0 };
            let rank = rank + if may_fail(job) { MAY_FAIL } else { 0 };
            let (legs, extent) = match job.get("strategy").and_then(|strategy| strategy.get("matrix")) {
                // A computed matrix: the steps may still be the same for all of its jobs.
                Some(node) => matrix::known_combinations(node, &self.scope),
                None => (vec![Vec::new()], MatrixExtent::Whole),
            };
            let mut legs: Vec<JobMatch> = legs
                .into_iter()
                .take(MAX_LEGS)
                .map(|leg| JobMatch {
                    workflow: Rc::clone(&self.workflow),
                    job: number,
                    scope: Scope {
                        matrix: leg,
                        extent,
                        ..self.scope.clone()
                    },
                })
                .collect();
            // Stable: equally near ones stay in the order of the matrix.
            legs.sort_by_cached_key(|leg| distance(leg, job));
            // A workflow may call itself, from every leg.
            if files.look_at(legs.len()).is_none() {
                return;
            }
            if job.get("uses").is_none() {
                let steps = self.in_job(&legs, files).into_iter().map(|step| CiStep {
                    is_aside: is_aside || end_to_end.is_some() && !runs_plain_programs(&step.script, &step.env),
                    ..step
                });
                found.extend(steps.map(|step| (rank, step)));
                continue;
            }
            if end_to_end.is_some() {
                continue;
            }
            let before = found.len();
            for leg in &legs {
                let mut more = Vec::new();
                if let Some(called) = self.called(job, &leg.scope, rank, files) {
                    called.find(files, &mut more);
                }
                // The legs may be versions, or parts of the tests.
                for (rank, mut step) in more {
                    step.is_aside |= is_aside;
                    let is_known = found[before..].iter().any(|(_, known)| runs_the_same(known, &step));
                    if !is_known && found.len() < before + MAX_PARTS {
                        found.push((rank, step));
                    }
                }
            }
        }
    }

    /// The workflow of this repository that a job calls.
    fn called(&self, job: &Node, scope: &Scope, rank: u32, files: &mut WorkflowFiles<'_, '_>) -> Option<Self> {
        if self.depth >= MAX_CALLS || files.look_at(1).is_none() {
            return None;
        }
        let path = local(job.get("uses")?.text()?)?;
        Some(Self {
            scope: called_scope(job, scope, &path, files)?,
            workflow: files.document(&path)?,
            path: path.parse().ok()?,
            rank,
            depth: self.depth + 1,
        })
    }

    /// The steps of the leg of a job that fits this machine best.
    fn in_job(&self, legs: &[JobMatch], files: &mut WorkflowFiles<'_, '_>) -> Vec<CiStep> {
        let steps = legs.iter().filter_map(|leg| steps::with_tests(leg, &self.path, files));
        // Some legs may only check, such as the one with the oldest compiler.
        let mut steps: Vec<(Vec<CiStep>, bool)> = steps.collect();
        steps.sort_by_key(|(_, only_checks)| *only_checks);
        let mut legs_steps = steps.into_iter();
        let Some((mut steps, only_checks)) = legs_steps.next() else {
            return Vec::new();
        };
        // Other legs may run other parts of the tests, or those of other packages.
        for step in legs_steps
            .filter(|(_, checks)| *checks == only_checks)
            .flat_map(|(steps, _)| steps)
        {
            if steps.len() < MAX_PARTS && !steps.iter().any(|known| runs_the_same(known, &step)) {
                steps.push(step);
            }
        }
        // Any of the matrix' versions will do.
        for leg in legs {
            for (language, version) in steps::versions(leg, files) {
                for step in &mut steps {
                    let known = step.versions.entry(language.clone());
                    let known = known.or_insert_with(|| version.clone());
                    if !known.split(',').any(|known| known == version) {
                        *known = format!("{known},{version}");
                    }
                }
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests;
