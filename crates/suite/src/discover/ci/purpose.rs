//! What a command of CI is for: all tests or a part of them, this machine or another one, the tests or the machine.

use std::ops::Range;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use super::arguments::arguments;
use super::jvm;
use crate::discover::directory::{Directory, is_directory};
use crate::framework::{Ecosystem, Framework};
use crate::test_command::TestCommand;

/// Whether a command runs a part of the tests, as far as its words tell.
pub(super) fn is_partial(command: &TestCommand) -> bool {
    let words = || command.argv.iter().skip(1).map(String::as_str);
    let has = |options: &[&str]| words().any(|word| options.contains(&word.split('=').next().unwrap_or(word)));
    match command.framework.spec().ecosystem {
        Ecosystem::Rust => {
            names_tests(&command.argv)
                || has(&[
                    "-p",
                    "--package",
                    "--test",
                    "--bin",
                    "--example",
                    "--bench",
                    "--doc",
                    "--lib",
                    "--bins",
                    "--examples",
                    "--benches",
                    "--no-default-features",
                ])
        }
        Ecosystem::Go => has(&["-run", "-short"]) || names_packages(&command.argv),
        Ecosystem::Python => {
            let mut paths = paths_of_python(&command.argv)
                .filter(|word| !word.contains('*'))
                .peekable();
            chooses_by_name(&command.argv) || paths.peek().is_some() && paths.all(is_deep)
        }
        Ecosystem::Php => {
            /// Options whose value is a file, and no test: <https://docs.phpunit.de/en/12.4/textui.html>
            const VALUED: [&str; 9] = [
                "-c",
                "--configuration",
                "-d",
                "--bootstrap",
                "--cache-directory",
                "--coverage-clover",
                "--coverage-html",
                "--coverage-xml",
                "--log-junit",
            ];
            let plain = || arguments(&command.argv, &VALUED);
            let is_runner = |word: &str| matches!(word.rsplit('/').next(), Some("phpunit" | "simple-phpunit" | "pest"));
            let mut after = plain().skip_while(|word| !is_runner(word));
            let names_paths = match after.next() {
                Some(_) => after.any(is_deep),
                None => plain().any(is_deep),
            };
            names_paths || has(&["--filter", "--group", "--testsuite", "install"])
        }
        Ecosystem::Java => jvm::is_partial(command),
        Ecosystem::JavaScript => {
            /// Options whose value is a file or a pattern, and no test.
            const VALUED: [&str; 16] = [
                "-c",
                "-p",
                "-r",
                "--cacheDirectory",
                "--config",
                "--env-file",
                "--experimental-loader",
                "--import",
                "--loader",
                "--opts",
                "--project",
                "--reporter",
                "--require",
                "--root",
                "--setupFiles",
                "--tsconfig",
            ];
            let mut words = arguments(&command.argv, &VALUED);
            words.any(|word| word.contains('.') || is_deep(word))
        }
        Ecosystem::Dotnet => chooses_categories(&command.argv),
        _ if command.framework == Framework::Exunit => {
            has(&["--only", "--stale", "--failed"]) || words().any(|word| word.ends_with(".exs"))
        }
        _ => has(&["--filter", "--group", "install"]),
    }
}

/// The words of a command of Python that are neither options nor runners.
pub(super) fn paths_of_python(argv: &[String]) -> impl Iterator<Item = &str> {
    const VALUED: [&str; 14] = [
        "-W",
        "-X",
        "-c",
        "-k",
        "-m",
        "-n",
        "-o",
        "-p",
        "--tb",
        "--deselect",
        "--durations",
        "--ignore",
        "--ignore-glob",
        "--import-mode",
    ];
    let is_runner = |word: &&str| ["pytest", "unittest", "discover", "manage.py", "test"].contains(word);
    arguments(argv, &VALUED).filter(move |word| !is_runner(word))
}

/// Whether a command of Python is told folders below those of all tests, and no files or names.
pub(super) fn names_deep_folders(command: &TestCommand) -> bool {
    let mut paths = paths_of_python(&command.argv).peekable();
    let is_folder = |path: &str| is_deep(path) && !path.contains(['*', ':']) && !path.ends_with(".py");
    paths.peek().is_some() && paths.all(is_folder) && !chooses_by_name(&command.argv)
}

/// Whether .NET runs only tests with certain names or categories. `Category!=Slow` runs nearly all:
/// <https://learn.microsoft.com/en-us/dotnet/core/testing/selective-unit-tests>
fn chooses_categories(argv: &[String]) -> bool {
    let apart = argv
        .iter()
        .zip(argv.iter().skip(1))
        .filter(|(option, _)| *option == "--filter");
    let joined = argv.iter().filter_map(|word| word.strip_prefix("--filter="));
    let mut filters = apart.map(|(_, filter)| filter.as_str()).chain(joined);
    filters.any(|filter| {
        let leaves_out = |term: &str| term.contains("!=") || term.contains("!~");
        filter.contains('|') || !filter.split('&').all(leaves_out)
    })
}

