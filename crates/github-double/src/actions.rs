//! GitHub Actions: workflow runs, their jobs and logs, and re-running failed jobs.

use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::answer::RestAnswer;
use super::objects;
use super::paging::counted_page;
use super::route::{Needs, Route, RouteCall, get, post};
use super::state::{Job, Repository, State, WorkflowRun};

const READ: Needs = Needs::Read(&["actions"]);
const WRITE: Needs = Needs::Write(&["actions"]);
/// The id of the double's only workflow, `.github/workflows/ci.yml`.
const WORKFLOW: u64 = 501;
/// How long a link to a log is valid.
/// <https://docs.github.com/en/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run>
const LINK_SECONDS: i64 = 60;

pub(super) const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/actions/runs", READ, list_all_runs),
    get("/repos/{owner}/{repo}/actions/runs/{run_id}", READ, show),
    get("/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", READ, list_jobs),
    get("/repos/{owner}/{repo}/actions/runs/{run_id}/logs", READ, link_logs),
    get("/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", READ, link_log),
    get(
        "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs",
        READ,
        list_runs,
    ),
    post(
        "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
        WRITE,
        &["enable_debug_logging"],
        rerun,
    ),
    get("/_logs/{link}", Needs::Nothing, show_log),
];

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let run = find(call)?;
    Ok(RestAnswer::ok(object(call.state, &run)))
}

fn find(call: &RouteCall<'_>) -> Result<WorkflowRun, RestAnswer> {
    let id = call.number("run_id")?;
    let repository = call.repository_id()?;
    let run = call
        .state
        .workflow_runs
        .get(&id)
        .filter(|run| run.repository == repository);
    run.cloned().ok_or_else(RestAnswer::not_found)
}

/// The jobs of the latest attempt, or of all attempts with `filter=all`.
fn list_jobs(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let run = find(call)?;
    let all = call.query.get("filter").is_some_and(|filter| filter == "all");
    let fits = |job: &&Job| job.run == run.id && (all || is_latest(call.state, job));
    let shown = call
        .state
        .jobs
        .values()
        .filter(fits)
        .map(|job| job_object(call.state, &run, job))
        .collect();
    Ok(counted_page(call, "jobs", shown))
}

fn is_latest(state: &State, job: &Job) -> bool {
    !state
        .jobs
        .values()
        .any(|other| other.run == job.run && other.name == job.name && other.attempt > job.attempt)
}

/// The runs of the only workflow, newest first.
fn list_runs(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    if call.number("workflow_id")? != WORKFLOW {
        return Err(RestAnswer::not_found());
    }
    list_all_runs(call)
}

/// The runs of a repository, newest first.
fn list_all_runs(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository_id()?;
    let asked = |name: &str, own: &str| call.query.get(name).is_none_or(|asked| asked == own);
    let fits = |run: &&WorkflowRun| {
        let state = run.conclusion.as_deref().unwrap_or(&run.status);
        run.repository == repository
            && asked("branch", &run.head_branch)
            && asked("head_sha", &run.head.to_string())
            && asked("event", run.event)
            && (asked("status", state) || asked("status", &run.status))
    };
    let runs = call.state.workflow_runs.values().rev().filter(fits);
    let shown = runs.map(|run| object(call.state, run)).collect();
    Ok(counted_page(call, "workflow_runs", shown))
}

/// 302 to the archive with all logs of a run.
fn link_logs(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let run = find(call)?;
    link(call, run.id)
}

/// 302 to a URL that needs no credentials and expires after a minute.
fn link_log(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let id = call.number("job_id")?;
    let job = call.state.jobs.get(&id).ok_or_else(RestAnswer::not_found)?;
    if job.status != "completed" {
        return Err(RestAnswer::not_found());
    }
    link(call, id)
}

