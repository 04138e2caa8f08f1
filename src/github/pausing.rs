//! Keeps the requests of a client from being sent during a pause.

use std::sync::Arc;

use http::HeaderMap;

use super::client::Client;
use super::error::{Error, Pause};
use super::pauses::Pauses;
use super::reset::number;

impl Client {
    /// The same client, which shares the pauses of an installation.
    pub(super) fn pausing(self, pauses: &Arc<Pauses>, installation: u64) -> Self {
        let pauses = Some((Arc::clone(pauses), installation));
        Self { pauses, ..self }
    }

    /// Whether there is no pause.
    ///
    /// # Errors
    /// [`Error::RateLimited`] until its end.
    pub(super) fn check_pause(&self) -> Result<(), Error> {
        let left = self.pauses.as_ref().and_then(|(pauses, id)| pauses.left(*id));
        left.map_or(Ok(()), |left| Err(Error::RateLimited(Pause::of(left))))
    }

    /// Begins a pause if an answer asks for one. The headers say whether it is about the primary limit.
    pub(super) fn heed_refusal<T>(&self, headers: &HeaderMap, judged: Result<T, Error>) -> Result<T, Error> {
        if let (Err(Error::RateLimited(pause)), Some((pauses, id))) = (&judged, &self.pauses)
            && number(headers, "x-ratelimit-remaining") != Some(0)
        {
            pauses.begin(*id, pause.length);
        }
        judged
    }
}
