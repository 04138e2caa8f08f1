//! Lanes in PostgreSQL: who gets which, and what a process can still do that lost one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use greenlight::domain::event::{Event, Fact};
use greenlight::domain::id::{DeliveryId, PullRequestId, Repository, RepositoryId, RunId};
use greenlight::domain::run::{Started, Step};
use greenlight::domain::spend::Spend;
use greenlight::domain::worker_labels::WorkerLabels;
use greenlight::journal::{Admission, Claimant, Class, Database, Error, Journal, PieceKind, Reservation, Waiting};
use greenlight::lease::{self, Lease};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::harness::postgres;

fn pull_request(repository: u64, number: u64) -> PullRequestId {
    PullRequestId {
        repository: Repository {
            id: Some(RepositoryId(repository)),
            name: "a/b".parse().unwrap(),
        },
        number,
    }
}

fn closed(of: &PullRequestId) -> Event {
    Event {
        installation: None,
        received: Timestamp::now(),
        fact: Fact::PullRequestClosed {
            pull_request: of.clone(),
        },
    }
}

fn waiting(of: &PullRequestId, class: Class) -> Waiting {
    Waiting {
        lane: of.key(),
        class,
        repository: of.repository.key(),
        pull_request: of.key(),
        owner: of.repository.name.owner().into(),
        interrupts: false,
        is_small: true,
    }
}

async fn admit(journal: &Journal, of: &PullRequestId, class: Class, id: &str) -> Admission {
    let id = DeliveryId(id.into());
    journal.admit(&id, &closed(of), &waiting(of, class)).await.unwrap()
}

fn none() -> WorkerLabels {
    WorkerLabels::default()
}

fn claimant(holder: &str) -> Claimant {
    Claimant {
        holder: holder.into(),
        labels: none(),
        per_repository: 4,
        per_owner: None,
    }
}

async fn claim(database: &Database, holder: &str, class: Class) -> Option<Arc<Lease>> {
    database.claim(&claimant(holder), class).await.unwrap()
}

async fn connect(url: &SecretString) -> Journal {
    Journal::Database(Database::connect(url).await.unwrap())
}

#[tokio::test]
async fn many_processes_may_create_the_tables_at_once() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let all = futures::future::join_all((0..10).map(|_| Database::connect(&url))).await;
    for database in all {
        assert!(database.unwrap().is_well().await);
    }
}

/// A run that a person asked for.
fn started(run: &str, on: &PullRequestId) -> Started {
    let commit = "a".repeat(40);
    let started = serde_json::json!({
        "run": run, "pull_request": on, "installation": null, "head": commit, "base": commit,
        "origin": { "comment": { "id": 9, "by": "ada" } }, "consent": { "command": { "by": "ada" } },
        "approvers": 1, "gate_seconds": 60, "at": "2026-03-01T10:00:00Z",
    });
    serde_json::from_value(started).unwrap()
}

/// What a migration of the next version does.
const NEWER: [&str; 5] = [
    "ALTER TABLE work ADD COLUMN later BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE run ADD COLUMN later TEXT",
    "ALTER TABLE lane ADD COLUMN later TEXT",
    "CREATE TABLE later (run TEXT REFERENCES run (id) ON DELETE CASCADE)",
    "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'newer', \
     true, '', 0)",
];

#[tokio::test]
async fn a_process_works_on_while_a_newer_one_adds_to_the_tables_and_stops_when_they_do_not_fit() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    for (at, migration) in NEWER.into_iter().enumerate() {
        // Each round prepares all statements before the next migration.
        let id = pull_request(1, at as u64 + 1);
        admit(&journal, &id, Class::Asked, &format!("d{at}")).await;
        let lease = claim(database, "old", Class::Asked).await.unwrap();
        let piece = database.next_piece(&lease, &none()).await.unwrap().unwrap();
        let working = async {
            let mut run = journal.begin(started(&format!("r{at}"), &id)).await.unwrap();
            postgres::execute(&url, migration).await;
            journal.append(&mut run, Step::NeedsExecution).await.unwrap();
            assert_eq!(journal.runs_of(&id).await.unwrap(), [run]);
        };
        lease::under(Some(Arc::clone(&lease)), working).await;
        database.complete(&lease, piece.nth, &[]).await.unwrap();
        database.schedule(&lease, &id.key(), None).await.unwrap();
        database.release(&lease).await.unwrap();
    }
    let late = connect(&url).await;
    assert_eq!(late.open_runs().await.unwrap().len(), NEWER.len());
    assert!(database.is_well().await);

    postgres::execute(&url, "UPDATE compatibility SET oldest = 9999").await;
    assert!(!database.is_well().await);
    let refused = Database::connect(&url).await.err().unwrap().to_string();
    assert!(refused.contains("a newer version of greenlight"), "{refused}");
}

