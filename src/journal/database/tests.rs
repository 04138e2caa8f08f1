//! This version reads a database of version 0.1.0, which has names but no ids.

use std::borrow::Cow;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use super::*;
use crate::domain::event::{Comment, CommentPlace, Fact};
use crate::domain::id::{
    Account, DeliveryId, InstallationId, PullRequestId, Repository, RepositoryId, RepositoryName, RunId,
};
use crate::domain::run::{Origin, Run};
use crate::journal::{Admission, Class, Unidentified, Waiting};

const STARTED: &str = r#"{"started":{"run":"r123456789","pull_request":{"repository":"Acme/rail_","number":3},"installation":77,"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","base":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","origin":{"comment":{"id":9,"by":"ada"}},"consent":{"command":{"by":"ada"}},"asks_about_tests":false,"approvers":2,"gate_seconds":86400,"at":"2026-03-01T10:00:00Z"}}"#;
const ASKED: &str = r#"{"gate_opened":{"id":"gaaaa2","kind":{"land":{"files":1}},"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","digest":"00","approvers":2,"opened":"2026-03-01T10:01:00Z","expires":"2030-03-01T10:00:00Z"}}"#;
const ANSWERED: &str = r#"{"answered":{"gate":"gaaaa2","answer":{"approved":{"by":"ada"}},"comment":12}}"#;
const DELIVERED: &str = r#"{"installation":77,"received":"2026-03-01T10:02:00Z","fact":{"CommentCreated":{"pull_request":{"repository":"Acme/rail_","number":3},"id":12,"place":"Conversation","author":"ada","author_is_bot":false,"body":"/greenlight approve","written":null}}}"#;

/// The newest runs of a repository.
async fn runs_in(database: &Database, repository: &Repository) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut take = |run| runs.push(run);
    database.each_run_in(repository, 10, &mut take).await.unwrap();
    runs
}

/// A database of the first version with a run that waits, and a delivery.
async fn old(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("greenlight.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let mut migrator = migrator(Dialect::Sqlite);
    migrator.migrations = Cow::Owned(migrator.migrations.iter().take(1).cloned().collect());
    migrator.run(&pool).await.unwrap();
    let run = "INSERT INTO run (id, repository, number, started) VALUES ('r123456789', 'Acme/rail_', 3, '2026-03-01T10:00:00Z')";
    sqlx::query(run).execute(&pool).await.unwrap();
    for (place, step) in (0_i64..).zip([STARTED, ASKED, ANSWERED]) {
        let insert = sqlx::query("INSERT INTO step (run, place, step) VALUES ('r123456789', ?, ?)");
        insert.bind(place).bind(step).execute(&pool).await.unwrap();
    }
    let delivery = "INSERT INTO delivery (id, event, received) VALUES (?, ?, '2026-03-01T10:02:00Z')";
    let id = "comment Acme/rail_#3 Conversation 12";
    sqlx::query(delivery)
        .bind(id)
        .bind(DELIVERED)
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    file
}

fn repository(id: u64, name: &str) -> Repository {
    Repository {
        id: Some(RepositoryId(id)),
        name: name.parse().unwrap(),
    }
}

fn third(repository: Repository) -> PullRequestId {
    PullRequestId { repository, number: 3 }
}

#[tokio::test]
async fn runs_of_an_older_version_are_filed_under_the_repository_id() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Database::open(&old(folder.path()).await).await.unwrap();
    let unidentified = sqlite.unidentified().await.unwrap();
    let name: RepositoryName = "Acme/rail_".parse().unwrap();
    let installation = Some(InstallationId(77));
    assert_eq!(
        unidentified,
        [Unidentified {
            name: name.clone(),
            installation
        }]
    );
    // The runs are found by name, not yet by id.
    assert_eq!(sqlite.runs_of(&third(repository(5, "Acme/rail_"))).await.unwrap(), []);
    assert_eq!(sqlite.runs_of(&third(name.clone().into())).await.unwrap().len(), 1);

    let (now, made) = (repository(5, "umbrella/tube"), "2020-01-01T00:00:00Z".parse().unwrap());
    sqlite.identify(&name, &now, Some(made)).await.unwrap();
    sqlite.know(&now, Some(InstallationId(78))).await.unwrap();
    assert_eq!(sqlite.unidentified().await.unwrap(), []);
    assert_eq!(sqlite.runs_of(&third(name.into())).await.unwrap(), []);
    // From now on the name does not matter.
    let mut runs = sqlite.runs_of(&third(repository(5, "who/cares"))).await.unwrap();
    let run = runs.remove(0);
    assert_eq!(run.started.pull_request().unwrap().to_string(), "umbrella/tube#3");
    assert_eq!(run.started.installation, Some(InstallationId(78)));
    let by = Account::new("ada");
    assert_eq!(run.started.origin, Origin::Comment { id: 9, by: by.clone() });
    assert!(run.gates[0].approved_by().eq([&by]));
    assert_eq!(runs_in(&sqlite, &now).await, std::slice::from_ref(&run));
    assert_eq!(sqlite.open_runs().await.unwrap(), std::slice::from_ref(&run));
    assert_eq!(sqlite.find(run.id()).await.unwrap(), Some(run));
    assert_eq!(runs_in(&sqlite, &repository(6, "umbrella/tube")).await, []);

    // A comment that was handled is recognised when it is redelivered with the id.
    let (_, mut event) = sqlite.unfinished().await.unwrap().remove(0);
    *event.repository_mut().unwrap() = now;
    let again = event.identity(DeliveryId("again".into()));
    let waiting = Waiting {
        lane: String::new(),
        class: Class::Light,
        repository: String::new(),
        pull_request: String::new(),
        owner: String::new(),
        interrupts: false,
        is_small: false,
    };
    assert_eq!(sqlite.admit(&again, &event, &waiting).await.unwrap(), Admission::Known);
    let Fact::CommentCreated(Comment { place, author, .. }) = event.fact else {
        panic!("no comment");
    };
    assert_eq!((place, author), (CommentPlace::Conversation, Account::new("ada")));
}

