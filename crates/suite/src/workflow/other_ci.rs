//! Jobs of other CI systems that run tests, for repositories without GitHub Actions: GitLab, CircleCI, Azure Pipelines,
//! Buildkite and Travis CI.
//!
//! Only plain scripts are read, and tasks of Azure that run `dotnet test`. Templates, orbs and plugins from elsewhere
//! are unknown, and so are the variables that a system sets: a line that needs one yields no command.

mod azure;
mod job;

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::{CiScript, CiStep};

use self::azure::azure;
use self::job::{MAX_SCRIPTS, OtherJob, OtherScript, assignments, images, lines, script, variables};
use super::files::{WorkflowFiles, in_tree};
use super::node::Node;
use super::purpose::{is_usual, rank};
use crate::ci_install::installs;
use crate::discover::{only_checks, runs_tests};

/// Maximum number of jobs of one file.
const MAX_JOBS: usize = 200;
/// Maximum number of templates that a job extends, one after another. GitLab allows 11 levels.
/// <https://docs.gitlab.com/ci/yaml/#extends>
const MAX_EXTENDS: usize = 11;

/// Reads the jobs of a file.
type Jobs = fn(&Node) -> Vec<OtherJob>;

/// The files of the systems, each with its reader.
const SYSTEMS: [(&str, Jobs); 8] = [
    (".gitlab-ci.yml", gitlab),
    (".circleci/config.yml", circle),
    ("azure-pipelines.yml", azure),
    (".azure-pipelines.yml", azure),
    (".azure-pipelines/azure-pipelines.yml", azure),
    (".buildkite/pipeline.yml", buildkite),
    (".buildkite/pipeline.yaml", buildkite),
    (".travis.yml", travis),
];

/// The steps that run tests, at most one of each job; those of jobs that are named after tests first.
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
        for job in jobs(&document).into_iter().take(MAX_JOBS) {
            let rank = rank(&job.name).filter(|rank| is_usual(*rank));
            found.extend(rank.and_then(|rank| Some((rank, step(path, job)?))));
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, step)| step).collect()
}

/// The first script of a job that runs tests.
fn step(path: &RepoPath, job: OtherJob) -> Option<CiStep> {
    let with = |is_wanted: &dyn Fn(&str) -> bool| job.scripts.iter().position(|script| is_wanted(&script.text));
    let tests = with(&|text| runs_tests(text) && !only_checks(text));
    let at = tests.or_else(|| with(&runs_tests))?;
    let mut before = Vec::new();
    for earlier in job.scripts.iter().take(at).filter(|script| installs(&script.text)) {
        // What it prepares elsewhere does not matter.
        if let Some(directory) = in_tree(&earlier.directory) {
            before.push(CiScript {
                script: earlier.text.clone(),
                directory,
            });
        }
    }
    let script = job.scripts.into_iter().nth(at)?;
    let mut env = job.env;
    env.extend(script.env);
    Some(CiStep {
        workflow: path.clone(),
        job: job.name.clone(),
        name: job.name,
        script: script.text,
        directory: in_tree(&script.directory)?,
        env,
        own_env: BTreeSet::new(),
        shows: None,
        before,
        versions: BTreeMap::new(),
        services: job.services,
    })
}

/// <https://docs.gitlab.com/ci/yaml/>
fn gitlab(document: &Node) -> Vec<OtherJob> {
    /// The keys that are not jobs.
    const GLOBAL: [&str; 12] = [
        "default",
        "include",
        "stages",
        "variables",
        "workflow",
        "image",
        "services",
        "cache",
        "before_script",
        "after_script",
        "pages",
        "spec",
    ];
    let default = |name: &str| {
        document
            .get("default")
            .and_then(|node| node.get(name))
            .or_else(|| document.get(name))
    };
    let is_job = |name: &str| !name.starts_with('.') && !GLOBAL.contains(&name);
    let jobs = document.entries().iter().filter(|(name, _)| is_job(name));
    jobs.map(|(name, job)| {
        let setting = |setting: &str| inherited(document, job, setting).or_else(|| default(setting));
        let mut env = variables(document.get("variables"));
        env.extend(variables(inherited(document, job, "variables")));
        OtherJob {
            name: name.clone(),
            scripts: vec![script(&[setting("before_script"), inherited(document, job, "script")])],
            env,
            services: images(setting("services")),
        }
    })
    .collect()
}

