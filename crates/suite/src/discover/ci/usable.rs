//! Commands of CI as they run here.

use std::collections::BTreeSet;

use greenlight_tree::checkout::Checkout;

use super::jvm::{self, is_maven};
use super::own;
use super::purpose::{is_for_another_machine, is_partial, is_toolchain, leave_out_coverage, leave_out_own_target};
use crate::discover::directory::Directory;
use crate::discover::{javascript, python};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

/// The command without what only CI has: coverage, parallel workers, a toolchain of a matrix.
pub(super) fn usable(checkout: &Checkout, mut command: TestCommand, own_env: &BTreeSet<String>) -> Option<TestCommand> {
    let place = Directory {
        checkout,
        directory: command.directory.clone(),
    };
    leave_out_own_target(checkout, &mut command);
    leave_out_coverage(&mut command);
    if is_partial(&command) || is_for_another_machine(&command) {
        return None;
    }
    match command.framework.spec().ecosystem {
        Ecosystem::JavaScript | Ecosystem::Any => {
            if let Some(tests) = javascript::taken_apart(&place, &command.argv) {
                (command.argv, command.framework) = (tests.argv, tests.framework);
                command.left_out = tests.left_out;
            }
        }
        Ecosystem::Python => (command.argv, command.framework) = python::selected(&place, &command.argv)?,
        // An earlier step has done it, but this machine starts with the sources.
        Ecosystem::Dotnet => command
            .argv
            .retain(|word| !matches!(word.as_str(), "--no-build" | "--no-restore")),
        _ => {}
    }
    let is_extra = command.framework == Framework::Other && !own::tests_features(&command);
    // It tests a directory that an earlier step has built. What the project's files suggest includes the build.
    let is_built_before = command.framework.spec().ecosystem == Ecosystem::C;
    if is_extra || is_built_before || command.framework.is_linter() {
        return None;
    }
    let mut command = own::with_variables(command, own_env);
    if command.framework.spec().ecosystem == Ecosystem::Python {
        // Once more, without the words around the runner.
        if is_partial(&command) {
            return None;
        }
        command.import_root = command.import_root.or_else(|| Some(".".into()));
    }
    command.argv.retain(|word| !is_toolchain(word));
    if is_maven(&command) {
        // Goals of plugins, such as `javadoc:jar`, come after the tests and test nothing.
        command.argv.retain(|word| word.starts_with('-') || !word.contains(':'));
        jvm::leave_out_publishing(&mut command.argv);
        // Another job has compiled the code, and passes it on.
        command.argv.retain(|word| !word.starts_with("-Dmaven.main.skip"));
    }
    Some(command)
}
