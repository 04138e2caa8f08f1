//! What a project calls its own: scripts that run its tests, and parts of its tests with a name.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use super::needs::{MAX_SCRIPT, needs_more};
use super::package_script::{is_named_script, script_of};
use super::purpose::{names_deep_folders, names_packages, packages};
use super::{jvm, names_a_test};
use crate::ci_build::BuildCommand;
use crate::ci_variables::is_for_the_job;
use crate::discover::directory::Directory;
use crate::discover::others::MAKEFILES;
use crate::discover::rust;
use crate::discover::step::tool::{build_project, is_other_tool};
use crate::discover::step::{tree_script, with_own_paths};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::{Source, TestCommand};

/// `make -C directory target` as `make target` in the directory.
pub(super) fn entered(checkout: &Checkout, mut command: TestCommand) -> TestCommand {
    let Some(at) = command
        .argv
        .iter()
        .position(|word| word == "-C")
        .filter(|_| is_make(&command))
    else {
        return command;
    };
    let below = command.argv.get(at + 1).map_or("", |word| word.trim_end_matches('/'));
    if matches!(below, "" | ".") {
        command.argv.drain(at..(at + 2).min(command.argv.len()));
        return command;
    }
    let path = match &command.directory {
        Some(above) => format!("{above}/{below}"),
        None => below.to_owned(),
    };
    // Where something else writes the Makefile, it may refer to the folder above.
    let exists = MAKEFILES
        .iter()
        .any(|name| checkout.contains(&format!("{path}/{name}")));
    if let Some(directory) = path.parse().ok().filter(|_| exists) {
        command.argv.drain(at..at + 2);
        command.directory = Some(directory);
    }
    command
}

pub(super) fn is_make(command: &TestCommand) -> bool {
    matches!(command.argv.first().map(String::as_str), Some("make" | "gmake"))
}

pub(super) fn has_makefile(place: &Directory<'_>) -> bool {
    MAKEFILES.iter().any(|name| place.has(name))
}

/// Whether a command of CI is one for the project's tests that can run here, though what it runs is unknown: a script
/// of the tree, or a target of a Makefile that CI's own steps create.
pub(super) fn runs_here(place: &Directory<'_>, command: &TestCommand) -> bool {
    let Some(script) = tree_script(place, &command.argv) else {
        return is_configured_target(place, command)
            || is_make_in_tests(place, command)
            || is_rake_below(place, command)
            || is_named_script(place, command)
            || is_build_program(place, command);
    };
    let text = place.text(&script).filter(|text| text.len() <= MAX_SCRIPT);
    is_for_all_tests(&command.argv) && text.is_some_and(|text| !needs_more(&text))
}

/// Whether the words of a command say no more than that it runs the tests. Others may run a part, or check something.
fn is_for_all_tests(argv: &[String]) -> bool {
    const GENERAL: [&str; 24] = [
        "all",
        "bash",
        "bin",
        "build",
        "ci",
        "configure",
        "dash",
        "full",
        "linux",
        "perl",
        "pl",
        "py",
        "python",
        "python3",
        "rb",
        "ruby",
        "run",
        "runner",
        "script",
        "scripts",
        "sh",
        "stable",
        "tools",
        "util",
    ];
    let words = argv.iter().filter(|word| !word.starts_with('-'));
    let parts: Vec<&str> = words
        .flat_map(|word| word.split(['/', '.', '-', '_', ':']))
        .filter(|part| !part.is_empty())
        .collect();
    let is_test = |part: &&str| names_a_test(part) || *part == "verify";
    parts.iter().any(is_test) && parts.iter().all(|part| is_test(part) || GENERAL.contains(part))
}

/// A target of a Makefile that `configure` writes, which CI runs before.
fn is_configured_target(place: &Directory<'_>, command: &TestCommand) -> bool {
    let is_template = ["Makefile.am", "Makefile.in"].iter().any(|name| place.has(name));
    is_make(command) && !has_makefile(place) && is_template && command.builds().any(BuildCommand::configures)
}

/// Make without a target in the directory of all tests, whose Makefile runs what it builds.
fn is_make_in_tests(place: &Directory<'_>, command: &TestCommand) -> bool {
    let names_tests = |directory: &RepoPath| matches!(directory.as_str(), "test" | "tests");
    let mut words = command.argv.iter().skip(1);
    let names_none = words.all(|word| word.starts_with('-') || word.contains('='));
    is_make(command) && names_none && has_makefile(place) && place.directory.as_ref().is_some_and(names_tests)
}

