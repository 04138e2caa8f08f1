//! Recognises commands that build tests, or list them, without running any, and what a tool for coverage runs.

/// Whether a program of tests is told to build or list them only.
pub(super) fn runs_nothing(program: &str, arguments: &[&str], subcommand: &str) -> bool {
    let options: &[&str] = match (program, subcommand) {
        ("cargo", "miri") if arguments.contains(&"setup") => return true,
        ("cargo", "nextest") if arguments.get(1) == Some(&"list") => return true,
        ("cargo", _) => &["--no-run", "--list"],
        ("go", "test") => &["-c", "-list", "-n", "--list"],
        ("pytest" | "py.test", _) => &["--collect-only", "--co"],
        ("jest", _) => &["--listTests"],
        ("vitest", "list") | ("playwright" | "cypress", "install" | "install-deps" | "uninstall") => return true,
        ("mocha", _) => &["--dry-run"],
        ("tox", "config" | "devenv" | "list" | "depends" | "quickstart" | "schema") => return true,
        ("tox", _) => &["--notest", "--devenv", "--listenvs", "-l", "-a", "--showconfig"],
        ("nox", _) => &["--list", "--list-sessions", "-l", "--install-only"],
        ("phpunit" | "pest" | "simple-phpunit", _) => &[
            "--check-php-configuration",
            "--check-version",
            "--generate-configuration",
            "--list-groups",
            "--list-suites",
            "--list-tests",
            "--migrate-configuration",
            "--warm-coverage-cache",
        ],
        ("playwright", _) => &["--list"],
        ("cibuildwheel", _) => &["--print-build-identifiers"],
        ("ctest", _) => &["-N", "--show-only"],
        ("make" | "gmake", _) => &["-n", "--dry-run", "--just-print", "--recon", "-q", "--question"],
        ("rake", _) => &[
            "-n",
            "--dry-run",
            "-T",
            "--tasks",
            "-P",
            "--prereqs",
            "-W",
            "--where",
            "-D",
            "--describe",
        ],
        ("just", _) => &["-n", "--dry-run", "-l", "--list", "-s", "--show"],
        ("task", _) => &[
            "-n",
            "--dry",
            "-l",
            "--list",
            "-a",
            "--list-all",
            "--status",
            "--summary",
        ],
        _ => return false,
    };
    // What comes after it is for the tests.
    let arguments = arguments
        .iter()
        .take_while(|word| program != "go" || !matches!(**word, "-args" | "--args"));
    let mut names = arguments.map(|word| word.split('=').next().unwrap_or(word));
    names.any(|name| options.contains(&name))
}

/// What `coverage run --branch -m pytest` runs: coverage is not measured here.
/// <https://coverage.readthedocs.io/en/latest/cmd.html#execution-coverage-run>
pub(super) fn of_coverage(words: &[String]) -> Option<Vec<String>> {
    const WITH_VALUE: [&str; 9] = [
        "--concurrency",
        "--context",
        "--data-file",
        "--debug",
        "--include",
        "--omit",
        "--rcfile",
        "--source",
        "--source-pkgs",
    ];
    let [tool, run, arguments @ ..] = words else {
        return None;
    };
    if tool != "coverage" || run != "run" {
        return None;
    }
    let mut rest = arguments;
    while let [option, more @ ..] = rest
        && option.starts_with('-')
        && option != "-m"
    {
        let skipped = usize::from(WITH_VALUE.contains(&option.as_str()));
        rest = more.get(skipped..)?;
    }
    let program = "python3".to_string();
    (!rest.is_empty()).then(|| [program].into_iter().chain(rest.iter().cloned()).collect())
}
