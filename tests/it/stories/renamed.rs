//! Repositories that change their name or owner: none of their data is lost, and anyone who takes the old name gets
//! none of it.

use github_double::{AUTHOR, Fault, MAINTAINER};
use greenlight::config::allow_list::AllowList;
use greenlight::domain::id::{Account, InstallationId};
use greenlight::github::{Credentials, GitHub};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, Scene, Story};

/// The repository of the story.
const HOME: u64 = 1;
/// Creates repositories under names that others had.
const EVE: &str = "eve";

fn fixes() -> [Turn; 2] {
    let edit = json!({ "path": "fare.py", "old": "paid + fare(stops)", "new": "paid - fare(stops)" });
    [
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ]
}

/// A tested fix that waits for an approval, and the command that gives it.
async fn waiting() -> (Story, String) {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let gate = story.run().await.open_gates()[0].id.to_string();
    (story, format!("/greenlight approve {gate}"))
}

/// Sends a request to the API with somebody's own token.
async fn get(story: &Story, path: &str, login: &str) -> (u16, Value) {
    let url = format!("{}/api/v1{path}", story.process().url);
    let token = story.double.user_token(login);
    let request = crate::harness::http()
        .build()
        .unwrap()
        .request(Method::GET, url)
        .bearer_auth(token);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

/// The runs listed for a repository: the id of each run, and the repository's name in it.
async fn listed(story: &Story, repository: &str, login: &str) -> Vec<(String, String)> {
    let (status, answer) = get(story, &format!("/runs?repository={repository}"), login).await;
    assert_eq!(status, 200, "{answer}");
    let runs = answer["runs"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    runs.map(|run| (text(&run["id"]), text(&run["repository"]))).collect()
}

#[tokio::test]
async fn an_approval_after_a_rename_lands_on_the_renamed_repository() {
    let (story, approve) = waiting().await;
    let run = story.run().await.id().to_string();
    story.double.rename_repository(HOME, "acme/track").unwrap();
    for name in ["acme/track", "acme/rail"] {
        assert_eq!(
            listed(&story, name, AUTHOR).await,
            [(run.clone(), "acme/track".to_string())],
            "{name}"
        );
    }
    story.maintainer_says("/greenlight status").await;
    assert!(story.answer().contains(&approve), "{}", story.answer());
    story.maintainer_says(&approve).await;
    story.has_landed();
    assert_eq!(story.runs().await.len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn the_same_cause_begins_one_run_whatever_the_repository_is_called() {
    let story = Story::new().await;
    story.ci_fails().await;
    story.maintainer_says("/greenlight fix").await;
    let runs = |runs: Vec<greenlight::domain::run::Run>| runs.iter().map(|run| run.id().clone()).collect::<Vec<_>>();
    let before = runs(story.runs().await);
    story.double.rename_repository(HOME, "acme/track").unwrap();
    // Under the old name, as first delivered, and under the new one.
    for event in ["workflow_run", "issue_comment"] {
        let mut again = story.double.last_delivery(event).unwrap();
        story.double.deliver_again(&again).await;
        again.id = format!("another-{event}");
        story.double.deliver_again(&again).await;
        again.id = format!("renamed-{event}");
        again.payload["repository"]["full_name"] = json!("acme/track");
        story.double.deliver_again(&again).await;
    }
    story.settle().await;
    assert_eq!(runs(story.runs().await), before);
    assert_eq!(story.comments().len(), 1, "{:?}", story.answers());
    story.finish().await;
}

#[tokio::test]
async fn an_approval_after_a_transfer_goes_through_the_new_owners_installation() {
    let (story, approve) = waiting().await;
    let before = story.run().await.started.installation.unwrap();
    story.double.rename_repository(HOME, "umbrella/rail").unwrap();
    story.maintainer_says(&approve).await;
    story.has_landed();
    let InstallationId(now) = story.run().await.started.installation.unwrap();
    let told = story.double.last_delivery("issue_comment").unwrap();
    assert_eq!(told.payload["installation"]["id"], now);
    assert_ne!(InstallationId(now), before);
    story.finish().await;
}

#[tokio::test]
async fn a_repository_that_leaves_the_allow_list_is_left_alone() {
    let list = AllowList::parse("acme/*").unwrap();
    let mut story = Scene::default().allow_list(list).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let before = story.sticky();
    story.kill().await;
    story.days_pass().await;
    story.double.rename_repository(HOME, "umbrella/rail").unwrap();
    story.start().await;
    story.settle().await;
    assert_eq!(story.sticky(), before);
    story.finish().await;
}

#[tokio::test]
async fn a_gate_expires_where_the_repository_is_by_then_though_nobody_told() {
    let (mut story, _) = waiting().await;
    story.kill().await;
    story.days_pass().await;
    story.double.rename_repository(HOME, "umbrella/tube").unwrap();
    let strangers = story.double.copy_repository("acme/rail", EVE).unwrap();
    story.start().await;
    story.settle().await;
    assert!(story.sticky().contains("Expired"), "{}", story.sticky());
    assert_eq!(story.double.said_in(strangers, story.number), [""; 0]);
    story.finish().await;
}

#[tokio::test]
async fn what_a_repository_taught_survives_a_rename_and_is_nobody_elses() {
    // The model has turns for one fix only; if it is asked for another, the story fails.
    let story = Scene::default().model(fixes()).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.double.rename_repository(HOME, "acme/track").unwrap();
    let strangers = story.double.copy_repository("acme/rail", EVE).unwrap();
    let broken = format!("{CHANGE}\n\ndef free():\n    return 0\n");
    let changes = [("fare.py", Some(broken.as_bytes()))];
    story.double.push(story.number, AUTHOR, &changes).await.unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight fix").await;
    let reviews = story.double.reviews(story.number);
    let review = &reviews.last().unwrap().body;
    assert!(review.contains("accepted before for the same failure"), "{review}");

    story
        .double
        .comment_in(strangers, story.number, EVE, "/greenlight status")
        .await;
    story.settle().await;
    let said = story.double.said_in(strangers, story.number).join("\n");
    assert!(!said.is_empty() && !said.contains("What I remember"), "{said}");
    story.finish().await;
}

#[tokio::test]
async fn whoever_takes_the_old_name_sees_nothing_and_lands_nothing() {
    let (story, approve) = waiting().await;
    let run = story.run().await.id().to_string();
    story.double.rename_repository(HOME, "acme/track").unwrap();
    let strangers = story.double.copy_repository("acme/rail", EVE).unwrap();
    let head = story.double.head_in(strangers, story.number);
    // The same number, the same commit, the old name, and all permissions there.
    for command in [
        approve.as_str(),
        "/greenlight approve",
        "/greenlight status",
        "/greenlight cancel",
    ] {
        story.double.comment_in(strangers, story.number, EVE, command).await;
        story.settle().await;
    }
    let said = story.double.said_in(strangers, story.number).join("\n");
    assert!(said.contains("There is no open request"), "{said}");
    assert!(!said.contains("fare(stops)"), "{said}");
    assert_eq!(story.double.head_in(strangers, story.number), head);
    story.has_not_landed();
    assert!(story.run().await.end.is_none());

    assert_eq!(listed(&story, "acme/rail", EVE).await, []);
    assert_eq!(listed(&story, "acme/track", MAINTAINER).await.len(), 1);
    story.maintainer_says(&approve).await;
    story.has_landed();
    assert_eq!(story.double.head_in(strangers, story.number), head);
    assert_eq!(get(&story, &format!("/runs/{run}"), MAINTAINER).await.0, 200);
    story.finish().await;
}

#[tokio::test]
async fn a_private_run_is_not_shown_to_whoever_takes_the_old_name() {
    let story = Scene::default().private().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await.id().to_string();
    story.double.rename_repository(HOME, "acme/track").unwrap();
    story.double.copy_repository("acme/rail", EVE).unwrap();
    // greenlight was not told of the rename: under the name it knows, Eve may read everything.
    assert_eq!(get(&story, &format!("/runs/{run}"), EVE).await.0, 404);
    assert_eq!(get(&story, &format!("/runs/{run}"), MAINTAINER).await.0, 200);
    story.finish().await;
}

#[tokio::test]
async fn repositories_that_swap_names_keep_what_is_theirs() {
    let (story, approve) = waiting().await;
    let other = story.double.copy_repository("acme/spare", EVE).unwrap();
    story
        .double
        .comment_in(other, story.number, EVE, "/greenlight fix")
        .await;
    story.settle().await;
    for (id, name) in [(HOME, "acme/between"), (other, "acme/rail"), (HOME, "acme/spare")] {
        story.double.rename_repository(id, name).unwrap();
    }
    let head = story.double.head_in(other, story.number);
    story.maintainer_says(&approve).await;
    story.has_landed();
    assert_eq!(story.double.head_in(other, story.number), head);
    story
        .double
        .comment_in(other, story.number, EVE, "/greenlight approve")
        .await;
    story.settle().await;
    assert_ne!(story.double.head_in(other, story.number), head);
    story.has_commits(2);
    story.finish().await;
}

#[tokio::test]
async fn a_journal_of_names_finds_its_repository_after_a_rename() {
    let (mut story, approve) = waiting().await;
    let run = story.run().await.id().clone();
    story.kill().await;
    story.knows_only_names().await;
    story.double.rename_repository(HOME, "acme/track").unwrap();
    story.start().await;
    story.settle().await;
    assert_eq!(story.run().await.id(), &run);
    // Deliveries that were processed before are not processed again.
    let fix = story.double.last_delivery("issue_comment").unwrap();
    story.double.deliver_again(&fix).await;
    story.settle().await;
    assert_eq!(story.runs().await.len(), 1);
    story.maintainer_says(&approve).await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_journal_of_names_is_not_for_a_repository_that_is_younger() {
    let (mut story, approve) = waiting().await;
    story.kill().await;
    story.knows_only_names().await;
    story.double.rename_repository(HOME, "acme/track").unwrap();
    let strangers = story.double.copy_repository("acme/rail", EVE).unwrap();
    story.start().await;
    story.double.comment_in(strangers, story.number, EVE, &approve).await;
    story.settle().await;
    let said = story.double.said_in(strangers, story.number).join("\n");
    assert!(said.contains("There is no open request"), "{said}");
    assert_eq!(listed(&story, "acme/rail", EVE).await, []);
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn what_is_sent_to_an_old_name_is_done_once_under_the_new_one() {
    let story = Story::new().await;
    let old = story.id();
    story.double.rename_repository(HOME, "acme/track").unwrap();
    let credentials = Credentials::Token(story.double.token().into());
    let github = GitHub::new(&story.double.url().parse().unwrap(), credentials).unwrap();
    let client = github.client(None, &old.repository).await.unwrap();
    let me = Account::new(story.double.bot());
    let marker = "<!-- greenlight:answer c to=#1/7 -->";
    let first = client
        .comment_once(&old, &me, marker, &format!("{marker}\nOnce."))
        .await
        .unwrap();
    let second = client
        .comment_once(&old, &me, marker, &format!("{marker}\nOnce."))
        .await
        .unwrap();
    assert_eq!(first, second);
    let edited = client
        .stick(&old, (&me, &[]), (marker, &format!("{marker}\nEdited.")), &mut None)
        .await
        .unwrap();
    assert_eq!(edited, first);
    let bodies: Vec<_> = story.comments().into_iter().map(|comment| comment.body).collect();
    assert_eq!(bodies, [format!("{marker}\nEdited.")]);
    assert_eq!(
        client.pull_request(&old).await.unwrap().id.repository.name.to_string(),
        "acme/track"
    );
    story.finish().await;
}

#[tokio::test]
async fn a_redirect_to_another_host_is_refused_and_gets_nothing() {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let elsewhere = format!("http://{}/repos/acme/rail", trap.local_addr().unwrap());
    let elsewhere: &'static str = Box::leak(elsewhere.into_boxed_str());
    let story = Story::new().await;
    let credentials = Credentials::Token(story.double.token().into());
    let github = GitHub::new(&story.double.url().parse().unwrap(), credentials).unwrap();
    let client = github.client(None, &story.id().repository).await.unwrap();
    let me = Account::new(story.double.bot());

    story
        .double
        .plan_fault("GET", "/pulls/1", Fault::SendElsewhere(elsewhere));
    let read = client.pull_request(&story.id()).await.unwrap_err();
    assert!(read.to_string().contains("is not this API"), "{read}");
    story
        .double
        .plan_fault("POST", "/comments", Fault::SendElsewhere(elsewhere));
    let written = client
        .comment_once(&story.id(), &me, "<!-- m -->", "<!-- m -->")
        .await
        .unwrap_err();
    assert!(written.to_string().contains("is not this API"), "{written}");
    assert_eq!(story.comments().len(), 0);
    let asked = trap.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(asked, Err(std::io::ErrorKind::WouldBlock));
    story.finish().await;
}
