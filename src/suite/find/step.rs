//! The command of a CI step.

use super::CiStep;
use crate::checkout::Checkout;
use crate::suite::TestCommand;

/// The part of a step's script that runs tests.
pub(super) fn command(_checkout: &Checkout, _step: &CiStep) -> Option<TestCommand> {
    None
}
