//! What is left of a run when some of its steps cannot be read.

use super::{End, Run, Step, Unreadable};

impl Run {
    /// Folds what can be read of a journal; `None` stands for a step that cannot be. From the first of those on, only how
    /// the run ended counts: everything else may rest on what is missing.
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

    /// How a run ends that has a step nobody can read.
    pub(super) fn broken_off(&self) -> Option<End> {
        let place = self.unreadable?;
        Some(End::GaveUp {
            reason: format!(
                "Step {place} of its journal cannot be read, so it cannot continue. `/greenlight fix` starts a new run."
            ),
        })
    }
}
