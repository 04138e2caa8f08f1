//! What CI tests besides the commands that run: the same tests in another way, or tests that those leave out. It is named.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_readers::ci_step::CiStep;

use super::{StepCommands, is_alike, names_a_test, own, shown};
use crate::discover::step::{self, StepLineKind, Unset, tool};
use crate::framework::{Ecosystem, Framework};
use crate::shell::quoted;
use crate::test_command::{TestCommand, leave_out};

/// Maximum number of commands that are noted.
const MAX_UNUSED: usize = 50;
/// Maximum length of the variables that are shown before a command, in characters.
const MAX_VARIABLES: usize = 50;

impl StepCommands<'_> {
    /// Notes a command that may have to be named.
    pub(super) fn note_unused(&mut self, command: TestCommand, own_env: &BTreeSet<String>) {
        if self.unused.len() < MAX_UNUSED {
            self.unused.push(own::with_variables(command, own_env));
        }
    }

    /// Names the tests of other folders that need services, which are not started here, if some of the same kind need none.
    pub(super) fn leave_out_services(&mut self) {
        let needs_services = |command: &TestCommand| !command.ci_install.services.is_empty();
        let (needy, mut known): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.known).into_iter().partition(needs_services);
        for command in needy {
            let is_elsewhere = |other: &&mut TestCommand| {
                let ecosystem = |command: &TestCommand| command.framework.spec().ecosystem;
                let is_alone = other.ci_install.services.is_empty();
                is_alone && ecosystem(other) == ecosystem(&command) && other.directory != command.directory
            };
            match known.iter_mut().find(is_elsewhere) {
                Some(other) => leave_out(&mut other.left_out, &command.to_string()),
                None => known.push(command),
            }
        }
        self.known = known;
    }

    /// Names what does not run beside what does.
    pub(super) fn name_unused(&mut self) {
        for unused in &self.unused {
            let mut alike: Vec<&mut TestCommand> =
                self.known.iter_mut().filter(|known| is_alike(known, unused)).collect();
            // Another one may do the same.
            let tests_more = alike.iter().all(|known| tests_more(unused, known));
            if let Some(known) = alike.first_mut().filter(|_| tests_more) {
                name(known, unused);
            }
        }
    }

    /// Names the lines with other tools and scripts that do not run. Those of task runners may run the same tests as the
    /// commands of the files, unless their names say that these are others.
    pub(in crate::discover) fn name_others(&self, all: &mut [TestCommand]) {
        const RUNNERS: [&str; 17] = [
            "bun", "composer", "dotnet", "gmake", "hatch", "just", "make", "mise", "nox", "npm", "pixi", "pnpm", "poe",
            "rake", "task", "tox", "yarn",
        ];
        let mut named = BTreeSet::new();
        for other in &self.other {
            let mut first = other
                .argv
                .iter()
                .take(3)
                .map(|word| word.rsplit('/').next().unwrap_or(word));
            let is_runner = first.any(|word| RUNNERS.contains(&word)) && !names_other_tests(&other.argv);
            let is_test = own::runs_other_tool(other)
                || names_other_tests(&other.argv)
                || other.argv.iter().any(|word| names_a_test(word));
            let runs = |command: &TestCommand| command.argv == other.argv;
            // Another version of the same tool runs the same tests.
            let plain: String = shown(other).chars().filter(|c| !c.is_ascii_digit()).collect();
            if is_runner || !is_test || tool::is_check(&other.argv) || all.iter().any(runs) || !named.insert(plain) {
                continue;
            }
            let here = all.iter().position(|command| command.directory == other.directory);
            if let Some(command) = all.get_mut(here.unwrap_or(0)) {
                name(command, other);
            }
        }
    }

    /// Names the tests of steps that do not run, beside the first tests that do.
    pub(super) fn name_aside<'s>(&mut self, steps: impl Iterator<Item = &'s CiStep>) {
        for step in steps {
            let lines = step::commands(self.checkout, step, Unset::Empty).into_iter().flatten();
            let tests = lines
                .filter(|line| line.kind == StepLineKind::Tests)
                .filter_map(|line| line.command);
            for command in tests {
                let command = own::with_variables(command, &step.own_env);
                let runs = |known: &TestCommand| known.argv == command.argv && known.env == command.env;
                if self.known.iter().any(runs) {
                    continue;
                }
                let alike = self.known.iter().position(|known| is_alike(known, &command));
                if let Some(known) = self.known.get_mut(alike.unwrap_or(0)) {
                    name(known, &command);
                }
            }
        }
    }
}