#[tokio::test]
async fn a_process_that_lost_its_lane_begins_no_run_in_it() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let (journal, other) = (connect(&url).await, connect(&url).await);
    let (database, others) = (journal.shared().unwrap(), other.shared().unwrap());
    let id = pull_request(1, 1);
    admit(&journal, &id, Class::Asked, "d").await;
    let old = claim(database, "one", Class::Asked).await.unwrap();
    postgres::let_leases_end(&url).await;
    let new = claim(others, "two", Class::Asked).await.unwrap();
    // Both believe that they hold the lane, and begin at the same time.
    let (refused, begun) = tokio::join!(
        lease::under(Some(Arc::clone(&old)), journal.begin(started("r1", &id))),
        lease::under(Some(Arc::clone(&new)), other.begin(started("r2", &id))),
    );
    assert!(matches!(refused, Err(Error::Taken)), "{refused:?}");
    assert_eq!(journal.runs_of(&id).await.unwrap(), [begun.unwrap()]);
    // Nor can it reschedule what the other one began.
    database.schedule(&old, &id.key(), Some(Timestamp::MAX)).await.unwrap();
    assert_eq!(database.lanes_due().await.unwrap(), 1);
    lease::under(Some(old), async {
        let again = journal.begin(started("r2", &id)).await;
        assert!(matches!(again, Err(Error::Taken)), "{again:?}");
    })
    .await;
}

#[tokio::test]
async fn repositories_take_turns_and_none_gets_all_workers() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    for number in 1..=40 {
        admit(
            &journal,
            &pull_request(1, number),
            Class::Asked,
            &format!("big {number}"),
        )
        .await;
    }
    for number in 1..=3 {
        admit(
            &journal,
            &pull_request(2, number),
            Class::Asked,
            &format!("small {number}"),
        )
        .await;
    }
    let mut claimed = Vec::new();
    while let Some(lease) = claim(database, "one", Class::Asked).await {
        claimed.push(lease.lane.clone());
    }
    assert_eq!(claimed, ["@1#1", "@2#1", "@1#2", "@2#2", "@1#3", "@2#3", "@1#4"]);
    // Answers need no worker.
    admit(&journal, &pull_request(1, 99), Class::Light, "help").await;
    assert_eq!(claim(database, "one", Class::Light).await.unwrap().lane, "@1#99");
}

#[tokio::test]
async fn a_lane_is_worked_in_order_and_by_one_process() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let id = pull_request(1, 1);
    for delivery in ["first", "second"] {
        assert_eq!(admit(&journal, &id, Class::Light, delivery).await, Admission::New);
    }
    assert_eq!(admit(&journal, &id, Class::Light, "first").await, Admission::Known);
    let lease = claim(database, "one", Class::Light).await.unwrap();
    assert!(claim(database, "two", Class::Light).await.is_none());
    let first = database.next_piece(&lease, &none()).await.unwrap().unwrap();
    assert!(matches!(&first.what, PieceKind::Delivery(id, _) if id.0 == "first"));
    database.complete(&lease, first.nth, &[]).await.unwrap();
    let second = database.next_piece(&lease, &none()).await.unwrap().unwrap();
    assert!(second.nth > first.nth);
    database.put_off(&lease, second.nth, None).await.unwrap();
    assert!(database.next_piece(&lease, &none()).await.unwrap().is_none());
    database.release(&lease).await.unwrap();
    assert!(claim(database, "two", Class::Light).await.is_none());
    let unfinished = journal.unfinished().await.unwrap();
    assert_eq!(
        unfinished.iter().map(|(id, _)| id.0.as_str()).collect::<Vec<_>>(),
        ["second"]
    );
}

