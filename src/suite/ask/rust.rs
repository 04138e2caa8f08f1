//! Cargo and its test runners.

use super::Asked;
use crate::suite::{Framework, TestCommand};

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    if command.framework == Framework::Cargo {
        asked.after("test", "--no-fail-fast");
    }
    asked
}
