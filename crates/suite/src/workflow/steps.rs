//! Finds the failed step in its job, and everything that determines how it runs.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::{CiScript, CiStep};

use super::action_commands::WHEELS;
use super::actions::{checkout_path, checks_out_another, runtime, service, set_up};
use super::composite::set_up_by_action;
use super::purpose::publishes;
use super::run_script::{Around, Script};
use super::script_text::calls_tests;
use super::shown::find;
use super::step_script::{add_variables, in_turn, script};
use super::{Failed, JobMatch, Node, Scope, WorkflowFiles, interpolate, needed};
use crate::ci_install::installs;
use crate::discover::{only_checks, runs_tests, tests_may_fail};

/// Maximum number of services of a job that are noted.
pub(super) const MAX_SERVICES: usize = 10;
/// Maximum number of earlier steps that are kept for what they install or build.
const MAX_BEFORE: usize = 8;
/// Maximum number of steps with tests that are read from one job.
const MAX_WITH_TESTS: usize = 20;
/// A job, with everything around its steps.
struct WorkflowJob<'w> {
    steps: &'w [Node],
    scope: Scope,
    /// `defaults.run` of the job and the workflow.
    defaults: Vec<&'w Node>,
    /// The images of its service containers.
    services: Vec<String>,
    /// The directory that it checks the repository out into.
    checkout: Option<String>,
    /// What other jobs install and build, whose output it downloads.
    downloaded: Vec<CiScript>,
}

impl<'w> WorkflowJob<'w> {
    /// `None` if the workflow has no such job, or it has no steps.
    fn of(place: &'w JobMatch, files: &mut WorkflowFiles<'_, '_>) -> Option<Self> {
        let mut job = Self::alone(place, files)?;
        for needed in needed::jobs(place) {
            if let Some(other) = WorkflowJob::alone(&needed, files) {
                job.downloaded.extend(other.installs(other.steps.len(), files));
            }
        }
        job.downloaded.truncate(MAX_BEFORE);
        Some(job)
    }