fn link(call: &mut RouteCall<'_>, id: u64) -> Result<RestAnswer, RestAnswer> {
    let serial = call.state.fresh_id();
    let link = hex::encode(Sha256::digest(format!("log {serial} of {}", call.state.web)));
    let now = Timestamp::now();
    let expires = now.checked_add(LINK_SECONDS.seconds()).unwrap_or(now);
    let address = format!("{}{}/_logs/{link}", call.state.store, call.state.prefix);
    call.state.log_links.insert(link, (id, expires));
    Ok(RestAnswer::empty(302).header("location", address))
}

/// The log store, which is another host and refuses all credentials, even valid ones.
fn show_log(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    if call.authorized {
        call.state
            .recorder
            .violation("credentials were sent to the log store".into());
        return Err(RestAnswer::error(
            400,
            "Authentication information is not given in the correct format.",
        ));
    }
    let (id, expires) = call
        .state
        .log_links
        .get(call.capture("link"))
        .ok_or_else(RestAnswer::not_found)?;
    if *expires < Timestamp::now() {
        return Err(RestAnswer::error(403, "Signed link has expired"));
    }
    Ok(match call.state.jobs.get(id) {
        Some(job) => RestAnswer::bytes("text/plain; charset=utf-8", job.log.clone().into_bytes()),
        None => RestAnswer::bytes("application/zip", archive(call.state, *id)?),
    })
}

/// All logs of a run in GitHub's archive format: a file for each job, and one for each of its steps.
fn archive(state: &State, run: u64) -> Result<Vec<u8>, RestAnswer> {
    let broken = |error: String| RestAnswer::error(500, &error);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (number, job) in state.jobs.values().filter(|job| job.run == run).enumerate() {
        // Characters that file names must not contain are removed from job names.
        let name: String = job.name.chars().filter(|c| !r#"/\:*?"<>|"#.contains(*c)).collect();
        for path in [format!("{number}_{name}.txt"), format!("{name}/1_Set up job.txt")] {
            let text = if path.contains('/') { "" } else { &job.log };
            let started = writer.start_file(path, options);
            started.map_err(|error| broken(error.to_string()))?;
            std::io::Write::write_all(&mut writer, text.as_bytes()).map_err(|error| broken(error.to_string()))?;
        }
    }
    let written = writer.finish().map_err(|error| broken(error.to_string()))?;
    Ok(written.into_inner())
}

fn rerun(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let run = find(call)?;
    if run.status != "completed" {
        return Err(RestAnswer::error(403, "This workflow is already running"));
    }
    let now = call.state.now();
    let failed: Vec<Job> = call
        .state
        .jobs
        .values()
        .filter(|job| job.run == run.id && is_latest(call.state, job) && job.conclusion.as_deref() != Some("success"))
        .cloned()
        .collect();
    for job in failed {
        let id = call.state.fresh_id();
        let again = Job {
            id,
            attempt: run.attempt + 1,
            status: "queued".into(),
            conclusion: None,
            failed_step: None,
            log: String::new(),
            created_at: now.clone(),
            completed_at: None,
            ..job
        };
        call.state.jobs.insert(id, again);
    }
    let login = call.login();
    if let Some(run) = call.state.workflow_runs.get_mut(&run.id) {
        run.attempt += 1;
        run.status = "queued".into();
        run.conclusion = None;
        run.updated_at = now;
        let run = run.clone();
        notify(call.state, "requested", &run, &login);
    }
    Ok(RestAnswer::created(json!({})))
}

/// Sends one event about a workflow run.
pub(super) fn notify(state: &mut State, action: &str, run: &WorkflowRun, sender: &str) {
    let Some(repository) = state.repository(run.repository) else {
        return;
    };
    let full = repository.full_name();
    let workflow = json!({
        "id": WORKFLOW,
        "node_id": objects::node("Workflow", WORKFLOW),
        "name": run.name,
        "path": ".github/workflows/ci.yml",
        "state": "active",
        "created_at": objects::LONG_AGO,
        "updated_at": objects::LONG_AGO,
        "url": format!("{}/repos/{full}/actions/workflows/{WORKFLOW}", state.api()),
        "html_url": format!("{}/{full}/blob/main/.github/workflows/ci.yml", state.web),
        "badge_url": format!("{}/{full}/workflows/ci/badge.svg", state.web),
    });
    let payload = json!({ "action": action, "workflow_run": object(state, run), "workflow": workflow });
    state.notify("workflow_run", run.repository, sender, payload);
}

/// `workflow-run`.
pub(super) fn object(state: &State, run: &WorkflowRun) -> Value {
    let Some(repository) = state.repository(run.repository) else {
        return Value::Null;
    };
    let head_repository: &Repository = state.repository(run.head_repository).unwrap_or(repository);
    let full = repository.full_name();
    let api = format!("{}/repos/{full}", state.api());
    let at = format!("{api}/actions/runs/{}", run.id);
    let title = state
        .repositories
        .iter()
        .flat_map(|one| one.pulls.values())
        .find(|pull| pull.head_branch == run.head_branch)
        .map_or(run.name.as_str(), |pull| pull.title.as_str());
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": objects::node("WorkflowRun", run.id),
        "check_suite_id": run.suite,
        "check_suite_node_id": objects::node("CheckSuite", run.suite),
        "head_branch": run.head_branch,
        "head_sha": run.head.to_string(),
        "path": ".github/workflows/ci.yml",
        "run_number": run.number,
        "run_attempt": run.attempt,
        "event": run.event,
        "display_title": title,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": WORKFLOW,
        "url": at,
        "html_url": format!("{}/{full}/actions/runs/{}", state.web, run.id),
        "pull_requests": objects::pulls_of(state, run.repository, run.head),
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "run_started_at": run.created_at,
        "actor": objects::account(state, &run.actor),
        "triggering_actor": objects::account(state, &run.actor),
        "jobs_url": format!("{at}/jobs"),
        "logs_url": format!("{at}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", run.suite),
        "artifacts_url": format!("{at}/artifacts"),
        "cancel_url": format!("{at}/cancel"),
        "rerun_url": format!("{at}/rerun"),
        "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/{WORKFLOW}"),
        "head_commit": objects::short_commit(repository, run.head),
        "repository": objects::repository(state, repository),
        "head_repository": objects::repository(state, head_repository),
    })
}