/// Whether the name of a task says that it runs other tests than the usual ones, as `test:integration` and `features` do.
fn names_other_tests(argv: &[String]) -> bool {
    const TESTS: [&str; 14] = [
        "acceptance",
        "behat",
        "cucumber",
        "e2e",
        "features",
        "functional",
        "integration",
        "smoke",
        "spec",
        "specs",
        "system",
        "test",
        "tests",
        "testing",
    ];
    const USUAL: [&str; 30] = [
        "all", "build", "ci", "cov", "cover", "coverage", "debug", "default", "dev", "fast", "full", "js", "local",
        "node", "only", "quick", "quiet", "run", "runner", "spec", "specs", "test", "tests", "testing", "ts", "unit",
        "units", "verbose", "watch", "html",
    ];
    const CHECKS: [&str; 8] = [
        "format",
        "formatted",
        "fmt",
        "lint",
        "style",
        "type",
        "types",
        "typecheck",
    ];
    let mut tasks = argv
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.contains(['=', '/']));
    tasks.any(|task| {
        let task = task.to_ascii_lowercase();
        let parts = || task.split([':', '-', '_', '.']);
        parts().any(|part| TESTS.contains(&part))
            && parts().any(|part| !USUAL.contains(&part) && part.chars().any(char::is_alphabetic))
            && !parts().any(|part| CHECKS.contains(&part))
    })
}

/// Names a command beside one that runs, with the variables that only it has. Does nothing if they are the same.
pub(super) fn name(known: &mut TestCommand, other: &TestCommand) {
    let more = more_variables(other, known);
    if known.argv == other.argv && more.is_empty() {
        return;
    }
    let mut variables: String = more
        .iter()
        .map(|(name, value)| format!("{name}={} ", quoted(value)))
        .collect();
    // What it runs says more than its variables.
    if variables.chars().count() > MAX_VARIABLES {
        variables = variables.chars().take(MAX_VARIABLES).collect::<String>() + "… ";
    }
    leave_out(&mut known.left_out, &format!("{variables}{}", shown(other)));
}

/// The variables of a command that the other one lacks or has with another value.
fn more_variables<'c>(command: &'c TestCommand, other: &TestCommand) -> BTreeMap<&'c str, &'c str> {
    let more = command
        .env
        .iter()
        .filter(|(name, value)| other.env.get(*name) != Some(value));
    more.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Whether the same job runs the same line with more variables, such as those that turn something off.
pub(super) fn has_more_variables(one: &TestCommand, other: &TestCommand) -> bool {
    let is_same = (&one.argv, &one.directory, &one.source) == (&other.argv, &other.directory, &other.source);
    let has = |(name, value): (&String, &String)| one.env.get(name) == Some(value);
    // Unknown options of a script have been left out, and may choose other tests.
    let is_script = one.argv.get(1).is_some_and(|word| word.ends_with(".py"));
    is_same && !is_script && one.env.len() > other.env.len() && other.env.iter().all(has)
}

/// Whether a command that is a part of another one, as far as its words tell, tests what that one does not.
fn tests_more(part: &TestCommand, whole: &TestCommand) -> bool {
    let has = |command: &TestCommand, options: &[&str]| {
        let mut words = command.argv.iter().map(|word| word.split('=').next().unwrap_or(word));
        words.any(|word| options.contains(&word))
    };
    // Examples in documentation are no target.
    let leaves_out_docs = has(whole, &["--all-targets", "--lib", "--bins", "--tests", "--test"]);
    let is_of_docs = part.framework == Framework::Cargo && has(part, &["--doc"]) && leaves_out_docs;
    let chooses = own::has_other_settings(part) || is_of_docs;
    (part.argv != whole.argv) && (chooses || !settings(part).is_subset(&settings(whole)))
        || !more_variables(part, whole).is_empty()
}

/// The options of a command that decide what is compiled or which tests exist, with their values. None for frameworks
/// whose options are not known here.
fn settings(command: &TestCommand) -> BTreeSet<String> {
    // Those that take a value, and those that do not.
    let (valued, plain): (&[&str], &[&str]) = match command.framework.spec().ecosystem {
        Ecosystem::Rust => (
            &["--features", "-F", "--target"],
            &["--all-features", "--ignored", "--include-ignored"],
        ),
        Ecosystem::Go => (&["-tags", "--tags"], &[]),
        Ecosystem::Php => (&["--group", "--testsuite", "-c", "--configuration"], &[]),
        Ecosystem::Python => return own_options_of_pytest(command),
        // Tasks that a project adds, such as `integrationTest`.
        Ecosystem::Java => {
            let tasks = command.argv.iter().skip(1);
            return tasks
                .filter(|task| task.ends_with("Test") || task.contains("stress"))
                .cloned()
                .collect();
        }
        _ if command.framework == Framework::Exunit => {
            let files = command.argv.iter().filter(|word| word.ends_with(".exs"));
            let pairs = command.argv.iter().zip(command.argv.iter().skip(1));
            let tags = pairs.filter(|(option, _)| *option == "--only").map(|(_, tag)| tag);
            return files.chain(tags).cloned().collect();
        }
        _ => return BTreeSet::new(),
    };
    let mut found = BTreeSet::new();
    let mut words = command.argv.iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) if valued.contains(&name) => _ = found.insert(format!("{name}={value}")),
            None if plain.contains(&word.as_str()) => _ = found.insert(word.clone()),
            None if valued.contains(&word.as_str()) => {
                let value = words.next().map_or("", String::as_str);
                found.insert(format!("{word}={value}"));
            }
            _ => {}
        }
    }
    found
}

