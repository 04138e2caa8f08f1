//! Runs written in every journal format so far: they can be read for ever. CONTRIBUTING.md says how to add more.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use greenlight::domain::reply;
use greenlight::domain::run::{Run, Step};
use greenlight::journal::{self, Database, FIRST, FORMAT, Journal};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

/// For each format that is no longer written, the SHA-256 of its files, one format on each line. They never change.
const FROZEN: &str = "tests/fixtures/journals/frozen";

fn folder(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/journals/{format}"))
}

/// The files of a format, by name.
fn files(format: u32) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder(format)).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "format {format} has no journals");
    files
}

/// The steps of a file.
fn steps(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("{\"format\":"))
}

/// The name of a step or of another enum value.
fn name(value: &Value) -> &str {
    match value {
        Value::String(name) => name,
        value => value.as_object().unwrap().keys().next().unwrap(),
    }
}

/// The names of all steps, taken from the error about an unknown one.
fn all_steps() -> BTreeSet<String> {
    let refused = serde_json::from_str::<Step>("\"none of them\"")
        .unwrap_err()
        .to_string();
    let names = refused.split('`').skip(3).step_by(2);
    names.map(str::to_string).collect()
}

/// The result of a run, without the sentences made from it.
fn summary(run: &Run) -> String {
    let mut text = format!(
        "  {} {} on {}: {}, {} steps",
        run.id(),
        run.started.mode.name(),
        run.started.head.short(),
        reply::state(run),
        run.length
    );
    for asked in &run.gates {
        let approved: Vec<_> = asked.approved_by().map(|by| by.login.as_str()).collect();
        let rejected = asked.rejected.as_ref().map(|(by, _)| by.login.as_str());
        let kind = asked.gate.kind.name();
        write!(text, "\n    {kind}: approved by {approved:?}, rejected by {rejected:?}").unwrap();
        if !asked.unvouched.is_empty() {
            write!(text, ", {} do not count", asked.unvouched.len()).unwrap();
        }
    }
    if let Some((before, triage)) = &run.reproduced {
        write!(text, "\n    {}: {:?}", before.command, triage.verdict).unwrap();
    }
    if let Some(proposal) = &run.proposal {
        let evidence = run.evidence.as_ref().map(|evidence| &evidence.digest);
        let digest = proposal.patch.digest();
        write!(
            text,
            "\n    proposed {digest}, with {evidence:?}, in review {:?}",
            run.review
        )
        .unwrap();
    }
    let (said, turned_down) = (run.said.len(), run.turned_down.len());
    write!(
        text,
        "\n    said {said}, tried {}, spent {} turns, turned down {turned_down}",
        run.search.tried, run.spent.turns
    )
    .unwrap();
    write!(
        text,
        "\n    settled {:?}, base moved {}",
        run.settled,
        run.base_moved.is_some()
    )
    .unwrap();
    if let Some(commit) = &run.undone {
        write!(text, ", undone by {}", commit.short()).unwrap();
    }
    text
}

#[test]
fn every_format_that_was_ever_written_is_read() {
    let mut text = String::new();
    for format in FIRST..=FORMAT {
        for (file, journal) in files(format) {
            let run = journal::fold(&journal).unwrap();
            assert_eq!(run.unreadable, None, "{format}/{file}");
            writeln!(text, "{format}/{file}\n{}", summary(&run)).unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

/// As rows of a database, each with its format.
#[tokio::test]
async fn a_database_reads_every_format_as_a_ref_does() {
    for format in FIRST..=FORMAT {
        for (_, text) in files(format) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("greenlight.db");
            let journal = Journal::Database(Database::open(&file).await.unwrap());
            let run = journal::fold(&text).unwrap();
            // A run on a checkout is stored in a file.
            let Some(id) = run.started.pull_request() else {
                continue;
            };
            let mut database = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(&file))
                .await
                .unwrap();
            sqlx::query("INSERT INTO run (id, repository, repository_id, number, started) VALUES (?, ?, ?, ?, ?)")
                .bind(&run.id().0)
                .bind(id.repository.name.to_string())
                .bind(id.repository.id.map(|id| i64::try_from(id.0).unwrap()))
                .bind(i64::try_from(id.number).unwrap())
                .bind(run.started.at.to_string())
                .execute(&mut database)
                .await
                .unwrap();
            for (place, step) in (0_i64..).zip(steps(&text)) {
                sqlx::query("INSERT INTO step (run, place, step, format) VALUES (?, ?, ?, ?)")
                    .bind(&run.id().0)
                    .bind(place)
                    .bind(step)
                    .bind(format)
                    .execute(&mut database)
                    .await
                    .unwrap();
            }
            assert_eq!(journal.runs_of(id).await.unwrap(), std::slice::from_ref(&run));
        }
    }
}

/// A new step needs a journal that contains it.
#[test]
fn the_newest_format_has_every_step() {
    let mut seen = BTreeSet::new();
    for (_, text) in files(FORMAT) {
        for step in steps(&text) {
            seen.insert(name(&serde_json::from_str(step).unwrap()).to_string());
        }
    }
    assert!(all_steps().contains("started") && all_steps().len() > 20);
    assert_eq!(all_steps().difference(&seen).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn files_of_older_formats_never_change() {
    let mut digests = String::new();
    for format in FIRST..FORMAT {
        let mut hash = Sha256::new();
        for (name, text) in files(format) {
            hash.update(format!("{name} {}\n{text}", text.len()));
        }
        writeln!(digests, "{format} {}", hex::encode(hash.finalize())).unwrap();
    }
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join(FROZEN);
    assert_eq!(std::fs::read_to_string(frozen).unwrap(), digests);
}
