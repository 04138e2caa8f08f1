//! Targets of make that CI tests with, where the project also has files for CMake, whose tests may be turned off.

use greenlight_readers::ci_step::CiStep;

use super::{StepCommands, names_a_test, own, shown};
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::{Source, TestCommand, leave_out};

/// Maximum number of targets that are run.
const MAX_TARGETS: usize = 4;

impl StepCommands<'_> {
    /// A build that the project's files suggest to test with CTest, or what CI tests with make if it never runs CTest.
    pub(in crate::discover) fn as_make(&self, found: TestCommand, steps: &[CiStep]) -> Vec<TestCommand> {
        let is_of_file = matches!(found.source, Source::File(_)) && found.framework == Framework::Ctest;
        if !is_of_file || found.directory.is_some() || steps.iter().any(|step| step.script.contains("ctest")) {
            return vec![found];
        }
        let mut chosen: Vec<TestCommand> = Vec::new();
        for command in self.other.iter().filter(|command| self.is_make_test(command)) {
            let is_of_job = chosen.first().is_none_or(|first| first.source == command.source);
            let has_room = chosen.len() < MAX_TARGETS;
            match chosen.iter_mut().find(|other| targets(other) == targets(command)) {
                // With other settings.
                Some(other) if other.argv != command.argv => leave_out(&mut other.left_out, &shown(command)),
                Some(_) => {}
                None if is_of_job && has_room => chosen.push(command.clone()),
                None => {}
            }
        }
        match chosen.is_empty() {
            true => vec![found],
            false => chosen,
        }
    }

    /// Leaves out `make tests` where the same job runs `make check` with a Makefile that `configure` writes: it only builds
    /// the tests.
    pub(super) fn leave_out_builds(&mut self) {
        let makes = |command: &TestCommand, wanted: &[&str]| {
            let is_wanted = matches!(targets(command).as_slice(), [target] if wanted.contains(target));
            own::is_make(command) && is_wanted && !own::has_makefile(&self.place(command))
        };
        let is_build = |command: &TestCommand| {
            let is_beside =
                |other: &TestCommand| (&other.source, &other.directory) == (&command.source, &command.directory);
            let mut others = self.other.iter();
            makes(command, &["tests"]) && others.any(|other| is_beside(other) && makes(other, &["check", "test"]))
        };
        let builds: Vec<bool> = self.other.iter().map(is_build).collect();
        let mut builds = builds.into_iter();
        self.other.retain(|_| !builds.next().unwrap_or_default());
    }

    fn place(&self, command: &TestCommand) -> Directory<'_> {
        Directory {
            checkout: self.checkout,
            directory: command.directory.clone(),
        }
    }

    fn is_make_test(&self, command: &TestCommand) -> bool {
        let is_for_others = command
            .argv
            .iter()
            .any(|word| word.split(['=', ' ']).any(|part| part == "-m32"));
        let is_there = own::has_makefile(&self.place(command));
        own::is_make(command)
            && !is_for_others
            && is_there
            && targets(command).iter().any(|target| names_a_test(target))
    }
}

/// The targets that a call of make names.
fn targets(command: &TestCommand) -> Vec<&str> {
    let words = command.argv.iter().skip(1).map(String::as_str);
    words
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::discover::find_all;
    use crate::discover::tests::{hints, tree};
    use crate::test_command::TestSettings;

    fn commands(lines: &[&str]) -> Vec<String> {
        let steps: Vec<String> = lines.iter().map(|line| format!("{{run: '{line}'}}")).collect();
        let ci = format!(
            "on: push\njobs:\n  test: {{runs-on: ubuntu-latest, steps: [{}]}}\n",
            steps.join(", ")
        );
        let (_tree, checkout) = tree(&[
            ("CMakeLists.txt", "project(a)\nif(TESTS)\nenable_testing()\nendif()\n"),
            ("Makefile", "test:\n\t./run $(config)\n"),
            (".github/workflows/ci.yml", &ci),
        ]);
        let found = find_all(&checkout, &TestSettings::default(), &hints(&checkout));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_ci_tests_with_make_is_tested_with_make() {
        let of_make = commands(&[
            "make test EXTRA=-m32",
            "make test config=debug -j2",
            "make test config=release",
        ]);
        assert_eq!(of_make, ["make test 'config=debug' -j2"]);
        let of_cmake = commands(&[
            "make test config=debug",
            "cmake -B b && cmake --build b && ctest --test-dir b",
        ]);
        assert!(of_cmake[0].contains("ctest"), "{of_cmake:?}");
    }
}
