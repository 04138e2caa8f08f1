//! Which environments a call of tox names.

/// Options of tox that take the word after them and choose no environment.
const WITH_VALUE: [&str; 9] = [
    "--installpkg",
    "-p",
    "--parallel",
    "-c",
    "--conf",
    "--workdir",
    "--root",
    "--discover",
    "-x",
];

/// Options of tox that may have a value in the next word.
const MAY_HAVE_VALUE: [&str; 2] = ["-s", "--skip-missing-interpreters"];
const VALUES: [&str; 3] = ["config", "true", "false"];
/// Maximum number of environments that are read for one call.
const MAX_NAMED: usize = 8;

/// The environments with tests that are named, by the arguments or by a variable. None are if tox is to run its list.
/// Options may come before and after their names; what follows `--` is for the tests.
pub(super) fn environments<'a>(arguments: &'a [String], set: Option<&'a str>) -> Option<Vec<&'a str>> {
    let mut named = Vec::new();
    let mut words = arguments.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "--" => return None,
            _ if WITH_VALUE.contains(&word) => _ = words.next()?,
            _ if MAY_HAVE_VALUE.contains(&word) => _ = words.next_if(|next| VALUES.contains(next)),
            "-e" | "--env" => named.push(words.next()?),
            "run" | "r" => {}
            _ => match word.strip_prefix("-e").or_else(|| word.strip_prefix("--env=")) {
                Some(name) => named.push(name),
                None if word.starts_with('-') => {}
                None => return None,
            },
        }
    }
    if named.is_empty() {
        named.extend(set);
    }
    let named: Vec<&str> = named.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
    let is_plain = |name: &&str| !name.contains(['{', '}', ' ']) && !name.is_empty();
    if !named.iter().all(is_plain) {
        return None;
    }
    if named.len() <= 1 {
        return Some(named);
    }
    // Those with tests are named after Python, or after tests. Of several versions of Python, any will do.
    let first = named
        .iter()
        .copied()
        .find(|name| (is_for_python(name) || is_for_tests(name)) && !is_for_others(name))?;
    let more = named
        .into_iter()
        .filter(|name| !is_for_python(name) && !is_for_others(name));
    let mut all = vec![first];
    all.extend(more.filter(|name| *name != first).take(MAX_NAMED - 1));
    Some(all)
}

/// Of the environments that tox runs if none is named, those of the newest Python in the list, and those of none: the first
/// with tests, and the others that are not named after something else.
pub(super) fn of_list(listed: &[String]) -> Option<(&str, Vec<&str>)> {
    let version = |name: &str| {
        let digits = parts(name).find_map(|part| part.strip_prefix("py"))?.replace('.', "");
        let (major, minor) = (digits.get(..1)?, digits.get(1..)?);
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let newest = listed.iter().filter_map(|name| version(name)).max();
    let mut chosen = listed
        .iter()
        .map(String::as_str)
        .filter(|name| version(name).is_none_or(|own| Some(own) == newest) && !is_for_others(name));
    let mut all: Vec<&str> = chosen.by_ref().collect();
    let has_tests = |name: &&str| is_for_python(name) || is_for_tests(name);
    // What is not released yet comes after what is.
    let is_released = |name: &&str| !parts(name).any(|part| UNRELEASED.iter().any(|end| part.ends_with(end)));
    let first = all.iter().position(|name| has_tests(name) && is_released(name));
    let first = first.or_else(|| all.iter().position(has_tests))?;
    let first = all.remove(first);
    all.retain(|name| *name != first && !parts(name).any(|part| part.starts_with("pypy")));
    all.dedup();
    Some((first, all))
}

/// The ends of factors for versions that are still being developed, as in `djmain`.
const UNRELEASED: [&str; 5] = ["dev", "main", "master", "nightly", "pre"];

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '_'])
}

/// Whether an environment is named after a version of Python.
fn is_for_python(name: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 't'));
    parts(name).any(|part| part.strip_prefix("py").is_some_and(is_version))
}

fn is_for_tests(name: &str) -> bool {
    parts(name).any(|part| matches!(part, "test" | "tests" | "unit"))
}

/// Whether an environment is named after something else that tox is used for.
fn is_for_others(name: &str) -> bool {
    const OTHERS: [&str; 32] = [
        "benchmark",
        "black",
        "build",
        "check",
        "commit",
        "cov",
        "coverage",
        "description",
        "dev",
        "docs",
        "doc",
        "e2e",
        "flake8",
        "format",
        "functional",
        "integration",
        "isort",
        "lint",
        "linters",
        "mypy",
        "package",
        "pkg",
        "publish",
        "pylint",
        "release",
        "ruff",
        "style",
        "twine",
        "twinecheck",
        "types",
        "typing",
        "wheel",
    ];
    parts(name).any(|part| OTHERS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_list_the_newest_python_counts() {
        for (listed, expected) in [
            ("lint py39-a py314-a py314-b docs pypy3-a", Some("py314-a | py314-b")),
            ("py py-minimal", Some("py | py-minimal")),
            ("py310 py311", Some("py311 | ")),
            ("lint docs", None),
            ("", None),
        ] {
            let listed: Vec<String> = listed.split_whitespace().map(String::from).collect();
            let found = of_list(&listed).map(|(first, others)| format!("{first} | {}", others.join(" ")));
            assert_eq!(found.as_deref(), expected, "{listed:?}");
        }
    }

    #[test]
    fn every_environment_with_tests_is_named() {
        for (line, expected) in [
            ("", Some("")),
            ("-e py312 --skip-missing-interpreters false", Some("py312")),
            ("-s -e py312", Some("py312")),
            ("-e py314,smoke", Some("py314 smoke")),
            ("-e py312 -e lint -e smoke", Some("py312 smoke")),
            ("-e py311,py312", Some("py311")),
            ("-e lint,mypy", None),
            ("-e lint", Some("lint")),
            ("-e py{311,312}", None),
            ("-e py312 -- tests/a.py", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            let names = environments(&words, None).map(|names| names.join(" "));
            assert_eq!(names.as_deref(), expected, "{line}");
        }
    }
}
