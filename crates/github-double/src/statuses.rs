//! Commit statuses, as systems other than GitHub Actions report them.

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::route::{Needs, Route, RouteCall, get};
use super::state::Status;
use super::{objects, store};

pub(super) const ROUTES: &[Route] = &[get(
    "/repos/{owner}/{repo}/commits/{ref}/status",
    Needs::Read(&["statuses"]),
    combined,
)];

/// The latest status of every context, and the worst of them.
fn combined(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let commit = store::resolve(&repository.git, call.capture("ref")).ok_or_else(RestAnswer::not_found)?;
    let api = format!("{}/repos/{}", call.state.api(), repository.full_name());
    let url = format!("{api}/statuses/{commit}");
    let here = |one: &&Status| one.repository == repository.id && one.commit == commit;
    let all: Vec<&Status> = call.state.statuses.iter().filter(here).collect();
    let is_last = |place: usize, one: &Status| !all[place + 1..].iter().any(|later| later.context == one.context);
    let latest: Vec<&Status> = all
        .iter()
        .enumerate()
        .filter(|(place, one)| is_last(*place, one))
        .map(|(_, one)| *one)
        .collect();
    let shown: Vec<Value> = latest
        .iter()
        .map(|one| {
            json!({
                "id": one.id, "node_id": objects::node("StatusContext", one.id), "url": url, "avatar_url": null,
                "state": one.state, "context": one.context, "description": null,
                "target_url": "https://ci.example/1", "created_at": one.at, "updated_at": one.at,
            })
        })
        .collect();
    let is_red = |one: &&Status| matches!(one.state.as_str(), "failure" | "error");
    let state = if latest.iter().any(is_red) {
        "failure"
    } else if !latest.is_empty() && latest.iter().all(|one| one.state == "success") {
        "success"
    } else {
        "pending"
    };
    Ok(RestAnswer::ok(json!({
        "state": state, "statuses": shown, "sha": commit.to_string(), "total_count": latest.len(),
        "repository": objects::repository(call.state, repository),
        "commit_url": format!("{api}/commits/{commit}"), "url": format!("{api}/commits/{commit}/status"),
    })))
}
