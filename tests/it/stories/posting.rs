//! How suggestions and annotations are posted: in parts, once, and as a patch if GitHub rejects them.

use github_double::{AUTHOR, Double, Fault, MAINTAINER, NewPullRequest, ReviewView, World};
use greenlight::domain::id::{Account, PullRequestId};
use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::domain::reply::Source;
use greenlight::engine::{Broken, suggest};
use greenlight::github::{Annotation, CheckOnHead, CheckRun, Classifier, Client, Credentials, GitHub};
use serde_json::json;

use super::lifecycle::{all, is_hiding, only, push};
use crate::harness::model::calls;
use crate::harness::story::{CHANGE, FIXED, Scene, Story};

/// How many lines of the long module are wrong.
const WRONG: usize = 36;

fn long_module(value: usize) -> String {
    (0..WRONG)
        .map(|at| format!("x{at} = {value}\n# The next one.\n"))
        .collect()
}

/// A pull request in which every second line is wrong, and a model that knows that.
fn long_scene() -> Scene {
    let test = format!(
        "import unittest\n\nimport fare\n\n\nclass Fares(unittest.TestCase):\n    def test_all(self):\n        \
         self.assertEqual([getattr(fare, f\"x{{at}}\") for at in range({WRONG})], [1] * {WRONG})\n"
    );
    let turns = [
        calls("write_file", json!({ "path": "fare.py", "text": long_module(1) })),
        calls("submit", json!({ "summary": "Every one is one." })),
    ];
    Scene::of(
        &[("README", "A rail.\n")],
        &[("fare.py", &long_module(0)), ("test_fare.py", &test)],
    )
    .model(turns)
}

#[track_caller]
fn has_two_reviews_with_everything(story: &Story) {
    let reviews = story.double.reviews(story.number);
    let counts: Vec<usize> = reviews.iter().map(|review| review.comments.len()).collect();
    assert_eq!(counts, [30, WRONG - 30]);
    assert!(reviews[0].body.contains("Every one is one."), "{}", reviews[0].body);
    let second = reviews[1].body.split_once('\n').unwrap();
    assert!(second.0.ends_with(" part=2/2 -->"), "{second:?}");
    assert_eq!(second.1, "Suggestions, part 2 of 2.");
}

#[tokio::test]
async fn more_than_thirty_suggestions_come_in_several_reviews() {
    let story = long_scene().begin().await;
    story.maintainer_says("/greenlight fix").await;
    has_two_reviews_with_everything(&story);
    let ids: Vec<u64> = all(&story).iter().map(|comment| comment.id).collect();
    story.double.commit_suggestions(&ids, AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), long_module(1));
    assert!(
        story.sticky().contains("**All 36 suggestions were committed:**"),
        "{}",
        story.sticky()
    );
    story.finish().await;
}

#[tokio::test]
async fn killed_between_the_parts_none_is_repeated() {
    let mut story = long_scene().begin().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.settle_through(&gateway).await;
    has_two_reviews_with_everything(&story);
    story.finish().await;
}

/// The review, which has no suggestions and says that GitHub rejected them.
#[track_caller]
fn all_in_a_patch(story: &Story) -> ReviewView {
    let review = story.review();
    assert_eq!(review.comments, []);
    assert!(
        review.body.contains("GitHub rejected the suggestions"),
        "{}",
        review.body
    );
    review
}