#[tokio::test]
async fn runs_older_than_the_repository_of_that_name_are_over() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Database::open(&old(folder.path()).await).await.unwrap();
    let name: RepositoryName = "Acme/rail_".parse().unwrap();
    let strangers = repository(6, "Acme/rail_");
    let made: Timestamp = "2026-04-01T00:00:00Z".parse().unwrap();
    sqlite.identify(&name, &strangers, Some(made)).await.unwrap();
    sqlite.know(&strangers, None).await.unwrap();
    assert_eq!(runs_in(&sqlite, &strangers).await, []);
    assert_eq!(sqlite.open_runs().await.unwrap(), []);
    assert_eq!(sqlite.unidentified().await.unwrap(), []);
}

async fn execute(sqlite: &Database, statement: &'static str) {
    sqlx::query(statement).execute(&sqlite.pool).await.unwrap();
}

/// An intact run of the first format, beside the run that a test breaks.
async fn with_another(folder: &Path) -> Database {
    let sqlite = Database::open(&old(folder).await).await.unwrap();
    for statement in [
        "INSERT INTO run (id, repository, number, started) SELECT 'r2', repository, number, started FROM run",
        "INSERT INTO step (run, place, step) SELECT 'r2', place, replace(step, 'r123456789', 'r2') FROM step",
    ] {
        execute(&sqlite, statement).await;
    }
    sqlite
}

/// The runs that each kind of query finds.
async fn found(sqlite: &Database) -> [Vec<String>; 3] {
    let repository: Repository = "Acme/rail_".parse::<RepositoryName>().unwrap().into();
    let names = |runs: Vec<Run>| runs.into_iter().map(|run| run.id().0.clone()).collect();
    [
        names(sqlite.open_runs().await.unwrap()),
        names(runs_in(sqlite, &repository).await),
        names(sqlite.runs_of(&third(repository)).await.unwrap()),
    ]
}

#[tokio::test]
async fn a_run_without_its_start_is_over_and_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = with_another(folder.path()).await;
    execute(
        &sqlite,
        "UPDATE step SET step = '{' WHERE run = 'r123456789' AND place = 0",
    )
    .await;
    assert_eq!(sqlite.unidentified().await.unwrap().len(), 1);
    assert_eq!(found(&sqlite).await, [["r2"], ["r2"], ["r2"]]);
    let over: Vec<String> = sqlx::query_scalar("SELECT id FROM run WHERE is_over AND unreadable")
        .fetch_all(&sqlite.pool)
        .await
        .unwrap();
    assert_eq!(over, ["r123456789"]);
}

