//! The lines of lists, each made once for each number of steps of its run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::remembered::Remembered;
use super::Missing;
use crate::domain::id::RunId;
use crate::journal::{Journal, RunRow};
use crate::summary::RunSummary;

/// How many lines are kept, and for how long after they were made.
const MAX_KEPT: usize = 5_000;
const KEPT_FOR: Duration = Duration::from_secs(6 * 60 * 60);

/// The line of a run as of some step. `None` if it cannot be read.
type Line = (RunRow, Option<Arc<RunSummary>>);

#[derive(Clone, Default)]
pub(super) struct Summaries(Arc<Lines>);

#[derive(Default)]
struct Lines {
    kept: Mutex<Remembered<RunId, Line, MAX_KEPT>>,
    /// Held by the one who makes lines. The others wait, and find them.
    making: tokio::sync::Mutex<()>,
}

impl Summaries {
    /// The lines of some runs at a moment, without those that cannot be read.
    pub(super) async fn of(
        &self,
        journal: &Journal,
        rows: &[RunRow],
        now: Timestamp,
    ) -> Result<Vec<RunSummary>, Missing> {
        let mut lines = self.known(rows);
        if lines.iter().any(Option::is_none) {
            let _turn = self.0.making.lock().await;
            lines = self.known(rows);
            for (row, line) in rows.iter().zip(&mut lines).filter(|(_, line)| line.is_none()) {
                let run = journal.brief(&row.id).await?;
                let made = run.map(|(run, ended)| Arc::new(RunSummary::of(&run, now).ended(ended)));
                let entry = (row.clone(), made.clone());
                self.kept().keep(row.id.clone(), entry, Instant::now(), KEPT_FOR);
                *line = Some(made);
            }
        }
        let lines = lines.into_iter().flatten().flatten();
        Ok(lines.map(|line| RunSummary::clone(&line).at(now)).collect())
    }

    fn known(&self, rows: &[RunRow]) -> Vec<Option<Option<Arc<RunSummary>>>> {
        let (kept, now) = (self.kept(), Instant::now());
        let line = |row: &RunRow| {
            let (of, line) = kept.get(&row.id, now)?;
            of.is_same(row).then(|| line.clone())
        };
        rows.iter().map(line).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Remembered<RunId, Line, MAX_KEPT>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
