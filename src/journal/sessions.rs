//! Who is signed in to the page.
//!
//! A session is found by a digest of its cookie, and has no token. It belongs to an account's id; the login is the one
//! that the account had when it signed in.

use jiff::Timestamp;
use sqlx::Row as _;

use super::columns::broken;
use super::database::Database;
use super::{Error, Journal};
use crate::domain::id::{Account, AccountId, Login};

/// How many sessions an account has at most, and all accounts together. The one that ends first makes room.
const MAX_OF_ACCOUNT: i64 = 10;
const MAX_SESSIONS: i64 = 10_000;

/// The digest of a session's cookie, in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey(pub String);

/// Who is signed in, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: AccountId,
    pub login: Login,
    pub ends: Timestamp,
}

impl Session {
    pub fn account(&self) -> Account {
        Account {
            id: Some(self.id),
            login: self.login.clone(),
        }
    }
}

impl Journal {
    /// Begins a session.
    ///
    /// # Errors
    /// When the journal cannot be written. Git refs have no sessions.
    pub async fn begin_session(&self, key: &SessionKey, session: &Session, now: Timestamp) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.begin_session(key, session, now).await,
            Self::Refs(_) => Err(Error::Broken("a git ref has no sessions".into())),
        }
    }

    /// The session with this key, if it has not ended.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn session(&self, key: &SessionKey, now: Timestamp) -> Result<Option<Session>, Error> {
        match self {
            Self::Database(database) => database.session(key, now).await,
            Self::Refs(_) => Ok(None),
        }
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn end_session(&self, key: &SessionKey) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.end_sessions("key = $1", Bound::Text(&key.0)).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Ends every session of an account.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn end_sessions_of(&self, AccountId(id): AccountId) -> Result<(), Error> {
        match self {
            Self::Database(database) => {
                let id = i64::try_from(id).map_err(broken)?;
                database.end_sessions("account = $1", Bound::Number(id)).await
            }
            Self::Refs(_) => Ok(()),
        }
    }

    /// Deletes the sessions that have ended.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn prune_sessions(&self, now: Timestamp) -> Result<(), Error> {
        match self {
            Self::Database(database) => {
                database
                    .end_sessions("ends <= $1", Bound::Number(now.as_microsecond()))
                    .await
            }
            Self::Refs(_) => Ok(()),
        }
    }
}

/// A value of a condition.
enum Bound<'a> {
    Text(&'a str),
    Number(i64),
}

impl Database {
    async fn begin_session(&self, key: &SessionKey, session: &Session, now: Timestamp) -> Result<(), Error> {
        let account = i64::try_from(session.id.0).map_err(broken)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        sqlx::query("INSERT INTO session (key, account, login, ends) VALUES ($1, $2, $3, $4)")
            .bind(&key.0)
            .bind(account)
            .bind(session.login.as_str())
            .bind(session.ends.as_microsecond())
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        sqlx::query("DELETE FROM session WHERE ends <= $1")
            .bind(now.as_microsecond())
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        sqlx::query(
            "DELETE FROM session WHERE account = $1 AND key NOT IN \
             (SELECT key FROM session WHERE account = $1 ORDER BY ends DESC, key LIMIT $2)",
        )
        .bind(account)
        .bind(MAX_OF_ACCOUNT)
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        sqlx::query("DELETE FROM session WHERE ends < (SELECT ends FROM session ORDER BY ends DESC LIMIT 1 OFFSET $1)")
            .bind(MAX_SESSIONS - 1)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }

    async fn session(&self, key: &SessionKey, now: Timestamp) -> Result<Option<Session>, Error> {
        let row = sqlx::query("SELECT account, login, ends FROM session WHERE key = $1 AND ends > $2")
            .bind(&key.0)
            .bind(now.as_microsecond())
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        let Some(row) = row else { return Ok(None) };
        let account: i64 = row.try_get("account").map_err(broken)?;
        let login: String = row.try_get("login").map_err(broken)?;
        let ends: i64 = row.try_get("ends").map_err(broken)?;
        Ok(Some(Session {
            id: AccountId(u64::try_from(account).map_err(broken)?),
            login: Login::new(login),
            ends: Timestamp::from_microsecond(ends).map_err(broken)?,
        }))
    }

    async fn end_sessions(&self, which: &'static str, bound: Bound<'_>) -> Result<(), Error> {
        let delete = sqlx::query(sqlx::AssertSqlSafe(format!("DELETE FROM session WHERE {which}")));
        let delete = match bound {
            Bound::Text(text) => delete.bind(text.to_string()),
            Bound::Number(number) => delete.bind(number),
        };
        delete.execute(&self.pool).await.map_err(broken)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    fn key(number: usize) -> SessionKey {
        SessionKey(format!("{number:064x}"))
    }

    fn session(account: u64, ends: Timestamp) -> Session {
        Session {
            id: AccountId(account),
            login: Login::new("mia"),
            ends,
        }
    }

    #[tokio::test]
    async fn a_session_ends() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::Database(Database::open(&folder.path().join("greenlight.db")).await.unwrap());
        let now: Timestamp = "2026-01-05T10:00:00Z".parse().unwrap();
        let (soon, later) = (now + 1.hour(), now + 2.hours());
        journal.begin_session(&key(1), &session(1, soon), now).await.unwrap();
        journal.begin_session(&key(2), &session(2, later), now).await.unwrap();
        assert_eq!(journal.session(&key(1), now).await.unwrap(), Some(session(1, soon)));
        assert_eq!(journal.session(&key(1), soon).await.unwrap(), None);
        assert_eq!(journal.session(&key(3), now).await.unwrap(), None);
        journal.prune_sessions(soon).await.unwrap();
        assert_eq!(journal.session(&key(1), now).await.unwrap(), None);
        assert!(journal.session(&key(2), soon).await.unwrap().is_some());
        journal.end_sessions_of(AccountId(1)).await.unwrap();
        assert!(journal.session(&key(2), soon).await.unwrap().is_some());
        journal.end_sessions_of(AccountId(2)).await.unwrap();
        assert_eq!(journal.session(&key(2), soon).await.unwrap(), None);
    }

    #[tokio::test]
    async fn an_account_has_a_bounded_number_of_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::Database(Database::open(&folder.path().join("greenlight.db")).await.unwrap());
        let now: Timestamp = "2026-01-05T10:00:00Z".parse().unwrap();
        journal
            .begin_session(&key(0), &session(2, now + 1.hour()), now)
            .await
            .unwrap();
        for number in 1..=12 {
            let minutes = i64::try_from(number).unwrap();
            let one = session(1, now + 1.hour() + minutes.minutes());
            journal.begin_session(&key(number), &one, now).await.unwrap();
        }
        let mut left = Vec::new();
        for number in 0..=12 {
            if journal.session(&key(number), now).await.unwrap().is_some() {
                left.push(number);
            }
        }
        assert_eq!(left, [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
