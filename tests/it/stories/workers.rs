//! All workers are busy with tests that never end, and greenlight still answers, stops and accepts a rejection.

use github_double::{AUTHOR, Double, JobLog, MAINTAINER, NewPullRequest};

use crate::harness::story::{Scene, Story, is_at_work};

const STRANGER: &str = "stranger";

/// A repository whose tests never end in a pull request with a file `block`.
fn scene(workers: usize) -> Scene {
    Scene::tested_by("if test -e block; then sleep 3000; fi; python3 -m unittest -v").workers(workers)
}

/// Another pull request whose tests never end.
async fn endless(story: &Story, branch: &'static str) -> u64 {
    let new = NewPullRequest::new(AUTHOR, branch, "Never ends").write("block", "1\n");
    story.double.open_pull_request(new).await.unwrap()
}

/// Waits until a comment of a pull request contains this text.
async fn until_read(story: &Story, number: u64, text: &str) {
    let seen = |double: &Double| {
        let comments = double.comments(number);
        comments
            .iter()
            .any(|comment| comment.author.ends_with("[bot]") && comment.body.contains(text))
    };
    story.until(text, seen).await;
}

#[tokio::test]
async fn busy_workers_delay_no_answer_and_no_cancel() {
    for workers in [1, 2] {
        let story = scene(workers).person(STRANGER, github_double::Role::Read).begin().await;
        let mut busy = Vec::new();
        for branch in ["first", "second"].into_iter().take(workers) {
            let number = endless(&story, branch).await;
            story
                .double
                .comment(number, MAINTAINER, "/greenlight fix")
                .await
                .unwrap();
            story.until("at work", |double| is_at_work(double, number)).await;
            busy.push(number);
        }
        let waiting = endless(&story, "third").await;
        story
            .double
            .comment(waiting, MAINTAINER, "/greenlight fix")
            .await
            .unwrap();
        for (command, answer) in [
            ("help", "show this list"),
            ("config", "execution"),
            ("status", "Nothing"),
        ] {
            let said = format!("/greenlight {command}");
            story.double.comment(story.number, MAINTAINER, &said).await.unwrap();
            until_read(&story, story.number, answer).await;
        }
        // A stranger's command stops nothing.
        story
            .double
            .comment(busy[0], STRANGER, "/greenlight cancel")
            .await
            .unwrap();
        until_read(&story, busy[0], "write access").await;
        assert!(busy.iter().all(|number| is_at_work(&story.double, *number)));
        assert!(!is_at_work(&story.double, waiting));
        // A run that was requested but has not begun does not begin any more.
        story
            .double
            .comment(waiting, MAINTAINER, "/greenlight cancel")
            .await
            .unwrap();
        until_read(&story, waiting, "Nothing is running").await;
        for number in busy {
            story
                .double
                .comment(number, MAINTAINER, "/greenlight cancel")
                .await
                .unwrap();
            until_read(&story, number, "**Cancelled** by `mia`").await;
        }
        story.settle().await;
        until_read(&story, waiting, "cancelled before it started").await;
        assert!(!is_at_work(&story.double, waiting));
        story.finish().await;
    }
}

#[tokio::test]
async fn busy_workers_delay_no_rejection() {
    let story = scene(1).begin().await;
    story.maintainer_says("/greenlight fix").await;
    assert!(story.sticky().contains("Approve to commit"), "{}", story.sticky());
    let busy = endless(&story, "first").await;
    story.double.comment(busy, MAINTAINER, "/greenlight fix").await.unwrap();
    story.until("at work", |double| is_at_work(double, busy)).await;
    story
        .double
        .comment(story.number, MAINTAINER, "/greenlight reject")
        .await
        .unwrap();
    until_read(&story, story.number, "**Rejected** by `mia`").await;
    assert!(is_at_work(&story.double, busy));
    story
        .double
        .comment(busy, MAINTAINER, "/greenlight cancel")
        .await
        .unwrap();
    story.settle().await;
    story.has_not_landed();
    story.finish().await;
}

#[tokio::test]
async fn a_cancel_with_more_after_it_stops_at_once_and_the_rest_follows() {
    let story = scene(1).begin().await;
    let busy = endless(&story, "first").await;
    story.double.comment(busy, MAINTAINER, "/greenlight fix").await.unwrap();
    story.until("at work", |double| is_at_work(double, busy)).await;
    let both = "/greenlight cancel\n/greenlight retry";
    story.double.comment(busy, MAINTAINER, both).await.unwrap();
    until_read(&story, busy, "**Cancelled** by `mia`").await;
    story.settle().await;
    story.finish().await;
}

/// Nobody asked for runs that CI failures trigger, however many pull requests they affect.
#[tokio::test]
async fn red_ci_takes_half_of_the_workers_and_leaves_the_others_to_people() {
    let config = "execution = \"sandbox\"\n[test]\ncommand = \"if test -e block; then sleep 3000; fi; true\"\n";
    let story = Scene::default().config(config).workers(2).begin().await;
    let (one, two) = (endless(&story, "first").await, endless(&story, "second").await);
    for number in [one, two] {
        let log = JobLog {
            workflow: "CI",
            job: "test",
            step: "test",
            log: "FAIL: test_change_is_given (test_fare.Fares.test_change_is_given)\n",
        };
        story.double.fail_ci(number, log).await.unwrap();
    }
    let working = |double: &Double| {
        [one, two]
            .into_iter()
            .filter(|number| is_at_work(double, *number))
            .count()
    };
    story.until("one at work", |double| working(double) == 1).await;
    let asked = endless(&story, "third").await;
    story
        .double
        .comment(asked, MAINTAINER, "/greenlight fix")
        .await
        .unwrap();
    story.until("at work", |double| is_at_work(double, asked)).await;
    assert_eq!(working(&story.double), 1);
    // The other one starts when the first is done.
    let (first, other) = if is_at_work(&story.double, one) {
        (one, two)
    } else {
        (two, one)
    };
    story
        .double
        .comment(first, MAINTAINER, "/greenlight cancel")
        .await
        .unwrap();
    story.until("its turn", |double| is_at_work(double, other)).await;
    for number in [other, asked] {
        story
            .double
            .comment(number, MAINTAINER, "/greenlight cancel")
            .await
            .unwrap();
    }
    story.settle().await;
    story.finish().await;
}
