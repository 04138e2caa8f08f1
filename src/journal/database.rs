//! The journal in a database: SQLite, with a write-ahead log and a single writing connection, or PostgreSQL, which
//! several processes share. Every commit is on disk before it counts.
//!
//! Both understand the same statements, with numbered parameters. What differs is in [`Dialect`] and in the migrations.

mod reach;

use std::path::Path;
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, Connection as _, Executor as _};

use super::Error;
use super::clock::SharedClock;
use super::columns::broken;
use super::dialect::Dialect;
use super::group::Group;
use super::migrations::{migrator, version};
use super::once::ReportedOnce;
use crate::private;

/// How long to wait for a free connection.
const ACQUIRE: Duration = Duration::from_secs(30);
/// How many connections a process keeps to PostgreSQL, which allows 100 in all by default.
/// <https://www.postgresql.org/docs/current/runtime-config-connection.html>
const CONNECTIONS: u32 = 8;
/// How long after its last use a connection to PostgreSQL is used without asking whether it still exists.
const FRESH: Duration = Duration::from_secs(1);
/// Settings of each connection to SQLite.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                       PRAGMA busy_timeout = 10000; PRAGMA secure_delete = ON";
/// Settings of each session of PostgreSQL: a process that is gone holds no lock for long, and no statement hangs.
const SESSION: &str = "SET synchronous_commit = on; SET statement_timeout = '60s'; SET lock_timeout = '30s'; \
                       SET idle_in_transaction_session_timeout = '60s'";

#[derive(Clone)]
pub struct Database {
    pub(super) pool: AnyPool,
    pub(super) dialect: Dialect,
    /// The unreadable data that was already logged.
    pub(super) told: ReportedOnce,
    /// Deliveries that wait for the next commit to SQLite.
    pub(super) group: Group,
    pub(super) clock: SharedClock,
}

impl Database {
    /// Opens an SQLite file, creating it or migrating its tables if necessary.
    ///
    /// # Errors
    /// When the file cannot be created, is not a database, or its tables are too new for this program.
    pub async fn open(file: &Path) -> Result<Self, Error> {
        let of_file = |error: &dyn std::fmt::Display| Error::Broken(format!("{}: {error}", file.display()));
        if let Some(folder) = file.parent() {
            private::folder(folder).map_err(|error| Error::Broken(format!("{}: {error}", folder.display())))?;
        }
        // SQLite gives the files beside it the same permissions, see <https://www.sqlite.org/src/file/src/os_unix.c>
        // (findCreateFileMode).
        private::file().open(file).map_err(|error| of_file(&error))?;
        let path = percent_encoding::utf8_percent_encode(
            file.to_str().ok_or_else(|| of_file(&"the path is not UTF-8"))?,
            percent_encoding::NON_ALPHANUMERIC,
        );
        let database = Self::connected(&format!("sqlite:{path}"), Dialect::Sqlite)
            .await
            .map_err(|error| of_file(&error))?;
        database.migrate().await.map_err(|error| match error {
            Error::Broken(problem) | Error::Unavailable(problem) => of_file(&problem),
            error => of_file(&error),
        })?;
        Ok(database)
    }

    /// Connects to PostgreSQL, and migrates its tables if necessary. Several processes may do so at once.
    ///
    /// # Errors
    /// When the database does not respond, or its tables are too new for this program.
    pub async fn connect(url: &SecretString) -> Result<Self, Error> {
        sqlx::any::install_default_drivers();
        reach::until_reachable(url.expose_secret()).await.map_err(broken)?;
        let database = Self::connected(url.expose_secret(), Dialect::Postgres)
            .await
            .map_err(broken)?;
        database.migrate().await?;
        database.read_clock().await?;
        Ok(database)
    }

    pub(super) async fn connected(url: &str, dialect: Dialect) -> Result<Self, sqlx::Error> {
        sqlx::any::install_default_drivers();
        let settings = match dialect {
            Dialect::Sqlite => PRAGMAS,
            Dialect::Postgres => SESSION,
        };
        let connections = match dialect {
            Dialect::Sqlite => 1,
            Dialect::Postgres => CONNECTIONS,
        };
        let pool = AnyPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE)
            .test_before_acquire(false)
            // A connection to a server may be gone; one to a file is not.
            .before_acquire(move |connection, state| {
                let is_fresh = dialect == Dialect::Sqlite || state.idle_for < FRESH;
                Box::pin(async move {
                    match is_fresh {
                        true => Ok(true),
                        false => connection.ping().await.map(|()| true),
                    }
                })
            })
            .after_connect(move |connection, _| Box::pin(async move { connection.execute(settings).await.map(|_| ()) }))
            .connect_with(AnyConnectOptions::from_str(url)?)
            .await?;
        Ok(Self {
            pool,
            dialect,
            told: ReportedOnce::default(),
            group: Group::default(),
            clock: SharedClock::default(),
        })
    }

    /// Applies the migrations that the database lacks.
    async fn migrate(&self) -> Result<(), Error> {
        migrator(self.dialect).run(&self.pool).await.map_err(broken)?;
        self.check_version().await
    }

    /// Whether this program can use the tables, which a newer one may have migrated since.
    ///
    /// # Errors
    /// [`Error::TooOld`] if it cannot, or when the database does not respond.
    pub async fn check_version(&self) -> Result<(), Error> {
        let oldest: i64 = sqlx::query_scalar("SELECT oldest FROM compatibility")
            .fetch_one(&self.pool)
            .await
            .map_err(broken)?;
        match oldest > version(self.dialect) {
            true => Err(Error::TooOld),
            false => Ok(()),
        }
    }

    /// The time by the clock that all processes of this database share.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Compares this machine's clock with PostgreSQL's. Processes on one machine share its clock, so there is nothing to
    /// compare with SQLite.
    ///
    /// # Errors
    /// When the database does not respond.
    pub async fn read_clock(&self) -> Result<(), Error> {
        if self.dialect == Dialect::Sqlite {
            return Ok(());
        }
        let mut connection = self.pool.acquire().await.map_err(broken)?;
        let asked = Instant::now();
        let read: i64 = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint")
            .fetch_one(&mut *connection)
            .await
            .map_err(broken)?;
        let read = Timestamp::from_microsecond(read).map_err(broken)?;
        self.clock.note(read, asked, Instant::now());
        Ok(())
    }

    /// Whether the database responds, and this program can use it.
    pub async fn is_well(&self) -> bool {
        self.check_version().await.is_ok()
    }
}

#[cfg(test)]
mod tests;
