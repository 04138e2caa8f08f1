//! Which requests may use the last part of a rate limit.
//!
//! A tenth of every limit is kept for what must not wait for an hour: answers of people, stopping, and landing what
//! was approved.

tokio::task_local! {
    static URGENT: bool;
}

/// The part of a limit that only urgent requests may use: one in this many.
const KEPT: u64 = 10;

/// How many of this many requests are kept.
pub(super) fn kept(limit: u64) -> u64 {
    limit / KEPT
}

/// Does something whose requests to GitHub may, or may not, use what is kept.
pub async fn urgent<F: Future>(is_urgent: bool, work: F) -> F::Output {
    URGENT.scope(is_urgent, work).await
}

/// Whether the current task's requests may use what is kept.
pub(super) fn is_urgent() -> bool {
    URGENT.try_with(|is_urgent| *is_urgent).unwrap_or(false)
}
