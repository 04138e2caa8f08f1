//! Projects of other languages, and those that say in a Makefile how they are tested.

use super::Place;
use crate::suite::TestCommand;

pub(super) fn find(_place: &Place<'_>) -> Option<TestCommand> {
    None
}