#[tokio::test]
async fn a_delivery_is_done_with_its_last_part() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let (whole, parts) = (pull_request(1, 1), [pull_request(1, 2), pull_request(1, 3)]);
    admit(&journal, &whole, Class::Light, "d").await;
    let lease = claim(database, "one", Class::Light).await.unwrap();
    let piece = database.next_piece(&lease, &none()).await.unwrap().unwrap();
    let parts = parts.each_ref().map(|part| (waiting(part, Class::Light), closed(part)));
    database.complete(&lease, piece.nth, &parts).await.unwrap();
    for left in [1, 0] {
        assert_eq!(journal.unfinished().await.unwrap().len(), 1);
        let lease = claim(database, "one", Class::Light).await.unwrap();
        let piece = database.next_piece(&lease, &none()).await.unwrap().unwrap();
        database.complete(&lease, piece.nth, &[]).await.unwrap();
        assert_eq!(database.lanes_due().await.unwrap(), left);
    }
    assert!(journal.unfinished().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_process_that_lost_its_lane_changes_nothing_in_it() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let (journal, other) = (connect(&url).await, connect(&url).await);
    let (database, others) = (journal.shared().unwrap(), other.shared().unwrap());
    let id = pull_request(1, 1);
    admit(&journal, &id, Class::Asked, "d").await;
    let old = claim(database, "one", Class::Asked).await.unwrap();
    let piece = database.next_piece(&old, &none()).await.unwrap().unwrap();
    postgres::let_leases_end(&url).await;
    let new = claim(others, "two", Class::Asked).await.unwrap();
    assert!(new.token > old.token);
    assert_eq!(database.extend("one").await.unwrap(), [0; 0]);
    assert_eq!(others.extend("two").await.unwrap(), [new.token]);
    for refused in [
        database.complete(&old, piece.nth, &[]).await,
        database.put_off(&old, piece.nth, None).await,
    ] {
        assert!(matches!(refused, Err(Error::Taken)), "{refused:?}");
    }
    database.release(&old).await.unwrap();
    assert_eq!(others.extend("two").await.unwrap(), [new.token]);
    others.complete(&new, piece.nth, &[]).await.unwrap();
    assert_eq!(postgres::count(&url, "SELECT count(*) FROM work").await, 0);
}

#[tokio::test]
async fn a_lease_that_is_not_trusted_changes_nothing_even_if_the_lane_is_free() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    admit(&journal, &pull_request(1, 1), Class::Asked, "d").await;
    let lease = claim(database, "one", Class::Asked).await.unwrap();
    let piece = database.next_piece(&lease, &none()).await.unwrap().unwrap();
    lease.lose();
    assert!(matches!(
        database.complete(&lease, piece.nth, &[]).await,
        Err(Error::Taken)
    ));
    lease.extend(Instant::now() + Duration::from_secs(10));
    lease::under(Some(Arc::clone(&lease)), async { assert!(lease::may_act()) }).await;
    database.complete(&lease, piece.nth, &[]).await.unwrap();
}

#[tokio::test]
async fn the_repositories_of_an_owner_share_a_limit_that_no_race_exceeds() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    for repository in 1..=5 {
        for number in 1..=3 {
            let id = pull_request(repository, number);
            admit(&journal, &id, Class::Asked, &format!("{repository} {number}")).await;
        }
    }
    let claimants: Vec<Claimant> = (0..12)
        .map(|number| Claimant {
            per_owner: Some(3),
            ..claimant(&number.to_string())
        })
        .collect();
    let claims = claimants.iter().map(|claimant| database.claim(claimant, Class::Asked));
    let claimed = futures::future::join_all(claims).await;
    assert_eq!(claimed.into_iter().filter_map(Result::unwrap).count(), 3);
    // Answers need no worker.
    admit(&journal, &pull_request(1, 9), Class::Light, "help").await;
    assert!(database.claim(&claimants[0], Class::Light).await.unwrap().is_some());
}