    fn alone(place: &'w JobMatch, files: &mut WorkflowFiles<'_, '_>) -> Option<Self> {
        let workflow = &place.workflow;
        let (_, job) = workflow.get("jobs")?.entries().get(place.job)?;
        let mut scope = place.scope.clone();
        scope.runner_os = runner_os(job, &scope);
        for env in [workflow.get("env"), job.get("env")].into_iter().flatten() {
            add_variables(&mut scope, env);
        }
        let run_defaults = |node: &'w Node| node.get("defaults")?.get("run");
        let steps = job.get("steps")?.items();
        files.look_at(steps.len())?;
        let services = job.get("services").map(Node::entries).unwrap_or_default();
        let services = services.iter().take(MAX_SERVICES).map(|(name, service)| {
            let image = service.get("image").and_then(Node::text);
            let image = image.and_then(|image| interpolate(image, &scope));
            image.unwrap_or_else(|| name.clone())
        });
        let by_actions = steps.iter().filter_map(service);
        Some(Self {
            steps,
            services: services.chain(by_actions).collect(),
            checkout: checkout_path(steps, &scope),
            scope,
            downloaded: Vec::new(),
            defaults: [run_defaults(job), run_defaults(workflow)]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// The versions of languages that its first steps set up.
    fn versions(&self, count: usize, files: &mut WorkflowFiles<'_, '_>) -> BTreeMap<String, String> {
        let steps = self.steps.iter().take(count);
        let mut versions = BTreeMap::new();
        for step in steps {
            versions.extend(set_up_by_action(step, &self.scope, files));
            versions.extend(set_up(step, &self.scope, files));
            versions.extend(runtime(step, &self.scope));
        }
        versions
    }

    /// Those of its first scripts that install, build or start something.
    fn installs(&self, count: usize, files: &mut WorkflowFiles<'_, '_>) -> Vec<CiScript> {
        installing(self.scripts(count, files).0)
    }

    /// What each of its first steps runs, where that is known, and the context of the step after them.
    fn scripts(&self, count: usize, files: &mut WorkflowFiles<'_, '_>) -> (Vec<Option<Script>>, Around<'w>) {
        let mut around = Around {
            scope: self.scope.clone(),
            defaults: self.defaults.clone(),
            checkout: self.checkout.clone(),
        };
        let steps = &self.steps[..count.min(self.steps.len())];
        let scripts = in_turn(steps, &mut around, 0, files);
        (scripts, around)
    }

    /// The step at this index, as it runs. `None` if the workflow does not say what it runs.
    fn step(
        &self,
        (number, name): (usize, &str),
        (workflow, job): (&RepoPath, &str),
        files: &mut WorkflowFiles<'_, '_>,
    ) -> Option<CiStep> {
        let (earlier, around) = self.scripts(number, files);
        let found = script(self.steps.get(number)?, &around, 0, files)?;
        let mut before = self.downloaded.clone();
        before.extend(installing(earlier));
        before.truncate(MAX_BEFORE);
        Some(CiStep {
            workflow: workflow.clone(),
            job: job.to_string(),
            name: name.to_string(),
            script: found.text,
            directory: found.directory,
            env: found.env,
            own_env: found.own_env,
            shows: None,
            before,
            versions: self.versions(number, files),
            services: self.services.clone(),
            is_aside: false,
        })
    }
}

/// Those of a job's scripts that install, build or start something.
fn installing(scripts: Vec<Option<Script>>) -> Vec<CiScript> {
    let scripts = scripts.into_iter().flatten();
    let useful = scripts.filter(|script| installs(&script.text, &script.env));
    let of_ci = useful.map(|script| CiScript {
        env: script.own_variables(),
        script: script.text,
        directory: script.directory,
    });
    of_ci.collect()
}

/// The versions that a job sets up, by language.
pub(super) fn versions(place: &JobMatch, files: &mut WorkflowFiles<'_, '_>) -> BTreeMap<String, String> {
    let job = WorkflowJob::of(place, files);
    job.map(|job| job.versions(job.steps.len(), files)).unwrap_or_default()
}

/// Whether a failure of a job or a step does not count:
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idcontinue-on-error>
pub(super) fn may_fail(node: &Node) -> bool {
    node.says("continue-on-error")
}

/// The failed step. `None` if the workflow does not say what it ran.
pub(super) fn resolve(failed: &Failed<'_>, place: &JobMatch, files: &mut WorkflowFiles<'_, '_>) -> Option<CiStep> {
    let job = WorkflowJob::of(place, files)?;
    let name = failed.steps.get(failed.failed)?;
    let number = find(job.steps, failed, &job.scope)?;
    job.step((number, name), (failed.workflow, failed.job), files)
}

/// The steps of a job that run tests, else the first that only checks, and whether it does so. `None` if none does as
/// far as the workflow says, or if the job does not run on Linux.
pub(super) fn with_tests(
    place: &JobMatch,
    workflow: &RepoPath,
    files: &mut WorkflowFiles<'_, '_>,
) -> Option<(Vec<CiStep>, bool)> {
    let (key, _) = place.workflow.get("jobs")?.entries().get(place.job)?;
    let job = WorkflowJob::of(place, files)?;
    if checks_out_another(job.steps, &job.scope) {
        return None;
    }
    match job.scope.runner_os {
        Some(system @ ("macOS" | "Windows")) if job.scope.elsewhere != Some(system) => return None,
        _ => {}
    }
    let scripts = job.scripts(job.steps.len(), files).0.into_iter().enumerate();
    let scripts: Vec<(usize, Script)> = scripts
        .filter_map(|(number, script)| Some((number, script?)))
        .filter(|(_, script)| runs_tests(&script.text, &script.env) || calls_tests(script, files))
        .filter(|(_, script)| !script.text.contains(WHEELS) || !publishes(workflow.as_str()))
        .collect();
    // What may fail decides nothing, unless there is nothing else.
    let counts = |(number, script): &&(usize, Script)| {
        !may_fail(&job.steps[*number]) && !tests_may_fail(&script.text, &script.env)
    };
    let is_test = |(_, script): &&(usize, Script)| !only_checks(&script.text, &script.env);
    let mut tests: Vec<&(usize, Script)> = scripts.iter().filter(is_test).collect();
    if tests.iter().any(counts) {
        tests.retain(counts);
    }
    let mut tests: Vec<usize> = tests
        .into_iter()
        .map(|(number, _)| *number)
        .take(MAX_WITH_TESTS)
        .collect();
    let checks_only = tests.is_empty();
    if checks_only {
        tests.push(scripts.first()?.0);
    }
    let mut step = |number: usize| {
        let name = job.steps[number].get("name").and_then(Node::scalar);
        let name = name.and_then(|name| interpolate(&name, &job.scope));
        let name = name.unwrap_or_else(|| "Run the tests".into());
        job.step((number, &name), (workflow, key), files)
    };
    let steps: Vec<CiStep> = tests.into_iter().filter_map(&mut step).collect();
    (!steps.is_empty()).then_some((steps, checks_only))
}

/// The operating system of a job, if its runner's label names it.
fn runner_os(job: &Node, scope: &Scope) -> Option<&'static str> {
    let runs_on = job.get("runs-on")?;
    let first = runs_on.items().first().unwrap_or(runs_on);
    let label = interpolate(first.text()?, scope)?.to_ascii_lowercase();
    let systems = [("ubuntu", "Linux"), ("macos", "macOS"), ("windows", "Windows")];
    let system = systems.iter().find(|(prefix, _)| label.starts_with(prefix));
    system.map(|(_, system)| *system)
}
