//! Real answers from GitHub, read by the real client, with all their peculiarities.
//!
//! `tests/fixtures/recorded` contains small answers with unusual values, each with its source. `just recorded`
//! downloads thousands of others and reads those of every endpoint that greenlight uses.

mod loopback;
mod readers;

use std::collections::BTreeMap;

use greenlight::domain::branch_rule::{self, NewCommit};
use greenlight::domain::id::{Account, PullRequestId};
use greenlight::domain::permission::Permission;
use greenlight::github::{Annotation, CheckOnHead, CheckRun, Error};
use loopback::Loopback;
use readers::{Endpoint, Recorded};
use serde_json::{Value, json};

const ODD: &str = include_str!("../fixtures/recorded/answers.json");

fn odd() -> Vec<Recorded> {
    let all: Vec<Value> = serde_json::from_str(ODD).unwrap();
    let recorded = |one: Value| {
        let (method, path) = one["request"].as_str().unwrap().split_once(' ').unwrap();
        Recorded {
            source: one["source"].as_str().unwrap().into(),
            method: method.into(),
            path: path.into(),
            status: u16::try_from(one["status"].as_u64().unwrap()).unwrap(),
            body: one["body"].to_string(),
        }
    };
    all.into_iter().map(recorded).collect()
}

/// The answer of the fixture whose request ends like this.
fn answer(request: &str, which: usize) -> Value {
    let all: Vec<Value> = serde_json::from_str(ODD).unwrap();
    let fits = |one: &&Value| one["request"] == request;
    all.iter().filter(fits).nth(which).unwrap()["body"].clone()
}

fn id() -> PullRequestId {
    PullRequestId {
        repository: "o/r".parse().unwrap(),
        number: 1,
    }
}

/// Reads everything. Returns what could not be read, and how many bodies of each endpoint could.
async fn read(all: &[Recorded]) -> (Vec<String>, BTreeMap<Endpoint, usize>) {
    let loopback = Loopback::start().await;
    let (mut unread, mut counts) = (Vec::new(), BTreeMap::new());
    for recorded in all {
        let Some(endpoint) = recorded.endpoint() else { continue };
        match readers::read(&loopback, endpoint, &recorded.body).await {
            Ok(()) => *counts.entry(endpoint).or_default() += 1,
            Err(error) => unread.push(format!("{endpoint:?} in {}: {error}", recorded.source)),
        }
    }
    (unread, counts)
}

#[tokio::test]
async fn answers_with_odd_values_are_read() {
    let all = odd();
    let (unread, counts) = read(&all).await;
    assert_eq!(unread, [""; 0]);
    let ours = all.iter().filter(|one| one.endpoint().is_some()).count();
    assert_eq!(counts.values().sum::<usize>(), ours);
    let missing: Vec<_> = Endpoint::ALL.iter().filter(|one| !counts.contains_key(one)).collect();
    assert!(missing.is_empty(), "no recorded answer of {missing:?}");
}

/// Unreadable rules count as no rules, so this test looks at the result.
#[tokio::test]
async fn the_rules_of_a_branch_are_read_as_github_lists_them() {
    let loopback = Loopback::start().await;
    loopback.answers("GET", "", 404, json!({ "message": "Not Found" }));
    let listed = answer("GET /repos/o/r/rules/branches/b", 0);
    loopback.answers("GET", "/rules/branches/b", 200, listed);
    let rules = loopback
        .client()
        .await
        .branch_rules(&id().repository, "b")
        .await
        .unwrap();
    let commit = NewCommit {
        message: "Give change",
        is_signed: true,
    };
    let expected = "The commit message must start with: issue (a rule of o/r)\nCannot update this protected ref.";
    assert_eq!(branch_rule::refusal(&rules, &commit).as_deref(), Some(expected));
}

/// Only `just recorded` has the others. Answers that cannot be read predate the format that GitHub documents today.
#[tokio::test]
async fn recorded_answers_of_every_endpoint_are_read() {
    let mut all = odd();
    if let Some(file) = std::env::var_os("GREENLIGHT_TEST_RECORDED") {
        let text = std::fs::read_to_string(&file).unwrap();
        all.extend(text.lines().map(|line| serde_json::from_str::<Recorded>(line).unwrap()));
        assert!(all.len() > 3_000, "{} answers in {}", all.len(), file.display());
    }
    all.retain(Recorded::is_of_today);
    let (unread, counts) = read(&all).await;
    assert_eq!(unread, [""; 0], "{counts:#?}");
    assert!(counts.values().sum::<usize>() >= all.iter().filter(|one| one.endpoint().is_some()).count());
}

