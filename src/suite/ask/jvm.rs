//! Maven and Gradle.

use super::Asked;
use crate::suite::{Framework, TestCommand};

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    if command.framework == Framework::Maven {
        asked.after("mvn", "--offline");
    }
    asked
}
