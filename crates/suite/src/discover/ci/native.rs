//! Which of several build systems for compiled languages counts: the one that CI uses.

use greenlight_readers::ci_step::CiStep;

use super::StepCommands;
use crate::discover::directory::Directory;
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

impl StepCommands<'_> {
    /// The command of the build system that CI tests with, where the files suggest CMake and CI never mentions it.
    pub(in crate::discover) fn as_built(&self, command: TestCommand, steps: &[CiStep]) -> TestCommand {
        let mentions = |script: &str| script.contains("cmake") || script.contains("ctest");
        let uses_cmake =
            |step: &CiStep| mentions(&step.script) || step.before.iter().any(|before| mentions(&before.script));
        if command.framework != Framework::Ctest || steps.iter().any(uses_cmake) {
            return command;
        }
        let of_native = |framework: &Framework| framework.spec().ecosystem == Ecosystem::C;
        let mut used = self.unused.iter().map(|unused| unused.framework).filter(of_native);
        let place = Directory {
            checkout: self.checkout,
            directory: command.directory.clone(),
        };
        let of_ci = used.find_map(|framework| (framework.spec().discover)(&place));
        of_ci.unwrap_or(command)
    }
}
