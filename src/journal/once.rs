//! Remembers what has been logged, so that it is logged only once.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::format::{Newer, Unread};

/// What has been logged.
#[derive(Clone, Default)]
pub(super) struct ReportedOnce(Arc<Mutex<HashSet<String>>>);

impl ReportedOnce {
    /// Whether this is reported for the first time.
    pub(super) fn is_news(&self, what: &str) -> bool {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(what.to_string())
    }

    /// Logs why a run cannot be read.
    pub(super) fn tell(&self, run: &str, why: Unread) {
        match why {
            Unread::Newer(newer) => self.tell_newer(run, newer),
            Unread::NoStart if self.is_news(run) => tracing::error!(run.id = run, "a run cannot be read: {why}"),
            Unread::NoStart => {}
        }
    }

    /// Logs that data of a newer version is left alone.
    pub(super) fn tell_newer(&self, what: &str, newer: Newer) {
        if self.is_news(what) {
            tracing::warn!("{what} is left alone: {newer}");
        }
    }
}
