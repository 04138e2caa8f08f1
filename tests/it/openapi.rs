//! GitHub's own examples conform to its description, and planted mistakes are found.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::harness::openapi::{Exchange, Validator};

const EXAMPLES: &str = include_str!("../fixtures/openapi/examples.json");

/// Known places where GitHub's examples deviate from its description.
const KNOWN_DEVIATIONS: &str = r#"GET /repos/{owner}/{repo} response: "language" is a required property
GET /repos/{owner}/{repo} response/source: "language" is a required property
GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs response/jobs/0: "created_at" is a required property
GET /repos/{owner}/{repo}/activity response/0: "timestamp" is a required property
GET /repos/{owner}/{repo}/activity response/0: "activity_type" is a required property
GET /repos/{owner}/{repo}/activity response/0: "actor" is a required property
GET /repos/{owner}/{repo}/collaborators/{username}/permission response/user: "role_name" is a required property
GET /repos/{owner}/{repo}/pulls response/0/requested_teams/0: "type" is a required property
GET /repos/{owner}/{repo}/pulls/{pull_number} response/requested_teams/0: "type" is a required property
POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs response: value is not of type "object"
"#;

const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

#[track_caller]
fn check(exchange: &Exchange<'_>, expected: &[&str]) {
    let path = exchange.path.replace('…', "/repos/octo-org/octo-repo");
    let violations = Validator::load().check(&Exchange {
        path: &path,
        ..*exchange
    });
    let violations: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(violations.len(), expected.len(), "{exchange:?}: {violations:#?}");
    for (violation, expected) in violations.iter().zip(expected) {
        assert!(violation.contains(expected), "{exchange:?}: {violations:#?}");
    }
}

/// A request that GitHub rejected, which is possible for any request.
fn request<'a>(method: &'a str, path: &'a str, request_body: Option<&'a Value>) -> Exchange<'a> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    Exchange {
        method,
        path,
        query,
        request_body,
        status: 403,
        response_body: None,
    }
}

fn path_for(template: &str) -> String {
    let segments = template.split('/').map(|segment| match segment {
        "{path}" => "src/lib.rs",
        "{ref}" => "heads/main",
        "{basehead}" => "main...octocat:patch-1",
        id if id.ends_with("_id}") || id.ends_with("_number}") => "1",
        name if name.starts_with('{') => "octocat",
        literal => literal,
    });
    segments.collect::<Vec<_>>().join("/")
}

#[test]
fn githubs_own_examples_keep_to_its_description() {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
    let mut deviations = String::new();
    for (operation, examples) in examples.as_object().unwrap() {
        let (method, template) = operation.split_once(' ').unwrap();
        let path = path_for(template);
        let requests = examples["requests"].as_array().unwrap().iter();
        let mut exchanges: Vec<_> = requests.map(|body| request(method, &path, Some(body))).collect();
        for (status, bodies) in examples["responses"].as_object().unwrap() {
            let status = status.parse().unwrap();
            let bodies = bodies.as_array().unwrap().iter();
            let answered = Exchange {
                request_body: examples["requests"].get(0),
                ..request(method, &path, None)
            };
            exchanges.extend(bodies.map(|body| Exchange {
                status,
                response_body: Some(body),
                ..answered
            }));
        }
        for violation in exchanges.iter().flat_map(|exchange| Validator::load().check(exchange)) {
            writeln!(deviations, "{violation}").unwrap();
        }
    }
    assert_eq!(deviations, KNOWN_DEVIATIONS);
}

#[test]
fn a_route_is_known_or_it_is_said() {
    for (method, path) in [
        ("GET", "/app"),
        ("GET", "…/pulls?state=open&head=octocat%3Apatch-1&per_page=100&page=2"),
        ("DELETE", "…/pulls/comments/1"),
        ("GET", "…/contents/a/b%20c/d%23.rs?ref=main"),
        ("GET", "…/compare/main...octocat:feature/x"),
        ("GET", "…/commits/feature/x/check-runs?filter=latest"),
        ("GET", "…/git/ref/heads%2Ffeature%2Fx"),
        ("GET", "…/git/matching-refs/greenlight/"),
    ] {
        check(&request(method, path, None), &[]);
    }
    for (method, path, expected) in [
        ("GET", "/apps", "no such operation"),
        ("PUT", "…/pulls/1/merge", "no such operation"),
        ("DELETE", "…", "no such operation"),
        ("GET", "…/", "no such operation"),
        ("GET", "…/pulls/", "no such operation"),
        ("GET", "…/pulls/1/", "no such operation"),
        ("get", "/app", "no such operation"),
        ("GET", "app", "no such operation"),
        ("GET", "…/pulls/one", "path: pull_number"),
        ("GET", "…/actions/runs/1.5", "path: run_id"),
        ("GET", "…/pulls?state=opened", "query: state"),
        ("GET", "…/pulls?per_page=many", "query: per_page"),
        ("GET", "…/pulls?perpage=1", "query: unknown parameter \"perpage\""),
        ("GET", "/user?page=1", "query: unknown parameter \"page\""),
    ] {
        check(&request(method, path, None), &[expected]);
    }
}

