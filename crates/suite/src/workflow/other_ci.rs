//! Jobs of other CI systems that run tests, for repositories without GitHub Actions: GitLab, CircleCI, Azure Pipelines,
//! Buildkite and Travis CI.
//!
//! Only plain scripts are read, and tasks of Azure that run `dotnet test`. Templates, orbs and plugins from elsewhere
//! are unknown, and so are the variables that a system sets: a line that needs one yields no command.

mod azure;
mod circle;
mod gitlab;
mod job;

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::{CiScript, CiStep};

use self::azure::azure;
use self::gitlab::gitlab;
use self::job::{MAX_JOBS, OtherJob, OtherScript, assignments, lines, script, variables};
use super::files::{WorkflowFiles, in_tree};
use super::node::Node;
use super::purpose::{MAY_FAIL, is_usual, leave_out_what_may_fail, rank};
use crate::ci_install::installs;
use crate::discover::{only_checks, runs_tests};

/// Maximum number of scripts with tests of one job.
const MAX_TESTS: usize = 8;
/// Reads the jobs of a file.
type Jobs = fn(&Node, &mut WorkflowFiles<'_, '_>) -> Vec<OtherJob>;

/// The files of the systems, each with its reader.
const SYSTEMS: [(&str, Jobs); 8] = [
    (".gitlab-ci.yml", gitlab),
    (".circleci/config.yml", |document, _| circle::jobs(document)),
    ("azure-pipelines.yml", |document, _| azure(document)),
    (".azure-pipelines.yml", |document, _| azure(document)),
    (".azure-pipelines/azure-pipelines.yml", |document, _| azure(document)),
    (".buildkite/pipeline.yml", |document, _| buildkite(document)),
    (".buildkite/pipeline.yaml", |document, _| buildkite(document)),
    (".travis.yml", |document, _| travis(document)),
];

/// The steps that run tests; those of jobs that are named after tests first.
pub(super) fn test_steps<'p>(
    paths: impl IntoIterator<Item = &'p RepoPath>,
    files: &mut WorkflowFiles<'_, '_>,
) -> Vec<CiStep> {
    let mut found: Vec<(u32, CiStep)> = Vec::new();
    for path in paths {
        let Some((_, jobs)) = SYSTEMS.iter().find(|(name, _)| *name == path.as_str()) else {
            continue;
        };
        let Some(document) = files.document(path.as_str()) else {
            continue;
        };
        for job in jobs(&document, files).into_iter().take(MAX_JOBS) {
            let rank = rank(&job.name).filter(|rank| is_usual(*rank));
            let rank = rank.map(|rank| rank + if job.may_fail { MAY_FAIL } else { 0 });
            let steps = rank.map(|rank| steps(path, &job).into_iter().map(move |step| (rank, step)));
            found.extend(steps.into_iter().flatten());
        }
    }
    leave_out_what_may_fail(&mut found);
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, step)| step).collect()
}

/// The scripts of a job that run tests, or the first that only checks.
fn steps(path: &RepoPath, job: &OtherJob) -> Vec<CiStep> {
    let all_tests = |script: &OtherScript| runs_tests(&script.text, &script.env);
    let is_test = |script: &OtherScript| all_tests(script) && !only_checks(&script.text, &script.env);
    let at = |is_wanted: &dyn Fn(&OtherScript) -> bool| -> Vec<usize> {
        let scripts = job.scripts.iter().enumerate();
        let wanted = scripts.filter(|(_, script)| is_wanted(script));
        wanted.map(|(at, _)| at).take(MAX_TESTS).collect()
    };
    let mut tests = at(&is_test);
    if tests.is_empty() {
        tests = at(&all_tests);
        tests.truncate(1);
    }
    tests.into_iter().filter_map(|at| step(path, job, at)).collect()
}

/// A script of a job, with what those before it install.
fn step(path: &RepoPath, job: &OtherJob, at: usize) -> Option<CiStep> {
    let (earlier, script) = (&job.scripts[..at], job.scripts.get(at)?);
    let useful = earlier.iter().filter(|script| installs(&script.text, &script.env));
    let before = useful.filter_map(|earlier| {
        Some(CiScript {
            script: earlier.text.clone(),
            // What it prepares elsewhere does not matter.
            directory: in_tree(&earlier.directory)?,
            env: earlier.env.clone(),
        })
    });
    let mut env = job.env.clone();
    env.extend(script.env.clone());
    Some(CiStep {
        workflow: path.clone(),
        job: job.name.clone(),
        name: job.name.clone(),
        script: script.text.clone(),
        directory: in_tree(&script.directory)?,
        env,
        own_env: script.env.keys().chain(&job.own_env).cloned().collect(),
        shows: None,
        before: before.collect(),
        versions: BTreeMap::new(),
        services: job.services.clone(),
        is_aside: false,
    })
}

/// <https://buildkite.com/docs/pipelines/configure/step-types/command-step>
fn buildkite(document: &Node) -> Vec<OtherJob> {
    let steps = document.get("steps").map(Node::items).unwrap_or_default();
    let grouped = steps
        .iter()
        .flat_map(|step| step.get("steps").map(Node::items).unwrap_or_default());
    steps
        .iter()
        .chain(grouped)
        .map(|step| {
            let label = step
                .get("label")
                .or_else(|| step.get("name"))
                .or_else(|| step.get("key"));
            let mut env = variables(document.get("env"));
            env.extend(variables(step.get("env")));
            let own_env = variables(step.get("env")).into_keys().collect();
            OtherJob {
                name: label.and_then(Node::text).unwrap_or("test").to_string(),
                scripts: vec![script(&[step.get("command").or_else(|| step.get("commands"))])],
                env,
                own_env,
                services: Vec::new(),
                may_fail: step.says("soft_fail"),
            }
        })
        .collect()
}

/// <https://docs.travis-ci.com/user/job-lifecycle>
fn travis(document: &Node) -> Vec<OtherJob> {
    let parts = ["before_install", "install", "before_script"].map(|part| document.get(part));
    let services = document.get("services");
    let services = services.map(|node| lines(node).into_iter().map(str::to_string).collect());
    let env = travis_variables(document.get("env"));
    vec![OtherJob {
        name: "test".into(),
        scripts: vec![script(&parts), script(&[document.get("script")])],
        own_env: env.keys().cloned().collect(),
        env,
        services: services.unwrap_or_default(),
        may_fail: false,
    }]
}

/// The variables of all jobs, and those of the first job of a matrix. Encrypted ones are unknown.
/// <https://docs.travis-ci.com/user/environment-variables>
fn travis_variables(env: Option<&Node>) -> BTreeMap<String, String> {
    let Some(env) = env else {
        return BTreeMap::new();
    };
    let global = env.get("global").map(lines).unwrap_or_default();
    let of_jobs = env.get("jobs").or_else(|| env.get("matrix")).unwrap_or(env);
    let first = lines(of_jobs).into_iter().take(1);
    let mut found = variables(Some(env));
    found.extend(variables(env.get("global")));
    found.extend(assignments(global.into_iter().chain(first)));
    found
}

#[cfg(test)]
mod tests;
