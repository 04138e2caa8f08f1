//! What tox fills in: folders, variables and the arguments of its call.
//! <https://tox.wiki/en/latest/config.html#substitutions>

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::text::pattern;

/// How often a placeholder may stand in the default of another one.
const MAX_DEPTH: usize = 3;
/// Maximum length of a text in which variables are filled in, and of their values.
const MAX_TEXT: usize = 1_000;
const MAX_VALUE: usize = 500;
/// Maximum number of variables in a text: each may be as long as a value.
const MAX_VARIABLES: usize = 16;

/// `{posargs:tests}` and `{args:tests}`
static ARGUMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\{(?:posargs|args)(?::([^{}]*))?\}"));
/// `{env:NAME}` and `{env:NAME:default}`
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\{env:(\w+)(?::([^{}]*))?\}"));

/// The text with the names that tox has for the project's folder, and for the separator of paths.
pub(super) fn in_root(text: &str) -> String {
    rooted(text, ".")
}

/// The same where the project's folder has this path.
pub(super) fn rooted(text: &str, root: &str) -> String {
    text.replace("{toxinidir}", root)
        .replace("{tox_root}", root)
        .replace("{/}", "/")
}

/// The words of a line if all its placeholders can be filled in.
pub(in crate::discover::python) fn resolved(line: &str) -> Option<Vec<String>> {
    resolved_with(line, &BTreeMap::new())
}

/// The same with these variables. One that is not set is empty, as it is for tox.
pub(super) fn resolved_with(line: &str, variables: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let mut line = in_root(line).replace("{envpython}", "python3");
    for _ in 0..MAX_DEPTH {
        line = with_variables(&line, variables)?;
        line = ARGUMENTS.as_ref()?.replace_all(&line, "$1").into_owned();
    }
    let mut words = shlex::split(&line)?;
    let is_unset = |word: &String| word.starts_with("{env:") && word.ends_with('}');
    words.retain(|word| !is_unset(word));
    Some(words)
}

/// A text with those variables that are set or have a default.
pub(super) fn with_variables(text: &str, variables: &BTreeMap<String, String>) -> Option<String> {
    let variable = VARIABLE.as_ref()?;
    if text.len() > MAX_TEXT || variable.find_iter(text).count() > MAX_VARIABLES {
        return Some(text.to_owned());
    }
    let value = |found: &Captures<'_>| {
        let set = variables.get(&found[1]).map(String::as_str);
        // A value with placeholders would be filled in once more.
        let set = set.filter(|value| value.len() <= MAX_VALUE && !value.contains('{'));
        set.or(found.get(2).map(|default| default.as_str()))
            .unwrap_or(&found[0])
            .to_owned()
    };
    Some(variable.replace_all(text, value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_does_not_become_many_times_as_long() {
        let variables = BTreeMap::from([("V".to_string(), "x".repeat(MAX_VALUE))]);
        let filled = |count: usize| with_variables(&"{env:V}".repeat(count), &variables).map(|text| text.len());
        assert_eq!(filled(2), Some(2 * MAX_VALUE));
        assert_eq!(filled(100), Some(700));
    }
}
