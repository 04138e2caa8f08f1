//! What a workflow or action file must not do, because a stranger's pull request could exploit it.
//!
//! Examples are an action with a movable tag, a token that has more permissions than necessary or stays on disk, a
//! fork's code with the permissions of the base, and the text of a title in a shell.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

const WORKFLOW_SCHEMA: &str = include_str!("../../fixtures/schemas/github-workflow.json");
const ACTION_SCHEMA: &str = include_str!("../../fixtures/schemas/github-action.json");

/// Events whose runs have the permissions of the base repository although a stranger can trigger them.
const PRIVILEGED: [&str; 4] = [
    "issue_comment",
    "pull_request_review_comment",
    "pull_request_target",
    "workflow_run",
];
/// Expressions that refer to the base or the default branch in a run triggered by such an event.
const BASE: [&str; 8] = [
    "github.base_ref",
    "github.event.pull_request.base.ref",
    "github.event.pull_request.base.sha",
    "github.event.repository.default_branch",
    "github.event.repository.full_name",
    "github.ref",
    "github.repository",
    "github.sha",
];
/// Expressions that cannot contain a shell command; all others must go through `env`.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    let github = "action_path|api_url|job|repository|run_attempt|run_id|run_number|server_url|sha|workspace";
    Regex::new(&format!(r"^(github\.({github})|(matrix|runner)\.[\w.-]+)$")).unwrap()
});
static EXPRESSION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)\$\{\{\s*(.*?)\s*\}\}").unwrap());
static PINNED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\w./-]+@[0-9a-f]{40}$|@sha256:[0-9a-f]{64}$").unwrap());
/// No commit can contain its own hash, so the files to copy name the release of this very action.
static OURS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^greenlight-rs/greenlight@v[0-9.]+$").unwrap());
static VERSION_COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s+# v?\d+(\.\d+)*").unwrap());

/// Lists the problems of a workflow file.
pub(crate) fn check_workflow(text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let workflow = read(text, WORKFLOW_SCHEMA, &mut findings);
    check_permissions(&workflow, &mut findings);
    let jobs: Vec<_> = workflow["jobs"]
        .as_object()
        .into_iter()
        .flat_map(|jobs| jobs.values())
        .collect();
    let steps: Vec<_> = jobs
        .iter()
        .filter_map(|job| job["steps"].as_array())
        .flatten()
        .collect();
    check_pins(text, jobs.iter().copied().chain(steps.iter().copied()), &mut findings);
    check_steps(&steps, &mut findings);
    if let Some(trigger) = triggers(&workflow["on"])
        .iter()
        .find(|trigger| PRIVILEGED.contains(&trigger.as_str()))
    {
        check_that_the_head_stays_out(trigger, &steps, &mut findings);
    }
    findings
}

/// Lists the problems of an action's metadata file.
pub(super) fn check_action(text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let action = read(text, ACTION_SCHEMA, &mut findings);
    let steps: Vec<_> = action["runs"]["steps"].as_array().into_iter().flatten().collect();
    check_pins(text, steps.iter().copied(), &mut findings);
    check_steps(&steps, &mut findings);
    findings
}

fn read(text: &str, schema: &str, findings: &mut Vec<String>) -> Value {
    let file: Value = match serde_saphyr::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            findings.push(format!("not YAML: {error}"));
            return Value::Null;
        }
    };
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    findings.extend(
        schema
            .iter_errors(&file)
            .map(|error| format!("schema: {}: {error}", error.instance_path())),
    );
    file
}

fn triggers(on: &Value) -> Vec<String> {
    match on {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Object(map) => map.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

fn check_permissions(workflow: &Value, findings: &mut Vec<String>) {
    let jobs = workflow["jobs"].as_object().into_iter().flatten();
    match &workflow["permissions"] {
        Value::Object(permissions) => {
            let writes = permissions.values().any(|level| level == "write");
            if writes && jobs.clone().count() > 1 {
                findings.push("permissions: a write for all jobs; give it to the job that needs it".into());
            }
        }
        Value::Null => findings.push("permissions: none at the top of the file".into()),
        _ => findings.push("permissions: name them one by one".into()),
    }
    for (name, _) in jobs.filter(|(_, job)| job["permissions"].is_string()) {
        findings.push(format!("permissions: name those of job {name:?} one by one"));
    }
}

fn check_pins<'a>(text: &str, users: impl Iterator<Item = &'a Value>, findings: &mut Vec<String>) {
    for uses in users.filter_map(|user| user["uses"].as_str()) {
        if uses.starts_with("./") || OURS.is_match(uses) {
            continue;
        }
        let is_commented = |line: &str| {
            line.split_once(uses)
                .is_some_and(|(_, rest)| VERSION_COMMENT.is_match(rest))
        };
        if !PINNED.is_match(uses) {
            findings.push(format!("pin: {uses:?} is not pinned by its hash"));
        } else if !text.lines().filter(|line| line.contains(uses)).all(is_commented) {
            findings.push(format!("pin: {uses:?} needs its version as a comment"));
        }
    }
}

fn is_checkout(step: &Value) -> bool {
    step["uses"]
        .as_str()
        .is_some_and(|uses| uses.starts_with("actions/checkout@"))
}

fn check_steps(steps: &[&Value], findings: &mut Vec<String>) {
    for step in steps {
        let keeps_credentials = !matches!(&step["with"]["persist-credentials"], Value::Bool(false));
        if is_checkout(step) && keeps_credentials {
            findings.push("checkout: without `persist-credentials: false` the token stays on the disk".into());
        }
        for script in [&step["run"], &step["with"]["script"]]
            .into_iter()
            .filter_map(Value::as_str)
        {
            let expressions = EXPRESSION
                .captures_iter(script)
                .map(|found| found.get(1).unwrap().as_str());
            for expression in expressions.filter(|expression| !HARMLESS.is_match(expression)) {
                findings.push(format!(
                    "injection: {expression:?} in a script; hand it over through `env`"
                ));
            }
        }
    }
}

fn check_that_the_head_stays_out(trigger: &str, steps: &[&Value], findings: &mut Vec<String>) {
    let is_base = |text: &str| {
        let only_base = EXPRESSION
            .captures_iter(text)
            .all(|found| BASE.contains(&found.get(1).unwrap().as_str()));
        only_base && !text.contains("pull/")
    };
    for step in steps.iter().filter(|step| is_checkout(step)) {
        for chosen in ["ref", "repository"]
            .iter()
            .filter_map(|key| step["with"][key].as_str())
        {
            if !is_base(chosen) {
                findings.push(format!("head: {trigger} checks out {chosen:?}"));
            }
        }
    }
    let fetches_head = |script: &&str| ["gh pr checkout", "pull/"].iter().any(|form| script.contains(form));
    for script in steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .filter(fetches_head)
    {
        findings.push(format!("head: {trigger} fetches a pull request in {script:?}"));
    }
}
