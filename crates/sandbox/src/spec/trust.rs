//! Decides for whose code a sandbox is good enough, based on its guarantees.

use crate::Sandbox;
use crate::spec::backend::Backend;
use crate::spec::error::Unusable;
use crate::spec::guarantees::Property;

/// Whose code will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The user's own code, or code of a branch that only people with write access can push to.
    Trusted,
    /// Code of a fork, which anybody may have written.
    OfFork,
}

impl Sandbox {
    /// Checks that this sandbox may run such code, and enforces all of `required`.
    ///
    /// # Errors
    /// What is missing and how to get it. Nothing weaker is used instead.
    pub fn suffices(&self, code: Code, required: &[Property]) -> Result<(), Unusable> {
        let backend = self.backend();
        let for_forks =
            "use the native, bubblewrap or docker sandbox; `greenlight doctor` says what each of them needs here";
        match (backend, code) {
            (Backend::None, Code::OfFork) => {
                return Err(unusable(
                    "the sandbox is \"none\", which never runs the code of a fork",
                    for_forks,
                ));
            }
            (Backend::Landlock, Code::OfFork) => {
                return Err(unusable(
                    "the sandbox is \"landlock\", whose reduced isolation is not enough for a fork's code",
                    for_forks,
                ));
            }
            _ => {}
        }
        match self.guarantees().missing(required) {
            Some((property, held)) => Err(unusable(
                &format!(
                    "`require` names {property}, for which the {backend} sandbox has the guarantee \"{held}\" here"
                ),
                "take it out of `require` under `[sandbox]`, or choose a sandbox that enforces it; `greenlight \
                 doctor` shows them all",
            )),
            None => Ok(()),
        }
    }
}

fn unusable(reason: &str, remedy: &str) -> Unusable {
    Unusable {
        reason: reason.into(),
        remedy: remedy.into(),
    }
}