/// Whether pytest runs only tests with certain names. `-k "not slow"` runs nearly all.
fn chooses_by_name(argv: &[String]) -> bool {
    let values = argv
        .iter()
        .zip(argv.iter().skip(1))
        .filter(|(option, _)| *option == "-k");
    let joined = argv.iter().filter_map(|word| word.strip_prefix("-k"));
    let mut names = values.map(|(_, value)| value.as_str()).chain(joined);
    names.any(|name| {
        let name = name.trim_start_matches('=');
        let leaves_out = name
            .split(" and ")
            .all(|term| term.trim_start_matches(['(', ' ']).starts_with("not "));
        !name.is_empty() && (!leaves_out || name.contains(" or "))
    })
}

/// Whether `go test` is told a part of the packages: a word that is no value of an option. `.` may be the only one.
pub(super) fn names_packages(argv: &[String]) -> bool {
    packages(argv).any(|word| word != "." && !word.ends_with("..."))
}

/// The packages that `go test` is told.
pub(super) fn packages(argv: &[String]) -> impl Iterator<Item = &str> {
    /// Options whose value may be the next word: <https://pkg.go.dev/cmd/go>
    const VALUED: [&str; 22] = [
        "-C",
        "-asmflags",
        "-benchtime",
        "-blockprofile",
        "-count",
        "-covermode",
        "-coverpkg",
        "-coverprofile",
        "-cpu",
        "-exec",
        "-gcflags",
        "-ldflags",
        "-mod",
        "-modfile",
        "-o",
        "-p",
        "-parallel",
        "-shuffle",
        "-skip",
        "-tags",
        "-timeout",
        "-vet",
    ];
    arguments(argv, &VALUED).filter(|word| *word != "test")
}

/// Leaves out a `--target` that is this machine: Cargo builds for it anyway, unless the project sets another target.
/// Unstable options and sanitizers need a target that is named.
pub(super) fn leave_out_own_target(checkout: &Checkout, command: &mut TestCommand) {
    let is_rust = command.framework.spec().ecosystem == Ecosystem::Rust;
    let needs_target = command.argv.iter().any(|word| word.starts_with("-Z"))
        || command
            .env
            .get("RUSTFLAGS")
            .is_some_and(|flags| flags.contains("sanitizer"));
    let sets_target = || {
        let root = Directory {
            checkout,
            directory: None,
        };
        [".cargo/config.toml", ".cargo/config"]
            .iter()
            .filter_map(|file| root.text(file))
            .any(|text| text.lines().any(|line| line.trim_start().starts_with("target")))
    };
    if !is_rust || needs_target || sets_target() {
        return;
    }
    let own = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let argv = &mut command.argv;
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let is_joined = |word: &String| word.strip_prefix("--target=") == Some(&own);
    if let Some(at) = argv[..end].iter().position(is_joined) {
        argv.remove(at);
    } else if let Some(at) = argv[..end]
        .windows(2)
        .position(|pair| pair[0] == "--target" && pair[1] == own)
    {
        argv.drain(at..at + 2);
    }
}

/// Leaves out what makes Go and PHP measure coverage: the one compiles all packages once more, and the other needs an
/// extension.
pub(super) fn leave_out_coverage(command: &mut TestCommand) {
    match command.framework.spec().ecosystem {
        Ecosystem::Go => leave_out_coverage_of_go(command),
        Ecosystem::Php => leave_out_coverage_of_php(command),
        _ => {}
    }
}

/// <https://docs.phpunit.de/en/12.0/textui.html#code-coverage>, <https://pestphp.com/docs/test-coverage>
fn leave_out_coverage_of_php(command: &mut TestCommand) {
    const VALUED: [&str; 9] = [
        "--coverage-clover",
        "--coverage-cobertura",
        "--coverage-crap4j",
        "--coverage-filter",
        "--coverage-html",
        "--coverage-openclover",
        "--coverage-php",
        "--coverage-xml",
        "--min",
    ];
    let mut is_value = false;
    command.argv.retain(|word| {
        let name = word.split('=').next().unwrap_or(word);
        let is_option = name.starts_with("--coverage") || name == "--min" || name == "--path-coverage";
        let goes = is_option || is_value && !word.starts_with('-');
        is_value = is_option && VALUED.contains(&word.as_str());
        !goes
    });
}

