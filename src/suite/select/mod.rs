//! Narrows a test command down to named tests.
//!
//! Names come from the output of untrusted code. A name must never become an option, a file of arguments or a
//! pattern; one that could is not passed on, and then all tests run, which takes longer but says no less.

mod go;
mod javascript;
mod jvm;
mod others;
mod python;
mod rust;

use super::{Framework, TestCommand};
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;

/// More names than this are not worth listing.
const MAX_NAMES: usize = 200;
/// Bytes of all names together that may go on a command line.
const MAX_BYTES: usize = 32_000;

/// The command's arguments for the named tests alone; all of its tests if the list is empty or cannot be expressed.
pub(super) fn argv(command: &TestCommand, only: &[String]) -> Vec<String> {
    let bytes: usize = only.iter().map(String::len).sum();
    let harmless = only
        .iter()
        .all(|name| !name.is_empty() && !name.chars().any(char::is_control));
    let narrowed = if only.is_empty() || only.len() > MAX_NAMES || bytes > MAX_BYTES || !harmless {
        None
    } else {
        tests(command, only)
    };
    narrowed.unwrap_or_else(|| command.argv.clone())
}

/// Whether the command can be told to run the named tests alone.
pub fn narrows(command: &TestCommand, only: &[String]) -> bool {
    argv(command, only) != command.argv
}

fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Cargo | Framework::Nextest => rust::tests(command, only),
        Framework::Pytest | Framework::Unittest => python::tests(command, only),
        Framework::Node | Framework::Jest | Framework::Vitest | Framework::Mocha | Framework::Bun => {
            javascript::tests(command, only)
        }
        Framework::Go => go::tests(command, only),
        Framework::Maven | Framework::Gradle => jvm::tests(command, only),
        Framework::Dotnet | Framework::Rspec | Framework::Minitest | Framework::Phpunit | Framework::Ctest => {
            others::tests(command, only)
        }
        _ => None,
    }
}

