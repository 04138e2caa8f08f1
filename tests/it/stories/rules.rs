//! Branch rules that keep greenlight from committing, known beforehand or found at landing; and branches that moved
//! between an approval and its commit.

use github_double::{AUTHOR, Demand, Fault, MAINTAINER, Protection, Role};
use greenlight::domain::run::End;
use reqwest::Method;

use crate::harness::story::{CHANGE, FIXED, Scene, Story};

const BRANCH: &str = "change";

/// The suggestions remain, the reason is given, and nothing fails because of it.
async fn is_not_taken(story: &Story, words: &str) {
    story.has_not_landed();
    assert_eq!(story.suggestions().len(), 1);
    assert!(story.sticky().contains(words), "{}", story.sticky());
    assert!(
        story.sticky().contains("can commit the suggestions"),
        "{}",
        story.sticky()
    );
    assert_eq!(story.check().conclusion.as_deref(), Some("neutral"));
    let run = story.run().await;
    assert!(matches!(run.end, Some(End::NotTaken { .. })), "{:?}", run.end);
    assert!(run.open_gates().is_empty());
}

/// A ruleset of the branch is seen before anybody is asked.
async fn is_seen_beforehand(demand: Demand, words: &str) {
    let story = Story::new().await;
    story.double.protect(Protection::ruleset(BRANCH, [demand]));
    story.maintainer_says("/greenlight fix").await;
    is_not_taken(&story, words).await;
    assert!(
        story.sticky().contains("do not let greenlight commit"),
        "{}",
        story.sticky()
    );
    assert!(
        story.run().await.gates.is_empty(),
        "nobody is asked for what cannot land"
    );
    story.maintainer_says("/greenlight approve").await;
    assert!(story.answer().contains("No request is waiting"), "{}", story.answer());
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_rule_that_wants_a_pull_request_is_seen_beforehand() {
    is_seen_beforehand(
        Demand::PullRequest,
        "Changes must be made through a pull request. (a rule of acme/rail)",
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_wants_the_merge_queue_is_seen_beforehand() {
    is_seen_beforehand(Demand::MergeQueue, "Changes must be made through the merge queue").await;
}

#[tokio::test]
async fn a_rule_that_wants_a_status_check_is_seen_beforehand() {
    is_seen_beforehand(
        Demand::StatusCheck("build"),
        "Required status check \"build\" is expected.",
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_forbids_updates_is_seen_beforehand() {
    is_seen_beforehand(Demand::Update, "Cannot update this protected ref.").await;
}

#[tokio::test]
async fn a_rule_about_messages_is_seen_beforehand() {
    is_seen_beforehand(Demand::MessageStart("RAIL-"), "must start with: RAIL-").await;
    is_seen_beforehand(
        Demand::Message("^[A-Z]+-[0-9]+ "),
        "must match the regex pattern: ^[A-Z]+-[0-9]+",
    )
    .await;
}

#[tokio::test]
async fn what_greenlights_commits_keep_to_is_no_obstacle() {
    let story = Story::new().await;
    // GitHub signs its commits, as they name no author, and it may bypass the other rule.
    let kept = [
        Demand::Signatures,
        Demand::Message("(?m)^Greenlight-Run: "),
        Demand::Path("README.md"),
    ];
    story.double.protect(Protection::ruleset(BRANCH, kept));
    let passed = Protection::ruleset(BRANCH, [Demand::PullRequest]);
    story.double.protect(passed.bypassed_by_the_app());
    story.double.protect(Protection::ruleset("main", [Demand::PullRequest]));
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let commits = story.double.commits(story.number).unwrap();
    assert!(commits[1].verified);
    let requests = story.double.requests();
    let made = requests
        .iter()
        .find(|one| one.path.ends_with("/git/commits") && one.method == "POST");
    let body = &made.unwrap().request;
    assert!(body["author"].is_null() && body["committer"].is_null(), "{body}");
    story.finish().await;
}

/// A rule that only GitHub knows is found when the approved commit is made: GitHub's own words are quoted.
async fn is_found_at_landing(protection: Protection, words: &str) {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.protect(protection);
    story.maintainer_says("/greenlight approve").await;
    is_not_taken(&story, words).await;
    assert!(
        story.sticky().contains("GitHub rejected the commit and says:"),
        "{}",
        story.sticky()
    );
    // People can still commit the remaining suggestions.
    let suggestion = story.review().comments[0].id;
    story.double.commit_suggestions(&[suggestion], AUTHOR).await.unwrap();
    story.settle().await;
    assert_eq!(story.file("fare.py"), FIXED);
    story.finish().await;
}

#[tokio::test]
async fn a_required_check_is_found_at_landing() {
    let words = "Required status check \"build\" is expected.";
    is_found_at_landing(Protection::classic(BRANCH, [Demand::StatusCheck("build")]), words).await;
}

#[tokio::test]
async fn who_may_push_is_found_at_landing() {
    let words = "You're not authorized to push to this branch.";
    is_found_at_landing(Protection::classic(BRANCH, [Demand::NotAuthorized]), words).await;
}

#[tokio::test]
async fn a_pull_request_that_waits_in_a_merge_queue_is_found_at_landing() {
    let words = "Branches that are queued for merging cannot be updated.";
    is_found_at_landing(Protection::classic(BRANCH, [Demand::Queued]), words).await;
}

#[tokio::test]
async fn a_ruleset_that_came_after_the_request_is_found_at_landing() {
    let words = "Repository rule violations found\n\nChanges must be made through a pull request.\n\nChanges must be \
                 made \
                 through the merge queue";
    let demands = [Demand::PullRequest, Demand::MergeQueue];
    is_found_at_landing(Protection::ruleset(BRANCH, demands), words).await;
}

#[tokio::test]
async fn a_rule_about_paths_is_found_at_landing() {
    let words = "Changes to restricted files: fare.py";
    is_found_at_landing(Protection::ruleset(BRANCH, [Demand::Path("fare.py")]), words).await;
}

#[tokio::test]
async fn a_rule_about_messages_is_found_at_landing() {
    let hostile = Demand::MessageStart("@mia ``` <!-- greenlight:sticky --> ghp_0123456789abcdefghij0123456789abcdef");
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.protect(Protection::ruleset(BRANCH, [hostile]));
    story.maintainer_says("/greenlight approve").await;
    // The author of a rule can put text into greenlight's comment: it is fenced, and secrets are redacted.
    is_not_taken(&story, "````text\nRepository rule violations found").await;
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟡 **A tested fix is suggested.** GitHub rejected the commit and says:

    ````text
    Repository rule violations found

    Commit message must start with a matching pattern: @mia ``` <!-- greenlight:sticky --> [redacted]
    ````

    Anyone who may push to the branch can commit the suggestions. Once the rules allow greenlight's account, `/greenlight fix` starts again.

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
    assert_eq!(story.comments().len(), 1, "{}", story.told());
    story.finish().await;
}

#[tokio::test]
async fn commits_of_a_person_are_not_signed_and_that_is_seen_beforehand() {
    let story = Scene::default()
        .person("robot", Role::Write)
        .token_of("robot")
        .begin()
        .await;
    story.double.protect(Protection::ruleset(BRANCH, [Demand::Signatures]));
    story.maintainer_says("/greenlight fix").await;
    story.has_not_landed();
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟡 **A tested fix is suggested.** The rules of this branch do not let greenlight commit:

    ```text
    Commits must have verified signatures. (a rule of acme/rail)
    ```

    Anyone who may push to the branch can commit the suggestions. Once the rules allow greenlight's account, `/greenlight fix` starts again.

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
    assert!(story.run().await.gates.is_empty());
    story.finish().await;
}

#[tokio::test]
async fn rules_that_cannot_be_read_stop_nothing() {
    let story = Story::new().await;
    story.double.plan_fault("POST", "/graphql query", Fault::NotAccessible);
    story.double.plan_fault("GET", "/rules/branches/", Fault::NotAccessible);
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_server_without_rulesets_takes_commits_by_rest() {
    let story = Story::new().await;
    story.double.predate_rulesets();
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let requests = story.double.requests();
    let moved = requests
        .iter()
        .filter(|one| one.method == "PATCH" && one.path.contains("/git/refs/heads/"));
    assert_eq!(moved.count(), 1);
    story.finish().await;
}

#[tokio::test]
async fn a_server_without_rulesets_says_no_in_its_own_words() {
    let story = Story::new().await;
    story.double.predate_rulesets();
    story.double.protect(Protection::classic(BRANCH, [Demand::PullRequest]));
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    is_not_taken(&story, "Changes must be made through a pull request.").await;
    story.finish().await;
}

/// The branch moves while the request to move it is on its way.
async fn moved_meanwhile(go: impl AsyncFnOnce(&Story)) -> Story {
    let mut story = Story::new().await;
    let files = [("note.md", Some(&b"to be dropped\n"[..]))];
    story.double.push(story.number, AUTHOR, &files).await.unwrap();
    story.settle().await;
    let gateway = story.gateway().await;
    story.maintainer_says("/greenlight fix").await;
    gateway.hold(Method::POST, "/graphql");
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    gateway.holds().await;
    go(&story).await;
    gateway.release();
    story.settle().await;
    story
}

#[tokio::test]
async fn a_branch_that_was_set_back_is_not_brought_back() {
    let story = moved_meanwhile(async |story| story.double.set_back(story.number, AUTHOR).await.unwrap()).await;
    story.has_commits(1);
    assert_eq!(story.file("fare.py"), CHANGE);
    assert!(
        story.double.file(story.number, "note.md").is_none(),
        "what was dropped stays dropped"
    );
    assert!(story.sticky().contains("the head moved"), "{}", story.sticky());
    story.finish().await;
}

#[tokio::test]
async fn a_push_that_came_first_supersedes() {
    let story = moved_meanwhile(async |story| {
        let files = [("more.md", Some(&b"more\n"[..]))];
        story.double.push(story.number, AUTHOR, &files).await.unwrap();
    })
    .await;
    story.has_commits(3);
    assert_eq!(story.file("fare.py"), CHANGE);
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    ⚪ **Stopped:** the head moved from [commit] to [commit]. Open requests are void.

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

#[tokio::test]
async fn what_cannot_be_taken_back_stays_and_github_says_why() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story
        .double
        .protect(Protection::classic(BRANCH, [Demand::NotAuthorized]));
    story.maintainer_says("/greenlight undo").await;
    story.has_commits(2);
    insta::assert_snapshot!(story.whole_answer(), @"
    [commit] was not reverted. GitHub rejected the commit and says:

    ```text
    You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information.
    ```
    ");
    story.finish().await;
}

#[tokio::test]
async fn the_branch_of_a_fork_is_its_owners() {
    let story = Scene::default().forked(true).begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.has_not_landed();
    insta::assert_snapshot!(story.whole_sticky(), @"
    <!-- greenlight:sticky -->
    🟡 **A tested fix is suggested.** greenlight cannot push to this branch, so its author commits the suggestions.

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
    let requests = story.double.requests();
    assert!(
        !requests.iter().any(|one| one.path.contains("/rules/branches/")),
        "nothing lands there anyway"
    );
    story.finish().await;
}
