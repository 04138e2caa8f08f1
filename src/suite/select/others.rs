//! Everything else.

use crate::suite::TestCommand;

pub(super) fn tests(_command: &TestCommand, _only: &[String]) -> Option<Vec<String>> {
    None
}
