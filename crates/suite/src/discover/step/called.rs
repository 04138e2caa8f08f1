//! Programs of the tree that a script calls.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use super::{lines, only_checks, runs_tests};
use crate::discover::directory::Directory;
use crate::discover::recipes;
use crate::shell::{SimpleCommand, line_directory, split_line, with_workspace};
use crate::workflow::WORKSPACE;

/// Maximum number of scripts that one script calls and that are looked at.
const MAX_CALLED: usize = 20;
/// Programs that run a script whose name follows.
const INTERPRETERS: [&str; 8] = ["sh", "bash", "dash", "python", "python3", "perl", "ruby", "node"];

/// The shell scripts of the tree that a script certainly calls, except for those that prepare the machine or publish.
pub(crate) fn called_scripts(
    script: &str,
    directory: Option<&RepoPath>,
    env: &BTreeMap<String, String>,
) -> Vec<RepoPath> {
    let known = with_workspace(env, WORKSPACE, None);
    let lines = lines(script, env).unwrap_or_default();
    let called = lines.iter().filter_map(|line| {
        let words = split_line(&line.words, &known, |word| Some(vec![word.to_string()]))?;
        let path = script_path(&words).filter(|path| !prepares(path))?;
        let place = line_directory(directory, &[line.directory.clone(), vec![above(path)]].concat(), &known)?;
        let name = path.rsplit('/').next()?;
        match place {
            Some(place) => format!("{place}/{name}").parse().ok(),
            None => name.parse().ok(),
        }
    });
    called.collect()
}

/// The shell script that a command names.
fn script_path(words: &[String]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    let path = match program.as_str() {
        "sh" | "bash" | "dash" => rest.iter().find(|word| !word.starts_with('-'))?,
        path if path.contains('/') => program,
        _ => return None,
    };
    let name = path.rsplit('/').next()?;
    (name.ends_with(".sh") || !name.contains('.')).then_some(path.as_str())
}

/// The folder of a path, as an argument of `cd`.
fn above(path: &str) -> String {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned()
}

/// Whether a script is named after what happens before or after the tests.
fn prepares(path: &str) -> bool {
    const OTHERS: [&str; 18] = [
        "bench",
        "bootstrap",
        "dependencies",
        "deploy",
        "deps",
        "docs",
        "download",
        "fetch",
        "format",
        "fuzz",
        "install",
        "lint",
        "package",
        "prepare",
        "publish",
        "release",
        "setup",
        "upload",
    ];
    path.split(['/', '.', '-', '_']).any(|part| OTHERS.contains(&part))
}

/// Whether a line calls a script of the tree with tests in it, no matter what it is called. Each script is `looked_at` once.
pub(super) fn tests_in_script(
    checkout: &Checkout,
    step: &CiStep,
    (line, words): (&SimpleCommand, &[String]),
    looked_at: &mut BTreeMap<String, bool>,
) -> bool {
    let path = script_path(words).filter(|path| !prepares(path));
    let directory = line_directory(step.directory.as_ref(), &line.directory, &step.env);
    let (Some(path), Some(directory)) = (path, directory) else {
        return false;
    };
    let place = directory.as_ref().map_or_else(String::new, ToString::to_string);
    let key = format!("{place}/{path}");
    if let Some(known) = looked_at.get(&key) {
        return *known;
    }
    if looked_at.len() >= MAX_CALLED {
        return false;
    }
    let scripts = recipes::scripts(&Directory { checkout, directory }, words, &step.env);
    let is_test = |text: &String| runs_tests(text, &step.env) && !only_checks(text, &step.env);
    let found = scripts.is_some_and(|scripts| scripts.iter().any(is_test));
    looked_at.insert(key, found);
    found
}

/// Whether a line runs a program of the tree. Those that prepare the machine do not count.
pub(super) fn runs_the_tree(checkout: &Checkout, step: &CiStep, words: &[String]) -> bool {
    let place = Directory {
        checkout,
        directory: step.directory.clone(),
    };
    let script = tree_script(&place, words);
    script.is_some_and(|path| !prepares(&path))
}

/// The path of the script of the tree that a command runs.
pub(in crate::discover) fn tree_script(place: &Directory<'_>, argv: &[String]) -> Option<String> {
    let (program, rest) = argv.split_first()?;
    let path = if INTERPRETERS.contains(&program.as_str()) {
        rest.iter().find(|word| !word.starts_with('-'))?
    } else {
        program
    };
    let path = path.trim_start_matches("./");
    place.has(path).then(|| path.to_owned())
}
