//! GitHub's webhooks, parsed from GitHub's own example payloads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use greenlight::domain::event::{CheckSource, Comment, CommentPlace, Event, Fact, FailedChecks};
use greenlight::domain::id::InstallationId;
use greenlight::github::webhook::parse;
use serde_json::{Value, json};

/// Every event, action and conclusion in the examples for the events that greenlight listens to; `-` means ignored.
const EXPECTED: &str = "\
check_run completed failure: ChecksFailed
check_run completed success: -
check_run created: -
check_run requested_action: ButtonPressed
check_run rerequested neutral: ButtonPressed
check_suite completed success: -
check_suite requested: -
check_suite rerequested success: -
installation created: InstallationChanged
installation deleted: InstallationChanged
installation new_permissions_accepted: InstallationChanged
installation suspend: InstallationChanged
installation unsuspend: InstallationChanged
installation_repositories added: InstallationChanged
installation_repositories removed: InstallationChanged
issue_comment created: -
issue_comment deleted: -
issue_comment edited: -
ping: Pinged
pull_request assigned: -
pull_request closed: PullRequestClosed
pull_request converted_to_draft: -
pull_request labeled: PullRequestLabelled
pull_request locked: -
pull_request opened: -
pull_request ready_for_review: -
pull_request reopened: PullRequestPushed
pull_request review_request_removed: -
pull_request review_requested: -
pull_request synchronize: PullRequestPushed
pull_request unassigned: -
pull_request unlabeled: -
pull_request unlocked: -
pull_request_review_comment created: CommentCreated
pull_request_review_comment deleted: -
pull_request_review_comment edited: -
status: -
workflow_run completed: -
workflow_run completed success: -
workflow_run requested: -
workflow_run requested action_required: -
";

/// The other events in the examples, none of which concerns greenlight.
const NOT_OURS: &str = "branch_protection_rule code_scanning_alert commit_comment create delete dependabot_alert \
deploy_key deployment deployment_review deployment_status discussion discussion_comment fork github_app_authorization \
gollum issues label marketplace_purchase member membership merge_group meta milestone org_block organization package \
page_build project project_card project_column projects_v2_item public pull_request_review pull_request_review_thread \
push release repository repository_dispatch repository_import repository_vulnerability_alert security_advisory \
sponsorship star team team_add watch workflow_dispatch workflow_job";

fn payloads(kind: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/webhooks");
    serde_json::from_slice(&std::fs::read(folder.join(format!("{kind}.json"))).unwrap()).unwrap()
}

/// The first example of an event with this action, for a test to modify.
fn example(kind: &str, action: &str) -> Value {
    payloads(kind)
        .into_iter()
        .find(|payload| payload["action"] == action)
        .unwrap()
}

