//! Branch protection rules, and moving branches by compare-and-swap.

use github_double::{Demand, Protection};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::git_data::commit;
use super::{Client, world};

/// Calls `updateRefs` with this token.
async fn update(client: &Client, token: &str, update: Value) -> Value {
    let (_, repository) = client.get("").await;
    let input = json!({ "repositoryId": repository["node_id"], "refUpdates": [update] });
    let query = "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";
    let body = json!({ "query": query, "variables": { "input": input } });
    let url = format!("{}/graphql", client.double.url());
    let request = client.http.post(url).bearer_auth(token).header("user-agent", "test");
    let response = request.json(&body).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "GraphQL refuses with status 200");
    response.json().await.unwrap()
}

fn to(before: &str, after: &str) -> Value {
    json!({ "name": "refs/heads/topic", "beforeOid": before, "afterOid": after, "force": false })
}

#[tokio::test]
async fn a_branch_moves_only_from_where_it_is_said_to_be() {
    let (client, number) = world().await;
    let first = client.double.head(number).unwrap();
    let second = commit(&client, &first, "a.txt", "a\n").await;
    let third = commit(&client, &second, "a.txt", "b\n").await;
    let sideways = commit(&client, &first, "b.txt", "b\n").await;
    let token = client.token.clone();
    let done = update(&client, &token, to(&first, &second)).await;
    assert_eq!(done, json!({ "data": { "updateRefs": { "clientMutationId": null } } }));
    // Forward, but not from there; from there, but not forward; an unknown commit; and a missing branch.
    for (before, after, words) in [
        (&first, &third, "does not point to"),
        (&second, &sideways, "not a fast forward"),
        (&second, &"0".repeat(40), "Object does not exist"),
    ] {
        let refused = update(&client, &token, to(before, after)).await;
        assert_eq!(refused["data"], json!({ "updateRefs": null }), "{refused}");
        let error = &refused["errors"][0];
        assert_eq!(
            (&error["type"], &error["path"]),
            (&json!("UNPROCESSABLE"), &json!(["updateRefs"]))
        );
        assert!(error["message"].as_str().unwrap().contains(words), "{refused}");
    }
    assert_eq!(client.double.head(number).unwrap(), second);
    let reader = client.double.actions_token(&[("contents", "read")]);
    let refused = update(&client, &reader, to(&second, &third)).await;
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    assert_eq!(client.double.head(number).unwrap(), second);
}

/// Both ways of moving the branch are rejected with these words, and neither moves it.
async fn refused(client: &Client, number: u64, words: &str) {
    let head = client.double.head(number).unwrap();
    let after = commit(client, &head, "a.txt", words).await;
    let body = json!({ "sha": after, "force": false });
    let (status, answer) = client.send(Method::PATCH, "/git/refs/heads/topic", body).await;
    assert_eq!((status.as_u16(), answer["message"].as_str()), (422, Some(words)));
    let answer = update(client, &client.token, to(&head, &after)).await;
    assert_eq!(answer["errors"][0]["message"], words);
    assert_eq!(client.double.head(number).unwrap(), head);
}

#[tokio::test]
async fn a_ruleset_is_listed_and_holds_for_both_ways() {
    let (client, number) = world().await;
    let demands = [Demand::PullRequest, Demand::StatusCheck("ci"), Demand::Signatures];
    client.double.protect(Protection::ruleset("topic", demands));
    client.double.protect(Protection::ruleset("other", [Demand::Update]));
    let (status, rules) = client.get("/rules/branches/topic").await;
    let kinds: Vec<_> = rules.as_array().unwrap().iter().map(|rule| &rule["type"]).collect();
    assert_eq!(status, StatusCode::OK);
    assert_eq!(kinds, ["pull_request", "required_status_checks", "required_signatures"]);
    assert_eq!(
        (&rules[0]["ruleset_source"], &rules[0]["ruleset_id"]),
        (&json!("acme/rail"), &json!(1))
    );
    let (_, ruleset) = client.get("/rulesets/1").await;
    assert_eq!(ruleset["current_user_can_bypass"], "never");
    // Commits made by an App are signed.
    refused(
        &client,
        number,
        "Repository rule violations found\n\nChanges must be made through a pull request.\n\n\
         Required status check \"ci\" is expected.\n\n",
    )
    .await;
}

#[tokio::test]
async fn a_protected_branch_of_the_older_kind_is_not_listed_and_holds_all_the_same() {
    let (client, number) = world().await;
    let demands = [Demand::StatusCheck("ci")];
    client.double.protect(Protection::classic("topic", demands));
    assert_eq!(client.get("/rules/branches/topic").await.1, json!([]));
    refused(&client, number, "Required status check \"ci\" is expected.").await;
}

#[tokio::test]
async fn who_may_pass_a_ruleset_by_passes() {
    let (client, number) = world().await;
    let protection = Protection::ruleset("topic", [Demand::PullRequest]);
    client.double.protect(protection.bypassed_by_the_app());
    let (_, ruleset) = client.get("/rulesets/1").await;
    assert_eq!(ruleset["current_user_can_bypass"], "always");
    let head = client.double.head(number).unwrap();
    let after = commit(&client, &head, "a.txt", "a\n").await;
    update(&client, &client.token, to(&head, &after)).await;
    assert_eq!(client.double.head(number).unwrap(), after);
}

#[tokio::test]
async fn a_server_from_before_rulesets_knows_neither() {
    let (client, number) = world().await;
    client.double.predate_rulesets();
    assert_eq!(client.get("/rules/branches/topic").await.0, StatusCode::NOT_FOUND);
    let head = client.double.head(number).unwrap();
    let answer = update(&client, &client.token, to(&head, &head)).await;
    assert_eq!(answer["data"], Value::Null);
    let codes: Vec<_> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| &error["extensions"]["code"])
        .collect();
    assert_eq!(codes, ["variableRequiresValidType", "undefinedField"]);
}