/// A setting of a job, or of the templates that it extends.
fn inherited<'n>(document: &'n Node, job: &'n Node, setting: &str) -> Option<&'n Node> {
    let mut job = job;
    for _ in 0..MAX_EXTENDS {
        if let Some(own) = job.get(setting) {
            return Some(own);
        }
        let extends = job.get("extends")?;
        // The last one counts most.
        let name = extends.text().or_else(|| extends.items().last()?.text())?;
        job = document.get(name)?;
    }
    None
}

/// <https://circleci.com/docs/reference/configuration-reference/>
fn circle(document: &Node) -> Vec<OtherJob> {
    let jobs = document.get("jobs").map(Node::entries).unwrap_or_default();
    let has = |job: &Node, step: &str| {
        let mut steps = job.get("steps").map(Node::items).unwrap_or_default().iter();
        steps.any(|own| own.get(step).is_some())
    };
    // Jobs pass files on to each other, and so what some of them build is there in others.
    let persisting = jobs.iter().filter(|(_, job)| has(job, "persist_to_workspace"));
    let mut shared: Vec<OtherScript> = persisting.flat_map(|(_, job)| circle_scripts(job)).collect();
    shared.retain(|script| !runs_tests(&script.text));
    jobs.iter()
        .map(|(name, job)| {
            let attaches = has(job, "attach_workspace") && !has(job, "persist_to_workspace");
            let before = if attaches { shared.clone() } else { Vec::new() };
            let images = images(job.get("docker"));
            OtherJob {
                name: name.clone(),
                scripts: before
                    .into_iter()
                    .chain(circle_scripts(job))
                    .take(MAX_SCRIPTS)
                    .collect(),
                env: variables(job.get("environment")),
                // The first image runs the steps.
                services: images.into_iter().skip(1).collect(),
            }
        })
        .collect()
}

/// The scripts of one job.
fn circle_scripts(job: &Node) -> Vec<OtherScript> {
    let steps = job.get("steps").map(Node::items).unwrap_or_default();
    let directory = job.get("working_directory").and_then(Node::text).unwrap_or_default();
    // `~/project` and the like is where the repository is checked out.
    let directory = if directory.starts_with('~') { "" } else { directory };
    let scripts = steps.iter().filter_map(|step| step.get("run")).map(|run| {
        let own = run.get("working_directory").and_then(Node::text);
        OtherScript {
            directory: own.unwrap_or(directory).to_string(),
            env: variables(run.get("environment")),
            ..script(&[Some(run.get("command").unwrap_or(run))])
        }
    });
    scripts.take(MAX_SCRIPTS).collect()
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
            OtherJob {
                name: label.and_then(Node::text).unwrap_or("test").to_string(),
                scripts: vec![script(&[step.get("command").or_else(|| step.get("commands"))])],
                env,
                services: Vec::new(),
            }
        })
        .collect()
}

/// <https://docs.travis-ci.com/user/job-lifecycle>
fn travis(document: &Node) -> Vec<OtherJob> {
    let parts = ["before_install", "install", "before_script"].map(|part| document.get(part));
    let services = document.get("services");
    let services = services.map(|node| lines(node).into_iter().map(str::to_string).collect());
    vec![OtherJob {
        name: "test".into(),
        scripts: vec![script(&parts), script(&[document.get("script")])],
        env: travis_variables(document.get("env")),
        services: services.unwrap_or_default(),
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
