//! Azure Pipelines.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::super::node::Node;
use super::job::{MAX_SCRIPTS, OtherJob, OtherScript, script, variables};
use crate::shell::quoted;

/// Maximum length of a script with the values of its variables.
const MAX_SCRIPT: usize = 32 << 10;
/// Maximum length of the name of a variable.
const MAX_NAME: usize = 100;

/// <https://learn.microsoft.com/azure/devops/pipelines/yaml-schema/>
pub(super) fn azure(document: &Node) -> Vec<OtherJob> {
    let items = |node: &'_ Node, name: &str| node.get(name).map(Node::items).unwrap_or_default().to_vec();
    let mut jobs = items(document, "jobs");
    for stage in items(document, "stages") {
        jobs.extend(items(&stage, "jobs"));
    }
    if document.get("steps").is_some() {
        jobs.push(document.clone());
    }
    let is_elsewhere = |job: &Node| {
        let pool = job.get("pool").or_else(|| document.get("pool"));
        let image = pool.and_then(|pool| pool.get("vmImage")).and_then(Node::text);
        image.is_some_and(|image| image.starts_with("windows") || image.starts_with("macos"))
    };
    // Jobs on other systems come last, and only their test tasks count.
    jobs.sort_by_key(is_elsewhere);
    jobs.iter()
        .map(|job| {
            let mut known = variables(document.get("variables"));
            known.extend(variables(job.get("variables")));
            let steps = job.get("steps").map(Node::items).unwrap_or_default();
            let steps = steps
                .iter()
                .filter(|step| !is_elsewhere(job) || step.get("task").is_some())
                .filter(|step| step.get("condition") != Some(&Node::Bool(false)));
            OtherJob {
                name: job.get("job").and_then(Node::text).unwrap_or("test").to_string(),
                scripts: steps
                    .filter_map(|step| azure_script(step, &known))
                    .take(MAX_SCRIPTS)
                    .collect(),
                env: known.clone(),
                own_env: BTreeSet::new(),
                may_fail: job.says("continueOnError"),
                services: job
                    .get("services")
                    .map(Node::entries)
                    .unwrap_or_default()
                    .iter()
                    .map(|(name, _)| name.clone())
                    .collect(),
            }
        })
        .collect()
}

/// The script of a step, or the command of a task that tests.
fn azure_script(step: &Node, known: &BTreeMap<String, String>) -> Option<OtherScript> {
    let run = step.get("script").or_else(|| step.get("bash"));
    let (text, settings) = match run {
        Some(run) => (script(&[Some(run)]).text, step),
        None => (dotnet_task(step)?, step.get("inputs")?),
    };
    let directory = settings.get("workingDirectory").and_then(Node::scalar);
    Some(OtherScript {
        directory: directory.unwrap_or_default(),
        env: variables(step.get("env")),
        text: with_macros(&text, known),
    })
}

/// <https://learn.microsoft.com/azure/devops/pipelines/tasks/reference/dotnet-core-cli-v2>
fn dotnet_task(step: &Node) -> Option<String> {
    step.get("task")?.text()?.strip_prefix("DotNetCoreCLI@")?;
    let inputs = step.get("inputs")?;
    let input = |name: &str| inputs.get(name).and_then(Node::scalar).unwrap_or_default();
    // A pattern, or several lines: the project's files say which tests there are.
    let projects = input("projects").trim().replace('\\', "/");
    let project = Some(projects.as_str()).filter(|text| !text.is_empty() && !text.contains(['*', '\n', '!']));
    let arguments = input("arguments");
    // Other tasks have built the projects there.
    let arguments = arguments
        .split(' ')
        .filter(|word| !matches!(*word, "" | "--no-build" | "--no-restore"));
    let words = ["dotnet", "test"].into_iter().map(Cow::from);
    let words = words.chain(project.map(quoted)).chain(arguments.map(Cow::from));
    (input("command") == "test").then(|| words.collect::<Vec<_>>().join(" "))
}

/// Replaces `$(name)` where the value is known, unless that makes the text too long:
/// <https://learn.microsoft.com/azure/devops/pipelines/process/variables>
fn with_macros(text: &str, known: &BTreeMap<String, String>) -> String {
    let known: BTreeMap<String, &String> = known
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        whole.push_str(before);
        let end = after.bytes().take(MAX_NAME).position(|byte| byte == b')');
        let value = end.and_then(|end| Some((*known.get(&after[..end].to_ascii_lowercase())?, &after[end + 1..])));
        let (written, left) = value.map_or(("$(", after), |(value, left)| (value.as_str(), left));
        whole.push_str(written);
        rest = left;
        if whole.len() > MAX_SCRIPT {
            return text.to_owned();
        }
    }
    whole.push_str(rest);
    whole
}
