//! Narrows a test command down to named tests.
//!
//! Names come from the output of untrusted code. A name must never become an option, a file of arguments or a
//! pattern; one that could is not passed on, and then all tests run, which takes longer but says no less.

use super::{Framework, TestCommand};

/// More names than this are not worth listing.
const MAX_NAMES: usize = 200;
/// Bytes of all names together that may go on a command line.
const MAX_BYTES: usize = 32_000;

/// The command's arguments for the named tests alone; all of its tests if the list is empty or cannot be expressed.
pub(super) fn argv(command: &TestCommand, only: &[String]) -> Vec<String> {
    let bytes: usize = only.iter().map(String::len).sum();
    let harmless = only
        .iter()
        .all(|name| !name.is_empty() && !name.chars().any(char::is_control));
    let narrowed = if only.is_empty() || only.len() > MAX_NAMES || bytes > MAX_BYTES || !harmless {
        None
    } else {
        match command.framework {
            Framework::Cargo => cargo(&command.argv, only),
            Framework::Pytest => pytest(&command.argv, only),
            Framework::Unittest => unittest(&command.argv, only),
            Framework::Go => go(&command.argv, only),
            Framework::Node => node(&command.argv, only),
            Framework::Jest | Framework::Vitest => npm(&command.argv, only, "--testNamePattern"),
            Framework::Mocha => npm(&command.argv, only, "--grep"),
            Framework::Maven | Framework::Other => None,
        }
    };
    narrowed.unwrap_or_else(|| command.argv.clone())
}

/// `cargo test … --tests -- --exact -- NAMES`. The test harness takes everything after the last `--` as a name.
fn cargo(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_doc = |name: &&String| name.split_whitespace().nth(1) == Some("-");
    let (docs, units): (Vec<&String>, Vec<&String>) = only.iter().partition(is_doc);
    let mut names = Vec::new();
    for name in &units {
        // `binary:src/lib.rs module::test` where the name alone is ambiguous.
        let test = name.rsplit(' ').next()?;
        names.push(test.to_string());
    }
    for name in &docs {
        // rustdoc splits its arguments at white space, so only the file can be named.
        names.push(name.split_whitespace().next()?.to_string());
    }
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    let (own, harness) = argv.split_at(at);
    let mut narrowed = own.to_vec();
    const TARGETS: [&str; 8] = [
        "--lib",
        "--bins",
        "--bin",
        "--tests",
        "--test",
        "--doc",
        "--all-targets",
        "--examples",
    ];
    if !own
        .iter()
        .any(|word| TARGETS.contains(&word.split('=').next().unwrap_or(word)))
    {
        match (docs.is_empty(), units.is_empty()) {
            (true, _) => narrowed.push("--tests".into()),
            (_, true) => narrowed.push("--doc".into()),
            _ => {}
        }
    }
    narrowed.push("--".into());
    narrowed.extend(harness.iter().skip(1).filter(|word| *word != "--").cloned());
    if docs.is_empty() {
        narrowed.push("--exact".into());
    }
    narrowed.push("--".into());
    names.sort_unstable();
    names.dedup();
    narrowed.extend(names);
    Some(narrowed)
}

/// Node ids in place of the paths that the command names.
fn pytest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    // An argument that starts with `@` names a file of arguments.
    let id = |name: &String| {
        let is_path = name.split("::").next().is_some_and(|file| file.ends_with(".py"));
        let plain = name.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '/');
        is_path.then(|| if plain { name.clone() } else { format!("./{name}") })
    };
    let ids: Vec<String> = only.iter().map(id).collect::<Option<_>>()?;
    let mut narrowed: Vec<String> = Vec::new();
    let mut after_program = false;
    for word in argv {
        let takes_no_value = narrowed.last().is_some_and(|last| {
            !last.starts_with('-')
                || last.contains('=')
                || matches!(
                    last.trim_start_matches('-').trim_end_matches('v'),
                    "" | "q" | "qq" | "x" | "s" | "l" | "ra" | "rA"
                )
        });
        let is_path = word.ends_with(".py") || word.contains('/') || matches!(word.as_str(), "tests" | "test" | ".");
        if !(after_program && is_path && takes_no_value && !word.starts_with('-')) {
            narrowed.push(word.clone());
        }
        after_program |= matches!(word.rsplit('/').next(), Some("pytest" | "py.test"));
    }
    narrowed.extend(ids);
    Some(narrowed)
}

/// `-k NAME` for each; a name without wildcards matches as a part of the id.
fn unittest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    only.iter().all(plain).then(|| {
        let mut narrowed = argv.to_vec();
        narrowed.extend(only.iter().map(|name| format!("-k{name}")));
        narrowed
    })
}

/// `-run=^(TestA|TestB)$`: with the top-level tests, as subtests of several cannot be said in one pattern.
fn go(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in only {
        let test = name.rsplit_once(' ').map_or(name.as_str(), |(_, test)| test);
        let top = test.split('/').next()?;
        if top.is_empty() || !top.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        names.push(top);
    }
    names.sort_unstable();
    names.dedup();
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut narrowed = argv.to_vec();
    narrowed.insert(at, format!("-run=^({})$", names.join("|")));
    Some(narrowed)
}

