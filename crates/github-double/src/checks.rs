//! Check runs: routes, the JSON object, and the events of check runs and check suites.

use git2::Oid;
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::paging::counted_page;
use super::route::{Needs, Route, RouteCall, get, patch, post};
use super::state::{CheckRun, Happening, State};
use super::{check_rules, objects, store};

const READ: Needs = Needs::Read(&["checks"]);
const WRITE: Needs = Needs::Write(&["checks"]);

pub(super) const ROUTES: &[Route] = &[
    post(
        "/repos/{owner}/{repo}/check-runs",
        WRITE,
        &[
            "name",
            "head_sha",
            "details_url",
            "external_id",
            "status",
            "started_at",
            "conclusion",
            "completed_at",
            "output",
            "actions",
        ],
        create,
    ),
    get("/repos/{owner}/{repo}/check-runs/{check_run_id}", READ, show),
    patch(
        "/repos/{owner}/{repo}/check-runs/{check_run_id}",
        WRITE,
        &[
            "name",
            "details_url",
            "external_id",
            "status",
            "started_at",
            "conclusion",
            "completed_at",
            "output",
            "actions",
        ],
        update,
    ),
    get("/repos/{owner}/{repo}/commits/{ref}/check-runs", READ, list),
];

fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let name = call.text("name")?;
    let sha = call.text("head_sha")?;
    check_rules::check(&call.body)?;
    let repository = call.repository()?;
    let known = Oid::from_str(&sha)
        .ok()
        .filter(|id| repository.git.find_commit(*id).is_ok());
    let head = known.ok_or_else(|| RestAnswer::invalid(&format!("No commit found for SHA: {sha}")))?;
    let repository = repository.id;
    let app = call.app().map(str::to_owned).ok_or_else(RestAnswer::not_accessible)?;
    let mut run = blank(call.state, repository, head, &name, &app);
    check_rules::apply(call.state, &mut run, &call.body);
    let run = add(call.state, run);
    Ok(RestAnswer::created(object(call.state, &run)))
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let run = find(call)?;
    Ok(RestAnswer::ok(object(call.state, &run)))
}

fn update(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let mut run = find(call)?;
    check_rules::check(&call.body)?;
    if call.app() != Some(run.app.as_str()) {
        let id = call.app().map_or(0, |slug| call.state.app_named(slug).id);
        let reason =
            format!("Invalid app_id `{id}` - check run can only be modified by the GitHub App that created it.");
        return Err(RestAnswer::error(403, &reason));
    }
    let was = run.status.clone();
    if let Some(name) = call.optional_text("name")? {
        run.name = name;
    }
    check_rules::apply(call.state, &mut run, &call.body);
    call.state.check_runs.insert(run.id, run.clone());
    if run.status == "completed" && was != "completed" {
        completed(call.state, &run);
    }
    Ok(RestAnswer::ok(object(call.state, &run)))
}

/// The check runs of a commit. If several have the same name, only the latest is listed, unless `filter=all`.
fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let name = call.capture("ref");
    let commit = store::resolve(&repository.git, name)
        .ok_or_else(|| RestAnswer::error(422, &format!("No commit found for SHA: {name}")))?;
    let wanted = |key: &str| call.query.get(key).map(String::as_str);
    let fits = |run: &&CheckRun| {
        run.head == commit
            && run.repository == repository.id
            && wanted("check_name").is_none_or(|name| name == run.name)
            && wanted("status").is_none_or(|status| status == run.status)
            && wanted("app_id").is_none_or(|id| id == call.state.app_named(&run.app).id.to_string())
    };
    let mut found: Vec<&CheckRun> = call.state.check_runs.values().filter(fits).collect();
    if wanted("filter") != Some("all") {
        let all = found.clone();
        found.retain(|run| {
            !all.iter()
                .any(|other| other.id > run.id && other.name == run.name && other.app == run.app)
        });
    }
    let shown = found.into_iter().rev().map(|run| object(call.state, run)).collect();
    Ok(counted_page(call, "check_runs", shown))
}

fn find(call: &RouteCall<'_>) -> Result<CheckRun, RestAnswer> {
    let id = call.number("check_run_id")?;
    let repository = call.repository_id()?;
    let run = call
        .state
        .check_runs
        .get(&id)
        .filter(|run| run.repository == repository);
    run.cloned().ok_or_else(RestAnswer::not_found)
}

/// A new check run without a result.
pub(super) fn blank(state: &mut State, repository: u64, head: Oid, name: &str, app: &str) -> CheckRun {
    let suite = state.suite(app, head);
    CheckRun {
        id: state.fresh_id(),
        repository,
        head,
        name: name.into(),
        app: app.into(),
        suite,
        status: "queued".into(),
        conclusion: None,
        started_at: None,
        completed_at: None,
        external_id: None,
        details_url: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        actions: Vec::new(),
    }
}

