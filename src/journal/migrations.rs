//! The migrations of the database. A released migration never changes; add a new one instead.
//!
//! They are listed here because `sqlx::migrate!` needs the macros of sqlx, which compile SQLite and TLS a second time.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, name and statements, in the order of the versions.
const MIGRATIONS: [(i64, &str, &str); 6] = [
    (1, "runs", include_str!("migrations/0001_runs.sql")),
    (2, "identity", include_str!("migrations/0002_identity.sql")),
    (10, "marks", include_str!("migrations/0010_marks.sql")),
    (11, "pushes", include_str!("migrations/0011_pushes.sql")),
    (20, "arrivals", include_str!("migrations/0020_arrivals.sql")),
    (30, "format", include_str!("migrations/0030_format.sql")),
];

/// Applies the migrations that a database lacks.
pub(super) fn migrator() -> Migrator {
    let migrations = MIGRATIONS.map(|(version, name, statements)| {
        Migration::new(
            version,
            name.into(),
            MigrationType::Simple,
            statements.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(migrations.into())
}
