//! What a command of a person leads to.

use crate::domain::gate::Refusal;

/// What a verb leads to: text for the one answer, a refusal, or nothing to say.
pub(super) type VerbResult = Result<Option<String>, Refusal>;
