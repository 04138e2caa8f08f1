//! The commands with which a project's CI runs its tests, for when no failed step is known.
//!
//! Only commands of a known framework are used: a task runner such as `make test` says less than the files it reads.

use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use super::directory::Directory;
use super::{javascript, python, step};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::{Source, TestCommand};

/// The commands of these steps: one for each directory and ecosystem, that of the first step that has one.
pub(super) fn commands(checkout: &Checkout, steps: &[CiStep]) -> Vec<TestCommand> {
    let mut found: Vec<TestCommand> = Vec::new();
    for step in steps {
        let Some(command) = step::command(checkout, step).and_then(|command| usable(checkout, step, command)) else {
            continue;
        };
        let is_known = found.iter().any(|other| is_alike(other, &command));
        found.extend(Some(command).filter(|_| !is_known));
    }
    found
}

/// Whether two commands run tests of the same directory and ecosystem.
pub(super) fn is_alike(one: &TestCommand, other: &TestCommand) -> bool {
    one.directory == other.directory && one.framework.spec().ecosystem == other.framework.spec().ecosystem
}

/// The command without what only CI has: coverage, parallel workers, a toolchain of a matrix.
fn usable(checkout: &Checkout, step: &CiStep, command: TestCommand) -> Option<TestCommand> {
    let place = Directory {
        checkout,
        directory: command.directory.clone(),
    };
    let source = Source::Ci {
        workflow: step.workflow.clone(),
        job: step.job.clone(),
    };
    let mut command = TestCommand { source, ..command };
    let own = match command.framework.spec().ecosystem {
        Ecosystem::JavaScript | Ecosystem::Any => javascript::taken_apart(&place, &command.argv),
        Ecosystem::Python => Some(python::selected(&place, &command.argv)?),
        _ => None,
    };
    if let Some((argv, framework)) = own {
        (command.argv, command.framework) = (argv, framework);
    }
    if command.framework == Framework::Other || command.framework.is_linter() {
        return None;
    }
    if command.framework.spec().ecosystem == Ecosystem::Python {
        command.import_root = command.import_root.or_else(|| Some(".".into()));
    }
    command.argv.retain(|word| !is_toolchain(word));
    Some(command)
}

/// `+nightly`, `+1.63`: rustup's toolchain of one leg of a matrix.
fn is_toolchain(word: &str) -> bool {
    word.strip_prefix('+').is_some_and(|rest| {
        rest.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    })
}
