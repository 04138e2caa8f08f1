//! The result of a person's command.

use crate::domain::gate::Refusal;

/// The result of a command: text for the one answer, `None` if nothing needs to be said, or a refusal.
pub(super) type VerbResult = Result<Option<String>, Refusal>;
