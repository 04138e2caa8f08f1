//! Lines of Cargo that run tests in another way than `cargo test`.

/// Options of Cargo that may come before its subcommand; the second list has a value.
/// <https://doc.rust-lang.org/cargo/commands/cargo.html>
const GLOBAL: [&str; 9] = [
    "--frozen",
    "--locked",
    "--offline",
    "--quiet",
    "--verbose",
    "-q",
    "-v",
    "-vv",
    "-V",
];
const GLOBAL_WITH_VALUE: [&str; 3] = ["--color", "--config", "-Z"];
/// Options of tools that measure coverage, which say how they report it; the second list has a value.
/// <https://github.com/taiki-e/cargo-llvm-cov>, <https://github.com/xd009642/tarpaulin>
const OF_COVERAGE: [&str; 23] = [
    "--doctests",
    "--follow-exec",
    "--ignore-run-fail",
    "--ignore-tests",
    "--no-dead-code",
    "--branch",
    "--cobertura",
    "--codecov",
    "--count",
    "--fail-immediately",
    "--html",
    "--json",
    "--lcov",
    "--line",
    "--mcdc",
    "--no-cfg-coverage",
    "--no-clean",
    "--no-report",
    "--open",
    "--show-missing-lines",
    "--skip-clean",
    "--summary-only",
    "--text",
];
const OF_COVERAGE_WITH_VALUE: [&str; 16] = [
    "--ciserver",
    "--coveralls",
    "--engine",
    "--exclude-files",
    "--fail-under",
    "--fail-under-functions",
    "--fail-under-lines",
    "--fail-under-regions",
    "--ignore-filename-regex",
    "--out",
    "--output-dir",
    "--output-path",
    "--run-types",
    "--timeout",
    "-o",
    "-t",
];
/// Subcommands of `cargo llvm-cov` that run no tests.
const NO_TESTS: [&str; 5] = ["clean", "report", "run", "show-env", "help"];

/// A line of Cargo with its subcommand in the first place, and without the tool that measures coverage. `None` if it is
/// as it should be, or if it cannot be understood.
pub(super) fn plain(words: &[String]) -> Option<Vec<String>> {
    let (cargo, mut rest) = words.split_first().filter(|(first, _)| *first == "cargo")?;
    let mut start = vec![cargo.clone()];
    if let Some((toolchain, after)) = rest.split_first().filter(|(word, _)| word.starts_with('+')) {
        start.push(toolchain.clone());
        rest = after;
    }
    let (global, rest) = rest.split_at(global(rest)?);
    let (subcommand, arguments) = rest.split_first()?;
    let (subcommand, arguments) = match subcommand.as_str() {
        "llvm-cov" => of_coverage(arguments)?,
        "tarpaulin" => ("test", without_coverage(arguments)?),
        _ if global.is_empty() => return None,
        other => (other, arguments.to_vec()),
    };
    start.push(subcommand.to_owned());
    start.extend(global.iter().cloned());
    start.extend(arguments);
    Some(start)
}

/// The number of words before the subcommand. `None` if one of them is unknown.
fn global(words: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        let name = word.split('=').next().unwrap_or(word);
        let is_joined = word.contains('=') || word.starts_with("-Z") && word.len() > 2;
        at += match () {
            () if GLOBAL.contains(&name) => 1,
            () if is_joined && (GLOBAL_WITH_VALUE.contains(&name) || name.starts_with("-Z")) => 1,
            () if GLOBAL_WITH_VALUE.contains(&name) => 2,
            () => return None,
        };
    }
    (at < words.len()).then_some(at)
}

/// What `cargo llvm-cov` runs: `cargo test`, unless it says otherwise.
fn of_coverage(arguments: &[String]) -> Option<(&'static str, Vec<String>)> {
    match arguments.first().map(String::as_str) {
        Some("nextest") => {
            let rest = without_coverage(&arguments[1..])?;
            Some(("nextest", [vec!["run".to_owned()], rest].concat()))
        }
        Some("test") => Some(("test", without_coverage(&arguments[1..])?)),
        Some(other) if NO_TESTS.contains(&other) => None,
        _ => Some(("test", without_coverage(arguments)?)),
    }
}

/// Arguments without those for coverage. What comes after `--` is for the tests.
fn without_coverage(arguments: &[String]) -> Option<Vec<String>> {
    let end = arguments
        .iter()
        .position(|word| word == "--")
        .unwrap_or(arguments.len());
    let (own, of_tests) = arguments.split_at(end);
    let mut kept = Vec::new();
    let mut words = own.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        if OF_COVERAGE_WITH_VALUE.contains(&name) {
            if !word.contains('=') {
                words.next()?;
            }
        } else if !OF_COVERAGE.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept.extend(of_tests.iter().cloned());
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_and_global_options_do_not_hide_the_tests() {
        for (line, expected) in [
            (
                "cargo llvm-cov --all-features --lcov --output-path lcov.info -- --include-ignored",
                Some("cargo test --all-features -- --include-ignored"),
            ),
            (
                "cargo +nightly llvm-cov nextest --branch -p a",
                Some("cargo +nightly nextest run -p a"),
            ),
            ("cargo llvm-cov test --html", Some("cargo test")),
            ("cargo llvm-cov report --lcov", None),
            (
                "cargo tarpaulin --workspace --out Xml --timeout=120 --features a",
                Some("cargo test --workspace --features a"),
            ),
            (
                "cargo --config .cargo/ci.toml --locked test --profile ci",
                Some("cargo test --config .cargo/ci.toml --locked --profile ci"),
            ),
            ("cargo -Zdoctest-xcompile test", Some("cargo test -Zdoctest-xcompile")),
            ("cargo --list", None),
            ("cargo test --locked", None),
            ("cargo --unknown test", None),
            ("cargo --config", None),
            ("pytest", None),
        ] {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            let found = plain(&words).map(|words| words.join(" "));
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
