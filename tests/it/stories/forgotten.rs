//! What greenlight deletes: old data, and all data of a repository that it may no longer see.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use github_double::Uninstalled;
use greenlight::domain::id::DeliveryId;
use greenlight::engine;
use jiff::{SignedDuration, Timestamp};

use crate::harness::story::{Scene, Story};

const CANARY: &str = "c4n4ry-of-a-private-word";

/// Everything in the data folder, by path.
fn files(folder: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.is_file() {
            into.insert(path.display().to_string(), fs::read(path).unwrap());
        }
    }
}

/// The files of the data folder, and the rows of the database, that contain this text.
async fn told_in(story: &Story, text: &str) -> Vec<String> {
    let mut all = BTreeMap::new();
    files(story.folder(), &mut all);
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    all.retain(|_, bytes| has(bytes));
    all.into_keys().chain(story.rows_with(text).await).collect()
}

/// The number of files below a folder of the data folder.
fn below(story: &Story, folder: &str) -> usize {
    let (folder, mut all) = (story.folder().join(folder), BTreeMap::new());
    if folder.exists() {
        files(&folder, &mut all);
    }
    all.len()
}

/// A finished run and a waiting one, with a person's comment in their steps.
async fn lived() -> Story {
    let story = Scene::default().begin().await;
    story.maintainer_says("/greenlight fix").await;
    let reject = format!("/greenlight reject {CANARY}");
    story.maintainer_says(&reject).await;
    story.maintainer_says("/greenlight cancel").await;
    story.maintainer_says("/greenlight fix").await;
    let runs = story.runs().await;
    assert!(runs[0].is_over() && !runs[1].is_over(), "{runs:?}");
    assert!(!told_in(&story, CANARY).await.is_empty());
    assert!(below(&story, "mirrors") > 0 && below(&story, "bundles") >= 2);
    story
}

async fn pruned_in(story: &Story, days: i64) {
    let now = Timestamp::now() + SignedDuration::from_hours(24 * days);
    engine::prune(story.process().queue.app(), now).await.unwrap();
}

#[tokio::test]
async fn what_is_old_is_deleted_and_what_waits_is_not() {
    let story = lived().await;
    let first = story.double.comments(story.number)[0].id;
    let app = story.process().queue.app();
    let id = DeliveryId(format!("comment {} Conversation {first}", story.id().key()));
    pruned_in(&story, 29).await;
    assert_eq!(story.runs().await.len(), 2);
    assert!(app.journal.knows(&id).await.unwrap());
    pruned_in(&story, 31).await;
    assert!(!app.journal.knows(&id).await.unwrap());
    pruned_in(&story, 179).await;
    assert_eq!(story.runs().await.len(), 2);
    let bundles = below(&story, "bundles");
    pruned_in(&story, 181).await;
    let left = story.runs().await;
    assert_eq!(left.len(), 1);
    assert!(!left[0].is_over());
    assert_eq!(below(&story, "bundles"), bundles - 1);
    assert_eq!(told_in(&story, CANARY).await, [""; 0]);
    // It can still be answered.
    let head = story.head();
    story.maintainer_says("/greenlight approve").await;
    assert_ne!(story.head(), head);
    story.finish().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_repository_that_was_taken_away() {
    for is_whole in [true, false] {
        let story = lived().await;
        let said = story.comments();
        if is_whole {
            story.double.end_installation(Uninstalled::Removed).await;
        } else {
            story.double.take_repositories_away().await;
        }
        story.settle().await;
        assert!(story.runs().await.is_empty());
        assert_eq!(told_in(&story, CANARY).await, [""; 0]);
        assert_eq!(told_in(&story, "/greenlight").await, [""; 0]);
        for folder in ["mirrors", "bundles", "installed", "trees", "copies", "workspaces"] {
            assert_eq!(below(&story, folder), 0, "{folder}");
        }
        assert_eq!(story.comments(), said);
        story.finish().await;
    }
}

#[tokio::test]
async fn bundles_are_deleted_whatever_the_repository_was_called() {
    let story = lived().await;
    let bundles = story.folder().join("bundles");
    fs::create_dir_all(bundles.join("before")).unwrap();
    let name = story.id().repository.name;
    fs::rename(bundles.join(name.to_string()), bundles.join("before/it-was-renamed")).unwrap();
    story.double.take_repositories_away().await;
    story.settle().await;
    assert_eq!(below(&story, "bundles"), 0);
    story.finish().await;
}

#[tokio::test]
async fn a_suspended_installation_ends_what_is_open_without_a_word() {
    let story = Scene::tested_by("if test -e block; then sleep 3000; fi; python3 -m unittest -v")
        .adds("block", "1\n")
        .begin()
        .await;
    let comment = story
        .double
        .comment(story.number, github_double::MAINTAINER, "/greenlight fix");
    comment.await.unwrap();
    let is_at_work = |run: &github_double::CheckRunView| run.name == "greenlight" && run.status == "in_progress";
    story
        .until("at work", |double| {
            double
                .check_runs(&double.head(story.number).unwrap())
                .iter()
                .any(is_at_work)
        })
        .await;
    let said = story.comments();
    story.double.end_installation(Uninstalled::Suspended).await;
    story.settle().await;
    assert!(story.run().await.is_over());
    assert_eq!(story.comments(), said);
    story.double.uninstall(None);
    story.finish().await;
}
