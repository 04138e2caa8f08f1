//! Which environment a call of tox names.

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

/// The one environment that is named, by the arguments or by a variable, or that of the Python that is there. Options may
/// come before and after its name; what follows `--` is for the tests.
pub(super) fn environment<'a>(arguments: &'a [String], set: Option<&'a str>) -> Option<&'a str> {
    let mut named = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--" => return None,
            _ if WITH_VALUE.contains(&word) => _ = words.next()?,
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
    match named.as_slice() {
        [name] => Some(*name).filter(|name| is_plain(name)),
        // Those with tests are named after Python, or after tests.
        names if names.iter().all(is_plain) => names.iter().copied().find(|name| is_for_tests(name)),
        _ => None,
    }
}

/// Whether an environment is named after a version of Python or after tests, and after nothing else that tox is used for.
fn is_for_tests(name: &str) -> bool {
    const OTHERS: [&str; 22] = [
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
        "lint",
        "mypy",
        "package",
        "pylint",
        "ruff",
        "style",
        "types",
        "typing",
        "wheel",
    ];
    let parts = || name.split(['-', '_']);
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 't'));
    let tests =
        |part: &str| matches!(part, "test" | "tests" | "unit") || part.strip_prefix("py").is_some_and(is_version);
    parts().any(tests) && !parts().any(|part| OTHERS.contains(&part))
}
