//! What becomes of suggestions: posted in parts, followed over pushes, settled by content, never said twice.

use greenlight::demo::{AUTHOR, Fault, LineComment, MAINTAINER, READER, STRANGER};
use greenlight::domain::anchor::Fate;
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, FIXED, LOG, Scene, Story};

/// How many lines of the long module are wrong.
const WRONG: usize = 36;

fn long_module(value: usize) -> String {
    (0..WRONG)
        .map(|at| format!("x{at} = {value}\n# The next one.\n"))
        .collect()
}

/// A pull request whose every second line is wrong, and a model that knows it.
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

/// greenlight's suggestions of all reviews, and the threads it began beside them.
fn all(story: &Story) -> Vec<LineComment> {
    let reviews = story.double.reviews(story.number);
    reviews.into_iter().flat_map(|review| review.comments).collect()
}

#[track_caller]
fn only(story: &Story) -> LineComment {
    let mut all = all(story);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

async fn push(story: &Story, path: &str, text: &str) {
    let files = [(path, Some(text.as_bytes()))];
    story.double.push(story.number, AUTHOR, &files).await.unwrap();
    story.settle().await;
}

/// A pull request with two wrong lines, for which two suggestions are made.
async fn two_suggestions() -> Story {
    let edit = |old: &str, new: &str| calls("edit_file", json!({ "path": "fare.py", "old": old, "new": new }));
    let turns: [Turn; 3] = [
        edit("return 200 + 51", "return 200 + 50"),
        edit("paid + fare", "paid - fare"),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let module = CHANGE.replace("50 * stops", "51 * stops");
    let story = Scene::default().adds("fare.py", &module).model(turns).begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert_eq!(all(&story).len(), 2);
    story
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
    assert!(story.sticky().contains("**All 36 suggestions"), "{}", story.sticky());
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

#[tokio::test]
async fn a_push_that_takes_one_suggestion_and_edits_another_is_told_by_content() {
    let story = two_suggestions().await;
    push(
        &story,
        "fare.py",
        &CHANGE.replace("paid + fare(stops)", "fare(stops) - paid"),
    )
    .await;
    let why: Vec<_> = all(&story).into_iter().map(|comment| comment.minimized).collect();
    assert_eq!(why, [Some("RESOLVED".into()), Some("OUTDATED".into())]);
    let sticky = story.sticky();
    assert!(sticky.contains("1 suggestion accepted, 1 edited."), "{sticky}");
    assert!(sticky.contains("the head moved"), "{sticky}");
    let run = story.run().await;
    assert_eq!((run.count(Fate::Accepted), run.count(Fate::Edited)), (1, 1));
    // What is settled stays settled, and is said once.
    push(&story, "fare.py", CHANGE).await;
    assert_eq!(story.run().await.settled, run.settled);
    let hidings = story.double.requests();
    assert_eq!(hidings.iter().filter(|request| request.path == "/graphql").count(), 2);
    story.finish().await;
}

#[tokio::test]
async fn when_all_suggestions_were_committed_the_headline_says_so() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let head = story.head();
    let id = only(&story).id;
    story.double.commit_suggestions(&[id], AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), FIXED);
    let sticky = story.sticky();
    assert!(
        sticky.contains("was committed.** Nothing of the fix is left."),
        "{sticky}"
    );
    assert_eq!(story.check_on(&head).conclusion.as_deref(), Some("neutral"));
    assert_eq!(only(&story).minimized.as_deref(), Some("RESOLVED"));
    story.finish().await;
}

#[tokio::test]
async fn a_push_elsewhere_leaves_the_suggestion_where_it_is_and_says_once_what_was_tested() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let note = format!(
        "<sub>Tested on `{}` and not on the newer head.</sub>",
        &story.head()[..7]
    );
    assert!(!only(&story).body.contains("newer head"));
    push(&story, "note.md", "1\n").await;
    push(&story, "fare.py", &format!("# Fares.\n{CHANGE}")).await;
    let comment = only(&story);
    assert_eq!(comment.body.matches(&note).count(), 1, "{}", comment.body);
    assert_eq!((comment.minimized, comment.lines), (None, Some((7, 7))));
    story.double.commit_suggestions(&[comment.id], AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), format!("# Fares.\n{FIXED}"));
    assert_eq!(story.run().await.count(Fate::Accepted), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_run_on_a_new_head_repeats_nothing_that_still_stands() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    push(&story, "fare.py", &format!("# Fares.\n{CHANGE}")).await;
    let before = only(&story);
    story.maintainer_says("/greenlight fix").await;
    let after = only(&story);
    assert_eq!((after.id, after.lines), (before.id, Some((7, 7))));
    assert!(!after.body.contains("newer head"), "{}", after.body);
    let reviews = story.double.reviews(story.number);
    assert_eq!((reviews.len(), reviews[1].comments.len()), (2, 0));
    assert!(
        reviews[1].body.contains("stands in a thread of an earlier review"),
        "{}",
        reviews[1].body
    );
    // It counts for the run that suggested it last.
    story.double.commit_suggestions(&[after.id], AUTHOR).await.unwrap();
    story.settle().await;
    let counts: Vec<usize> = story.runs().await.iter().map(|run| run.count(Fate::Accepted)).collect();
    assert_eq!(counts, [0, 1]);
    assert!(story.sticky().contains("was committed"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_suggestion_that_was_settled_is_made_again_when_it_is_needed_again() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    push(&story, "fare.py", FIXED).await;
    push(&story, "fare.py", CHANGE).await;
    story.maintainer_says("/greenlight fix").await;
    let all = all(&story);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(
        (all[0].minimized.as_deref(), all[1].minimized.as_deref()),
        (Some("RESOLVED"), None)
    );
    story.finish().await;
}

#[tokio::test]
async fn a_thread_with_a_reply_is_kept() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let id = only(&story).id;
    story.double.review_comment_reply(id, READER, "Why?").await.unwrap();
    push(&story, "fare.py", &CHANGE.replace("paid + fare(stops)", "0")).await;
    assert_eq!(only(&story).minimized.as_deref(), Some("OUTDATED"));
    assert!(story.told().contains("Why?"), "{}", story.told());
    let deleted = story.double.requests().iter().any(|request| request.method == "DELETE");
    assert!(!deleted);
    story.finish().await;
}

#[tokio::test]
async fn a_copy_of_the_marker_counts_for_nothing() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let genuine = only(&story).body;
    let quoted = format!("````suggestion\n{genuine}\n````");
    for (token, body) in [
        (story.double.user_token(STRANGER), &genuine),
        // Another tool under the same account, which quotes what it found.
        (story.double.token(), &quoted),
    ] {
        let place = json!({ "path": "fare.py", "line": 6, "side": "RIGHT", "commit_id": story.head(), "body": body });
        let route = format!("{}/repos/acme/rail/pulls/{}/comments", story.double.url(), story.number);
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let request = client
            .post(route)
            .bearer_auth(token)
            .header("user-agent", "t")
            .json(&place);
        assert_eq!(request.send().await.unwrap().status(), 201);
    }
    push(&story, "fare.py", FIXED).await;
    let hidings = story.double.requests();
    assert_eq!(hidings.iter().filter(|request| request.path == "/graphql").count(), 1);
    let edits = hidings
        .iter()
        .filter(|request| request.method == "PATCH" && request.path.contains("/pulls/"));
    assert_eq!(edits.count(), 0);
    assert_eq!(story.run().await.settled.len(), 1);
    story.finish().await;
}