/// Posts a valid body, and then one with each mistake: this pointer, key and value.
#[track_caller]
fn check_mistakes(path: &str, good: &Value, mistakes: &[(&str, &str, Value, &str)]) {
    check(&request("POST", path, Some(good)), &[]);
    for (pointer, key, value, expected) in mistakes {
        let mut body = good.clone();
        body.pointer_mut(pointer).unwrap()[key] = value.clone();
        check(&request("POST", path, Some(&body)), &[expected]);
    }
}

#[test]
fn a_review_keeps_to_the_description() {
    let comment =
        json!({ "path": "a.rs", "start_line": 1, "start_side": "RIGHT", "line": 2, "side": "RIGHT", "body": "x" });
    let review = json!({ "commit_id": SHA, "event": "COMMENT", "body": "x", "comments": [comment] });
    let mistakes = [
        ("", "event", json!("COMENT"), "request/event: "),
        ("", "commit_sha", json!(SHA), "request: unknown key \"commit_sha\""),
        ("", "comments", json!({}), "request/comments: "),
        ("/comments/0", "line", json!("2"), "request/comments/0/line: "),
        (
            "/comments/0",
            "startLine",
            json!(1),
            "request/comments/0: unknown key \"startLine\"",
        ),
    ];
    check_mistakes("…/pulls/1/reviews", &review, &mistakes);
}

#[test]
fn a_check_run_keeps_to_the_description() {
    let action = json!({ "label": "Approve", "description": "Land it", "identifier": "approve" });
    let output = json!({ "title": "x", "summary": "x" });
    let mut check_run = json!({ "name": "greenlight", "head_sha": SHA, "status": "in_progress", "output": output });
    check_run["actions"] = json!([action]);
    let mistakes = [
        ("", "conclusion", json!("green"), "request/conclusion: "),
        (
            "",
            "actions",
            json!([action, action, action, action]),
            "request/actions: ",
        ),
        (
            "/actions/0",
            "label",
            json!("x".repeat(21)),
            "request/actions/0/label: ",
        ),
        (
            "/output",
            "images",
            json!([{ "alt": "x" }]),
            "request/output/images/0: ",
        ),
    ];
    check_mistakes("…/check-runs", &check_run, &mistakes);
    let without_head = json!({ "name": "x" });
    check(
        &request("POST", "…/check-runs", Some(&without_head)),
        &["\"head_sha\" is a required property"],
    );
}

#[test]
fn other_bodies_keep_to_the_description() {
    let token = json!({ "repositories": ["octo-repo"], "permissions": { "contents": "write", "checks": "write" } });
    let mistakes = [
        (
            "/permissions",
            "contents",
            json!("admin"),
            "request/permissions/contents: ",
        ),
        (
            "/permissions",
            "everything",
            json!("read"),
            "request/permissions: unknown key",
        ),
    ];
    check_mistakes("/app/installations/1/access_tokens", &token, &mistakes);
    let empty = json!({});
    check(&request("POST", "…/issues/1/comments", None), &["request: no body"]);
    check(
        &request("POST", "…/issues/1/comments", Some(&empty)),
        &["\"body\" is a required property"],
    );
    check(
        &request("DELETE", "…/git/refs/heads/x", Some(&empty)),
        &["request: a body where none is described"],
    );
}

#[test]
fn what_is_answered_keeps_to_the_description() {
    let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
    let example = |operation: &str, status: &str| examples[operation]["responses"][status][0].clone();
    let reference = example("GET /repos/{owner}/{repo}/git/ref/{ref}", "200");
    let get_reference = request("GET", "…/git/ref/heads/main", None);
    let mut broken = reference.clone();
    broken["object"]["sha"] = json!(1);
    broken.as_object_mut().unwrap().remove("ref");
    let (error, bare) = (json!({ "message": "Not Found" }), json!("Not Found"));
    for (status, body, expected) in [
        (200, Some(&reference), &[][..]),
        (
            200,
            Some(&broken),
            &["\"ref\" is a required property", "response/object/sha: "],
        ),
        (200, Some(&error), &["required", "required", "required", "required"]),
        (201, Some(&reference), &["status: 201 is not described"]),
        (304, None, &[]),
        (404, Some(&error), &[]),
        (404, Some(&bare), &["response: "]),
        (502, None, &[]),
    ] {
        check(
            &Exchange {
                status,
                response_body: body,
                ..get_reference
            },
            expected,
        );
    }
    let delete = request("DELETE", "…/issues/comments/1", None);
    check(&Exchange { status: 204, ..delete }, &[]);
    check(
        &Exchange {
            status: 204,
            response_body: Some(&error),
            ..delete
        },
        &["a body where none is described"],
    );
    check(&Exchange { status: 200, ..delete }, &["status: 200 is not described"]);
    let logs = request("GET", "…/actions/jobs/1/logs", None);
    check(&Exchange { status: 302, ..logs }, &[]);

    let mut file = example("GET /repos/{owner}/{repo}/contents/{path}", "200");
    let contents = Exchange {
        status: 200,
        ..request("GET", "…/contents/README.md", None)
    };
    check(
        &Exchange {
            response_body: Some(&file),
            ..contents
        },
        &[],
    );
    file["encoding"] = json!(64);
    check(
        &Exchange {
            response_body: Some(&file),
            ..contents
        },
        &["response"],
    );
}
