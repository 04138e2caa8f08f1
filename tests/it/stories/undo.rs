//! `/greenlight undo` and `/greenlight retry`.

use greenlight::demo::AUTHOR;

use crate::harness::story::{CHANGE, Story};

#[tokio::test]
async fn what_landed_is_taken_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight undo").await;
    assert!(story.answer().contains("nothing to take back"), "{}", story.answer());
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight undo").await;
    story.has_commits(3);
    assert_eq!(story.file("fare.py"), CHANGE);
    assert!(story.answer().contains(&story.head()[..7]), "{}", story.answer());
    assert!(story.sticky().contains("Taken back"), "{}", story.sticky());
    // Taken back is taken back: neither once more, nor forth again.
    story.maintainer_says("/greenlight undo").await;
    story.has_commits(3);
    story.finish().await;
}

#[tokio::test]
async fn what_somebody_built_on_is_not_taken_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story
        .double
        .push(story.number, AUTHOR, &[("note.md", Some(b"more\n"))])
        .await
        .unwrap();
    story.settle().await;
    story.maintainer_says("/greenlight undo").await;
    assert!(story.answer().contains("nothing to take back"), "{}", story.answer());
    story.has_commits(3);
    story.finish().await;
}

#[tokio::test]
async fn failed_jobs_run_again() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight retry").await;
    assert!(story.answer().contains("no failed CI jobs"), "{}", story.answer());
    story.ci_fails().await;
    story.maintainer_says("/greenlight retry").await;
    let reruns = |story: &Story| {
        let requests = story.double.requests();
        requests
            .iter()
            .filter(|request| request.path.ends_with("/rerun-failed-jobs"))
            .count()
    };
    assert_eq!((reruns(&story), story.answers().len()), (1, 1));
    // Twice is not wrong: they run already.
    story.maintainer_says("/greenlight retry").await;
    assert!(!story.answer().contains("Something broke"), "{}", story.answer());
    story.finish().await;
}

#[tokio::test]
async fn red_ci_after_an_undo_does_not_bring_the_fix_back() {
    let story = Story::new().await;
    story.maintainer_says("/greenlight fix").await;
    story.maintainer_says("/greenlight approve").await;
    story.maintainer_says("/greenlight undo").await;
    story.ci_fails().await;
    assert_eq!(story.runs().await.len(), 1, "{}", story.told());
    story.finish().await;
}