#[tokio::test]
async fn a_run_with_a_broken_step_is_found_to_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = with_another(folder.path()).await;
    execute(
        &sqlite,
        "UPDATE step SET step = '{\"later\":1}' WHERE run = 'r123456789' AND place = 1",
    )
    .await;
    let runs = sqlite.open_runs().await.unwrap();
    let unreadable: Vec<_> = runs.iter().map(|run| (run.unreadable, run.length)).collect();
    assert_eq!(unreadable, [(Some(1), 3), (None, 3)]);
}

#[tokio::test]
async fn a_run_of_a_newer_greenlight_is_listed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = with_another(folder.path()).await;
    execute(
        &sqlite,
        "UPDATE step SET format = 99, step = 'x' WHERE run = 'r123456789' AND place = 1",
    )
    .await;
    assert_eq!(found(&sqlite).await, [["r2"], ["r2"], ["r2"]]);
    let name: RepositoryName = "Acme/rail_".parse().unwrap();
    let journal = super::super::Journal::Database(sqlite);
    let listed = journal.unreadable(&name.clone().into(), None).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|run| (run.run.0.as_str(), run.why)).collect();
    assert_eq!(listed, [("r123456789", super::super::Newer(99).into())]);
    let refused = journal.refuse_newer(&third(name.into())).await;
    assert!(matches!(refused, Err(Error::Newer(..))), "{refused:?}");
}

#[tokio::test]
async fn a_database_of_a_newer_greenlight_is_opened_only_if_it_says_that_it_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let file = old(folder.path()).await;
    let sqlite = Database::open(&file).await.unwrap();
    execute(&sqlite, "ALTER TABLE run ADD COLUMN later TEXT").await;
    execute(
        &sqlite,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)",
    )
    .await;
    let again = Database::open(&file).await.unwrap();
    assert_eq!(again.open_runs().await.unwrap().len(), 1);
    execute(&again, "UPDATE compatibility SET oldest = 9999").await;
    assert!(!sqlite.is_well().await);
    sqlite.pool.close().await;
    again.pool.close().await;
    let refused = Database::open(&file).await.err().unwrap().to_string();
    assert!(
        refused.contains("greenlight.db: a newer version of greenlight"),
        "{refused}"
    );
    assert!(refused.contains("upgrade greenlight"), "{refused}");
}

#[tokio::test]
async fn a_delivery_that_cannot_be_read_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Database::open(&old(folder.path()).await).await.unwrap();
    execute(
        &sqlite,
        "INSERT INTO delivery (id, event, received) VALUES ('x', '{', '2026-03-01T10:00:00Z')",
    )
    .await;
    assert_eq!(sqlite.unfinished().await.unwrap().len(), 1);
}

#[tokio::test]
async fn steps_are_read_from_any_place_on_with_any_text() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Database::open(&old(folder.path()).await).await.unwrap();
    let id = RunId("r123456789".into());
    let text = |place: usize| format!("{place} {}\nä 7 ' \" 🦀", "x ".repeat(place % 7));
    for place in 3..250 {
        sqlx::query("INSERT INTO step (run, place, step, at) VALUES ('r123456789', ?, ?, ?)")
            .bind(i64::try_from(place).unwrap())
            .bind(text(place))
            .bind((place % 2 == 0).then_some(1_700_000_000_000_000_i64))
            .execute(&sqlite.pool)
            .await
            .unwrap();
    }
    for (from, limit) in [(3, 500), (98, 105), (100, 100), (199, 1), (3, 0), (250, 10)] {
        let steps = sqlite.steps(&id, from, limit).await.unwrap();
        let places: Vec<usize> = steps.iter().map(|step| step.place).collect();
        assert_eq!(places, (from..250.min(from + limit)).collect::<Vec<_>>());
        for step in steps {
            assert_eq!(
                (&step.json, step.at.is_some()),
                (&text(step.place), step.place % 2 == 0)
            );
        }
    }
    assert_eq!(sqlite.steps(&RunId("r2".into()), 0, 10).await.unwrap(), []);
    execute(&sqlite, "UPDATE step SET format = 'new one' WHERE place = 5").await;
    assert!(sqlite.steps(&id, 0, 10).await.is_err());
}
