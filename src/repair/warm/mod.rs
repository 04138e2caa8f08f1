//! Tries candidates in interpreters that have everything loaded: each candidate in a fork of one, or in a fresh context.

mod wire;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Task;
use super::candidates::Candidate;
use super::runner::{Behaviour, Verdict};
use super::spectrum::Spectrum;
use crate::suite;

/// Interpreters, one for each core, each with a workspace of its own.
pub(super) struct Pool<'a> {
    _task: &'a Task<'a>,
}

impl<'a> Pool<'a> {
    pub(super) async fn set_up(_task: &'a Task<'a>, _stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        Ok(None)
    }

    pub(super) fn lanes(&self) -> usize {
        1
    }

    pub(super) fn batch(&self, _judged: u32) -> usize {
        1
    }

    pub(super) async fn spectrum(
        &self,
        _wall: Duration,
        _stop: &CancellationToken,
    ) -> Result<Option<Spectrum>, suite::Error> {
        Ok(None)
    }

    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        _stop: &CancellationToken,
    ) -> Result<Vec<Verdict>, suite::Error> {
        Ok(vec![Verdict::Stopped; candidates.len()])
    }

    pub(super) async fn behaviours(
        &self,
        _candidates: &[Candidate],
        _stop: &CancellationToken,
    ) -> Result<Option<Vec<Behaviour>>, suite::Error> {
        Ok(None)
    }
}
