//! The migrations of the database. A released migration never changes; add a new one instead.
//!
//! They are listed here because `sqlx::migrate!` needs the macros of sqlx, which compile SQLite and TLS a second time.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::dialect::Dialect;

/// Version, name and statements, in the order of the versions.
type SchemaChange = (i64, &'static str, &'static str);

const SQLITE: [SchemaChange; 9] = [
    (1, "runs", include_str!("migrations/sqlite/0001_runs.sql")),
    (2, "identity", include_str!("migrations/sqlite/0002_identity.sql")),
    (10, "marks", include_str!("migrations/sqlite/0010_marks.sql")),
    (11, "pushes", include_str!("migrations/sqlite/0011_pushes.sql")),
    (20, "arrivals", include_str!("migrations/sqlite/0020_arrivals.sql")),
    (30, "format", include_str!("migrations/sqlite/0030_format.sql")),
    (
        40,
        "reservations",
        include_str!("migrations/sqlite/0040_reservations.sql"),
    ),
    (50, "sessions", include_str!("migrations/sqlite/0050_sessions.sql")),
    (56, "page", include_str!("migrations/sqlite/0056_page.sql")),
];

const POSTGRES: [SchemaChange; 6] = [
    (1, "journal", include_str!("migrations/postgres/0001_journal.sql")),
    (2, "lanes", include_str!("migrations/postgres/0002_lanes.sql")),
    (3, "workers", include_str!("migrations/postgres/0003_workers.sql")),
    (
        4,
        "reservations",
        include_str!("migrations/postgres/0004_reservations.sql"),
    ),
    (5, "sessions", include_str!("migrations/postgres/0005_sessions.sql")),
    (10, "page", include_str!("migrations/postgres/0010_page.sql")),
];

/// Applies the migrations that a database lacks. On PostgreSQL, one process does so at a time.
pub(super) fn migrator(dialect: Dialect) -> Migrator {
    let listed: &[SchemaChange] = match dialect {
        Dialect::Sqlite => &SQLITE,
        Dialect::Postgres => &POSTGRES,
    };
    let migration = |(version, name, statements): &SchemaChange| {
        let statements = statements.into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, statements, false)
    };
    Migrator::with_migrations(listed.iter().map(migration).collect())
}
