//! `greenlight prune`: what is old is shown, and deleted only without `--dry-run`.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::Door;

const RUN: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

async fn pruned(door: &Door, more: &[&str]) -> Value {
    let ended = door.run(["prune", "--json"].iter().chain(more)).await.with(0);
    serde_json::from_str(&ended.out).unwrap()
}

/// A file of this many bytes that was last used months ago.
fn old(path: &Path, bytes: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, vec![0; bytes]).unwrap();
    let months = SystemTime::from(jiff::Timestamp::now()) - Duration::from_hours(24 * 100);
    for path in [path, path.parent().unwrap()] {
        File::open(path).unwrap().set_modified(months).unwrap();
    }
}

/// A data folder with old and new data, and its bundles.
async fn lived_in() -> Door {
    let door = Door::new();
    let bundles = door.data().join("bundles");
    let door = door.with("GREENLIGHT_BUNDLES", bundles.to_str().unwrap());
    pruned(&door, &["--dry-run"]).await;
    let options = SqliteConnectOptions::new().filename(door.data().join("greenlight.db"));
    let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
    let (old_run, new_run) = ("2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z");
    for (id, started, is_over) in [(RUN, old_run, 1), ("open", old_run, 0), ("new", new_run, 1)] {
        let run = "INSERT INTO run (id, repository, number, started, is_over) VALUES (?, 'acme/rail', 1, ?, ?)";
        let run = sqlx::query(run).bind(id).bind(started).bind(is_over);
        run.execute(&mut journal).await.unwrap();
        // Ten bytes, in eight characters.
        let step = sqlx::query("INSERT INTO step (run, place, step) VALUES (?, 0, '\"äü1234\"')").bind(id);
        step.execute(&mut journal).await.unwrap();
        old(&bundles.join("acme/rail").join(format!("{id}.zip")), 100);
    }
    for (id, received, done) in [("old", old_run, 1), ("waits", old_run, 0), ("new", new_run, 1)] {
        let delivery = "INSERT INTO delivery (id, event, received, done) VALUES (?, '{}', ?, ?)";
        let delivery = sqlx::query(delivery).bind(id).bind(received).bind(done);
        delivery.execute(&mut journal).await.unwrap();
    }
    journal.close().await.unwrap();
    old(&door.data().join("installed/github/@1/old/file"), 1_000);
    door
}

#[tokio::test]
async fn a_dry_run_shows_what_the_next_one_deletes() {
    let door = lived_in().await;
    let package = door.data().join("installed/github/@1/old/file");
    let bundle = |run: &str| door.data().join(format!("bundles/acme/rail/{run}.zip"));
    let mut expected = json!({
        "dry_run": true,
        "deliveries": { "number": 1 },
        "runs": { "number": 1, "bytes": 10 },
        "bundles": { "number": 1, "bytes": 100 },
        "packages": { "number": 1, "bytes": 1_000 },
        "mirrors": { "number": 0, "bytes": 0 },
    });
    for _ in 0..2 {
        assert_eq!(pruned(&door, &["--dry-run"]).await, expected);
    }
    assert!(package.exists() && bundle(RUN).exists());
    let shown = door.run(["prune", "--dry-run"]).await.with(0).out;
    assert!(shown.starts_with("Nothing was deleted."), "{shown}");
    assert!(shown.contains("1.1 KiB"), "{shown}");

    expected["dry_run"] = json!(false);
    assert_eq!(pruned(&door, &[]).await, expected);
    assert!(!package.exists() && !bundle(RUN).exists());
    assert!(bundle("open").exists() && bundle("new").exists());
    let left = pruned(&door, &["--dry-run"]).await;
    for name in ["deliveries", "runs", "bundles", "packages", "mirrors"] {
        assert_eq!(left[name]["number"], 0, "{left}");
    }
    // Shorter times than those of the service delete more.
    let sooner = ["--dry-run", "--retention-runs", "0d"];
    let refused = door.run(["prune"].iter().chain(&sooner)).await.with(2);
    refused.saying("--retention-runs");
}

#[tokio::test]
async fn nothing_is_deleted_beside_a_running_service() {
    let door = lived_in().await;
    let lock = File::options()
        .create(true)
        .append(true)
        .open(door.data().join(".lock"))
        .unwrap();
    lock.lock().unwrap();
    door.run(["prune"]).await.with(2).saying("another `greenlight serve`");
    assert_eq!(pruned(&door, &["--dry-run"]).await["runs"]["number"], 1);
    drop(lock);
    assert_eq!(pruned(&door, &[]).await["runs"]["number"], 1);
}

#[tokio::test]
async fn more_than_is_deleted_at_a_time_is_deleted_whole() {
    let door = lived_in().await;
    let options = SqliteConnectOptions::new().filename(door.data().join("greenlight.db"));
    let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
    let counted = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 1234) ";
    for many in [
        "INSERT INTO run (id, repository, number, started, is_over) \
         SELECT 'r' || n, 'acme/rail', n, '2020-01-01T00:00:00Z', 1 FROM counted",
        "INSERT INTO step (run, place, step) SELECT 'r' || n, 0, '{}' FROM counted",
        "INSERT INTO delivery (id, event, received, done) SELECT 'd' || n, '', '2020-01-01T00:00:00Z', 1 FROM counted",
    ] {
        sqlx::query(sqlx::AssertSqlSafe(format!("{counted}{many}")))
            .execute(&mut journal)
            .await
            .unwrap();
    }
    let told = pruned(&door, &[]).await;
    assert_eq!(
        (&told["runs"]["number"], &told["deliveries"]["number"]),
        (&json!(1_235), &json!(1_235))
    );
    for (table, left) in [("run", 2), ("step", 2), ("delivery", 2)] {
        let count = format!("SELECT count(*) FROM {table}");
        let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .fetch_one(&mut journal)
            .await
            .unwrap();
        assert_eq!(count, left, "{table}");
    }
    journal.close().await.unwrap();
}