#[tokio::test]
async fn work_that_needs_labels_is_left_to_a_process_that_has_them() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let id = pull_request(1, 1);
    admit(&journal, &id, Class::Asked, "d").await;
    let plain = claim(database, "plain", Class::Asked).await.unwrap();
    let piece = database.next_piece(&plain, &none()).await.unwrap().unwrap();
    let needs = WorkerLabels::new(["gpu", "java"]).unwrap();
    database.leave_to(&plain, piece.nth, &needs).await.unwrap();
    assert!(database.next_piece(&plain, &none()).await.unwrap().is_none());
    database.release(&plain).await.unwrap();
    assert!(claim(database, "plain", Class::Asked).await.is_none());
    assert_eq!(database.without_worker().await.unwrap(), std::slice::from_ref(&needs));

    // What comes after it and needs no labels is not held up.
    let waiting = Waiting {
        class: Class::Light,
        ..waiting(&id, Class::Light)
    };
    journal
        .admit(&DeliveryId("closed".into()), &closed(&id), &waiting)
        .await
        .unwrap();
    let light = claim(database, "plain", Class::Light).await.unwrap();
    let next = database.next_piece(&light, &none()).await.unwrap().unwrap();
    assert!(matches!(&next.what, PieceKind::Delivery(id, _) if id.0 == "closed"));
    database.release(&light).await.unwrap();

    let able = Claimant {
        labels: WorkerLabels::new(["GPU", "java", "linux"]).unwrap(),
        ..claimant("able")
    };
    database.register(&able).await.unwrap();
    assert!(database.has_worker(&needs).await.unwrap());
    assert_eq!(database.without_worker().await.unwrap(), []);
    let lease = database.claim(&able, Class::Asked).await.unwrap().unwrap();
    let again = database.next_piece(&lease, &able.labels).await.unwrap().unwrap();
    assert_eq!(again.nth, piece.nth);
}

#[tokio::test]
async fn work_goes_to_a_process_that_has_what_the_tests_were_found_to_need_if_there_is_one() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let (first, second) = (pull_request(1, 1), pull_request(1, 2));
    let java = WorkerLabels::new(["java"]).unwrap();
    admit(&journal, &first, Class::Asked, "first").await;
    // No process has it, so any may try.
    database.found_to_need(&first, &java, true).await.unwrap();
    let plain = claim(database, "plain", Class::Asked).await.unwrap();
    database.release(&plain).await.unwrap();

    let able = Claimant {
        labels: java.clone(),
        ..claimant("able")
    };
    database.register(&able).await.unwrap();
    assert!(claim(database, "plain", Class::Asked).await.is_none());
    assert!(database.next_piece(&plain, &none()).await.unwrap().is_none());
    // It is remembered for what arrives later.
    admit(&journal, &second, Class::Asked, "second").await;
    assert!(claim(database, "plain", Class::Asked).await.is_none());
    assert_eq!(
        database.claim(&able, Class::Asked).await.unwrap().unwrap().lane,
        first.key()
    );
    // Nothing else is held up, and nothing waits for a process that is gone.
    admit(&journal, &second, Class::Light, "light").await;
    admit(&journal, &pull_request(2, 1), Class::Asked, "other").await;
    assert_eq!(claim(database, "plain", Class::Asked).await.unwrap().lane, "@2#1");
    postgres::execute(&url, "UPDATE worker SET until = now()").await;
    assert_eq!(claim(database, "plain", Class::Asked).await.unwrap().lane, second.key());
}

