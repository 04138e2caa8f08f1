//! Whether GitHub is there at all: asked once and quickly at the start, and told apart from an answer that broke off.

use std::time::Duration;

use hyper_util::client::legacy::Error as Legacy;

use super::{Auth, Error, GitHub};
use crate::domain::clock::in_words;
use crate::domain::redact;

/// How long the first answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How deep the causes of an error are followed.
const MAX_CAUSES: usize = 16;

impl GitHub {
    /// Asks once, and finds out whether anybody is there; what is answered does not matter.
    ///
    /// # Errors
    /// When no connection can be made, or nothing comes back in time.
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

/// Why no connection was made, so that the request cannot have taken effect. `None` where one was.
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