#[tokio::test]
async fn suggestions_that_github_refuses_come_as_a_patch() {
    let story = Story::new().await;
    story.double.plan_fault("POST", "/reviews", Fault::LineNotInDiff);
    story.maintainer_says("/greenlight fix").await;
    let review = all_in_a_patch(&story);
    assert!(
        review.body.contains("+    return paid - fare(stops)"),
        "{}",
        review.body
    );
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn when_github_refuses_a_later_part_all_of_it_comes_as_a_patch() {
    let story = long_scene().begin().await;
    // The first part is posted although the answer fails; the second one is rejected.
    for fault in [Fault::BadGatewayAfter, Fault::LineNotInDiff] {
        story.double.plan_fault("POST", "/reviews", fault);
    }
    story.maintainer_says("/greenlight fix").await;
    all_in_a_patch(&story);
    story.finish().await;
}

/// greenlight's client for the double, as its App.
async fn client(double: &Double) -> Client {
    let app = double.app_credentials();
    let (id, key_pem) = (app.app_id, app.private_key.into());
    let github = GitHub::new(&double.url().parse().unwrap(), Credentials::App { id, key_pem }).unwrap();
    let repository = double.repository().parse().unwrap();
    github.client(None, &repository).await.unwrap()
}

#[tokio::test]
async fn more_than_fifty_annotations_come_in_several_requests_and_none_twice() {
    for (failures, shown) in [(70, 70), (50, 50), (170, 150), (0, 0)] {
        let story = Story::new().await;
        let client = client(&story.double).await;
        let annotation = |line| Annotation {
            path: "fare.py".into(),
            line,
            message: "fails".into(),
        };
        let check = CheckRun {
            head: story.head().parse().unwrap(),
            conclusion: None,
            title: "t".into(),
            summary: "s".into(),
            annotations: (1..=failures).map(annotation).collect(),
            buttons: Vec::new(),
        };
        if failures > 50 {
            story.double.plan_fault("PATCH", "/check-runs/", Fault::BadGatewayAfter);
        }
        let repository = story.double.repository().parse().unwrap();
        for _ in 0..3 {
            client
                .check(&repository, &check, &mut CheckOnHead::default())
                .await
                .unwrap();
            let annotations = story.check().annotations;
            let lines = annotations.iter().map(|one| one["start_line"].as_u64().unwrap());
            assert!(lines.eq(1..=shown), "{annotations:?}");
        }
        story.finish().await;
    }
}

fn said(summary: &str) -> suggest::Words {
    suggest::Words {
        source: Source::Given("patch".parse().unwrap()),
        summary: summary.into(),
    }
}

/// The correct patch for the default scene.
fn fix() -> Patch {
    let change = FileChange {
        before: Some(Blob::regular(CHANGE)),
        after: Some(Blob::regular(FIXED)),
    };
    Patch::new([("fare.py".parse().unwrap(), change)])
}

#[tokio::test]
async fn a_patch_without_a_run_is_posted_once_and_settled_like_any_other() {
    let story = Story::new().await;
    let client = client(&story.double).await;
    let me = Account::new(story.double.bot());
    let pull_request = client.pull_request(&story.id()).await.unwrap();
    for _ in 0..2 {
        let posted = suggest::post(&client, &me, &pull_request, &fix(), &said("From @ada's formatter.")).await;
        assert_eq!(posted.unwrap().cut.suggestions.len(), 1);
    }
    let review = story.review();
    insta::assert_snapshot!(story.whole_review(), @"
    <!-- greenlight:review head=[commit] by=patch -->

    From @⁠ada's formatter. (**not executed** by greenlight: it was given this patch)

    <sub>Patch `[digest]`.</sub>

    --- fare.py:6-6
    ```suggestion
        return paid - fare(stops)
    ```
    <!-- greenlight:suggestion id=[digest] by=patch -->
    ");
    assert!(
        review.body.contains("**not executed** by greenlight"),
        "{}",
        review.body
    );
    assert!(
        !review.body.contains("@ada") && !review.body.contains("approve"),
        "{}",
        review.body
    );
    push(&story, "note.md", "1\n").await;
    assert!(only(&story).body.contains("<sub>Made for"), "{}", only(&story).body);
    let late = suggest::post(&client, &me, &pull_request, &fix(), &said("")).await;
    assert!(matches!(late, Err(Broken::HeadMoved { .. })), "{late:?}");
    push(&story, "fare.py", FIXED).await;
    push(&story, "note.md", "2\n").await;
    assert_eq!(only(&story).minimized.as_deref(), Some("RESOLVED"));
    let hidings = story.double.requests();
    assert_eq!(hidings.iter().filter(|request| is_hiding(request)).count(), 1);
    story.finish().await;
}

#[tokio::test]
async fn another_patch_of_the_same_name_notifies_once() {
    let list = |odd: &str| -> String {
        let line = |at: usize| {
            if at.is_multiple_of(2) {
                format!("{odd} {at}\n")
            } else {
                format!("{at}\n")
            }
        };
        (0..40).map(line).collect()
    };
    let (before, after) = (list("a"), list("b"));
    let story = Scene::default().adds("list.txt", &before).begin().await;
    let client = client(&story.double).await;
    let me = Account::new(story.double.bot());
    let pull_request = client.pull_request(&story.id()).await.unwrap();
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(after)),
    };
    let list = Patch::new([("list.txt".parse().unwrap(), change)]);
    for patch in [&fix(), &list, &list] {
        suggest::post(&client, &me, &pull_request, patch, &said(""))
            .await
            .unwrap();
    }
    // The suggestion of the first patch is withdrawn, and the twenty of the second come at once.
    assert_eq!(all(&story).len(), 20);
    let posts = story.double.requests();
    let posts = posts
        .iter()
        .filter(|request| request.method == "POST" && request.path.contains("/pulls/"));
    assert_eq!(posts.count(), 2);
    story.finish().await;
}

#[tokio::test]
async fn a_patch_of_another_tree_is_suggested_nowhere() {
    let story = Story::new().await;
    let client = client(&story.double).await;
    let me = Account::new(story.double.bot());
    let pull_request = client.pull_request(&story.id()).await.unwrap();
    let change = FileChange {
        before: Some(Blob::regular(format!("# Elsewhere.\n{CHANGE}"))),
        after: Some(Blob::regular(format!("# Elsewhere.\n{FIXED}"))),
    };
    let patch = Patch::new([("fare.py".parse().unwrap(), change)]);
    let posted = suggest::post(&client, &me, &pull_request, &patch, &said(""))
        .await
        .unwrap();
    assert_eq!((posted.cut.suggestions.len(), posted.parts()), (0, 1));
    assert_eq!(story.review().comments, []);
    story.finish().await;
}

#[tokio::test]
async fn on_an_enterprise_server_graphql_is_beside_the_rest_api() {
    let files = [("fare.py", CHANGE.as_bytes())];
    let double = Double::start(World::with_repository("acme/rail", &files).prefix("/api/v3"))
        .await
        .unwrap();
    let new = NewPullRequest::new(AUTHOR, "change", "Give change").write("fare.py", FIXED);
    let number = double.open_pull_request(new).await.unwrap();
    let client = client(&double).await;
    let id = PullRequestId {
        repository: double.repository().parse().unwrap(),
        number,
    };
    let me = Account::new(double.bot());
    let pull_request = client.pull_request(&id).await.unwrap();
    let change = FileChange {
        before: Some(Blob::regular(FIXED)),
        after: Some(Blob::regular(CHANGE)),
    };
    let patch = Patch::new([("fare.py".parse().unwrap(), change)]);
    suggest::post(&client, &me, &pull_request, &patch, &said(""))
        .await
        .unwrap();
    let comment = client.suggestions(&id, &me).await.unwrap().remove(0);
    client.minimize(&comment, Classifier::Outdated).await.unwrap();
    let hidden = double.reviews(number).remove(0).comments.remove(0);
    assert_eq!(hidden.minimized.as_deref(), Some("OUTDATED"));
    assert_eq!(double.violations(), [""; 0]);
}
