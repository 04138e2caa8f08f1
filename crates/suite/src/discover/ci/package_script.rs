//! Scripts of `package.json` that CI runs.

use super::needs::{MAX_SCRIPT, needs_more};
use super::{StepCommands, names_a_test};
use crate::ci_build::MANAGERS;
use crate::discover::directory::Directory;
use crate::discover::selection::runs_workspaces;
use crate::discover::step::tool;
use crate::discover::{javascript, workspaces};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::{Source, TestCommand};

/// Words in the names of scripts that do not test what the other scripts of a job test, or need a browser that Linux has.
const OTHERS: [&str; 14] = [
    "types",
    "type",
    "typecheck",
    "lint",
    "browser",
    "browsers",
    "e2e",
    "coverage",
    "watch",
    "bench",
    "chrome",
    "firefox",
    "visual",
    "build",
];

/// Whether a command runs the script `test` of `package.json`, of which no framework is known.
pub(in crate::discover) fn is_test_script(command: &TestCommand) -> bool {
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let is_script =
        matches!(words.as_slice(), [manager, "run", "test", ..] | [manager, "test", ..] if MANAGERS.contains(manager));
    is_script && command.framework == Framework::Other
}

impl StepCommands<'_> {
    /// The tests of one package of a workspace, with the variables of the line of CI that tests all packages in turn.
    pub(in crate::discover) fn as_recursive(&self, mut command: TestCommand) -> TestCommand {
        let is_of_package = command.directory.is_some() && matches!(command.source, Source::File(_));
        let is_for_node = command.framework.spec().ecosystem == Ecosystem::JavaScript || is_test_script(&command);
        if is_of_package && is_for_node {
            let tests_all = |other: &&TestCommand| {
                let names_tests = other.argv.iter().any(|word| word == "test");
                other.directory.is_none() && names_tests && runs_workspaces(&other.argv)
            };
            let of_ci = self.other.iter().find(tests_all);
            for (name, value) in of_ci.into_iter().flat_map(|line| &line.env) {
                command.env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        command
    }
}

/// The text of the script of `package.json` that a command runs, if it is named after tests that can run here.
pub(super) fn script_of(place: &Directory<'_>, command: &TestCommand) -> Option<String> {
    let (program, name) = (command.argv.first()?, command.argv.last()?);
    if !MANAGERS.contains(&program.as_str()) {
        return None;
    }
    let is_other = name.split([':', '-', '_']).any(|part| OTHERS.contains(&part));
    let script = own_script(place, &command.argv, name)?;
    // What changed since another commit is not known here.
    let is_partial = script
        .split_whitespace()
        .any(|word| matches!(word, "affected" | "--affected" | "--since"));
    let words: Vec<String> = script.split_whitespace().map(String::from).collect();
    let is_wanted = !is_other && !is_partial && !needs_more(&script) && !tool::is_check(&words);
    (names_a_test(name) && is_wanted).then_some(script)
}

/// Whether a command is no more than `npm run NAME` for a script in which no framework is named. The script `test` may
/// call others, which CI also runs.
pub(super) fn is_named_script(place: &Directory<'_>, command: &TestCommand) -> bool {
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let ([_, "run" | "run-script", name] | [_, name]) = words.as_slice() else {
        return false;
    };
    let is_wanted =
        |script: String| javascript::guess(&script) == Framework::Other && (*name != "test" || is_one_program(&script));
    script_of(place, command).is_some_and(is_wanted)
}

/// Whether a script starts one program, and no other scripts.
fn is_one_program(script: &str) -> bool {
    let mut words = script.split_whitespace();
    let calls = |word: &str| MANAGERS.contains(&word) || word.starts_with("run-") || word.starts_with("npm-run");
    !script.contains(['&', '|', ';']) && !words.any(calls)
}

/// The script `test` in place of one that does the same and measures coverage, which is not wanted here.
pub(super) fn without_coverage(place: &Directory<'_>, mut command: TestCommand) -> TestCommand {
    let name = command.argv.last().map_or("", String::as_str);
    let counts = name
        .split([':', '-', '_'])
        .any(|part| part == "coverage" || part == "cov");
    let is_script = command
        .argv
        .first()
        .is_some_and(|program| MANAGERS.contains(&program.as_str()));
    let words = |name: &str| -> Option<Vec<String>> {
        let script = own_script(place, &command.argv, name)?;
        let words = script.split_whitespace().filter(|word| !word.starts_with("--coverage"));
        Some(words.map(String::from).collect())
    };
    let is_same = || words("test").is_some_and(|test| words(name) == Some(test));
    if is_script && counts && is_same() {
        command.argv.pop();
        command.argv.push("test".into());
    }
    command
}

/// The text of a script: of the package that `--filter` names, else of the place.
fn own_script(place: &Directory<'_>, argv: &[String], name: &str) -> Option<String> {
    let manifest = |path: &str| -> Option<serde_json::Value> {
        let text = place.checkout.read_text(path).filter(|text| text.len() <= MAX_SCRIPT)?;
        serde_json::from_str(&text).ok()
    };
    let filter = argv.iter().position(|word| matches!(word.as_str(), "--filter" | "-F"));
    let package = match filter.and_then(|at| argv.get(at + 1)) {
        None => manifest(&place.path("package.json"))?,
        Some(wanted) => {
            let members = workspaces::members(place.checkout).into_iter();
            let mut manifests = members.filter_map(|member| manifest(&format!("{member}/package.json")));
            manifests.find(|package| package.get("name").and_then(|name| name.as_str()) == Some(wanted.as_str()))?
        }
    };
    Some(package.get("scripts")?.get(name)?.as_str()?.to_owned())
}
