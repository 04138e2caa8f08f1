//! Fills in the variables of a line, and finds the directory in which it runs.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;

use super::is_name;
use super::word::{ARGUMENTS, DEFAULT, QUOTED, VARIABLE};

/// Variables with the root of the checkout.
const WORKSPACE: [&str; 2] = ["GITHUB_WORKSPACE", "PWD"];
/// Maximum number of words of a line, and size of a word, a line or its variables in bytes, because the same long value
/// may be in them many times.
const MAX_WORDS: usize = 2_000;
const MAX_BYTES: usize = 100_000;

/// A word with its variables replaced. `None` if one of them is unknown.
pub(crate) fn expanded(word: &str, env: &BTreeMap<String, String>) -> Option<String> {
    let mut whole = String::new();
    each_piece(word, env, |piece| match piece {
        Piece::Whole(text) | Piece::Split(text) => whole.push_str(text),
    })?;
    Some(whole)
}

/// The words of a line with its variables replaced. A shell splits the value of a variable outside of quotes at white
/// space, and drops a word of which nothing is left. Words with an unknown variable become what `unknown` makes of them.
/// `None` if that is nothing, or if there are too many words.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_06_05>
pub(crate) fn split_line(
    words: &[String],
    env: &BTreeMap<String, String>,
    mut unknown: impl FnMut(&str) -> Option<Vec<String>>,
) -> Option<Vec<String>> {
    let (mut line, mut size) = (Vec::new(), 0);
    for word in words {
        let found = split(word, env).or_else(|| unknown(word))?;
        size += found.iter().map(String::len).sum::<usize>();
        line.extend(found);
        if line.len() > MAX_WORDS || size > MAX_BYTES {
            return None;
        }
    }
    Some(line)
}

/// The variables of a line: those that are set already, and its own. `None` if one of its values is unknown, or if they
/// are too long together.
pub(crate) fn assigned(env: &BTreeMap<String, String>, own: &[(String, String)]) -> Option<BTreeMap<String, String>> {
    let mut env = env.clone();
    for (name, value) in own {
        let value = expanded(value, &env)?;
        env.insert(name.clone(), value);
    }
    let size: usize = env.iter().map(|(name, value)| name.len() + value.len()).sum();
    (size <= MAX_BYTES).then_some(env)
}

/// A line for people, with the names of its variables.
pub(crate) fn for_people(words: &[String]) -> String {
    let mut line = String::new();
    for (at, part) in words.join(" ").split(VARIABLE).enumerate() {
        // Every other part is a variable.
        if at % 2 == 1 {
            line.push('$');
            line.push_str(unquoted(part.split(DEFAULT).next().unwrap_or(part)).0);
        } else {
            line.push_str(part);
        }
    }
    line
}

fn split(word: &str, env: &BTreeMap<String, String>) -> Option<Vec<String>> {
    if word.is_empty() {
        return Some(vec![String::new()]);
    }
    let mut words: Vec<String> = Vec::new();
    let mut current: Option<String> = None;
    each_piece(word, env, |piece| match piece {
        Piece::Whole(text) => current.get_or_insert_default().push_str(text),
        Piece::Split(text) => {
            let is_space = |c: char| matches!(c, ' ' | '\t' | '\n');
            for part in text.split_inclusive(is_space) {
                let plain = part.trim_end_matches(is_space);
                if !plain.is_empty() {
                    current.get_or_insert_default().push_str(plain);
                }
                if plain.len() < part.len() {
                    words.extend(current.take());
                }
            }
        }
    })?;
    words.extend(current);
    Some(words)
}

/// A piece of a word whose variables are replaced.
enum Piece<'a> {
    Whole(&'a str),
    /// The value of a variable outside of quotes.
    Split(&'a str),
}

/// The pieces of a word, in order. `None` if a variable is unknown, or if it becomes too long.
fn each_piece(word: &str, env: &BTreeMap<String, String>, mut found: impl FnMut(Piece<'_>)) -> Option<()> {
    let (mut rest, mut size) = (word, word.len());
    while let Some((before, after)) = rest.split_once(VARIABLE) {
        if !before.is_empty() {
            found(Piece::Whole(before));
        }
        let (name, after) = after.split_once(VARIABLE)?;
        let (name, is_quoted) = unquoted(name);
        let value = match name.split_once(DEFAULT) {
            None => cut(name, env)?,
            Some((name, default)) => {
                let set = env.get(name).filter(|value| !value.is_empty());
                set.map_or(default, String::as_str)
            }
        };
        size += value.len();
        if size > MAX_BYTES {
            return None;
        }
        found(match is_quoted {
            true => Piece::Whole(value),
            false => Piece::Split(value),
        });
        rest = after;
    }
    if !rest.is_empty() {
        found(Piece::Whole(rest));
    }
    Some(())
}

/// The value of a variable, as in `A`, `A#start` and `A%end`, which leave out a literal start or end.
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_06_02>
fn cut<'e>(name: &str, env: &'e BTreeMap<String, String>) -> Option<&'e str> {
    if let Some((name, start)) = name.split_once('#') {
        let value = env.get(name)?;
        return Some(value.strip_prefix(start).unwrap_or(value));
    }
    if let Some((name, end)) = name.split_once('%') {
        let value = env.get(name)?;
        return Some(value.strip_suffix(end).unwrap_or(value));
    }
    env.get(name).map(String::as_str)
}

