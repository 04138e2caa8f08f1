//! People who change their logins keep their identity, and anyone who takes a freed login is somebody else.

use github_double::{AUTHOR, Double, MAINTAINER, NewPullRequest, Role, World};
use greenlight::domain::id::PullRequestId;
use greenlight::github::{Credentials, GitHub};

use crate::harness::story::{Scene, Story};

/// The maintainer's later login.
const LATER: &str = "mona";

/// A tested fix that needs two approvals to land.
async fn takes_two() -> Story {
    let story = Scene::default().config("[gate]\napprovers = 2\n").begin().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.has_not_landed();
    story
}

#[tokio::test]
async fn two_approvals_of_one_person_under_two_logins_count_once() {
    let story = takes_two().await;
    story.double.rename_account(MAINTAINER, LATER).unwrap();
    story.says(LATER, "/greenlight approve").await;
    assert!(story.answer().contains("2 different people"), "{}", story.answer());
    story.has_not_landed();
    // Two people approved, one with an old login: both are looked up again before anything lands.
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_landed();
    story.finish().await;
}

#[tokio::test]
async fn whoever_takes_a_freed_login_is_not_the_one_who_approved() {
    let story = takes_two().await;
    story.double.rename_account(MAINTAINER, LATER).unwrap();
    story.double.set_role(LATER, Role::Read);
    // Another account with write access and the login in the journal.
    story.double.set_role(MAINTAINER, Role::Write);
    story.says(AUTHOR, "/greenlight approve").await;
    story.has_not_landed();
    let sticky = story.sticky();
    assert!(
        sticky.contains("mia approved, but no longer has write access"),
        "{sticky}"
    );
    story.finish().await;
}

#[tokio::test]
async fn whoever_takes_a_freed_login_without_rights_approves_nothing() {
    let story = takes_two().await;
    story.double.rename_account(MAINTAINER, LATER).unwrap();
    story.says(MAINTAINER, "/greenlight approve").await;
    assert!(
        story.answer().contains("it requires write access"),
        "{}",
        story.answer()
    );
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn nothing_runs_on_the_word_of_a_login_that_somebody_else_has_now() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.double.rename_account(MAINTAINER, LATER).unwrap();
    story.double.set_role(LATER, Role::None);
    story.double.set_role(MAINTAINER, Role::Maintain);
    let before = story.run().await.spent;
    // The run continues from here, if those who consented still may.
    story.says(AUTHOR, "/greenlight reject try something else").await;
    let sticky = story.sticky();
    assert!(
        sticky.contains("mia allowed this, but no longer has write access"),
        "{sticky}"
    );
    assert_eq!(story.run().await.spent, before);
    story.finish().await;
}

/// The same for greenlight's own account: with a person's token it has a login that others can take.
#[tokio::test]
async fn whoever_takes_greenlights_login_is_not_greenlight() {
    let (robot, later, marker) = ("robot", "robot-of-acme", "<!-- greenlight:sticky -->");
    let double =
        Double::start(World::with_repository("acme/rail", &[("README.md", b"Fares.\n")]).person(robot, Role::Write))
            .await
            .unwrap();
    let new = NewPullRequest::new(AUTHOR, "change", "Change").write("NEWS.md", "News.\n");
    let id = PullRequestId {
        number: double.open_pull_request(new).await.unwrap(),
        repository: "acme/rail".parse().unwrap(),
    };
    let token = double.user_token(robot);
    let github = GitHub::new(&double.url().parse().unwrap(), Credentials::Token(token.into())).unwrap();
    let client = github.client(None, &id.repository).await.unwrap();
    let me = github.me().await.unwrap().clone();
    // It is renamed while greenlight runs, and somebody else writes first.
    double.rename_account(robot, later).unwrap();
    let theirs = double.comment(id.number, robot, marker).await.unwrap();
    let own = client.comment_once(&id, &me, marker, marker).await.unwrap();
    assert_ne!(own, theirs);
    let found = client.marked_comment(&id, &me, marker).await.unwrap();
    assert_eq!(found.unwrap().id, own);
}