#[tokio::test]
async fn small_work_of_a_repository_comes_first_for_a_while() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    for (number, is_small) in [(1, false), (2, false), (3, true)] {
        let id = pull_request(1, number);
        let waiting = Waiting {
            is_small,
            ..waiting(&id, Class::Asked)
        };
        let delivery = DeliveryId(number.to_string());
        journal.admit(&delivery, &closed(&id), &waiting).await.unwrap();
    }
    // What has waited for long enough is not overtaken any more.
    postgres::execute(
        &url,
        "UPDATE work SET turn_at = turn_at - 301 * 1000000 WHERE lane = '@1#2'",
    )
    .await;
    let mut claimed = Vec::new();
    while let Some(lease) = claim(database, "one", Class::Asked).await {
        claimed.push(lease.lane.clone());
    }
    assert_eq!(claimed, ["@1#2", "@1#3", "@1#1"]);
}

#[tokio::test]
async fn of_two_reservations_at_once_one_sees_the_other() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let all: Vec<PullRequestId> = (1..=8).map(|number| pull_request(1, number)).collect();
    let mut leases = Vec::new();
    for (at, id) in all.iter().enumerate() {
        admit(&journal, id, Class::Light, &at.to_string()).await;
        leases.push(claim(database, "one", Class::Light).await.unwrap());
    }
    let repository = &all[0].repository;
    let reservation = |at: usize| Reservation {
        run: RunId(format!("r{at}")),
        amount: Spend::default(),
        spent: Spend::default(),
    };
    let reserving = leases.iter().enumerate().map(|(at, lease)| {
        let reserving = async move { database.reserve(repository, &reservation(at)).await.unwrap().len() };
        lease::under(Some(Arc::clone(lease)), reserving)
    });
    let mut seen = futures::future::join_all(reserving).await;
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
    // A reservation does not outlast its lease.
    postgres::let_leases_end(&url).await;
    let again = reservation(9);
    let lone = lease::under(Some(Arc::clone(&leases[0])), database.reserve(repository, &again));
    assert_eq!(lone.await.unwrap(), []);
}

#[tokio::test]
async fn later_deliveries_of_a_repository_are_admitted_like_the_first() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    let id = |name: &str| DeliveryId(name.into());
    let of = pull_request(1, 1);
    // The first finds no turn of its repository, the second has one, and the third another owner.
    for (nth, owner) in ["a", "a", "b", "b"].into_iter().enumerate() {
        let waiting = Waiting {
            owner: owner.into(),
            interrupts: true,
            ..waiting(&of, Class::Light)
        };
        let name = format!("d{nth}");
        let mut admitted = Vec::new();
        for _ in 0..2 {
            admitted.push(journal.admit(&id(&name), &closed(&of), &waiting).await.unwrap());
        }
        assert_eq!(admitted, [Admission::New, Admission::Known], "{name}");
        let rows = "SELECT (SELECT count(*) FROM work) * 1000 + (SELECT count(*) FROM interrupt) * 100 \
                    + (SELECT count(*) FROM lane) * 10 + (SELECT count(*) FROM turn)";
        let each = i64::try_from(nth + 1).unwrap();
        assert_eq!(postgres::count(&url, rows).await, each * 1_100 + 11, "{name}");
    }
    // What interrupts is known to the process that holds the lane, and the pieces come in order.
    let lease = claim(database, "one", Class::Light).await.unwrap();
    assert_eq!(database.interruptions("one").await.unwrap().len(), 4);
    for nth in 0..4 {
        let piece = database.next_piece(&lease, &none()).await.unwrap().unwrap();
        assert!(matches!(&piece.what, PieceKind::Delivery(found, _) if *found == id(&format!("d{nth}"))));
        database.complete(&lease, piece.nth, &[]).await.unwrap();
    }
}

#[tokio::test]
async fn repositories_whose_turn_never_came_are_served_in_order_of_arrival() {
    let Some(url) = postgres::new_database().await else {
        return;
    };
    let journal = connect(&url).await;
    let database = journal.shared().unwrap();
    for repository in [3, 1, 2] {
        admit(
            &journal,
            &pull_request(repository, 1),
            Class::Light,
            &format!("d{repository}"),
        )
        .await;
    }
    for repository in [3, 1, 2] {
        let lease = claim(database, "one", Class::Light).await.unwrap();
        assert_eq!(lease.lane, pull_request(repository, 1).key());
    }
    assert!(claim(database, "one", Class::Light).await.is_none());
}
