//! The commands with which a project's CI runs its tests, for when no failed step is known.
//!
//! Only commands of a known framework that run all tests are used: a task runner such as `make test` says less than the
//! files it reads, and a job for a part of the tests says nothing about the others.

use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use super::directory::Directory;
use super::{javascript, python, step};
use crate::ci_install::CiInstall;
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

/// What the first of these steps installs that runs tests, in whichever way. Commands of the project's files need the
/// same.
pub(super) fn installed(checkout: &Checkout, steps: &[CiStep]) -> CiInstall {
    let runs_tests = |step: &&CiStep| {
        let command = step::command(checkout, step);
        command.is_some_and(|command| !command.framework.is_linter())
    };
    steps
        .iter()
        .find(runs_tests)
        .map(step::installed_by)
        .unwrap_or_default()
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
    if is_partial(&command) || is_for_another_machine(&command) {
        return None;
    }
    let own = match command.framework.spec().ecosystem {
        Ecosystem::JavaScript | Ecosystem::Any => javascript::taken_apart(&place, &command.argv),
        Ecosystem::Python => Some(python::selected(&place, &command.argv)?),
        _ => None,
    };
    if let Some((argv, framework)) = own {
        (command.argv, command.framework) = (argv, framework);
    }
    // A plugin of Cargo that this machine may lack: `cargo test` runs the same tests.
    let is_extra = matches!(command.framework, Framework::Other | Framework::Nextest);
    // It tests a directory that an earlier step has built. What the project's files suggest includes the build.
    let is_built_before = command.framework.spec().ecosystem == Ecosystem::C;
    if is_extra || is_built_before || command.framework.is_linter() {
        return None;
    }
    command.env.retain(|name, _| is_for_tools(name));
    if command.framework.spec().ecosystem == Ecosystem::Python {
        // Once more, without the words around the runner.
        if is_partial(&command) {
            return None;
        }
        command.import_root = command.import_root.or_else(|| Some(".".into()));
    }
    command.argv.retain(|word| !is_toolchain(word));
    Some(command)
}

/// Whether a command runs a part of the tests, as far as its words tell.
fn is_partial(command: &TestCommand) -> bool {
    let words = || command.argv.iter().skip(1).map(String::as_str);
    let has = |options: &[&str]| words().any(|word| options.contains(&word.split('=').next().unwrap_or(word)));
    let plain = || words().filter(|word| !word.starts_with('-'));
    match command.framework.spec().ecosystem {
        Ecosystem::Rust => {
            names_tests(&command.argv)
                || has(&[
                    "-p",
                    "--package",
                    "--test",
                    "--bin",
                    "--example",
                    "--bench",
                    "--doc",
                    "--lib",
                    "--no-default-features",
                ])
        }
        Ecosystem::Go => has(&["-run", "-short"]) || plain().skip(1).any(|word| !word.ends_with("...")),
        Ecosystem::Python => {
            let is_runner = |word: &&str| ["pytest", "unittest", "discover", "manage.py", "test"].contains(word);
            let mut paths = plain()
                .filter(|word| !is_runner(word) && !word.contains('*'))
                .peekable();
            has(&["-k"]) || paths.peek().is_some() && paths.all(is_deep)
        }
        Ecosystem::Java => {
            has(&["-x", "-pl", "--projects", "--tests", "-Dtest", "-Dit.test"])
                || plain().any(|word| word.contains(':'))
        }
        Ecosystem::JavaScript => plain().any(|word| word.contains('.') || is_deep(word)),
        _ => has(&["--filter", "--group", "install"]),
    }
}

/// Whether a command builds for another target, or without instructions that this machine has.
fn is_for_another_machine(command: &TestCommand) -> bool {
    let value = |name: &str| command.env.get(name).map_or("", String::as_str);
    match command.framework.spec().ecosystem {
        Ecosystem::Rust => {
            let names_target = |word: &String| word == "--target" || word.starts_with("--target=");
            command.argv.iter().any(names_target) || value("RUSTFLAGS").contains("target-feature")
        }
        Ecosystem::Go => {
            // Go's names differ from Rust's.
            let own = match std::env::consts::ARCH {
                "x86_64" => "amd64",
                "aarch64" => "arm64",
                other => other,
            };
            !["", own].contains(&value("GOARCH"))
        }
        _ => false,
    }
}