/// The options of pytest that are neither its own nor those of well-known plugins for output: a project adds options of
/// this kind for tests that do not run otherwise. <https://docs.pytest.org/en/stable/example/simple.html>
fn own_options_of_pytest(command: &TestCommand) -> BTreeSet<String> {
    const KNOWN: [&str; 40] = [
        "--basetemp",
        "--benchmark",
        "--cache",
        "--capture",
        "--color",
        "--config",
        "--continue",
        "--count",
        "--cov",
        "--deselect",
        "--disable",
        "--dist",
        "--doctest",
        "--durations",
        "--exitfirst",
        "--failed",
        "--ff",
        "--forked",
        "--full",
        "--ignore",
        "--import",
        "--junit",
        "--last",
        "--lf",
        "--log",
        "--maxfail",
        "--max",
        "--no",
        "--numprocesses",
        "--override",
        "--pyargs",
        "--quiet",
        "--random",
        "--reruns",
        "--rootdir",
        "--show",
        "--strict",
        "--tb",
        "--timeout",
        "--verbose",
    ];
    let after = command
        .argv
        .iter()
        .skip_while(|word| word.rsplit('/').next() != Some("pytest"));
    let options = after.filter(|word| word.starts_with("--") && word.len() > 2);
    let names = options.map(|word| word.split('=').next().unwrap_or(word));
    let is_known = |name: &&str| {
        let first = name
            .get(2..)
            .and_then(|rest| rest.split('-').next())
            .unwrap_or_default();
        KNOWN.iter().any(|known| known.get(2..) == Some(first))
    };
    names.filter(|name| !is_known(name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_command::Source;

    fn command(line: &str, framework: Framework) -> TestCommand {
        TestCommand::new(shlex::split(line).unwrap(), framework, Source::Settings)
    }

    #[test]
    fn a_part_with_other_settings_tests_more() {
        let (cargo, pytest, go) = (Framework::Cargo, Framework::Pytest, Framework::Go);
        for (framework, whole, part, expected) in [
            (cargo, "cargo test --all-targets", "cargo test --doc", true),
            (cargo, "cargo test", "cargo test --doc", false),
            (
                cargo,
                "cargo test --features a",
                "cargo test --lib --features a,ffi",
                true,
            ),
            (cargo, "cargo test --features=a", "cargo test -p b --test c", false),
            (cargo, "cargo test", "cargo test --no-default-features", true),
            (
                pytest,
                "pytest tests",
                "pytest --integration -q tests/integration",
                true,
            ),
            (pytest, "pytest tests", "pytest --cov=a --no-header tests/unit", false),
            (pytest, "pytest --run-slow", "pytest --run-slow tests/a", false),
            (go, "go test ./...", "go test -tags integration ./b", true),
            (go, "go test ./...", "go test -run A ./b", false),
        ] {
            let (whole, part) = (command(whole, framework), command(part, framework));
            assert_eq!(tests_more(&part, &whole), expected, "{part}");
        }
    }

    #[test]
    fn the_same_line_with_other_variables_is_named() {
        let mut known = command("mix test", Framework::Exunit);
        let mut other = known.clone();
        name(&mut known, &other);
        assert!(known.left_out.is_empty());
        other.env.insert("STORE".into(), "a b".into());
        name(&mut known, &other);
        assert_eq!(known.left_out, ["STORE='a b' mix test"]);
    }
}
