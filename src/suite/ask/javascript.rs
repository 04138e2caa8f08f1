//! The runners and linters of JavaScript and TypeScript.

use super::Asked;
use crate::suite::{Framework, TestCommand};

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    if command.framework == Framework::Node {
        asked.after("--test", "--test-reporter=tap");
    }
    asked
}