#[tokio::test]
async fn what_is_open_when_the_pull_request_is_closed_was_ignored() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.close(story.number, AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.run().await.count(Fate::Ignored), 1);
    assert!(story.sticky().contains("1 suggestion ignored."), "{}", story.sticky());
    assert_eq!(only(&story).minimized, None);
    story.finish().await;
}

#[tokio::test]
async fn a_token_that_may_not_hide_comments_is_no_obstacle() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    // One for the token that is at hand, and one for the fresh one.
    for _ in 0..2 {
        story.double.plan_fault("POST", "/graphql", Fault::BadCredentials);
    }
    push(&story, "fare.py", FIXED).await;
    assert_eq!(only(&story).minimized, None);
    assert_eq!(story.run().await.count(Fate::Accepted), 1);
    assert!(story.sticky().contains("was committed"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn killed_at_every_change_a_push_is_settled_once() {
    let mut story = two_suggestions().await;
    let gateway = story.gateway().await;
    gateway.kill_at_every_change();
    let text = CHANGE.replace("paid + fare(stops)", "0");
    let files = [("fare.py", Some(text.as_bytes()))];
    story.double.push(story.number, AUTHOR, &files).await.unwrap();
    story.settle_through(&gateway).await;
    assert!(
        story.sticky().contains("1 suggestion accepted, 1 edited."),
        "{}",
        story.sticky()
    );
    assert_eq!(story.run().await.settled.len(), 2);
    story.finish().await;
}

#[tokio::test]
async fn suggestions_that_github_refuses_come_as_a_patch() {
    let story = Story::new().await;
    story.double.plan_fault("POST", "/reviews", Fault::LineNotInDiff);
    story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!(review.comments, []);
    assert!(
        review.body.contains("GitHub did not take the suggestions"),
        "{}",
        review.body
    );
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
    // The first part is there, although it is not said; the second one is refused.
    for fault in [Fault::BadGatewayAfter, Fault::LineNotInDiff] {
        story.double.plan_fault("POST", "/reviews", fault);
    }
    story.maintainer_says("/greenlight fix").await;
    let review = story.review();
    assert_eq!(review.comments, []);
    assert!(
        review.body.contains("GitHub did not take the suggestions"),
        "{}",
        review.body
    );
    story.finish().await;
}

#[tokio::test]
async fn the_button_runs_the_failed_jobs_again() {
    let story = Story::new().await;
    story.ci_fails().await;
    let labels = |story: &Story| {
        let actions = story.check().actions;
        let labels = actions
            .iter()
            .map(|action| action["label"].as_str().unwrap().to_string());
        labels.collect::<Vec<_>>()
    };
    assert_eq!(labels(&story), ["Approve", "Reject", "Re-run failed jobs"]);
    let reruns = |story: &Story| {
        let requests = story.double.requests();
        let reruns = requests.iter().filter(|one| one.path.ends_with("/rerun-failed-jobs"));
        reruns.count()
    };
    for nobody in [STRANGER, READER] {
        story.presses(nobody, "Re-run failed jobs").await;
    }
    assert_eq!(reruns(&story), 0);
    story.presses(MAINTAINER, "Re-run failed jobs").await;
    assert_eq!((reruns(&story), story.answers().len()), (1, 0));
    story.maintainer_says("/greenlight reject").await;
    assert_eq!(labels(&story), ["Re-run failed jobs"]);
    story.finish().await;
}

#[tokio::test]
async fn without_a_failed_job_there_is_no_button_for_it() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    let actions = story.check().actions;
    assert_eq!(actions.len(), 2, "{actions:?}");
    story.finish().await;
}

/// The log of the default scene with so many failing tests, on a line each.
fn long_log(failures: usize) -> String {
    let (head, rest) = LOG.split_once("2026-01-05T10:00:01.0300000Z ===").unwrap();
    let at = "2026-01-05T10:00:01.0300000Z";
    let one = |number: usize| {
        format!(
            "{at} {}\n{at} FAIL: test_{number} (test_fare.Fares.test_{number})\n{at} {}\n\
             {at} Traceback (most recent call last):\n\
             {at}   File \"/home/runner/work/rail/rail/test_fare.py\", line {number}, in test_{number}\n\
             {at}     self.fail()\n{at} AssertionError: {number}\n{at}\n",
            "=".repeat(70),
            "-".repeat(70)
        )
    };
    let tail = &rest[rest.find("2026-01-05T10:00:01.1100000Z").unwrap()..];
    let tail = tail.replace("failures=1", &format!("failures={failures}"));
    format!("{head}{}{tail}", (1..=failures).map(one).collect::<String>())
}

#[tokio::test]
async fn more_than_fifty_annotations_come_in_several_requests_and_none_twice() {
    for (failures, shown) in [(70, 70), (50, 50), (170, 150)] {
        let story = Story::new().await;
        story.double.plan_fault("PATCH", "/check-runs/", Fault::BadGatewayAfter);
        story.ci_fails_with(&long_log(failures)).await;
        story.maintainer_says("/greenlight reject").await;
        let annotations = story.check().annotations;
        let mut lines: Vec<u64> = annotations
            .iter()
            .map(|one| one["start_line"].as_u64().unwrap())
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, (1..=shown).collect::<Vec<_>>());
        story.finish().await;
    }
}