/// Stores a new check run and sends `check_run.created`, and `completed` if it is already completed.
pub(super) fn add(state: &mut State, mut run: CheckRun) -> CheckRun {
    if run.started_at.is_none() {
        run.started_at = Some(state.now());
    }
    state.check_runs.insert(run.id, run.clone());
    let numbers: Vec<(u64, u64)> = state
        .repositories
        .iter()
        .flat_map(|repository| repository.pulls.values().map(move |pull| (repository.id, pull)))
        .filter(|(_, pull)| pull.open && pull.head == run.head)
        .map(|(repository, pull)| (repository, pull.number))
        .collect();
    for (repository, number) in numbers {
        state.happened(repository, number, Happening::CheckRun(run.id));
    }
    notify(state, "created", &run, None);
    if run.status == "completed" {
        completed(state, &run);
    }
    run
}

/// Sends `check_run.completed`, and `check_suite.completed` once no check run of the suite is unfinished.
pub(super) fn completed(state: &mut State, run: &CheckRun) {
    notify(state, "completed", run, None);
    let of_suite = |other: &&CheckRun| other.suite == run.suite;
    if state
        .check_runs
        .values()
        .filter(of_suite)
        .all(|other| other.status == "completed")
    {
        let sender = state.app_named(&run.app).bot();
        notify_suite(state, "completed", run, &sender);
    }
}

/// Sends an event about the suite of a check run.
pub(super) fn notify_suite(state: &mut State, action: &str, run: &CheckRun, sender: &str) {
    let payload = json!({ "action": action, "check_suite": suite(state, run) });
    state.notify("check_suite", run.repository, sender, payload);
}

/// Sends an event about a check run. `pressed` is the button, or `None` for "Re-run", and the login of the person who
/// pressed it.
pub(super) fn notify(state: &mut State, action: &str, run: &CheckRun, pressed: Option<(Option<&str>, &str)>) {
    let mut shown = object(state, run);
    shown["check_suite"] = suite(state, run);
    let mut payload = json!({ "action": action, "check_run": shown });
    let mut sender = state.app_named(&run.app).bot();
    if let Some((identifier, login)) = pressed {
        if let Some(identifier) = identifier {
            payload["requested_action"] = json!({ "identifier": identifier });
        }
        login.clone_into(&mut sender);
    }
    state.notify("check_run", run.repository, &sender, payload);
}

/// The suite of a check run, in webhook payloads.
fn suite(state: &State, run: &CheckRun) -> Value {
    let Some(repository) = state.repository(run.repository) else {
        return Value::Null;
    };
    let runs: Vec<&CheckRun> = state
        .check_runs
        .values()
        .filter(|other| other.suite == run.suite)
        .collect();
    let done = runs.iter().all(|one| one.status == "completed");
    let worst = [
        "failure",
        "timed_out",
        "cancelled",
        "action_required",
        "neutral",
        "skipped",
        "success",
    ];
    let conclusion = worst
        .iter()
        .find(|kind| runs.iter().any(|one| one.conclusion.as_deref() == Some(**kind)));
    let at = format!(
        "{}/repos/{}/check-suites/{}",
        state.api(),
        repository.full_name(),
        run.suite
    );
    let branch = state
        .repositories
        .iter()
        .flat_map(|one| one.pulls.values())
        // A fork's branch is not in this repository, so GitHub leaves it out.
        .find(|pull| pull.head == run.head && pull.head_repository == run.repository)
        .map(|pull| pull.head_branch.clone());
    json!({
        "id": run.suite,
        "node_id": objects::node("CheckSuite", run.suite),
        "head_branch": branch,
        "head_sha": run.head.to_string(),
        "status": if done { "completed" } else { "in_progress" },
        "conclusion": if done { json!(conclusion) } else { Value::Null },
        "url": at,
        "before": "0".repeat(40),
        "after": run.head.to_string(),
        "pull_requests": objects::pulls_of(state, run.repository, run.head),
        "app": objects::app(state, state.app_named(&run.app)),
        "created_at": run.started_at,
        "updated_at": run.completed_at.as_ref().or(run.started_at.as_ref()),
        "rerequestable": true,
        "runs_rerequestable": true,
        "latest_check_runs_count": runs.len(),
        "check_runs_url": format!("{at}/check-runs"),
        "head_commit": objects::short_commit(repository, run.head),
    })
}

/// `check-run`.
pub(super) fn object(state: &State, run: &CheckRun) -> Value {
    let Some(repository) = state.repository(run.repository) else {
        return Value::Null;
    };
    let full = repository.full_name();
    let at = format!("{}/repos/{full}/check-runs/{}", state.api(), run.id);
    let page = format!("{}/{full}/runs/{}", state.web, run.id);
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": objects::node("CheckRun", run.id),
        "head_sha": run.head.to_string(),
        "external_id": run.external_id.as_deref().unwrap_or_default(),
        "url": at,
        "html_url": page,
        "details_url": run.details_url.as_ref().unwrap_or(&page),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": run.annotations.len(),
            "annotations_url": format!("{at}/annotations"),
        },
        "check_suite": { "id": run.suite },
        "app": objects::app(state, state.app_named(&run.app)),
        "pull_requests": objects::pulls_of(state, run.repository, run.head),
    })
}
