//! Filters by modules of Java projects, and by names of classes and methods.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// The modules that contain the files. `None` if a file belongs to no module.
pub(crate) fn modules(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<BTreeSet<String>> {
    let modules: BTreeSet<String> = near
        .iter()
        .map(|file| module(checkout, command, file))
        .collect::<Option<_>>()?;
    (!modules.iter().any(String::is_empty)).then_some(modules)
}

/// The nearest directory above a file that has a manifest, relative to where the command runs. Empty for that
/// directory itself, `None` outside of it.
fn module(checkout: &Checkout, command: &TestCommand, file: &RepoPath) -> Option<String> {
    let prefix = command
        .directory
        .as_ref()
        .map_or(String::new(), |own| format!("{own}/"));
    let mut rest = file.as_str().strip_prefix(&prefix)?;
    let manifests = command.framework.spec().modules;
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

/// A name of a class or method with its package, without characters that are special to Maven or Gradle.
pub(crate) fn class_name(name: &str) -> Option<&str> {
    let is_plain = name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
    (is_plain && name.starts_with(|c: char| c.is_alphabetic() || c == '_')).then_some(name)
}

/// A method's name without its parameters.
pub(crate) fn method_name(test: &str) -> Option<&str> {
    let bare = &test[..test.find(['(', '[', '{', ' ']).unwrap_or(test.len())];
    let is_plain = bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    is_plain.then_some(bare)
}
