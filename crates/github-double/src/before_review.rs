//! The GraphQL query for a pull request, who wrote its reviews, and how many rules its branch has.
//!
//! GraphQL names a repository by its current name only, and answers with `null` and an error where REST has status 404.
//! <https://docs.github.com/en/graphql/reference/objects#pullrequest>

use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::auth::{self, Credentials};
use super::records::PullRequest;
use super::route::{Needs, RouteCall};
use super::state::Repository;
use super::{branch_rules, pulls};

/// The query, word by word.
const QUERY: &str = "query owner String name String number Int repository owner owner name name databaseId \
    pullRequest number number headRefOid baseRefOid changedFiles reviews first 100 totalCount nodes viewerDidAuthor \
    headRef rules first 1 totalCount";
/// How many reviews one page has.
const FIRST: usize = 100;

/// The response, if these are the words of the query.
pub(super) fn answer(call: &RouteCall<'_>, words: &[&str]) -> Option<RestAnswer> {
    if !words.iter().copied().eq(QUERY.split_whitespace()) {
        return None;
    }
    if call.state.predates_rulesets {
        return Some(refuse("undefinedField", "Field 'rules' doesn't exist on type 'Ref'"));
    }
    let variables = &call.body["variables"];
    let name = [&variables["owner"], &variables["name"]].map(|part| part.as_str().unwrap_or_default());
    let full_name = name.join("/");
    let is_meant = |one: &&Repository| one.full_name().eq_ignore_ascii_case(&full_name) && may_see(call, one);
    let Some(repository) = call.state.repositories.iter().find(is_meant) else {
        let message = format!("Could not resolve to a Repository with the name '{full_name}'.");
        return Some(refuse("NOT_FOUND", &message));
    };
    let number = variables["number"].as_u64().unwrap_or_default();
    let Some(pull) = call.state.pull(repository.id, number) else {
        let message = format!("Could not resolve to a PullRequest with the number of {number}.");
        return Some(refuse("NOT_FOUND", &message));
    };
    Some(RestAnswer::ok(json!({ "data": { "repository": {
        "databaseId": repository.id,
        "pullRequest": pull_request(call, repository, pull),
    } } })))
}

/// Whether the caller may read the pull requests of a repository.
fn may_see(call: &RouteCall<'_>, repository: &Repository) -> bool {
    call.holder.clone().is_some_and(|holder| {
        let needs = Needs::Read(&["pull_requests"]);
        auth::permit(call.state, needs, &Credentials::Token(holder), Some(repository)).is_ok()
    })
}

fn pull_request(call: &RouteCall<'_>, repository: &Repository, pull: &PullRequest) -> Value {
    let object = pulls::full(call.state, repository, pull);
    let me = call.login();
    let ours = |review: &&super::state::Review| review.repository == repository.id && review.number == pull.number;
    let reviews: Vec<Value> = call
        .state
        .reviews
        .values()
        .filter(ours)
        .map(|review| json!({ "viewerDidAuthor": review.author == me }))
        .collect();
    let head = call.state.repository(pull.head_repository);
    let rules = head.map(|head| branch_rules::count(call.state, head, &pull.head_branch));
    json!({
        "headRefOid": object["head"]["sha"],
        "baseRefOid": object["base"]["sha"],
        "changedFiles": object["changed_files"],
        "reviews": { "totalCount": reviews.len(), "nodes": reviews.iter().take(FIRST).collect::<Vec<_>>() },
        "headRef": rules.map(|count| json!({ "rules": { "totalCount": count } })),
    })
}

fn refuse(kind: &str, message: &str) -> RestAnswer {
    let error = json!({ "type": kind, "path": ["repository"], "message": message });
    RestAnswer::ok(json!({ "data": { "repository": null }, "errors": [error] }))
}