#[tokio::test]
async fn an_author_who_is_gone_and_a_fork_that_is_gone_are_taken_as_that() {
    let loopback = Loopback::start().await;
    loopback.answers("GET", "/pulls/1", 200, answer("GET /repos/o/r/pulls/1", 0));
    let pull_request = loopback.client().await.pull_request(&id()).await.unwrap();
    assert_eq!(pull_request.author, Account::new("ghost"));
    assert_eq!(pull_request.head_repository, None);
    assert!(pull_request.is_from_fork());
}

#[tokio::test]
async fn maintain_is_write_access_and_triage_is_not() {
    for (level, granted) in [
        ("maintain", Permission::Write),
        ("triage", Permission::Read),
        ("unheard-of", Permission::None),
    ] {
        let loopback = Loopback::start().await;
        let mut body = answer("GET /repos/o/r/collaborators/mia/permission", 0);
        body["permission"] = json!(level);
        loopback.answers("GET", "/permission", 200, body);
        let client = loopback.client().await;
        let permission = client.permission(&id().repository, &Account::new("mia")).await.unwrap();
        assert_eq!(permission, granted);
    }
}

#[tokio::test]
async fn an_outdated_comment_has_no_lines_and_still_those_of_its_commit() {
    let loopback = Loopback::start().await;
    loopback.answers(
        "GET",
        "/pulls/1/comments",
        200,
        answer("GET /repos/o/r/pulls/1/comments", 0),
    );
    let client = loopback.client().await;
    let found = client
        .suggestions(&id(), &Account::new("greenlight[bot]"))
        .await
        .unwrap();
    let [outdated] = found.as_slice() else {
        panic!("{found:#?}")
    };
    assert_eq!((outdated.lines, outdated.original_lines), (None, (3, 4)));
}

#[tokio::test]
async fn a_check_run_of_another_origin_is_not_taken_for_ours() {
    let loopback = Loopback::start().await;
    let head = "b".repeat(40);
    let list = answer(
        "GET /repos/o/r/commits/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/check-runs",
        0,
    );
    loopback.answers("GET", "/check-runs", 200, list);
    loopback.answers("POST", "/check-runs", 201, answer("POST /repos/o/r/check-runs", 0));
    let check = CheckRun {
        head: head.parse().unwrap(),
        conclusion: None,
        title: "t".into(),
        summary: "s".into(),
        annotations: Vec::<Annotation>::new(),
        buttons: Vec::new(),
    };
    let client = loopback.client().await;
    let made = client
        .check(&id().repository, &check, &mut CheckOnHead::default())
        .await
        .unwrap();
    assert_eq!(made, 34_942_661_139);
}

/// The recorded bodies with status 422, and the sentences made from them.
#[tokio::test]
async fn every_form_of_a_validation_error_is_told_in_words() {
    let told = [
        "Validation Failed; title of Issue is missing (missing_field)",
        "Validation Failed; color of Label is invalid",
        "Validation Failed; tag_name of Release is taken (already_exists)",
        "Validation Failed; head of PullRequest is refused (custom): A pull request already exists for octocat:main.",
        "Validation Failed; data of IssueComment cannot be processed (unprocessable): Body is too long",
        "Validation Failed; Only organization repositories can have users and team restrictions",
        "Unprocessable Entity; Pull request review thread line must be part of the diff",
        "Reference does not exist",
        "Validation Failed; No commits between main and main",
    ];
    let forms: Vec<Recorded> = odd().into_iter().filter(|one| one.status == 422).collect();
    assert_eq!(forms.len(), told.len());
    for (form, told) in forms.iter().zip(told) {
        let loopback = Loopback::start().await;
        loopback.answers("GET", "/pulls/1", 422, serde_json::from_str(&form.body).unwrap());
        let refused = loopback.client().await.pull_request(&id()).await.unwrap_err();
        let Error::Refused { message, .. } = refused else {
            panic!("{refused}")
        };
        assert_eq!(message, told, "{}", form.source);
    }
}

/// A page past the last one has no files, and contains everything that is needed.
#[tokio::test]
async fn the_merge_base_is_read_from_a_page_without_files() {
    let loopback = Loopback::start().await;
    let basehead = format!("{}...{}", "a".repeat(40), "b".repeat(40));
    let page = answer(&format!("GET /repos/o/r/compare/{basehead}"), 0);
    loopback.answers("GET", &format!("/compare/{basehead}"), 200, page);
    let (base, head) = ("a".repeat(40).parse().unwrap(), "b".repeat(40).parse().unwrap());
    let client = loopback.client().await;
    let found = client.merge_base(&id().repository, &base, &head).await.unwrap();
    assert_eq!(found.unwrap().as_str(), "c".repeat(40));
}
