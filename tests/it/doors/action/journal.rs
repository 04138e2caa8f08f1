//! The journal in a git ref, with several writers: each position of a run is taken only once, and no run is lost.

use greenlight::domain::id::{Account, CommitSha, PullRequestId};
use greenlight::domain::run::{Consent, End, Origin, Started, Step, Subject};
use greenlight::github::{Credentials, GitHub};
use greenlight::journal::{Error, Journal, Refs};

use super::PERMISSIONS;
use crate::doors::stage::Stage;

/// The journal as a separate workflow run opens it.
pub(super) async fn journal(stage: &Stage) -> Journal {
    let token = stage.double.actions_token(&PERMISSIONS);
    let github = GitHub::new(&stage.double.url().parse().unwrap(), Credentials::Token(token.into())).unwrap();
    let repository = "acme/rail".parse().unwrap();
    Journal::Refs(Refs::new(github.client(None, &repository).await.unwrap()))
}

pub(super) fn id() -> PullRequestId {
    PullRequestId {
        repository: "acme/rail".parse().unwrap(),
        number: 1,
    }
}

fn started(run: &str) -> Started {
    Started {
        run: greenlight::domain::id::RunId(run.into()),
        subject: Subject::PullRequest(id()),
        asks_nobody: false,
        installation: None,
        head: CommitSha::none(),
        base: CommitSha::none(),
        base_branch: None,
        origin: Origin::Ci { workflow_run: None },
        consent: Consent::None,
        asks_first: false,
        mode: Default::default(),
        asks_about_tests: false,
        approvers: 1,
        gate_seconds: 60,
        writes_as: None,
        at: jiff::Timestamp::now(),
    }
}

fn posted(review: u64) -> Step {
    Step::ReviewPosted {
        review,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    }
}

#[tokio::test]
async fn two_who_begin_at_the_same_time_both_have_begun() {
    let stage = Stage::new("").await;
    let (one, other) = (journal(&stage).await, journal(&stage).await);
    // Both have looked and seen nothing.
    assert!(one.runs_of(&id()).await.unwrap().is_empty());
    assert!(other.runs_of(&id()).await.unwrap().is_empty());
    let mut first = one.begin(started("r1")).await.unwrap();
    let mut second = other.begin(started("r2")).await.unwrap();
    // The first one's view of the ref is outdated now; its run is not.
    one.append(&mut first, posted(1)).await.unwrap();
    other.append(&mut second, posted(2)).await.unwrap();
    one.append(&mut first, posted(3)).await.unwrap();

    let runs = journal(&stage).await.runs_of(&id()).await.unwrap();
    let seen: Vec<_> = runs
        .iter()
        .map(|run| (run.id().0.as_str(), run.review, run.length))
        .collect();
    assert_eq!(seen, [("r1", Some(3), 3), ("r2", Some(2), 2)]);
}

#[tokio::test]
async fn of_two_who_begin_the_same_run_one_finds_it() {
    let stage = Stage::new("").await;
    let (one, other) = (journal(&stage).await, journal(&stage).await);
    assert!(other.runs_of(&id()).await.unwrap().is_empty());
    let mut first = one.begin(started("r1")).await.unwrap();
    one.append(&mut first, posted(1)).await.unwrap();
    let found = other.begin(started("r1")).await.unwrap();
    assert_eq!((found.review, found.length), (Some(1), 2));
}

#[tokio::test]
async fn a_place_is_taken_once() {
    let stage = Stage::new("").await;
    let (one, other) = (journal(&stage).await, journal(&stage).await);
    let mut first = one.begin(started("r1")).await.unwrap();
    let mut second = other.begin(started("r1")).await.unwrap();
    other
        .append(
            &mut second,
            Step::Ended(End::Cancelled {
                by: Some(Account::new("mia")),
            }),
        )
        .await
        .unwrap();
    // A message is only buffered, so the conflict is noticed at the next step.
    one.append(&mut first, Step::Said("thinking".into())).await.unwrap();
    let taken = one.append(&mut first, posted(1)).await;
    assert!(matches!(taken, Err(Error::Taken)), "{taken:?}");
    let runs = one.runs_of(&id()).await.unwrap();
    assert_eq!((runs[0].review, runs[0].length), (None, 2));
    assert!(runs[0].end.is_some());
}

#[tokio::test]
async fn only_what_changed_is_sent() {
    let stage = Stage::new("").await;
    let journal = journal(&stage).await;
    let mut run = journal.begin(started("r1")).await.unwrap();
    journal.append(&mut run, posted(1)).await.unwrap();
    journal.begin(started("r2")).await.unwrap();
    let requests = stage.double.requests();
    let mut trees = requests
        .iter()
        .filter(|one| one.method == "POST" && one.path.ends_with("/git/trees"));
    let last = trees.next_back().unwrap().request["tree"].clone();
    assert_eq!(
        (&last[0]["path"], &last[0]["content"]),
        (&"r1.jsonl".into(), &serde_json::Value::Null)
    );
    assert!(last[0]["sha"].is_string() && last[1]["content"].is_string(), "{last}");
}

/// Finished runs make room; waiting runs are kept, however many there are.
#[tokio::test]
async fn old_runs_make_room_for_new_ones() {
    let stage = Stage::new("").await;
    stage.double.limit_content(false);
    let journal = journal(&stage).await;
    for number in 0..22 {
        let mut run = journal.begin(started(&format!("r{number:02}"))).await.unwrap();
        if number != 0 {
            journal.append(&mut run, Step::Ended(End::Expired)).await.unwrap();
            journal.append(&mut run, Step::Announced).await.unwrap();
        }
    }
    let runs = journal.runs_of(&id()).await.unwrap();
    let names: Vec<_> = runs.iter().map(|run| run.id().0.as_str()).collect();
    assert_eq!((names.len(), names[0], names[1], names[19]), (20, "r00", "r03", "r21"));
}
