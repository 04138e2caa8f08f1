//! Routes for the App's webhook and its deliveries, with which a receiver finds out what it missed.
//!
//! Formats: `webhook-config`, `hook-delivery-item` and `hook-delivery` of GitHub's OpenAPI description.
//! <https://docs.github.com/en/rest/apps/webhooks>

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::hooks::Attempt;
use super::route::{Needs, Route, RouteCall, get};

pub(super) const ROUTES: &[Route] = &[
    get("/app/hook/config", Needs::App, show_config),
    get("/app/hook/deliveries", Needs::App, list),
    get("/app/hook/deliveries/{delivery_id}", Needs::App, show),
];

fn show_config(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    Ok(RestAnswer::ok(call.state.hooks.config()))
}

/// Newest first; a cursor in the `Link` header leads to the next page.
fn list(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let query = |name: &str| call.query.get(name).map(String::as_str);
    let size = query("per_page")
        .and_then(|size| size.parse().ok())
        .unwrap_or(30)
        .clamp(1, 100);
    let below = query("cursor").map(|cursor| cursor.strip_prefix("v1_").and_then(|id| id.parse::<u64>().ok()));
    let below = match below {
        Some(None) => return Err(RestAnswer::error(422, "Invalid cursor")),
        Some(Some(below)) => below,
        None => u64::MAX,
    };
    let (attempts, is_last) = call.state.hooks.log.newest(below, size);
    let link = attempts.last().filter(|_| !is_last).map(|last| {
        let at = format!(
            "{}{}?per_page={size}&cursor=v1_{}",
            call.state.api(),
            call.path,
            last.id
        );
        format!("<{at}>; rel=\"next\"")
    });
    let answer = RestAnswer::ok(attempts.iter().map(item).collect());
    Ok(match link {
        Some(link) => answer.header("link", link),
        None => answer,
    })
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let id = call.number("delivery_id")?;
    let attempt = &call.state.hooks.log.find(id).ok_or_else(RestAnswer::not_found)?;
    let mut body = item(attempt);
    body["url"] = json!("http://127.0.0.1");
    body["request"] = json!({
        "headers": { "X-GitHub-Delivery": attempt.delivery.id, "X-GitHub-Event": attempt.delivery.event },
        "payload": attempt.delivery.payload,
    });
    body["response"] = json!({ "headers": {}, "payload": "" });
    Ok(RestAnswer::ok(body))
}

fn item(attempt: &Attempt) -> Value {
    let delivery = &attempt.delivery;
    // GitHub counts 200 to 399 as success.
    let is_ok = delivery.status.is_some_and(|status| (200..400).contains(&status));
    let status = match delivery.status {
        Some(_) if is_ok => "OK".to_string(),
        Some(status) => format!("Invalid HTTP Response: {status}"),
        None => "failed to connect to host".to_string(),
    };
    json!({
        "id": attempt.id,
        "guid": delivery.id,
        "delivered_at": attempt.at.to_string(),
        "redelivery": attempt.is_redelivery,
        "duration": 0.03,
        "status": status,
        "status_code": delivery.status.unwrap_or(0),
        "event": delivery.event,
        "action": delivery.payload.get("action").cloned().unwrap_or(Value::Null),
        "installation_id": delivery.payload["installation"]["id"],
        "repository_id": delivery.payload["repository"]["id"],
        "throttled_at": null,
    })
}
