//! The life of suggestions: tracked across pushes, settled by content, never reported twice. And the third button.

use github_double::{AUTHOR, Fault, LineComment, MAINTAINER, READER, RecordedExchange, STRANGER};
use greenlight::domain::anchor::SuggestionState;
use serde_json::json;

use crate::harness::model::{Turn, calls};
use crate::harness::story::{CHANGE, FIXED, Scene, Story};

/// The suggestions of all of greenlight's reviews, and the separate threads.
pub(super) fn all(story: &Story) -> Vec<LineComment> {
    let reviews = story.double.reviews(story.number);
    reviews.into_iter().flat_map(|review| review.comments).collect()
}

#[track_caller]
pub(super) fn only(story: &Story) -> LineComment {
    let mut all = all(story);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// Whether this request hides a comment.
pub(super) fn is_hiding(request: &RecordedExchange) -> bool {
    let query = request.request["query"].as_str();
    query.is_some_and(|query| query.contains("minimizeComment"))
}

pub(super) async fn push(story: &Story, path: &str, text: &str) {
    let files = [(path, Some(text.as_bytes()))];
    story.double.push(story.number, AUTHOR, &files).await.unwrap();
    story.settle().await;
}

/// A pull request with two wrong lines, which lead to two suggestions.
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
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Stopped:** the head moved from [commit] to [commit]. Open requests are void.

    1 suggestion accepted, 1 edited.

    <details><summary>Evidence: 2 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 2 failed, 0 passed | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`
    - `test_fare.Fares.test_every_stop_costs`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    The model used 3 turns, [n] tokens, unknown cost.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    let run = story.run().await;
    assert_eq!(
        (
            run.count(SuggestionState::Applied),
            run.count(SuggestionState::Overwritten)
        ),
        (1, 1)
    );
    // A settled suggestion stays settled, and is reported once.
    push(&story, "fare.py", CHANGE).await;
    assert_eq!(story.run().await.settled, run.settled);
    let hidings = story.double.requests();
    assert_eq!(hidings.iter().filter(|request| is_hiding(request)).count(), 2);
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
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟢 **The suggestion was committed:** the head moved from [commit] to [commit], and nothing is left to commit.

    <details><summary>Evidence: 1 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 1 passed | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
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
    assert_eq!(story.run().await.count(SuggestionState::Applied), 1);
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
        reviews[1].body.contains("is already open in an earlier review"),
        "{}",
        reviews[1].body
    );
    // It counts for the run that suggested it last.
    story.double.commit_suggestions(&[after.id], AUTHOR).await.unwrap();
    story.settle().await;
    let counts: Vec<usize> = story
        .runs()
        .await
        .iter()
        .map(|run| run.count(SuggestionState::Applied))
        .collect();
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
        // Another tool with the same account, which quotes what it found.
        (story.double.token(), &quoted),
    ] {
        let place = json!({ "path": "fare.py", "line": 6, "side": "RIGHT", "commit_id": story.head(), "body": body });
        let route = format!("{}/repos/acme/rail/pulls/{}/comments", story.double.url(), story.number);
        let client = crate::harness::http().no_proxy().tls_certs_only([]).build().unwrap();
        let request = client
            .post(route)
            .bearer_auth(token)
            .header("user-agent", "t")
            .json(&place);
        assert_eq!(request.send().await.unwrap().status(), 201);
    }
    push(&story, "fare.py", FIXED).await;
    let hidings = story.double.requests();
    assert_eq!(hidings.iter().filter(|request| is_hiding(request)).count(), 1);
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
    assert_eq!(story.run().await.count(SuggestionState::Stale), 1);
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Cancelled**.

    1 suggestion ignored.

    <details><summary>Evidence: 1 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 1 passed | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    assert_eq!(only(&story).minimized, None);
    story.finish().await;
}

#[tokio::test]
async fn a_token_that_may_not_hide_comments_is_no_obstacle() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    // One for the current token, and one for the new one.
    for _ in 0..2 {
        story
            .double
            .plan_fault("POST", "/graphql mutation", Fault::BadCredentials);
    }
    push(&story, "fare.py", FIXED).await;
    assert_eq!(only(&story).minimized, None);
    assert_eq!(story.run().await.count(SuggestionState::Applied), 1);
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

#[tokio::test]
async fn what_the_author_of_a_fork_commits_is_told_as_well() {
    let story = Scene::default().author(STRANGER).forked(false).begin().await;
    story.maintainer_says("/greenlight fix").await;
    let id = only(&story).id;
    story.double.commit_suggestions(&[id], STRANGER).await.unwrap();
    story.settle().await;
    assert_eq!(story.run().await.count(SuggestionState::Applied), 1);
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟢 **The suggestion was committed:** nothing is left to commit.

    <details><summary>Evidence: 1 red in 2 of 2 runs → 2 of 2 green, no new failures</summary>

    | | result | time |
    |---|---|---|
    | before | 1 failed, 1 passed | [time] |
    | after | 2 passed | [time] |

    Red in 2 of 2 runs on the head.

    Red before, green after:

    - `test_fare.Fares.test_change_is_given`

    They were run once more with the change, and passed every time.

    No new failures: every test that passed before passes after.

    Tested with `python3 -m unittest discover`

    Check it yourself, in a checkout with the suggestions committed or applied:

    ```sh
    greenlight verify --head [commit] --digest [digest]
    ```

    <sub>The digest covers head, patch, test command and both results.</sub>

    </details>

    <sub>greenlight · run `[run]` · [commit]</sub>
    ");
    story.finish().await;
}
