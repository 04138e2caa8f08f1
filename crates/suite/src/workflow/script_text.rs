//! Parts of scripts that only the runner knows, and scripts of the tree that they call.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::WorkflowFiles;
use super::expression::{MatrixExtent, Scope, interpolate};
use super::run_script::Script;
use crate::discover::{called_scripts, only_checks, runs_tests};
use crate::text::pattern;

/// Maximum number of unknown words in a row.
const MAX_WORDS: usize = 4;

/// Whether a script builds in a directory beside the checkout.
pub(super) fn builds_elsewhere(directory: &str, script: &str) -> bool {
    let plain: String = directory.split_whitespace().collect();
    let beside = ["${{runner.workspace}}", "${{runner.temp}}"]
        .iter()
        .find_map(|above| plain.strip_prefix(above));
    // A deeper one may be in the checkout, whose name is not known here.
    let is_beside = beside.is_some_and(|rest| !rest.trim_matches('/').contains(['/', '$']));
    let mut programs = script.lines().filter_map(|line| line.split_whitespace().next());
    is_beside && programs.any(|program| matches!(program, "cmake" | "ctest" | "ninja" | "meson"))
}

/// A script without the settings of Gradle and Maven whose values only earlier steps know, such as
/// `-Pversion=${{ steps.a.outputs.b }}`: the project has values for them, too.
pub(super) fn without_unknown_settings(script: &str, scope: &Scope) -> String {
    static SETTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        pattern(r#"(?P<before>^|\s)-[PD][A-Za-z0-9_.-]+=(?P<value>(?:"[^"\n]*"|\$\{\{[^}\n]*\}\}|[^\s"$])+)"#)
    });
    let is_known = |value: &str| interpolate(value, scope).is_some();
    match SETTING
        .as_ref()
        .filter(|_| script.contains("gradle") || script.contains("mvn"))
    {
        Some(setting) => setting
            .replace_all(script, |found: &Captures<'_>| match is_known(&found["value"]) {
                true => found[0].to_owned(),
                false => found["before"].to_owned(),
            })
            .into_owned(),
        None => script.to_owned(),
    }
}

/// A script in which conditions ask for empty words in place of secrets, which a pull request of a stranger does not have:
/// <https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/use-secrets>
pub(super) fn without_secrets(script: &str) -> String {
    static CONDITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        pattern(r#"(?P<before>\[ (?:-[nz] )?|test -[nz] |!?==? )["']\$\{\{\s*secrets\.\w+\s*\}\}["']"#)
    });
    let condition = CONDITION.as_ref().filter(|_| script.contains("secrets."));
    condition.map_or_else(
        || script.to_owned(),
        |condition| condition.replace_all(script, "${before}''").into_owned(),
    )
}

/// A script without the words that are values of a computed matrix, such as the last one of `gradle check
/// ${{ matrix.arguments }}`: it is run with them, and without them in most jobs. The value of an option stays.
pub(super) fn without_unknown_words(script: &str, scope: &Scope) -> String {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        pattern(
            r"(?m)(?P<before>(?:^|\s)(?:[^\s-]\S*|-\S+=\S+))[ \t]+(?P<value>\$\{\{\s*matrix\.[^}\n]*\}\})(?P<after>\s|$)",
        )
    });
    let mut script = script.to_owned();
    let Some(word) = WORD.as_ref().filter(|_| scope.extent == MatrixExtent::Partial) else {
        return script;
    };
    for _ in 0..MAX_WORDS {
        let shorter = word.replace_all(&script, |found: &Captures<'_>| {
            match interpolate(&found["value"], scope) {
                Some(_) => found[0].to_owned(),
                None => format!("{}{}", &found["before"], &found["after"]),
            }
        });
        if shorter == script {
            break;
        }
        script = shorter.into_owned();
    }
    script
}

/// Whether a script calls one of the tree that runs tests, no matter what it is called.
pub(super) fn calls_tests(script: &Script, files: &mut WorkflowFiles<'_, '_>) -> bool {
    let called = called_scripts(&script.text, script.directory.as_ref(), &script.env);
    let is_test = |text: &str| runs_tests(text, &script.env) && !only_checks(text, &script.env);
    called.iter().any(|path| files.is_script(path.as_str(), is_test))
}