/// Rake in a directory below the root, of which the root's command would know nothing.
fn is_rake_below(place: &Directory<'_>, command: &TestCommand) -> bool {
    place.directory.is_some() && place.has("Rakefile") && rake_tasks(command).is_some()
}

/// The tasks that a command names, if it runs Rake for tests or without further words.
pub(super) fn rake_tasks(command: &TestCommand) -> Option<Vec<&str>> {
    let is_rake = |word: &String| word.rsplit('/').next() == Some("rake");
    let at = command.argv.iter().position(is_rake)?;
    let words = command.argv.get(at + 1..)?.iter().map(String::as_str);
    let tasks: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
    tasks.iter().all(|task| names_a_test(task)).then_some(tasks)
}

/// Whether a command runs a tool for tests whose output is not read, and which needs no browser.
pub(super) fn runs_other_tool(command: &TestCommand) -> bool {
    let mut words = command
        .argv
        .iter()
        .take(3)
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    words.any(|word| is_other_tool(word) && !needs_more(word))
}

/// Whether a command is a further script of `package.json` that a job runs beside tests of which the framework is
/// known, or a further program of the tree in a job of the same workflow.
pub(super) fn follows(place: &Directory<'_>, known: &TestCommand, command: &TestCommand) -> bool {
    let is_near = known.directory == command.directory && known.framework.spec().ecosystem == Ecosystem::JavaScript;
    let is_of_workflow = || match (&known.source, &command.source) {
        (Source::Ci { workflow: one, .. }, Source::Ci { workflow: other, .. }) => one == other,
        _ => false,
    };
    let is_beside = known.source == command.source && script_of(place, command).is_some();
    is_near && (is_beside || is_of_workflow() && is_test_program(place, command))
}

/// Whether .NET runs a build program of the tree that also tests, for all that it does.
fn is_build_program(place: &Directory<'_>, command: &TestCommand) -> bool {
    const ALL: [&str; 8] = ["all", "buildall", "ci", "check", "default", "test", "tests", "verify"];
    const MAX_SOURCES: usize = 50;
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let ["dotnet", rest @ ..] = words.as_slice() else {
        return false;
    };
    let dashes = rest.iter().position(|word| *word == "--").unwrap_or(rest.len());
    let mut targets = rest[dashes..].iter().filter(|word| !word.starts_with('-'));
    let is_for_all = targets.all(|target| ALL.contains(&target.to_ascii_lowercase().as_str()));
    let tests = |folder: &str| {
        let sources = place.files().filter(|path| {
            let below = path.strip_prefix(folder);
            below.is_some_and(|below| below.starts_with('/')) && path.ends_with(".cs")
        });
        let mut sources = sources.take(MAX_SOURCES);
        let says = |path: &str| {
            place
                .text(path)
                .is_some_and(|text| text.contains("DotNetTest") || text.contains("dotnet test"))
        };
        sources.any(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("Test")) || says(path))
    };
    is_for_all && build_project(&rest[..dashes]).is_some_and(tests)
}

/// Whether Node runs a file of the tree that is named after tests.
fn is_test_program(place: &Directory<'_>, command: &TestCommand) -> bool {
    let [node, path] = command.argv.as_slice() else {
        return false;
    };
    let path = path.trim_start_matches("./");
    let text = place.text(path).filter(|text| text.len() <= MAX_SCRIPT);
    node == "node" && names_a_test(path) && text.is_some_and(|text| !needs_more(&text))
}

/// Whether two commands of CI are different scripts or programs of one package, or targets of a Makefile that one job makes
/// in turn: neither stands for the other.
pub(super) fn are_two_scripts(place: &Directory<'_>, one: &TestCommand, other: &TestCommand) -> bool {
    let is_part = |command: &TestCommand| {
        let mut targets = command.argv.iter().skip(1);
        let is_longer = |target: &String| names_a_test(target) && target.contains(['_', '-']);
        is_make(command) && targets.all(is_longer)
    };
    if is_part(one) && is_part(other) && one.source == other.source && one.env == other.env {
        return one.directory == other.directory && one.argv != other.argv;
    }
    let is_script = |command: &TestCommand| script_of(place, command).is_some() || is_test_program(place, command);
    one.directory == other.directory && one.argv != other.argv && is_script(one) && is_script(other)
}

