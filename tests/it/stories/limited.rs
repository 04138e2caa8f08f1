//! GitHub's rate limit: nothing is sent before the reset, nothing is lost, and unchanged data costs nothing.

use github_double::RecordedExchange;

use crate::harness::story::{Scene, Story};

/// More requests than a story makes in an hour.
const PLENTY: u32 = 5_000;

fn refused(story: &Story) -> Vec<RecordedExchange> {
    let mut all = story.double.requests();
    all.retain(|exchange| exchange.status == 403);
    all
}

/// The requests that count: those of the installation that were not answered with 304.
fn counted(story: &Story) -> usize {
    let all = story.double.requests();
    let bot = story.double.bot();
    let counts = |one: &&RecordedExchange| one.login == bot && one.status != 304 && one.route.is_some();
    all.iter().filter(counts).count()
}

/// The tenth of GitHub's 5,000 requests an hour that greenlight keeps for answers and for landing.
const KEPT: u32 = 500;

#[tokio::test]
async fn no_request_is_sent_before_the_reset_and_the_command_is_obeyed_after_it() {
    for left in [1, 4, 9, 14] {
        let mut story = Story::new().await;
        let before = counted(&story);
        story.double.leave_requests(KEPT + left, 900);
        story.maintainer_says("/greenlight fix").await;
        assert_eq!(counted(&story) - before, left as usize);
        assert_eq!(refused(&story).len(), 0, "the last answer said that nothing is left");
        // Later work waits, too.
        story.maintainer_says("/greenlight status").await;
        assert_eq!(counted(&story) - before, left as usize);
        story.double.leave_requests(PLENTY, 3_600);
        story.restart().await;
        story.review();
        story.maintainer_says("/greenlight approve").await;
        story.has_landed();
        assert_eq!(story.answers().len(), 1, "{}", story.told());
        story.finish().await;
    }
}

/// The reset is a time on GitHub's clock, which is not this machine's.
#[tokio::test]
async fn a_short_rest_is_waited_for_by_githubs_own_clock() {
    for ahead in [-86_400, 0, 86_400] {
        let story = Story::new().await;
        story.double.set_clock_ahead(ahead);
        story.double.leave_requests(KEPT + 6, 2);
        story.maintainer_says("/greenlight fix").await;
        story.review();
        assert_eq!(refused(&story).len(), 0);
        story.finish().await;
    }
}

#[tokio::test]
async fn what_did_not_change_is_read_again_for_nothing() {
    let story = Scene::default().config("[limits]\nturns = 9\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    let all = story.double.requests();
    for path in ["/pulls/1", "/contents/greenlight.toml", "/permission"] {
        let unchanged = all.iter().filter(|one| one.status == 304 && one.path.ends_with(path));
        assert_ne!(unchanged.count(), 0, "{path}");
    }
    story.finish().await;
}

#[tokio::test]
async fn what_was_approved_lands_and_what_was_begun_stops_when_little_is_left() {
    let mut story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.review();
    story.double.leave_requests(KEPT, 4_000);
    // A question waits.
    story.maintainer_says("/greenlight status").await;
    assert_eq!(story.answers().len(), 0, "{}", story.told());
    story.maintainer_says("/greenlight approve").await;
    story.has_landed();
    story.maintainer_says("/greenlight undo").await;
    assert!(story.sticky().contains("**Reverted**"), "{}", story.sticky());
    story.double.leave_requests(PLENTY, 5_000);
    story.restart().await;
    // That of the undo, and then that of the question.
    assert_eq!(story.answers().len(), 2, "{}", story.told());
    story.finish().await;
}
