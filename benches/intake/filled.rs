//! Fills a database with runs: most of them over, and some that wait for people.

use std::time::Duration;

use greenlight::journal::Database;
use sqlx::{AnyConnection, Connection as _};

const STARTED: &str = r#"{"started":{"run":"r%n","pull_request":{"repository":"acme/rail","repository_id":%r,"number":%n},"installation":1,"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","base":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","origin":{"comment":{"id":9,"by":"ada"}},"consent":{"command":{"by":"ada"}},"approvers":1,"gate_seconds":86400,"at":"2026-03-01T10:00:00Z"}}"#;
const ASKED: &str = r#"{"gate_opened":{"id":"gaaaa2","kind":{"land":{"files":1}},"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","digest":"00","approvers":1,"opened":"2026-03-01T10:01:00Z","expires":"2100-03-01T10:00:00Z"}}"#;
/// When they began, in the steps above.
const STARTED_AT: &str = "2026-03-01T10:00:00Z";
/// When their requests expire, in microseconds since 1970.
const EXPIRES: i64 = 4_107_578_400_000_000;
/// How many runs one statement makes.
const BATCH: usize = 50_000;

/// Adds runs that are over and runs that wait, in 1,000 repositories.
pub(crate) async fn fill(database: &str, (past, open): (usize, usize)) -> anyhow::Result<()> {
    let is_shared = database.contains("://");
    let url = match is_shared {
        true => {
            drop(Database::connect(&database.to_string().into()).await?);
            database.to_string()
        }
        false => {
            drop(Database::open(database.as_ref()).await?);
            format!("sqlite:{database}")
        }
    };
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(&url).await?;
    let numbers = |first: usize, last: usize| match is_shared {
        true => format!("generate_series({first}, {last}) AS n"),
        false => format!(
            "(WITH RECURSIVE counted (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM counted WHERE n < {last}) SELECT \
             n FROM counted) AS numbers"
        ),
    };
    // Not so old that it is deleted.
    let yesterday = (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24)).to_string();
    let step = |json: &str| {
        let quoted = format!("'{}'", json.replace('\'', "''").replace(STARTED_AT, &yesterday));
        format!("replace(replace({quoted}, '%n', CAST(n AS TEXT)), '%r', CAST(n % 1000 + 1 AS TEXT))")
    };
    let (started, asked) = (step(STARTED), step(ASKED));
    let mut first = 1;
    while first <= past + open {
        let last = (first + BATCH - 1).min(past + open);
        let from = numbers(first, last);
        let is_over = format!("CASE WHEN n <= {past} THEN 1 ELSE 0 END");
        let mut statements = vec![
            format!(
                "INSERT INTO run (id, repository, repository_id, number, started, is_over, due, waits_for, waits_since) \
                 SELECT 'r' || n, 'acme/rail', n % 1000 + 1, n, '{yesterday}', {is_over}, {EXPIRES}, 'land', \
                 {EXPIRES} FROM {from}"
            ),
            format!("INSERT INTO step (run, place, step, format) SELECT 'r' || n, 0, {started}, 3 FROM {from}"),
            format!("INSERT INTO step (run, place, step, format) SELECT 'r' || n, 1, {asked}, 3 FROM {from}"),
        ];
        if is_shared {
            let waits = format!("FROM {from} WHERE n > {past}");
            statements.push(format!(
                "INSERT INTO lane (name, repository, pull_request) SELECT '@' || n % 1000 + 1 || '#' || n, '@' || n % 1000 \
                 + 1, '@' || n % 1000 + 1 || '#' || n {waits}"
            ));
            statements.push(format!(
                "INSERT INTO turn (repository) SELECT DISTINCT '@' || n % 1000 + 1 {waits} ON CONFLICT DO NOTHING"
            ));
            statements.push(format!(
                "INSERT INTO work (lane, repository, pull_request, class, run, not_before) SELECT '@' || n % 1000 + 1 || '#' \
                 || n, '@' || n % 1000 + 1, '@' || n % 1000 + 1 || '#' || n, 1, 'r' || n, '2100-01-01' {waits}"
            ));
        }
        for statement in statements {
            sqlx::query(sqlx::AssertSqlSafe(statement))
                .execute(&mut connection)
                .await?;
        }
        first = last + 1;
    }
    // Missed deliveries were looked for a moment ago, as before a restart.
    sqlx::query(
        "INSERT INTO mark (name, at) VALUES ('deliveries swept', $1) ON CONFLICT (name) DO UPDATE SET at = excluded.at",
    )
    .bind(jiff::Timestamp::now().to_string())
    .execute(&mut connection)
    .await?;
    sqlx::query("ANALYZE").execute(&mut connection).await?;
    connection.close().await?;
    // A checkpoint of what was written is no part of the figures.
    super::measured::pause(Duration::from_secs(2)).await;
    Ok(())
}
