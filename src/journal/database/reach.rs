//! Waits for PostgreSQL, which may start after its clients.

use std::io::ErrorKind;
use std::time::Duration;

use sqlx::{AnyConnection, Connection as _};
use tokio::time::{Instant, sleep, timeout_at};

use super::ACQUIRE;

/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Returns when the server accepts connections. A pool waits as well, but never says for what.
///
/// # Errors
/// When it refuses this client, or does not respond within [`ACQUIRE`].
pub(super) async fn until_reachable(url: &str) -> Result<(), sqlx::Error> {
    let deadline = Instant::now() + ACQUIRE;
    let mut is_first = true;
    loop {
        let error = match timeout_at(deadline, AnyConnection::connect(url)).await {
            Ok(Ok(connection)) => return connection.close().await,
            Ok(Err(error)) => error,
            Err(_) => return Err(silent()),
        };
        if !may_pass(&error) || Instant::now() + AGAIN >= deadline {
            return Err(error);
        }
        if is_first {
            tracing::warn!(%error, "waiting up to {} s for the database", ACQUIRE.as_secs());
            is_first = false;
        }
        sleep(AGAIN).await;
    }
}

fn silent() -> sqlx::Error {
    let problem = format!("no answer within {} s", ACQUIRE.as_secs());
    sqlx::Error::Io(std::io::Error::new(ErrorKind::TimedOut, problem))
}

/// Whether a server that starts, or has too many clients at the moment, fails like this.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
        ),
        // cannot_connect_now, too_many_connections
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code == "57P03" || code == "53300"),
        _ => false,
    }
}
