//! Validates the body of a check run like GitHub, and applies it to a check run.
//!
//! The limits are those of GitHub's OpenAPI description, and 65 535 characters for each text of the output.

use serde_json::Value;

use super::answer::RestAnswer;
use super::state::{CheckRun, State};

const STATUSES: [&str; 6] = ["queued", "in_progress", "completed", "waiting", "requested", "pending"];
const CONCLUSIONS: [&str; 8] = [
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "stale",
    "timed_out",
];
const LEVELS: [&str; 3] = ["notice", "warning", "failure"];
/// The maximum length of `summary` and of `text`.
const LONGEST_OUTPUT: usize = 65_535;
const MOST_ANNOTATIONS: usize = 50;
const MOST_ACTIONS: usize = 3;

/// Refuses a body that breaks a rule.
pub(super) fn check(body: &Value) -> Result<(), RestAnswer> {
    one_of(body, "status", &STATUSES)?;
    one_of(body, "conclusion", &CONCLUSIONS)?;
    if body["status"] == "completed" && body["conclusion"].is_null() {
        return Err(invalid("\"conclusion\" wasn't supplied."));
    }
    if let Some(output) = body.get("output").filter(|output| !output.is_null()) {
        required(output, &["title", "summary"])?;
        at_most(output, "summary", LONGEST_OUTPUT)?;
        at_most(output, "text", LONGEST_OUTPUT)?;
        let annotations = items(output, "annotations", MOST_ANNOTATIONS)?;
        annotations.iter().try_for_each(check_annotation)?;
    }
    for action in items(body, "actions", MOST_ACTIONS)? {
        required(action, &["label", "description", "identifier"])?;
        at_most(action, "label", 20)?;
        at_most(action, "description", 40)?;
        at_most(action, "identifier", 20)?;
    }
    Ok(())
}

fn check_annotation(annotation: &Value) -> Result<(), RestAnswer> {
    required(annotation, &["path", "annotation_level", "message"])?;
    one_of(annotation, "annotation_level", &LEVELS)?;
    at_most(annotation, "title", 255)?;
    at_most(annotation, "message", 64 * 1024)?;
    let line = |key: &str| {
        annotation[key]
            .as_u64()
            .filter(|line| *line > 0)
            .ok_or_else(|| invalid(&format!("\"{key}\" wasn't supplied.")))
    };
    let (start, end) = (line("start_line")?, line("end_line")?);
    if start > end {
        return Err(invalid("\"end_line\" must not be before \"start_line\"."));
    }
    let columns = annotation["start_column"].is_u64() || annotation["end_column"].is_u64();
    if columns && start != end {
        return Err(invalid(
            "Columns are only allowed when \"start_line\" and \"end_line\" are the same.",
        ));
    }
    Ok(())
}

fn invalid(what: &str) -> RestAnswer {
    RestAnswer::invalid(&format!("Invalid request.\n\n{what}"))
}

fn one_of(body: &Value, key: &str, allowed: &[&str]) -> Result<(), RestAnswer> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(text)) if allowed.contains(&text.as_str()) => Ok(()),
        Some(other) => Err(invalid(&format!(
            "For 'properties/{key}', {other} is not a possible value."
        ))),
    }
}

fn required(object: &Value, keys: &[&str]) -> Result<(), RestAnswer> {
    match keys.iter().find(|key| object[**key].as_str().is_none()) {
        Some(key) => Err(invalid(&format!("\"{key}\" wasn't supplied."))),
        None => Ok(()),
    }
}

fn at_most(object: &Value, key: &str, limit: usize) -> Result<(), RestAnswer> {
    let length = object[key].as_str().map_or(0, |text| text.chars().count());
    if length <= limit {
        return Ok(());
    }
    Err(invalid(&format!(
        "For 'properties/{key}', only {limit} characters are allowed; {length} were supplied."
    )))
}

fn items<'a>(object: &'a Value, key: &str, limit: usize) -> Result<&'a [Value], RestAnswer> {
    let items = object[key].as_array().map_or(&[][..], Vec::as_slice);
    if items.len() <= limit {
        return Ok(items);
    }
    Err(invalid(&format!(
        "No more than {limit} items are allowed; {} were supplied.",
        items.len()
    )))
}

/// Applies a validated body to a check run. Annotations are added, actions replaced.
pub(super) fn apply(state: &mut State, run: &mut CheckRun, body: &Value) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let set = |slot: &mut Option<String>, value: &Value| {
        if let Some(text) = text(value) {
            *slot = Some(text);
        }
    };
    set(&mut run.details_url, &body["details_url"]);
    set(&mut run.external_id, &body["external_id"]);
    set(&mut run.started_at, &body["started_at"]);
    set(&mut run.title, &body["output"]["title"]);
    set(&mut run.summary, &body["output"]["summary"]);
    set(&mut run.text, &body["output"]["text"]);
    if let Some(status) = text(&body["status"]) {
        if status != "completed" {
            run.conclusion = None;
            run.completed_at = None;
        }
        run.status = status;
    }
    if let Some(conclusion) = text(&body["conclusion"]) {
        run.conclusion = Some(conclusion);
        run.status = "completed".into();
        run.completed_at = Some(text(&body["completed_at"]).unwrap_or_else(|| state.now()));
    }
    if let Some(annotations) = body["output"]["annotations"].as_array() {
        run.annotations.extend(annotations.iter().cloned());
    }
    if let Some(actions) = body["actions"].as_array() {
        run.actions.clone_from(actions);
    }
}
