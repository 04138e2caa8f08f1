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
const MAX_NAMED: usize = 4;

/// The environments with tests that are named, by the arguments or by a variable, or that of the Python that is there.
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
        named.push(set.unwrap_or("py"));
    }
    let named: Vec<&str> = named.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
    let is_plain = |name: &&str| !name.contains(['{', '}', ' ']) && !name.is_empty();
    if !named.iter().all(is_plain) {
        return None;
    }
    if named.len() == 1 {
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
    const OTHERS: [&str; 26] = [
        "benchmark",
        "black",
        "build",
        "check",
        "cov",
        "coverage",
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
        "pylint",
        "ruff",
        "style",
        "twine",
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
    fn every_environment_with_tests_is_named() {
        for (line, expected) in [
            ("", Some("py")),
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
