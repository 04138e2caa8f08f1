//! Commands for a part of the tests. Where CI runs no command for all of them, its parts are all there is.

use std::collections::BTreeSet;

use super::own::{is_of_another_package, with_variables};
use super::purpose::{
    is_of_unit_tests, leave_out_coverage, names_deep_folders, names_packages, packages, paths_of_python,
};
use super::{MAX_PARTS, StepCommands, is_alike};
use crate::discover::directory::Directory;
use crate::discover::{MAX_COMMANDS, python};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

/// With at least this many packages, a command of Go has a list of those to test; fewer may be a special case.
const MIN_PACKAGES: usize = 3;
/// Maximum number of packages of such a list.
const MAX_PACKAGES: usize = 200;

impl StepCommands<'_> {
    pub(super) fn add_part(&mut self, mut part: TestCommand, own_env: &BTreeSet<String>) {
        leave_out_coverage(&mut part);
        let mut part = with_variables(part, own_env);
        if ecosystem(&part) == Ecosystem::Python {
            let place = Directory {
                checkout: self.checkout,
                directory: part.directory.clone(),
            };
            let Some((argv, framework)) = python::selected(&place, &part.argv) else {
                return;
            };
            part.import_root = part.import_root.or_else(|| Some(".".into()));
            (part.argv, part.framework) = (argv, framework);
        }
        let mut alike = self.parts.iter_mut().filter(|other| is_alike(other, &part));
        if ecosystem(&part) == Ecosystem::Go {
            // What is in any of the lists is tested.
            match alike.next() {
                Some(list) => unite(list, &part),
                None => self.push_part(part),
            }
        } else if !alike.any(|other| other.argv == part.argv) {
            self.push_part(part);
        }
    }

    /// Adds the packages of a command of Go to one of the same job that begins with the package of its folder, as in
    /// `go test .` before `go test ./sub`. Returns whether there is one.
    pub(super) fn add_to_root_package(&mut self, part: &TestCommand) -> bool {
        let options = |command: &TestCommand| -> Vec<String> {
            let packages: BTreeSet<&str> = packages(&command.argv).collect();
            let options = command.argv.iter().filter(|word| !packages.contains(word.as_str()));
            options.cloned().collect()
        };
        let is_of_root = |known: &&mut TestCommand| {
            is_alike(known, part) && known.source == part.source && packages(&known.argv).next() == Some(".")
        };
        let root = self.known.iter_mut().find(is_of_root);
        let Some(known) = root.filter(|known| names_packages(&part.argv) && options(known) == options(part)) else {
            return false;
        };
        add_packages(known, part);
        true
    }

    fn push_part(&mut self, part: TestCommand) {
        if self.parts.len() < MAX_COMMANDS {
            self.parts.push(part);
        }
    }

    pub(super) fn add_parts(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let missing: Vec<TestCommand> = parts
            .iter()
            .filter(|part| self.is_missing(part) && self.is_all_there_is(part, &parts))
            .take(MAX_PARTS)
            .cloned()
            .collect();
        self.known.extend(missing);
    }

    fn is_missing(&self, part: &TestCommand) -> bool {
        // The same job may also test a package of Rust by a target that could not be read.
        let is_read = part.framework != Framework::Cargo
            || !self
                .other
                .iter()
                .any(|other| other.directory == part.directory && other.source == part.source);
        let mut alike = self.known.iter().filter(|known| is_alike(known, part));
        is_read && !alike.any(|known| !is_of_another_package(self.checkout, known, part))
    }

    /// Whether a part, with the others, may be all that CI tests. A folder or a package alone may be a special case, but
    /// neither several folders nor the one with all tests.
    fn is_all_there_is(&self, part: &TestCommand, all: &[TestCommand]) -> bool {
        match ecosystem(part) {
            Ecosystem::Go => !names_packages(&part.argv) || packages(&part.argv).count() >= MIN_PACKAGES,
            Ecosystem::Python => {
                let alike = || all.iter().filter(|other| is_alike(other, part));
                let folders: BTreeSet<&str> = alike()
                    .filter(|other| names_deep_folders(other))
                    .flat_map(|other| paths_of_python(&other.argv))
                    .collect();
                folders.len() > 1
                    || alike().any(|other| paths_of_python(&other.argv).any(is_of_unit_tests))
                    || folders.first().is_some_and(|folder| self.has_all_tests(part, folder))
            }
            _ => true,
        }
    }

    /// Whether a folder has all test files of Python that the directory of a command has.
    fn has_all_tests(&self, command: &TestCommand, folder: &str) -> bool {
        let place = Directory {
            checkout: self.checkout,
            directory: command.directory.clone(),
        };
        let folder = folder.trim_start_matches("./").trim_end_matches('/');
        let is_inside = |test: &&str| test.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let tests = python::own_tests(&place);
        !tests.is_empty() && tests.iter().all(is_inside)
    }
}

fn ecosystem(command: &TestCommand) -> Ecosystem {
    command.framework.spec().ecosystem
}

/// Adds the packages of another command of Go.
fn unite(list: &mut TestCommand, other: &TestCommand) {
    // One that names none tests the package of its folder, or all short tests.
    if names_packages(&list.argv) && names_packages(&other.argv) {
        add_packages(list, other);
    }
}

fn add_packages(list: &mut TestCommand, other: &TestCommand) {
    let folder = |package: &str| package.trim_end_matches('/').to_owned();
    let known: BTreeSet<String> = packages(&list.argv).map(folder).collect();
    let more: Vec<String> = packages(&other.argv)
        .map(folder)
        .filter(|package| !known.contains(package))
        .take(MAX_PACKAGES.saturating_sub(known.len()))
        .collect();
    list.argv.extend(more);
}
