//! What remains of a run if some of its steps cannot be read.

use super::{End, Run, Step, Unreadable};

impl Run {
    /// Folds the readable steps of a journal; `None` is a step that cannot be read. After the first unreadable step,
    /// only the end of the run counts, because everything else may depend on what is missing.
    ///
    /// # Errors
    /// When the first step is not the start.
    pub fn salvage(steps: impl IntoIterator<Item = Option<Step>>) -> Result<Self, Unreadable> {
        let mut steps = steps.into_iter();
        let Some(Some(Step::Started(started))) = steps.next() else {
            return Err(Unreadable);
        };
        let mut run = Self::start(*started);
        for step in steps {
            match step {
                Some(step @ (Step::Ended(_) | Step::Announced | Step::Undone { .. })) => run.take(step),
                Some(step) if run.unreadable.is_none() => run.take(step),
                Some(_) => run.length += 1,
                None => {
                    run.unreadable.get_or_insert(run.length);
                    run.length += 1;
                }
            }
        }
        Ok(run)
    }

    /// How a run with an unreadable step ends.
    pub(super) fn broken_off(&self) -> Option<End> {
        let place = self.unreadable?;
        Some(End::GaveUp {
            reason: format!(
                "Step {place} of its journal cannot be read, so it cannot continue. `/greenlight fix` starts a new run."
            ),
        })
    }
}
