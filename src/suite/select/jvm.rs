//! Maven and Gradle.

use std::collections::{BTreeMap, BTreeSet};

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Maven => maven(&command.argv, only),
        _ => gradle(&command.argv, only),
    }
}

/// The modules that the files lie in, with what these are built from.
pub(super) fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let modules: BTreeSet<String> = near
        .iter()
        .map(|file| module(checkout, command, file))
        .collect::<Option<_>>()?;
    let is_whole = modules.iter().any(String::is_empty);
    if is_whole {
        return None;
    }
    let mut argv = command.argv.clone();
    match command.framework {
        Framework::Maven => {
            let at = argv.iter().position(|word| is_tool(word, "mvn"))? + 1;
            let list = modules.into_iter().collect::<Vec<_>>().join(",");
            argv.splice(at..at, ["-pl".to_string(), list, "-am".into()]);
        }
        _ => {
            let at = argv.iter().position(|word| word == "test")?;
            let tasks = modules
                .into_iter()
                .map(|module| format!(":{}:test", module.replace('/', ":")));
            argv.splice(at..=at, tasks);
        }
    }
    Some(argv)
}

/// The nearest directory above a file that has a manifest, relative to where the command runs; empty for that directory
/// itself, none outside of it.
fn module(checkout: &Checkout, command: &TestCommand, file: &RepoPath) -> Option<String> {
    let prefix = command
        .directory
        .as_ref()
        .map_or(String::new(), |own| format!("{own}/"));
    let mut rest = file.as_str().strip_prefix(&prefix)?;
    let manifests: &[&str] = match command.framework {
        Framework::Maven => &["pom.xml"],
        _ => &["build.gradle", "build.gradle.kts"],
    };
    while let Some((directory, _)) = rest.rsplit_once('/') {
        let has = |name: &&str| checkout.contains(&format!("{prefix}{directory}/{name}"));
        let is_plain =
            directory.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c)) && !directory.starts_with('-');
        if manifests.iter().any(has) {
            return is_plain.then(|| directory.to_string());
        }
        rest = directory;
    }
    Some(String::new())
}

fn is_tool(word: &str, name: &str) -> bool {
    let base = word.rsplit('/').next().unwrap_or(word);
    base.strip_suffix('w').unwrap_or(base) == name
}

/// `-Dtest=com.example.ATest#one+two,com.example.BTest`: <https://maven.apache.org/surefire/maven-surefire-plugin/examples/single-test.html>
fn maven(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let mut classes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for name in only {
        let (class, test) = name.split_once('#').unwrap_or((name, ""));
        let methods = classes.entry(class_name(class)?).or_default();
        // Every value of a parameter is asked for: a value cannot be.
        let bare = method_name(test)?;
        methods.insert(if bare.len() < test.len() && !bare.is_empty() {
            format!("{bare}*")
        } else {
            bare.to_string()
        });
    }
    let list = classes.into_iter().map(|(class, methods)| {
        // The class itself stands for all of its methods.
        if methods.contains("") {
            class.to_string()
        } else {
            format!("{class}#{}", methods.into_iter().collect::<Vec<_>>().join("+"))
        }
    });
    let list = list.collect::<Vec<_>>().join(",");
    let at = argv.iter().position(|word| is_tool(word, "mvn"))? + 1;
    let mut narrowed = argv.to_vec();
    let options = [
        format!("-Dtest={list}"),
        // Other modules have no such test; the second is how Surefire 2 calls it.
        "-Dsurefire.failIfNoSpecifiedTests=false".into(),
        "-DfailIfNoTests=false".into(),
    ];
    narrowed.splice(at..at, options);
    Some(narrowed)
}

/// `--tests com.example.ATest.one` behind the task that they belong to.
fn gradle(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_task = |word: &String| word == "test" || word.ends_with(":test");
    let at = argv.iter().position(is_task)? + 1;
    let mut options = Vec::new();
    for name in only {
        let bare = name.find(['(', '[', '{', ' ']).unwrap_or(name.len());
        let class = class_name(&name[..bare])?;
        options.push("--tests".to_string());
        options.push(if bare < name.len() {
            format!("{class}*")
        } else {
            class.to_string()
        });
    }
    let mut narrowed = argv.to_vec();
    narrowed.splice(at..at, options);
    Some(narrowed)
}

/// A name of a class or method with its package, and nothing that means more to Maven or Gradle.
fn class_name(name: &str) -> Option<&str> {
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
    (is_plain && name.starts_with(|c: char| c.is_alphabetic() || c == '_')).then_some(name)
}

/// A method without the values that it ran with.
fn method_name(test: &str) -> Option<&str> {
    let bare = &test[..test.find(['(', '[', '{', ' ']).unwrap_or(test.len())];
    let is_plain = bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    is_plain.then_some(bare)
}
