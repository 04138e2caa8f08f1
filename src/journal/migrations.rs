//! The migrations of the database. A released migration never changes; add a new one instead.
//!
//! During an upgrade, programs of the version before use the tables too. A migration that they cannot live with sets
//! `compatibility.oldest` to its own number; those programs then stop, and refuse to start.
//!
//! They are listed here because `sqlx::migrate!` needs the macros of sqlx, which compile SQLite and TLS a second time.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::dialect::Dialect;

/// Version, name and statements, in the order of the versions.
type SchemaChange = (i64, &'static str, &'static str);

const SQLITE: [SchemaChange; 11] = [
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
    (
        51,
        "compatibility",
        include_str!("migrations/sqlite/0051_compatibility.sql"),
    ),
    (52, "due", include_str!("migrations/sqlite/0052_due.sql")),
    (56, "page", include_str!("migrations/sqlite/0056_page.sql")),
];

const POSTGRES: [SchemaChange; 11] = [
    (1, "journal", include_str!("migrations/postgres/0001_journal.sql")),
    (2, "lanes", include_str!("migrations/postgres/0002_lanes.sql")),
    (3, "workers", include_str!("migrations/postgres/0003_workers.sql")),
    (
        4,
        "reservations",
        include_str!("migrations/postgres/0004_reservations.sql"),
    ),
    (5, "sessions", include_str!("migrations/postgres/0005_sessions.sql")),
    (
        6,
        "compatibility",
        include_str!("migrations/postgres/0006_compatibility.sql"),
    ),
    (7, "words", include_str!("migrations/postgres/0007_words.sql")),
    (8, "pauses", include_str!("migrations/postgres/0008_pauses.sql")),
    (9, "turns", include_str!("migrations/postgres/0009_turns.sql")),
    (10, "page", include_str!("migrations/postgres/0010_page.sql")),
    (11, "served", include_str!("migrations/postgres/0011_served.sql")),
];

fn listed(dialect: Dialect) -> &'static [SchemaChange] {
    match dialect {
        Dialect::Sqlite => &SQLITE,
        Dialect::Postgres => &POSTGRES,
    }
}

/// Applies the migrations that a database lacks. On PostgreSQL, one process does so at a time. Migrations of newer
/// versions are left as they are.
pub(super) fn migrator(dialect: Dialect) -> Migrator {
    let migration = |(version, name, statements): &SchemaChange| {
        let statements = statements.into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, statements, false)
    };
    let mut migrator = Migrator::with_migrations(listed(dialect).iter().map(migration).collect());
    migrator.set_ignore_missing(true);
    migrator
}

/// The version of the tables that this program knows.
pub(super) fn version(dialect: Dialect) -> i64 {
    listed(dialect)
        .iter()
        .map(|(version, ..)| *version)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What programs of the version before rely on. Their statements name columns, and PostgreSQL refuses a prepared
    /// statement if the columns of a view changed. A row that they do not know must not keep theirs from being deleted.
    fn breaks_older_programs(statements: &str) -> bool {
        let text = statements.to_uppercase();
        let text: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("--")).collect();
        let text = text.join(" ");
        let mut parts = text.split(';').map(str::trim);
        parts.any(|part| {
            let adds = part.contains("ADD COLUMN") && part.contains("NOT NULL") && !part.contains("DEFAULT");
            let refers = part.contains("REFERENCES") && !part.contains("ON DELETE CASCADE");
            let changes = ["DROP TABLE", "DROP COLUMN", "DROP VIEW", "REPLACE VIEW", "RENAME"];
            // Older programs write a new default without noticing.
            let alters = part.contains("ALTER COLUMN") && !part.contains("SET DEFAULT");
            adds || refers || alters || changes.iter().any(|change| part.contains(change))
        })
    }

    #[test]
    fn a_migration_that_breaks_older_programs_says_so() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres] {
            let (since, _, _) = listed(dialect)
                .iter()
                .find(|(_, name, _)| *name == "compatibility")
                .unwrap();
            for (version, name, statements) in listed(dialect).iter().filter(|(version, ..)| version > since) {
                let says_so = statements.contains(&format!("UPDATE compatibility SET oldest = {version};"));
                assert_eq!(
                    says_so,
                    breaks_older_programs(statements),
                    "{dialect:?} {version} {name}"
                );
            }
        }
        for breaking in [
            "ALTER TABLE work ADD COLUMN size BIGINT NOT NULL;",
            "DROP TABLE work;",
            "ALTER TABLE work ALTER COLUMN size TYPE TEXT;",
            "CREATE TABLE said (run TEXT REFERENCES run (id));",
        ] {
            assert!(breaks_older_programs(breaking), "{breaking}");
        }
        assert!(!breaks_older_programs(
            "ALTER TABLE work ADD COLUMN size BIGINT NOT NULL DEFAULT 0;\n-- DROP TABLE x"
        ));
    }
}