/// The name of a variable, and whether it is in quotes.
fn unquoted(name: &str) -> (&str, bool) {
    match name.strip_prefix(QUOTED) {
        Some(name) => (name, true),
        None => (name, false),
    }
}

/// Whether a word is only one variable, and then whether it is in quotes.
pub(crate) fn only_variable(word: &str) -> Option<bool> {
    let name = word.strip_prefix(VARIABLE)?.strip_suffix(VARIABLE)?;
    let (name, is_quoted) = unquoted(name);
    (is_name(name) || name == ARGUMENTS).then_some(is_quoted)
}

/// Whether a word is only the variable of this name.
pub(crate) fn is_variable(word: &str, name: &str) -> bool {
    let inner = word.strip_prefix(VARIABLE).and_then(|rest| rest.strip_suffix(VARIABLE));
    inner.is_some_and(|inner| unquoted(inner).0 == name)
}

/// The rest of a path that begins at the root of the checkout.
pub(crate) fn below_workspace(word: &str) -> Option<&str> {
    let (name, rest) = word.strip_prefix(VARIABLE)?.split_once(VARIABLE)?;
    WORKSPACE.contains(&unquoted(name).0).then_some(rest)
}

/// The variables of a step, and those with the root of the checkout, whose value is `root`, and with the directory of a
/// line.
pub(crate) fn with_workspace(
    env: &BTreeMap<String, String>,
    root: &str,
    directory: Option<&RepoPath>,
) -> BTreeMap<String, String> {
    let here = directory.map_or_else(|| root.to_string(), |directory| format!("{root}/{directory}"));
    let places = WORKSPACE.map(String::from).into_iter().zip([root.to_string(), here]);
    env.clone().into_iter().chain(places).collect()
}

/// The directory in which a line runs, after the `cd` commands before it. `None` if that is outside of the tree or
/// unknown.
pub(crate) fn line_directory(
    start: Option<&RepoPath>,
    changes: &[String],
    env: &BTreeMap<String, String>,
) -> Option<Option<RepoPath>> {
    let mut parts: Vec<String> = start.map_or(Vec::new(), |start| start.as_str().split('/').map(Into::into).collect());
    for change in changes {
        let path = match below_workspace(change) {
            Some(path) if path.is_empty() || path.starts_with('/') => {
                parts.clear();
                expanded(path.trim_start_matches('/'), env)?
            }
            _ => expanded(change, env)?,
        };
        if path.starts_with(['/', '~', '-']) {
            return None;
        }
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part.to_string()),
            }
        }
    }
    if parts.is_empty() {
        return Some(None);
    }
    parts.join("/").parse().ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn words(script: &str, env: &[(&str, &str)]) -> Option<Vec<String>> {
        let env = env
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let line = lines(script, &env, |_| true)?.pop()?;
        split_line(&line.words, &env, |_| None)
    }

    /// The words that `sh -c "printf '%s|' …"` prints.
    #[test]
    fn a_value_outside_of_quotes_is_split() {
        let env = [("A", "b  c "), ("E", ""), ("S", "s")];
        for (line, expected) in [
            (r#"cargo test $A"#, "cargo|test|b|c"),
            (r#"cargo test $A$S"#, "cargo|test|b|c|s"),
            (r#"cargo test $S$A"#, "cargo|test|sb|c"),
            (r#"cargo test x$A-y"#, "cargo|test|xb|c|-y"),
            (r#"cargo test "$A""#, "cargo|test|b  c "),
            (r#"cargo test "x $A" '$A'"#, "cargo|test|x b  c |$A"),
            (r#"cargo test $E "$E" ''"#, "cargo|test||"),
            (
                r#"cargo test --features=$E --features="$A""#,
                "cargo|test|--features=|--features=b  c ",
            ),
            (r#"cargo test ${A:-d} ${E:-d e} "${E:-d e}""#, "cargo|test|b|c|d|e|d e"),
            (r#"cargo test ${S#s} "${S%s}" ${S#x} "${A#b }""#, "cargo|test||s| c "),
        ] {
            assert_eq!(words(line, &env).unwrap().join("|"), expected, "{line}");
        }
        assert_eq!(words("cargo test $UNKNOWN", &env), None);
        let line = &lines("tox -e lint-$A \"x ${B:-c}\"", &BTreeMap::new(), |_| true).unwrap()[0];
        assert_eq!(for_people(&line.words), "tox -e lint-$A x $B");
    }

    /// A short line with a long value would fill the memory.
    #[test]
    fn a_value_that_is_repeated_is_bounded() {
        let long = "a ".repeat(MAX_WORDS / 2);
        assert!(words("cargo test $A", &[("A", &long)]).is_some());
        for line in [
            " $A".repeat(1_000),
            format!(" {}", "$A".repeat(1_000)),
            format!(" \"{}\"", "$A".repeat(1_000)),
        ] {
            assert_eq!(words(&format!("cargo test{line}"), &[("A", &long)]), None);
        }
        let ten: Vec<(String, String)> = (0..10)
            .map(|n| (format!("A{}", n + 1), format!("{VARIABLE}A{n}{VARIABLE}").repeat(10)))
            .collect();
        let env = BTreeMap::from([("A0".to_string(), "a".repeat(10))]);
        assert_eq!(assigned(&env, &ten[..3]).unwrap()["A3"].len(), 10_000);
        assert_eq!(assigned(&env, &ten), None);
    }
}
