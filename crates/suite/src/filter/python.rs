//! Finds the test files that belong to Python files.

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::test_command::TestCommand;

/// The test files that belong to these files: the files themselves, tests named after a module, and for a
/// `conftest.py` all tests that it applies to, if directories are accepted.
pub(crate) fn test_files(
    checkout: &Checkout,
    command: &TestCommand,
    near: &[RepoPath],
    takes_directories: bool,
) -> Option<Vec<String>> {
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
        } else if name == "conftest.py" && !directory.is_empty() && takes_directories {
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
    Some(chosen)
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter;
    use crate::framework::Framework;
    use crate::test_command::Source;

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
            let narrowed = filter::package(&checkout, &command, &near);
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