/// `--test-name-pattern=^NAME$` for each, in front of the files.
fn node(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let at = argv.iter().position(|word| word == "--test")? + 1;
    let mut narrowed = argv.to_vec();
    for name in only {
        let leaf = name.rsplit(" > ").next()?;
        narrowed.insert(at, format!("--test-name-pattern=^{}$", regex::escape(leaf)));
    }
    Some(narrowed)
}

/// One pattern over full names, through npm. Only names without any character that is special to a shell or a
/// pattern: how npm quotes has changed between its versions.
fn npm(argv: &[String], only: &[String], option: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | ',' | '-' | ':');
    let mut names = Vec::new();
    for name in only {
        let full = name.replace(" > ", " ");
        if !full.chars().all(plain) {
            return None;
        }
        names.push(full);
    }
    let mut narrowed = argv.to_vec();
    if !narrowed.iter().any(|word| word == "--") {
        narrowed.push("--".into());
    }
    // Several names would need `|`, so only one is selected.
    (names.len() == 1).then(|| {
        narrowed.push(format!("{option}={}", names[0]));
        narrowed
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::suite::Source;

    #[track_caller]
    fn check(framework: Framework, command: &str, only: &[&str], expected: &str) {
        let command = TestCommand {
            argv: shlex::split(command).unwrap(),
            directory: None,
            framework,
            source: Source::Settings,
            timeout: Duration::from_secs(1),
            import_root: None,
        };
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        assert_eq!(argv(&command, &only).join(" "), expected);
    }

    #[test]
    fn names_are_handed_to_their_framework() {
        use Framework::{Cargo, Go, Jest, Node, Other, Pytest, Unittest};
        check(
            Cargo,
            "cargo test --workspace",
            &["a::b"],
            "cargo test --workspace --tests -- --exact -- a::b",
        );
        check(
            Cargo,
            "cargo test --lib -- --test-threads=1",
            &["it:tests/it.rs a::b", "c"],
            "cargo test --lib -- --test-threads=1 --exact -- a::b c",
        );
        check(
            Cargo,
            "cargo test",
            &["src/lib.rs - add #2"],
            "cargo test --doc -- -- src/lib.rs",
        );
        check(
            Cargo,
            "cargo test",
            &["src/lib.rs - add", "a"],
            "cargo test -- -- a src/lib.rs",
        );
        check(
            Pytest,
            "python3 -m pytest -q tests -n 4",
            &["tests/test_a.py::T::test_b[x y]"],
            "python3 -m pytest -q -n 4 tests/test_a.py::T::test_b[x y]",
        );
        check(
            Unittest,
            "python3 -m unittest discover -v",
            &["t.T.a"],
            "python3 -m unittest discover -v -kt.T.a",
        );
        check(
            Go,
            "go test -json ./...",
            &["TestA/sub", "m/p TestB"],
            "go test -run=^(TestA|TestB)$ -json ./...",
        );
        check(
            Node,
            "node --test test/",
            &["a > b (c|d)"],
            r"node --test --test-name-pattern=^b \(c\|d\)$ test/",
        );
        check(
            Jest,
            "npm test",
            &["basket > sums"],
            "npm test -- --testNamePattern=basket sums",
        );
        check(Other, "make check", &["a"], "make check");
        check(Cargo, "cargo test", &[], "cargo test");
    }

    #[test]
    fn a_hostile_name_never_becomes_an_option() {
        use Framework::{Cargo, Go, Jest, Mocha, Node, Pytest, Unittest};
        // After the last `--` everything is a name.
        check(
            Cargo,
            "cargo test",
            &["--config=x"],
            "cargo test --tests -- --exact -- --config=x",
        );
        check(
            Cargo,
            "cargo test",
            &["x --nocapture"],
            "cargo test --tests -- --exact -- --nocapture",
        );
        check(Pytest, "pytest", &["--rootdir=/ .py::x"], "pytest ./--rootdir=/ .py::x");
        check(Pytest, "pytest", &["@evil.py"], "pytest ./@evil.py");
        check(Pytest, "pytest", &["-pevil"], "pytest");
        check(Unittest, "python3 -m unittest", &["-f"], "python3 -m unittest");
        check(Unittest, "python3 -m unittest", &["*"], "python3 -m unittest");
        check(Go, "go test ./...", &["-exec=evil"], "go test ./...");
        check(Go, "go test ./...", &["TestA|.*"], "go test ./...");
        check(
            Node,
            "node --test",
            &["--require=evil"],
            r"node --test --test-name-pattern=^\-\-require=evil$",
        );
        check(Jest, "npm test", &["$(evil)"], "npm test");
        check(Mocha, "npm test", &["a'; evil"], "npm test");
        check(Cargo, "cargo test", &["a\nb"], "cargo test");
        check(Cargo, "cargo test", &["a\0b"], "cargo test");
        check(Cargo, "cargo test", &[&"x".repeat(40_000)], "cargo test");
    }
}
