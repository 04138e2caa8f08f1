//! The mutation `updateRefs`: moves branches by compare-and-swap, all of them or none.
//! <https://docs.github.com/en/graphql/reference/mutations#updaterefs>
//!
//! Creating and deleting branches, for which it uses an object id of zeros, are not supported.

use serde_json::{Value, json};

use super::answer::{ResponseBody, RestAnswer};
use super::auth::{self, Credentials};
use super::route::{Needs, RouteCall};
use super::{Double, objects, refs};

const FIELD: &str = "updateRefs";

impl Double {
    /// Makes this an Enterprise Server without rulesets and `updateRefs`.
    pub fn predate_rulesets(&self) {
        self.shared.lock().predates_rulesets = true;
    }
}

/// The response, if the query contains this mutation.
pub(super) fn answer(call: &mut RouteCall<'_>, query: &str) -> Option<RestAnswer> {
    if !query.trim_start().starts_with("mutation") || !query.contains("updateRefs(input: $input)") {
        return None;
    }
    if call.state.predates_rulesets {
        return Some(unknown_field());
    }
    let input = call.body["variables"]["input"].clone();
    let result =
        check_keys(&input, &["repositoryId", "refUpdates", "clientMutationId"]).and_then(|()| update(call, &input));
    Some(match result {
        Ok(()) => {
            let done = json!({ "clientMutationId": input["clientMutationId"] });
            RestAnswer::ok(json!({ "data": { FIELD: done } }))
        }
        Err(Refusal { kind, message }) => {
            if kind == "argumentNotAccepted" {
                call.state.recorder.violation(message.clone());
            }
            let error = json!({ "type": kind, "path": [FIELD], "message": message });
            RestAnswer::ok(json!({ "data": { FIELD: null }, "errors": [error] }))
        }
    })
}

struct Refusal {
    kind: &'static str,
    message: String,
}

fn refuse<T>(kind: &'static str, message: impl Into<String>) -> Result<T, Refusal> {
    let message = message.into();
    Err(Refusal { kind, message })
}

fn check_keys(input: &Value, known: &[&str]) -> Result<(), Refusal> {
    let mut keys = input.as_object().into_iter().flat_map(serde_json::Map::keys);
    match keys.find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => refuse("argumentNotAccepted", format!("{FIELD} has no argument {unknown:?}")),
        None => Ok(()),
    }
}

fn update(call: &mut RouteCall<'_>, input: &Value) -> Result<(), Refusal> {
    let named = input["repositoryId"].as_str().unwrap_or_default();
    let mut repositories = call.state.repositories.iter();
    let found = repositories.find(|one| objects::node("Repository", one.id) == named);
    let Some(repository) = found.map(|found| found.id) else {
        let message = format!("Could not resolve to a node with the global id of '{named}'.");
        return refuse("NOT_FOUND", message);
    };
    permit(call, repository)?;
    let updates = input["refUpdates"].as_array().cloned().unwrap_or_default();
    let mut moves = Vec::new();
    for update in &updates {
        check_keys(update, &["name", "beforeOid", "afterOid", "force"])?;
        moves.push(allowed(call, repository, update)?);
    }
    let login = call.login();
    for (name, to) in moves {
        let moved = call.state.move_reference(repository, &name, to, &login);
        moved.or_else(|error| refuse("INTERNAL", error.to_string()))?;
    }
    Ok(())
}

fn permit(call: &RouteCall<'_>, repository: u64) -> Result<(), Refusal> {
    let repository = call.state.repository(repository);
    let credentials = call.holder.clone().map_or(Credentials::Missing, Credentials::Token);
    match auth::permit(call.state, Needs::Write(&["contents"]), &credentials, repository) {
        Ok(()) => Ok(()),
        Err(answer) => refuse("FORBIDDEN", words(&answer)),
    }
}

fn allowed(call: &RouteCall<'_>, repository: u64, update: &Value) -> Result<(String, git2::Oid), Refusal> {
    let text = |key: &str| update[key].as_str().unwrap_or_default().to_string();
    let (name, after) = (text("name"), text("afterOid"));
    let git = call.state.repository(repository).map(|repository| &repository.git);
    let reference = git.and_then(|git| git.find_reference(&name).ok());
    let now = reference.and_then(|reference| reference.target());
    if let Some(before) = update["beforeOid"].as_str()
        && now.map(|now| now.to_string()).as_deref() != Some(before)
    {
        return refuse("UNPROCESSABLE", format!("Reference {name} does not point to {before}"));
    }
    let force = update["force"].as_bool().unwrap_or(false);
    match refs::allowed_move(call, repository, (&name, &after), force) {
        Ok(to) => Ok((name, to)),
        Err(answer) if answer.status == 403 => refuse("FORBIDDEN", words(&answer)),
        Err(answer) => refuse("UNPROCESSABLE", words(&answer)),
    }
}

fn words(answer: &RestAnswer) -> String {
    match &answer.body {
        ResponseBody::Json(body) => body["message"].as_str().unwrap_or_default().into(),
        _ => String::new(),
    }
}

/// The response of a server without the mutation: nothing is executed, and every error is listed.
fn unknown_field() -> RestAnswer {
    let variable = json!({
        "path": ["mutation"],
        "extensions": { "code": "variableRequiresValidType", "typeName": "UpdateRefsInput", "variableName": "input" },
        "locations": [{ "line": 1, "column": 10 }],
        "message": "UpdateRefsInput isn't a defined input type (on $input)",
    });
    let field = json!({
        "path": ["mutation", FIELD],
        "extensions": { "code": "undefinedField", "typeName": "Mutation", "fieldName": FIELD },
        "locations": [{ "line": 1, "column": 38 }],
        "message": "Field 'updateRefs' doesn't exist on type 'Mutation'",
    });
    RestAnswer::ok(json!({ "errors": [variable, field] }))
}