/// Whether a command runs tests that the project's settings name: a test suite of PHPUnit, a package or a test target of
/// Cargo, or Go's short tests.
pub(super) fn names_a_part(command: &TestCommand) -> bool {
    let has = |options: &[&str]| {
        let mut words = command.argv.iter().map(|word| word.split('=').next().unwrap_or(word));
        words.any(|word| options.contains(&word))
    };
    match command.framework.spec().ecosystem {
        Ecosystem::Php => has(&["--testsuite"]) && !has(&["--filter", "--group"]),
        Ecosystem::Rust => {
            // Ignored tests need what the others do not, and unstable options another compiler.
            let is_unstable = command.env.get("RUSTFLAGS").is_some_and(|flags| flags.contains("-Z"));
            // Those tests need a whole system around them.
            let is_end_to_end =
                named_packages(&command.argv).any(|name| name.split(['-', '_']).any(|word| word == "e2e"));
            !is_unstable
                && !is_end_to_end
                && has(&["-p", "--package", "--test"])
                && !has(&[
                    "--lib",
                    "--doc",
                    "--no-default-features",
                    "--target",
                    "--bench",
                    "--ignored",
                ])
        }
        Ecosystem::Go => {
            let is_list = || packages(&command.argv).all(|word| word.starts_with('.'));
            !has(&["-run"]) && (has(&["-short"]) != names_packages(&command.argv)) && is_list()
        }
        Ecosystem::Python => names_deep_folders(command),
        Ecosystem::Java => jvm::tests_modules(command),
        _ => false,
    }
}

/// The packages that a command of Cargo names.
fn named_packages(argv: &[String]) -> impl Iterator<Item = &str> {
    let joined = argv.iter().filter_map(|word| word.strip_prefix("--package="));
    let pairs = argv.iter().zip(argv.iter().skip(1));
    let apart = pairs.filter(|(option, _)| matches!(option.as_str(), "-p" | "--package"));
    joined.chain(apart.map(|(_, name)| name.as_str()))
}

/// Whether a command of Cargo only tests the default packages, and the other one names further ones.
pub(super) fn is_of_another_package(checkout: &Checkout, all: &TestCommand, part: &TestCommand) -> bool {
    let is_cargo = |command: &TestCommand| command.framework == Framework::Cargo;
    let names = |options: &[&str]| {
        let mut words = all.argv.iter().map(|word| word.split('=').next().unwrap_or(word));
        words.any(|word| options.contains(&word))
    };
    let root = Directory {
        checkout,
        directory: all.directory.clone(),
    };
    is_cargo(all)
        && is_cargo(part)
        && !names(&["--workspace", "--all", "-p", "--package", "--manifest-path"])
        && rust::default_packages(&root).is_some_and(|default| {
            let mut named = named_packages(&part.argv);
            named.any(|name| !default.iter().any(|package| package == name))
        })
}

/// Whether a command runs all tests without the default features, which may compile other code.
pub(super) fn has_other_settings(command: &TestCommand) -> bool {
    command.framework == Framework::Cargo && command.argv.iter().any(|word| word == "--no-default-features")
}

/// Whether a command tests combinations of features. Its plugin of Cargo is installed.
pub(super) fn tests_features(command: &TestCommand) -> bool {
    let mut words = command.argv.iter().map(String::as_str);
    words.next() == Some("cargo") && words.next() == Some("hack") && words.any(|word| word == "test")
}

/// A command without the variables that only the runner's jobs have.
pub(super) fn with_variables(mut command: TestCommand, own_env: &BTreeSet<String>) -> TestCommand {
    // A script may read any of them.
    let is_script = command.framework == Framework::Other;
    // Coverage is not measured here.
    let counts = |name: &str| name.split('_').any(|word| word == "COVERAGE");
    let is_wanted = |name: &str, value: &str| {
        // Lists and documents are for the job's other steps.
        let is_for_the_job = is_for_the_job(name) || value.contains('\n');
        !counts(name) && (is_script || own_env.contains(name) || !is_for_the_job)
    };
    command.env.retain(|name, value| is_wanted(name, value));
    with_own_paths(command)
}
