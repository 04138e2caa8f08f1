//! Which of several build systems for compiled languages counts: the one that CI uses.

use super::StepCommands;
use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

impl StepCommands<'_> {
    /// The command of the build system that CI tests with, where the files suggest another one.
    pub(in crate::discover) fn as_built(&self, command: TestCommand) -> TestCommand {
        let is_native = |framework: &Framework| framework.spec().ecosystem == Ecosystem::C;
        let mut used = self.unused.iter().map(|unused| unused.framework).filter(is_native);
        if !is_native(&command.framework) || used.clone().any(|framework| framework == command.framework) {
            return command;
        }
        let place = Directory {
            checkout: self.checkout,
            directory: command.directory.clone(),
        };
        let of_ci = used.find_map(|framework| (framework.spec().discover)(&place));
        of_ci.unwrap_or(command)
    }
}