fn read(kind: &str, payload: &Value) -> Option<Event> {
    parse(kind, payload.to_string().as_bytes()).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn fact(kind: &str, payload: &Value) -> Fact {
    read(kind, payload).expect("an event of ours").fact
}

fn comment(kind: &str, payload: &Value) -> Comment {
    let Fact::CommentCreated(comment) = fact(kind, payload) else {
        panic!("{kind}")
    };
    comment
}

fn failed_checks(kind: &str, payload: &Value) -> FailedChecks {
    let Fact::ChecksFailed(checks) = fact(kind, payload) else {
        panic!("{kind}")
    };
    checks
}

#[test]
fn every_example_payload_is_the_right_event_or_deliberately_not_ours() {
    let mut count = 0;
    let mut outcomes = BTreeMap::new();
    let kinds: BTreeSet<_> = EXPECTED
        .lines()
        .filter_map(|line| line.split([' ', ':']).next())
        .collect();
    for kind in kinds {
        for payload in payloads(kind) {
            count += 1;
            let words = [
                Some(kind),
                payload["action"].as_str(),
                payload[kind]["conclusion"].as_str(),
            ];
            let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let outcome = read(kind, &payload).map_or_else(|| "-".into(), |event| format!("{:?}", event.fact));
            let outcome = outcome.split([' ', '(']).next().unwrap().to_owned();
            let before = outcomes.insert(name.clone(), outcome.clone());
            assert!(before.is_none_or(|before| before == outcome), "{name}");
        }
    }
    let lines = outcomes.iter().map(|(name, outcome)| format!("{name}: {outcome}\n"));
    assert_eq!(lines.collect::<String>(), EXPECTED);
    for kind in NOT_OURS.split(' ') {
        for payload in payloads(kind) {
            count += 1;
            assert_eq!(read(kind, &payload), None, "{kind}");
        }
    }
    assert_eq!(count, 329);
}

#[test]
fn the_examples_become_these_facts() {
    let repository = "Codertocat/Hello-World";
    let pull_request = json!({ "repository": repository, "repository_id": 186_853_002, "number": 2 });
    let head = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
    let by = "Codertocat";
    let pushed = json!({ "pull_request": pull_request, "head": head });
    let labelled = json!({ "pull_request": pull_request, "label": "bug", "by": by, "by_id": 21_031_067, "head": head });
    let body = "Maybe you should use more emoji on this line.";
    let mut comment = json!({ "id": 284312630, "place": "Review", "author": by, "author_is_bot": false, "body": body });
    comment["author_id"] = json!(21_031_067);
    comment["pull_request"] = pull_request;
    comment["head"] = json!(head);
    comment["written"] = json!("2019-05-15T15:20:37Z");
    let source = json!({ "id": 128620228, "name": "Octocoders-linter", "app_slug": "github-actions" });
    let mut failed = json!({ "head_branch": "changes", "head_owner": null, "pull_requests": [2], "head": head });
    failed["repository"] = json!(repository);
    failed["repository_id"] = json!(186_853_002);
    failed["source"] = json!({ "CheckRun": source });
    let mut pressed = json!({ "repository": "electron/electron", "by": "codebytere", "pull_requests": [26764] });
    pressed["head"] = json!("5bd5f196a46b8222fb7484f05faba41a73cf34bd");
    pressed["repository_id"] = json!(9_384_267);
    pressed["by_id"] = json!(2_036_040);
    pressed["identifier"] = json!("lgtm|26764");
    for (kind, action, expected) in [
        ("pull_request", "synchronize", json!({ "PullRequestPushed": pushed })),
        ("pull_request", "labeled", json!({ "PullRequestLabelled": labelled })),
        (
            "pull_request_review_comment",
            "created",
            json!({ "CommentCreated": comment }),
        ),
        ("check_run", "completed", json!({ "ChecksFailed": failed })),
        ("check_run", "requested_action", json!({ "ButtonPressed": pressed })),
    ] {
        let fact = fact(kind, &example(kind, action));
        assert_eq!(serde_json::to_value(fact).unwrap(), expected, "{kind} {action}");
    }
    let added = fact(
        "installation_repositories",
        &example("installation_repositories", "added"),
    );
    let repositories = vec!["Codertocat/Space".parse().unwrap()];
    assert_eq!(
        added,
        Fact::InstallationChanged {
            repositories,
            removed: Vec::new(),
            is_suspended: false,
        }
    );
    let through_app = read("pull_request", &example("pull_request", "synchronize")).unwrap();
    assert_eq!(through_app.installation.map(|id| id.0), Some(1));
}

#[test]
fn another_base_is_news_and_another_title_is_none() {
    let mut payload = example("pull_request", "synchronize");
    payload["action"] = json!("edited");
    // According to GitHub's description of the payload: `changes.base.ref.from` and `changes.base.sha.from`.
    for (changes, is_news) in [
        (
            json!({ "base": { "ref": { "from": "main" }, "sha": { "from": "a".repeat(40) } } }),
            true,
        ),
        (
            json!({ "title": { "from": "Base" }, "body": { "from": "base" } }),
            false,
        ),
        (json!({}), false),
    ] {
        payload["changes"] = changes;
        let event = read("pull_request", &payload);
        let is_retargeted = matches!(event.map(|event| event.fact), Some(Fact::PullRequestRetargeted { .. }));
        assert_eq!(is_retargeted, is_news, "{}", payload["changes"]);
    }
}

fn comment_on_pull_request() -> Value {
    let mut payload = example("issue_comment", "created");
    payload["issue"]["pull_request"] = json!({ "url": "https://api.github.com/repos/Codertocat/Hello-World/pulls/1" });
    payload["comment"]["body"] = json!("/greenlight approve");
    payload
}

#[test]
fn a_comment_commands_when_a_person_wrote_it_under_a_pull_request() {
    let payload = comment_on_pull_request();
    let comment = comment("issue_comment", &payload);
    assert_eq!(
        (comment.place, comment.author_is_bot),
        (CommentPlace::Conversation, false)
    );
    assert_eq!(comment.body, "/greenlight approve");
    for action in ["edited", "deleted", "pinned"] {
        let mut payload = payload.clone();
        payload["action"] = json!(action);
        assert_eq!(read("issue_comment", &payload), None, "{action}");
    }
    let mut on_issue = payload;
    on_issue["issue"]["pull_request"] = Value::Null;
    assert_eq!(read("issue_comment", &on_issue), None);
}

#[test]
fn bots_are_told_apart_from_people() {
    for (pointer, value) in [
        ("/sender/type", json!("Bot")),
        ("/comment/user/type", json!("Bot")),
        ("/comment/user/type", json!("Something new")),
        ("/comment/user/login", json!("dependabot[bot]")),
        ("/comment/performed_via_github_app", json!({ "slug": "an-assistant" })),
    ] {
        let mut payload = comment_on_pull_request();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        payload.pointer_mut(parent).unwrap()[field] = value;
        let comment = comment("issue_comment", &payload);
        assert!(comment.author_is_bot, "{pointer}");
    }
    let mut pressed = example("check_run", "requested_action");
    pressed["sender"]["type"] = json!("Bot");
    assert_eq!(read("check_run", &pressed), None);
}

#[test]
fn red_checks_name_their_pull_requests_or_where_to_look_for_them() {
    for (kind, conclusion, red) in [
        ("workflow_run", "failure", true),
        ("workflow_run", "timed_out", true),
        ("workflow_run", "cancelled", false),
        ("workflow_run", "action_required", false),
        ("workflow_run", "startup_failure", false),
        ("check_suite", "failure", true),
        ("check_suite", "stale", false),
        ("check_run", "timed_out", true),
        ("check_run", "skipped", false),
    ] {
        let mut payload = example(kind, "completed");
        payload[kind]["conclusion"] = json!(conclusion);
        assert_eq!(read(kind, &payload).is_some(), red, "{kind} {conclusion}");
    }

    let mut payload = example("workflow_run", "completed");
    payload["workflow_run"]["conclusion"] = json!("failure");
    payload["workflow_run"]["pull_requests"] = json!([]);
    payload["workflow_run"]["head_branch"] = json!("patch-1");
    payload["workflow_run"]["head_repository"]["owner"]["login"] = json!("a-stranger");
    let fork = failed_checks("workflow_run", &payload);
    assert_eq!(
        (fork.head_owner.as_deref(), fork.head_branch.as_deref()),
        (Some("a-stranger"), Some("patch-1"))
    );
    assert!(fork.pull_requests.is_empty() && matches!(fork.source, CheckSource::WorkflowRun { .. }));

    // A fork's run lists the upstream pull request of its branch, whose number means a different one here.
    let own = payload["repository"]["id"].clone();
    let mentioned = |number: u64, id: Value| json!({ "number": number, "base": { "repo": { "id": id } } });
    payload["workflow_run"]["pull_requests"] = json!([mentioned(7, own), mentioned(8, json!(1)), { "number": 9 }]);
    let checks = failed_checks("workflow_run", &payload);
    assert_eq!(checks.pull_requests, [7, 9]);

    let mut payload = example("check_run", "completed");
    payload["check_run"]["conclusion"] = json!("failure");
    let checks = failed_checks("check_run", &payload);
    assert_eq!(
        (checks.head_branch.as_deref(), &checks.pull_requests[..]),
        (Some("changes"), &[2][..])
    );
}

#[test]
fn a_payload_that_lacks_what_it_says_is_refused_with_the_name_of_the_field() {
    for (kind, action, pointer, value, named) in [
        (
            "pull_request",
            "synchronize",
            "/pull_request/number",
            json!("2"),
            "pull_request.number",
        ),
        (
            "pull_request",
            "synchronize",
            "/pull_request/number",
            json!(-2),
            "pull_request.number",
        ),
        (
            "pull_request",
            "synchronize",
            "/pull_request/head/sha",
            json!("main"),
            "pull_request.head.sha",
        ),
        ("pull_request", "synchronize", "/repository", Value::Null, "repository"),
        ("pull_request", "labeled", "/label", json!({}), "name"),
        ("pull_request", "closed", "/action", json!(1), "action"),
        ("pull_request", "closed", "/action", Value::Null, "action"),
        (
            "issue_comment",
            "created",
            "/repository/full_name",
            json!("../x"),
            "repository.full_name",
        ),
        (
            "issue_comment",
            "created",
            "/repository/full_name",
            json!("a/b/../../user"),
            "repository.full_name",
        ),
        ("issue_comment", "created", "/comment/id", json!(1.5), "comment.id"),
        (
            "pull_request_review_comment",
            "created",
            "/comment/user",
            Value::Null,
            "comment.user",
        ),
        (
            "check_run",
            "requested_action",
            "/requested_action",
            json!({}),
            "identifier",
        ),
        (
            "installation",
            "created",
            "/repositories/0/full_name",
            json!("a b/c"),
            "repositories[0].full_name",
        ),
    ] {
        let mut payload = example(kind, action);
        *payload.pointer_mut(pointer).unwrap() = value;
        let error = parse(kind, payload.to_string().as_bytes()).expect_err(pointer);
        assert!(error.to_string().contains(named), "{pointer}: {error}");
    }
    let mut long = example("pull_request", "closed");
    long["repository"]["full_name"] = json!("x".repeat(100_000));
    let error = parse("pull_request", long.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
}

#[test]
fn what_is_no_payload_is_refused_when_the_event_is_ours_and_passed_over_when_not() {
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{} {}",
        "\u{feff}{}",
        r#"{"action":"closed","action":"x"}"#,
        &deep,
    ] {
        assert!(parse("pull_request", body.as_bytes()).is_err(), "{body:.20}");
        assert_eq!(parse("star", body.as_bytes()), Ok(None), "{body:.20}");
        assert_eq!(parse("../pull_request", body.as_bytes()), Ok(None), "{body:.20}");
    }
    let payload = example("pull_request", "closed").to_string();
    for length in 0..payload.len().min(3_000) {
        assert!(
            parse("pull_request", &payload.as_bytes()[..length]).is_err(),
            "{length}"
        );
    }
    assert!(parse("pull_request", &[&payload.as_bytes()[..9], b"\xff"].concat()).is_err());
}

#[test]
fn no_field_is_needed_that_another_version_of_github_may_lack() {
    let needed = ["action", "repository", "pull_request", "label", "sender"];
    let mut payload = example("pull_request", "labeled");
    payload
        .as_object_mut()
        .unwrap()
        .retain(|key, _| needed.contains(&key.as_str()));
    payload["repository"] = json!({ "full_name": "octo-org/octo-repo" });
    payload["sender"] = json!({ "login": "octocat" });
    payload["pull_request"] = json!({ "number": 1, "head": { "sha": "a".repeat(40) } });
    assert_eq!(read("pull_request", &payload).unwrap().installation, None);
    let run = json!({ "id": 1, "head_sha": "a".repeat(64), "conclusion": "failure" });
    let run = json!({ "action": "completed", "workflow_run": run, "repository": { "full_name": "a/b" } });
    assert!(matches!(fact("workflow_run", &run), Fact::ChecksFailed(_)));
}

#[test]
fn what_every_event_has_may_come_anywhere_and_in_any_spelling() {
    let payload = example("pull_request", "closed");
    let expected = fact("pull_request", &payload);
    let rest = |payload: &Value| {
        let mut rest = payload.as_object().unwrap().clone();
        rest.remove("action");
        rest.remove("installation");
        let text = Value::Object(rest).to_string();
        text[1..text.len() - 1].to_string()
    };
    let installation = r#""installation":{"id":7,"node_id":{"any":["form"]}}"#;
    for body in [
        format!(r#"{{"action":"closed",{installation},{}}}"#, rest(&payload)),
        format!(r#"{{{},{installation},"action":"closed"}}"#, rest(&payload)),
        format!(r#"{{{},"\u0061ction":"clo\u0073ed",{installation}}}"#, rest(&payload)),
    ] {
        let event = parse("pull_request", body.as_bytes()).unwrap().unwrap();
        assert_eq!((&event.fact, event.installation), (&expected, Some(InstallationId(7))));
    }
    let twice = format!(
        r#"{{"action":"closed",{installation},{installation},{}}}"#,
        rest(&payload)
    );
    assert!(parse("pull_request", twice.as_bytes()).is_err());
    // Fields of an action that greenlight ignores may have any form.
    let mut odd = example("pull_request", "locked");
    odd["pull_request"] = json!("none");
    assert_eq!(read("pull_request", &odd), None);
    odd["action"] = json!("closed");
    assert!(parse("pull_request", odd.to_string().as_bytes()).is_err());
}

#[test]
fn a_red_status_is_a_failed_check_and_no_other_is() {
    let mut payload = payloads("status").remove(0);
    for (state, is_red) in [
        ("failure", true),
        ("error", true),
        ("pending", false),
        ("success", false),
        ("new", false),
    ] {
        payload["state"] = json!(state);
        assert_eq!(read("status", &payload).is_some(), is_red, "{state}");
    }
    payload["state"] = json!("error");
    let checks = failed_checks("status", &payload);
    assert_eq!(checks.head.as_str(), "6113728f27ae82c7b1a177c8d03f9e96e0adf246");
    assert!(checks.pull_requests.is_empty() && checks.head_branch.is_none());
}

#[test]
fn rerun_is_pressed_by_people_alone() {
    for kind in ["check_run", "check_suite"] {
        let mut payload = example(kind, "rerequested");
        // In the example of a suite, the sender is an App.
        payload["sender"]["login"] = json!("mia");
        payload["sender"]["type"] = json!("User");
        match fact(kind, &payload) {
            Fact::ButtonPressed { identifier, by, .. } => {
                assert_eq!((identifier.as_str(), by.as_str()), ("rerun", "mia"));
            }
            other => panic!("{other:?}"),
        }
        payload["sender"]["type"] = json!("Bot");
        assert_eq!(read(kind, &payload), None, "{kind}");
    }
}