/// `job`.
fn job_object(state: &State, run: &WorkflowRun, job: &Job) -> Value {
    let full = state
        .repository(run.repository)
        .map(Repository::full_name)
        .unwrap_or_default();
    let api = format!("{}/repos/{full}", state.api());
    let step = |number: usize, name: &str, conclusion: &Option<String>| {
        json!({
            "name": name,
            "status": job.status,
            "conclusion": conclusion,
            "number": number,
            "started_at": job.created_at,
            "completed_at": job.completed_at,
        })
    };
    let mut steps = vec![step(
        1,
        "Set up job",
        &job.conclusion.as_ref().map(|_| "success".to_owned()),
    )];
    if let Some(name) = &job.failed_step {
        steps.push(step(2, name, &job.conclusion));
    }
    json!({
        "id": job.id,
        "run_id": run.id,
        "workflow_name": run.name,
        "head_branch": run.head_branch,
        "run_url": format!("{api}/actions/runs/{}", run.id),
        "run_attempt": job.attempt,
        "node_id": objects::node("Job", job.id),
        "head_sha": run.head.to_string(),
        "url": format!("{api}/actions/jobs/{}", job.id),
        "html_url": format!("{}/{full}/actions/runs/{}/job/{}", state.web, run.id, job.id),
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": job.created_at,
        "started_at": job.created_at,
        "completed_at": job.completed_at,
        "name": job.name,
        "steps": steps,
        "check_run_url": format!("{api}/check-runs/{}", job.check_run),
        "labels": ["ubuntu-latest"],
        "runner_id": 1,
        "runner_name": "GitHub Actions 1",
        "runner_group_id": 2,
        "runner_group_name": "GitHub Actions",
    })
}
