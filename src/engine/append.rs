//! Appends steps to the runs of a service, and counts them. Everything here appends through this.

use std::time::Duration;

use super::App;
use crate::domain::run::{Run, Step};
use crate::journal::Error;
use crate::metrics::Appended;
use crate::traces;

impl App {
    /// Appends a step to a run.
    ///
    /// # Errors
    /// When the journal cannot be written, or another process appended first.
    pub(super) async fn append(&self, run: &mut Run, step: Step) -> Result<(), Error> {
        self.append_timed(run, step, None).await
    }

    /// Appends a step that took this long.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub(super) async fn append_timed(&self, run: &mut Run, step: Step, took: Option<Duration>) -> Result<(), Error> {
        let appended = Appended::of(run, &step);
        self.journal.append(run, step).await?;
        traces::turn(run, appended.step());
        self.metrics.append(run, appended, took);
        Ok(())
    }
}
