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
            run.take_readable(step);
        }
        Ok(run)
    }

    /// Adds the next step of a journal; `None` is one that cannot be read.
    pub fn take_readable(&mut self, step: Option<Step>) {
        match step {
            Some(step @ (Step::Ended(_) | Step::Announced | Step::Undone { .. })) => self.take(step),
            Some(step) if self.unreadable.is_none() => self.take(step),
            Some(_) => self.length += 1,
            None => {
                self.unreadable.get_or_insert(self.length);
                self.length += 1;
            }
        }
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