/// The same command for the parts of a project that these files belong to: packages, modules or directories of tests.
/// None where that is the whole project, or cannot be said.
pub fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<TestCommand> {
    if near.is_empty() {
        return None;
    }
    let argv = match command.framework {
        Framework::Cargo | Framework::Nextest | Framework::Rustc => rust::package(checkout, command, near),
        Framework::Pytest | Framework::Unittest => python::package(checkout, command, near),
        Framework::Node | Framework::Jest | Framework::Vitest | Framework::Mocha | Framework::Bun => {
            javascript::package(checkout, command, near)
        }
        Framework::Go | Framework::GoVet => go::package(checkout, command, near),
        Framework::Maven | Framework::Gradle => jvm::package(checkout, command, near),
        _ => None,
    }?;
    (argv != command.argv).then(|| TestCommand {
        argv,
        ..command.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Source;

    #[track_caller]
    fn check(framework: Framework, command: &str, only: &[&str], expected: &str) {
        let command = TestCommand::new(shlex::split(command).unwrap(), framework, Source::Settings);
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        assert_eq!(argv(&command, &only).join(" "), expected);
    }

    #[test]
    fn names_are_handed_to_their_framework() {
        use Framework::{Cargo, Go, Gradle, Jest, Maven, Node, Other, Pytest, Unittest};
        check(
            Cargo,
            "cargo test --workspace",
            &["a::b"],
            "cargo test --workspace --tests -- --exact -- a::b",
        );
        check(
            Cargo,
            "cargo test --lib -- --test-threads=1",
            &["it:tests/it.rs a::b", "c"],
            "cargo test --lib -- --test-threads=1 --exact -- a::b c",
        );
        check(
            Cargo,
            "cargo test",
            &["src/lib.rs - add #2"],
            "cargo test --doc -- -- src/lib.rs",
        );
        check(
            Cargo,
            "cargo test",
            &["src/lib.rs - add", "a"],
            "cargo test -- -- a src/lib.rs",
        );
        check(
            Pytest,
            "python3 -m pytest -q tests -n 4",
            &["tests/test_a.py::T::test_b[x y]"],
            "python3 -m pytest -q -n 4 tests/test_a.py::T::test_b[x y]",
        );
        check(
            Unittest,
            "python3 -m unittest discover -v",
            &["t.T.a"],
            "python3 -m unittest -v t.T.a",
        );
        check(
            Go,
            "go test -json ./...",
            &["TestA/sub", "m/p TestB"],
            r"go test -run=^TestA$/^sub$|^TestB$ -json ./...",
        );
        check(
            Go,
            "go test ./...",
            &["m/p TestB/a+b", "m/q TestB"],
            r"go test -run=^TestB$|^TestB$/^a\+b$ m/p m/q",
        );
        check(
            Maven,
            "mvn -B test",
            &["com.x.ATest#one", "com.x.ATest#two(int)[1]", "com.x.BTest$In#a"],
            "mvn -Dtest=com.x.ATest#one+two*,com.x.BTest$In#a -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -B test",
        );
        check(
            Gradle,
            "./gradlew test",
            &["com.x.ATest.one"],
            "./gradlew test --tests com.x.ATest.one",
        );
        check(
            Node,
            "node --test test/",
            &["a > b (c|d)"],
            r"node --test --test-name-pattern=/(^| )b \(c\|d\)$/ test/",
        );
        check(
            Jest,
            "npx jest --ci",
            &["src/a.test.ts > basket > sums (a|b)", "src/a.test.ts > adds"],
            r"npx jest --ci --testNamePattern=^(adds|basket sums \(a\|b\))$ --runTestsByPath ./src/a.test.ts",
        );
        check(Other, "make check", &["a"], "make check");
        check(Cargo, "cargo test", &[], "cargo test");
    }

    #[test]
    fn ids_stand_in_place_of_the_directories_that_pytest_was_given() {
        check(
            Framework::Pytest,
            "pytest pkg -k fast -x other --cov shop",
            &["pkg/test_a.py::b"],
            "pytest -k fast -x --cov shop pkg/test_a.py::b",
        );
    }

    #[test]
    fn a_hostile_name_never_becomes_an_option() {
        use Framework::{Cargo, Go, Gradle, Jest, Maven, Mocha, Node, Pytest, Unittest};
        // After the last `--` everything is a name.
        check(
            Cargo,
            "cargo test",
            &["--config=x"],
            "cargo test --tests -- --exact -- --config=x",
        );
        check(
            Cargo,
            "cargo test",
            &["x --nocapture"],
            "cargo test --tests -- --exact -- --nocapture",
        );
        check(Pytest, "pytest", &["--rootdir=/ .py::x"], "pytest ./--rootdir=/ .py::x");
        check(Pytest, "pytest", &["@evil.py"], "pytest ./@evil.py");
        check(Pytest, "pytest", &["-pevil"], "pytest");
        check(Unittest, "python3 -m unittest", &["-f"], "python3 -m unittest");
        check(Unittest, "python3 -m unittest", &["*"], "python3 -m unittest");
        check(Go, "go test ./...", &["-exec=evil"], "go test ./...");
        check(Go, "go test ./...", &["TestA|.*"], "go test ./...");
        check(
            Node,
            "node --test",
            &["--require=evil"],
            r"node --test --test-name-pattern=/(^| )--require=evil$/",
        );
        check(Jest, "npm test", &["$(evil)"], "npm test");
        check(Mocha, "npm test", &["a'; evil"], "npm test");
        check(Go, "go test ./...", &["-exec=evil TestA"], "go test ./...");
        check(Maven, "mvn test", &["a,b#c -Dx=y"], "mvn test");
        check(Gradle, "gradle test", &["--init-script=x"], "gradle test");
        check(Cargo, "cargo test", &["a\nb"], "cargo test");
        check(Cargo, "cargo test", &["a\0b"], "cargo test");
        check(Cargo, "cargo test", &[&"x".repeat(40_000)], "cargo test");
    }
}