/// Whether `cargo test` is told a part of the names of tests: a word before `--` that is no value of an option.
fn names_tests(argv: &[String]) -> bool {
    const VALUED: [&str; 10] = [
        "--exclude",
        "--features",
        "-F",
        "--manifest-path",
        "--profile",
        "--jobs",
        "-j",
        "--color",
        "--config",
        "-Z",
    ];
    let own = || argv.iter().take_while(|word| *word != "--");
    let is_plain = |word: &str| !word.starts_with(['-', '+']);
    let pairs = own().skip(1).zip(own());
    let mut plain = pairs.filter(|(word, before)| is_plain(word) && !VALUED.contains(&before.as_str()));
    // The first one is `test`.
    plain.nth(1).is_some()
}

/// `tests/unit`, `tests/test_a.py::test_b`: not the directory of all tests.
fn is_deep(word: &str) -> bool {
    word.trim_start_matches("./").trim_end_matches('/').contains('/') || word.contains("::")
}

/// Whether a variable is for a tool or the tests. Workflows also keep versions and names in variables.
fn is_for_tools(name: &str) -> bool {
    const PREFIXES: [&str; 16] = [
        "RUST", "CARGO_", "GO", "CGO_", "PY", "DJANGO_", "NODE_", "JAVA_", "MAVEN_", "GRADLE_", "RUBY", "PHP_",
        "DOTNET_", "LC_", "ASAN_", "UBSAN_",
    ];
    matches!(name, "TZ" | "LANG" | "COLUMNS" | "CFLAGS" | "CXXFLAGS" | "MAKEFLAGS")
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.split('_').any(|word| matches!(word, "TEST" | "TESTS" | "TESTING"))
}

/// `+nightly`, `+1.63`: rustup's toolchain of one leg of a matrix.
fn is_toolchain(word: &str) -> bool {
    word.strip_prefix('+').is_some_and(|rest| {
        rest.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The commands that count, of jobs that run these lines in a tree with a `Cargo.toml` and a `go.mod`.
    #[track_caller]
    fn check(scripts: &[&str], expected: &[&str]) {
        let tree = tempfile::tempdir().unwrap();
        for name in ["Cargo.toml", "go.mod"] {
            std::fs::write(tree.path().join(name), "").unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let steps = scripts.iter().map(|script| CiStep {
            workflow: "ci.yml".parse().unwrap(),
            job: "test".into(),
            name: "Test".into(),
            script: (*script).into(),
            directory: None,
            env: BTreeMap::new(),
            shows: None,
            before: Vec::new(),
            versions: BTreeMap::new(),
            services: Vec::new(),
        });
        let found: Vec<String> = commands(&checkout, &steps.collect::<Vec<_>>())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected, "{scripts:?}");
    }

    #[test]
    fn jobs_for_a_part_of_the_tests_or_another_machine_do_not_count() {
        let all = "cargo test --all-features";
        for part in [
            "cargo test -p a",
            "cargo test --no-default-features",
            "cargo test --verbose byte_order -- --nocapture",
            "RUSTFLAGS='-C target-feature=-sse' cargo test",
            "cargo test --target i586-unknown-linux-gnu",
            "cargo test --target=wasm32-wasip1",
            "cargo clippy",
        ] {
            check(&[part, all], &[all]);
        }
        let all = "cargo test --features a -j 2 -- --nocapture b";
        check(&[all], &[all]);
        let all = "go test -race ./...";
        for part in [
            "go test -run TestA ./...",
            "go test -short ./...",
            "GOARCH=mips go test ./...",
        ] {
            check(&[part, all], &[all]);
        }
    }

    /// What is left out cannot be tested together with the rest, or not at all.
    #[test]
    fn the_packages_that_ci_leaves_out_are_left_out() {
        let line = "cargo test --workspace --exclude a --exclude b";
        check(&[line, "cargo test -p a"], &[line]);
    }
}
