//! pytest and unittest.

use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Pytest => pytest(&command.argv, only),
        _ => unittest(&command.argv, only),
    }
}

/// The test files that belong to these files: they themselves, those that are named after a module, and for a
/// `conftest.py` all that it is for.
pub(super) fn package(checkout: &Checkout, command: &TestCommand, near: &[RepoPath]) -> Option<Vec<String>> {
    let top = command
        .directory
        .as_ref()
        .map_or(String::new(), |directory| format!("{directory}/"));
    let all: Vec<&str> = checkout
        .paths()
        .into_iter()
        .filter_map(|path| path.as_str().strip_prefix(top.as_str()))
        .filter(|path| is_test(path))
        .collect();
    let mut chosen: Vec<String> = Vec::new();
    for path in near {
        let path = path.as_str().strip_prefix(top.as_str())?;
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.strip_suffix(".py")?.trim_matches('_');
        let belongs = |test: &&&str| {
            let test = test.rsplit('/').next().unwrap_or(test);
            test == format!("test_{stem}.py") || test == format!("{stem}_test.py")
        };
        if is_test(path) {
            chosen.push(path.to_string());
        } else if name == "conftest.py" && !directory.is_empty() && command.framework == Framework::Pytest {
            chosen.push(format!("{directory}/"));
        } else {
            let found: Vec<String> = all.iter().filter(belongs).map(ToString::to_string).collect();
            if found.is_empty() {
                return None;
            }
            chosen.extend(found);
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    match command.framework {
        Framework::Pytest => pytest(&command.argv, &chosen),
        // A part of the id is enough, whatever directory the ids begin with.
        _ => {
            let modules = chosen.iter().map(|path| path.rsplit('/').next().unwrap_or(path));
            let modules: Vec<String> = modules.map(|name| name.trim_end_matches(".py").to_string()).collect();
            unittest(&command.argv, &modules)
        }
    }
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

/// Node ids in place of the paths that the command names.
fn pytest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    // An argument that starts with `@` names a file of arguments.
    let id = |name: &String| {
        let is_path = name
            .split("::")
            .next()
            .is_some_and(|file| file.ends_with(".py") || file.ends_with('/'));
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
        // pytest takes nothing but paths beside its options.
        if !(after_program && takes_no_value && !word.starts_with('-')) {
            narrowed.push(word.clone());
        }
        after_program |= matches!(word.rsplit('/').next(), Some("pytest" | "py.test"));
    }
    narrowed.extend(ids);
    Some(narrowed)
}

/// The ids themselves, where they start at the directory that the command runs in; otherwise `-k NAME` for each, where a
/// name without wildcards matches as a part of the id, and what a `load_tests` adds is run as well.
fn unittest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let whole = |name: &String| name.contains('.') && !name.starts_with('.') && !name.contains("..");
    if !only.iter().all(plain) {
        return None;
    }
    let runner = argv.iter().position(|word| word == "unittest");
    let options = runner.map(|at| &argv[at + 1..]).unwrap_or_default();
    let is_flag = |word: &String| {
        matches!(
            word.as_str(),
            "discover" | "-v" | "--verbose" | "-q" | "-f" | "-b" | "-c"
        )
    };
    if runner.is_some() && options.iter().all(is_flag) && only.iter().all(whole) {
        let mut narrowed: Vec<String> = argv.iter().filter(|word| *word != "discover").cloned().collect();
        narrowed.extend(only.iter().cloned());
        return Some(narrowed);
    }
    let mut narrowed = argv.to_vec();
    if runner.is_none() && argv.iter().any(|word| word.ends_with("manage.py")) && only.iter().all(whole) {
        narrowed.extend(only.iter().cloned());
    } else {
        narrowed.extend(only.iter().map(|name| format!("-k{name}")));
    }
    Some(narrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Source, select};

    #[test]
    fn a_module_has_tests_of_its_own() {
        let tree = tempfile::tempdir().unwrap();
        for path in [
            "src/shop/cart.py",
            "src/shop/_tax.py",
            "src/shop/odd.py",
            "tests/unit/test_cart.py",
            "tests/test_tax.py",
            "tests/conftest.py",
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let check = |framework: Framework, command: &str, near: &[&str], expected: Option<&str>| {
            let command = TestCommand::new(shlex::split(command).unwrap(), framework, Source::Settings);
            let near: Vec<RepoPath> = near.iter().map(|path| path.parse().unwrap()).collect();
            let narrowed = select::package(&checkout, &command, &near);
            assert_eq!(narrowed.map(|command| command.argv.join(" ")).as_deref(), expected);
        };
        let pytest = "python3 -m pytest -q tests";
        check(
            Framework::Pytest,
            pytest,
            &["src/shop/cart.py"],
            Some("python3 -m pytest -q tests/unit/test_cart.py"),
        );
        check(
            Framework::Pytest,
            pytest,
            &["src/shop/_tax.py", "tests/unit/test_cart.py"],
            Some("python3 -m pytest -q tests/test_tax.py tests/unit/test_cart.py"),
        );
        check(
            Framework::Pytest,
            "pytest",
            &["tests/conftest.py"],
            Some("pytest tests/"),
        );
        check(Framework::Pytest, pytest, &["src/shop/odd.py"], None);
        check(Framework::Pytest, pytest, &["README.md"], None);
        check(
            Framework::Unittest,
            "python3 -m unittest",
            &["src/shop/cart.py"],
            Some("python3 -m unittest -ktest_cart"),
        );
    }
}
