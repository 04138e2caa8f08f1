//! What Python runs that are tests: a module of the project, or code on its command line.

/// How the modules are called with which a package in Python runs its tests.
const RUNNER_MODULES: [&str; 4] = ["test", "tests", "runtests", "run_tests"];

/// The index of the code in the arguments of Python, as in `-We -c 'import a, test.__main__' test_a`, if it imports the
/// tests of the standard library or `unittest` after something else: <https://docs.python.org/3/library/test.html>
pub(in crate::discover) fn inline_tests<W: AsRef<str>>(arguments: &[W]) -> Option<usize> {
    let mut options = arguments.iter().map(AsRef::as_ref);
    let at = options.position(|word| !word.starts_with('-') || word == "-c")?;
    let code = arguments
        .get(at + 1)
        .filter(|_| arguments[at].as_ref() == "-c")?
        .as_ref();
    let is_start = |module: &str| code.contains(&format!("import {module}")) || code.contains(&format!("{module}("));
    ["test.__main__", "unittest.__main__", "unittest.main"]
        .into_iter()
        .any(is_start)
        .then_some(at + 1)
}

/// `package.test`, `tests`: a module with which a package runs its tests. Most start `unittest`. `test` alone is part of
/// Python itself.
pub(in crate::discover) fn is_test_module(name: &str) -> bool {
    name != "test"
        && name
            .rsplit('.')
            .next()
            .is_some_and(|last| RUNNER_MODULES.contains(&last))
}
