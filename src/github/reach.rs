//! Checks once, quickly, whether GitHub can be reached, and distinguishes that from a broken connection.

use std::time::Duration;

use hyper_util::client::legacy::Error as Legacy;

use super::{Auth, Error, GitHub};
use crate::domain::clock::in_words;
use crate::domain::redact;

/// The timeout of the first request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many nested causes of an error are followed.
const MAX_CAUSES: usize = 16;

impl GitHub {
    /// Sends one request to find out whether GitHub can be reached. The response does not matter.
    ///
    /// # Errors
    /// When no connection can be made, or no response arrives in time.
    pub async fn reach(&self) -> Result<(), Error> {
        let (client, route) = match &self.auth {
            Auth::App { app, .. } => (app, "/app"),
            Auth::Token { client, .. } => (client, "/user"),
        };
        match tokio::time::timeout(PATIENCE, client.ask_once(route)).await {
            Ok(Err(error @ Error::Unreachable(_))) => Err(error),
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Unreachable(format!("no answer within {}", in_words(PATIENCE)))),
        }
    }
}

/// Why no connection was made, so that the request cannot have taken effect. `None` if there was a connection.
pub(super) fn unconnected(error: &octocrab::Error) -> Option<String> {
    let first: &(dyn std::error::Error + 'static) = error;
    let causes = || std::iter::successors(Some(first), |error| error.source()).take(MAX_CAUSES);
    causes().find(|cause| cause.downcast_ref::<Legacy>().is_some_and(Legacy::is_connect))?;
    let of_system = causes().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    let known = of_system.map(std::io::Error::kind).filter(|kind| {
        use std::io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
        matches!(
            kind,
            ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut
        )
    });
    let text = known.map_or_else(
        || causes().last().map(ToString::to_string).unwrap_or_default(),
        |kind| kind.to_string(),
    );
    Some(redact::bounded(&redact::redact(&text), 300))
}