/// Likewise, and a choice of all tests: <https://pkg.go.dev/cmd/go#hdr-Testing_flags>
fn leave_out_coverage_of_go(command: &mut TestCommand) {
    // Every name has a character.
    if let Some(at) = command
        .argv
        .windows(2)
        .position(|pair| pair[0] == "-run" && pair[1] == ".")
    {
        command.argv.drain(at..at + 2);
    }
    let (mut is_value, mut is_for_tests) = (false, false);
    command.argv.retain(|word| {
        is_for_tests |= matches!(word.as_str(), "-args" | "--args");
        if is_for_tests {
            // The tests do not know it if they were built without coverage.
            return !word.trim_start_matches('-').starts_with("test.gocoverdir");
        }
        let name = word.trim_start_matches('-');
        let name = name.strip_prefix("test.").unwrap_or(name);
        let is_option = word.starts_with('-') && !is_value;
        let takes_value = matches!(name, "covermode" | "coverpkg" | "coverprofile");
        let is_joined = ["cover=", "covermode=", "coverpkg=", "coverprofile="]
            .iter()
            .any(|option| name.starts_with(option));
        let goes = is_value || is_option && (name == "cover" || takes_value || is_joined);
        is_value = is_option && takes_value;
        !goes
    });
    let last = command.argv.last().map(|word| word.trim_start_matches('-'));
    if last == Some("args") {
        command.argv.pop();
    }
}

/// `go test -C inner` and `cargo test --manifest-path inner/Cargo.toml` as commands of that directory.
pub(super) fn enter_directory(checkout: &Checkout, command: &mut TestCommand) {
    let Some((words, inner)) = inner_directory(command) else {
        return;
    };
    let inner = inner.trim_start_matches("./").trim_end_matches('/');
    let path: Result<RepoPath, _> = match &command.directory {
        Some(outer) => format!("{outer}/{inner}").parse(),
        None => inner.parse(),
    };
    if let Some(path) = path.ok().filter(|path| is_directory(checkout, path)) {
        command.directory = Some(path);
        command.argv.drain(words);
    }
}

/// The directory that an option of a command names, and where the words of that option are.
fn inner_directory(command: &TestCommand) -> Option<(Range<usize>, &str)> {
    const MANIFEST: &str = "--manifest-path";
    let argv = &command.argv;
    match command.framework.spec().ecosystem {
        Ecosystem::Go => {
            let at = argv.iter().position(|word| word == "test")? + 1;
            argv.get(at).filter(|word| *word == "-C")?;
            Some((at..at + 2, argv.get(at + 1)?))
        }
        Ecosystem::Rust => {
            let before_tests = argv.iter().take_while(|word| *word != "--");
            let at = before_tests
                .clone()
                .position(|word| word.split('=').next() == Some(MANIFEST))?;
            let (words, file) = match argv[at].strip_prefix(MANIFEST)?.strip_prefix('=') {
                Some(file) => (at..at + 1, file),
                None => (at..at + 2, argv.get(at + 1)?.as_str()),
            };
            Some((words, file.strip_suffix("/Cargo.toml")?))
        }
        _ => None,
    }
}

/// Whether a command builds for another target, or without instructions that this machine has.
pub(super) fn is_for_another_machine(command: &TestCommand) -> bool {
    let value = |name: &str| command.env.get(name).map_or("", String::as_str);
    match command.framework.spec().ecosystem {
        Ecosystem::Rust => {
            let names_target = |word: &String| word == "--target" || word.starts_with("--target=");
            // Unstable options need another compiler.
            let flags = value("RUSTFLAGS");
            command.argv.iter().any(names_target) || flags.contains("target-feature") || flags.contains("-Z")
        }
        Ecosystem::Go => {
            // Go's names differ from Rust's.
            let own = match std::env::consts::ARCH {
                "x86_64" => "amd64",
                "aarch64" => "arm64",
                other => other,
            };
            !["", own].contains(&value("GOARCH"))
        }
        _ => false,
    }
}

/// Whether `cargo test` is told a part of the names of tests: a word before `--` that is no value of an option.
fn names_tests(argv: &[String]) -> bool {
    const VALUED: [&str; 10] = [
        "--exclude",
        "--features",
        "-F",
        "--manifest-path",
        "--profile",
        "--jobs",
        "-j",
        "--color",
        "--config",
        "-Z",
    ];
    let end = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let mut plain = arguments(&argv[..end], &VALUED).filter(|word| !word.starts_with('+'));
    // The first one is `test`.
    plain.nth(1).is_some()
}

/// `tests/unit`, `tests/test_a.py::test_b`: not the directory of all tests.
fn is_deep(word: &str) -> bool {
    word.trim_start_matches("./").trim_end_matches('/').contains('/') || word.contains("::")
}

/// Whether a path is that of all unit tests.
pub(super) fn is_of_unit_tests(path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next();
    matches!(name, Some("unit" | "units" | "unittest" | "unittests" | "unit_tests"))
}

/// `+nightly`, `+1.63`: rustup's toolchain of one leg of a matrix.
pub(super) fn is_toolchain(word: &str) -> bool {
    word.strip_prefix('+').is_some_and(|rest| {
        rest.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    })
}
