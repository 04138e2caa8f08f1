//! Finds out how a Python project runs its tests from the settings of tox, nox and Hatch.
//!
//! These files are read, never executed. Of a command, only the test runner and the arguments that select tests are
//! used: a run in the sandbox needs no coverage, no reports and no paths of the tool's environment.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::tox::{MAX_TEXT, resolved, tox, tox_table};
use super::{django, nox};
use crate::discover::directory::Directory;
use crate::discover::step::tool::{inline_tests, is_test_module};
use crate::framework::Framework;
use crate::shell::python_module;

/// Options of pytest and its plugins that select tests or decide when one fails. Those with a value are listed up to the `=`.
const FLAGS: [&str; 20] = [
    // Of plugins: <https://pytest-asyncio.readthedocs.io>, <https://pytest-benchmark.readthedocs.io>,
    // <https://pytest-django.readthedocs.io>, <https://hypothesis.readthedocs.io>, <https://pytest-mpl.readthedocs.io>
    "--asyncio-mode",
    "--benchmark-disable",
    "--benchmark-skip",
    "--dc",
    "--ds",
    "--forked",
    "--hypothesis-profile",
    "--mpl",
    "--runxfail",
    "--strict-config",
    "--strict-markers",
    "--doctest-ignore-import-errors",
    "--doctest-modules",
    "--doctest-continue-on-failure",
    "--doctest-glob",
    "--doctest-plus",
    "--import-mode",
    "--ignore",
    "--ignore-glob",
    "--deselect",
];
/// Options that select tests with the word after them, or decide when a test fails.
const WITH_VALUE: [&str; 7] = ["-m", "-k", "-W", "-o", "--ignore", "--deselect", "--import-mode"];
/// Those of them that may be joined with their value.
const JOINED: [&str; 4] = ["-m", "-k", "-W", "-o"];
/// Options of pytest and its plugins that take the word after them, even if it is the name of a directory, and do not
/// affect which tests run.
const SKIPPED_WITH_VALUE: [&str; 20] = [
    "-n",
    "-p",
    "-r",
    "--basetemp",
    "--capture",
    "--color",
    "--cov",
    "--cov-config",
    "--cov-report",
    "--durations",
    "--html",
    "--junit-xml",
    "--junitxml",
    "--log-level",
    "--maxfail",
    "--reruns",
    "--rootdir",
    "--tb",
    "--timeout",
    "--verbosity",
];
/// Options of pytest that take no word and do not affect which tests run.
const WITHOUT_VALUE: [&str; 17] = [
    "-v",
    "-vv",
    "-vvv",
    "-q",
    "-qq",
    "-s",
    "-x",
    "-l",
    "--exitfirst",
    "--ff",
    "--lf",
    "--no-header",
    "--no-summary",
    "--pyargs",
    "--quiet",
    "--showlocals",
    "--verbose",
];
/// Options with a file of settings.
const SETTINGS: [&str; 2] = ["-c", "--config-file"];
/// Maximum number of files that are read to find out which options a project has.
const MAX_CONFTESTS: usize = 20;

/// The command that runs a project's tests, taken from a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) framework: Framework,
    pub(super) argv: Vec<String>,
    pub(super) file: &'static str,
}

/// The first command of the project's tools that runs tests.
pub(super) fn find(place: &Directory<'_>) -> Option<Task> {
    let text = |file: &str| place.text(file).filter(|text| text.len() <= MAX_TEXT);
    let table: Option<toml::Table> = text("pyproject.toml").and_then(|text| text.parse().ok());
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    for file in ["tox.ini", "setup.cfg"] {
        lines.extend(
            tox(&text(file).unwrap_or_default())
                .into_iter()
                .map(|line| (file, line)),
        );
    }
    let own: Option<toml::Table> = text("tox.toml").and_then(|text| text.parse().ok());
    lines.extend(own.iter().flat_map(tox_table).map(|line| ("tox.toml", line)));
    if let Some(tools) = table.as_ref().and_then(|table| table.get("tool")?.as_table()) {
        lines.extend(in_pyproject(tools).into_iter().map(|line| ("pyproject.toml", line)));
    }
    let hatch: Option<toml::Table> = text("hatch.toml").and_then(|text| text.parse().ok());
    let environments = hatch.as_ref().and_then(|table| table.get("envs")?.as_table());
    lines.extend(hatch_scripts(environments).into_iter().map(|line| ("hatch.toml", line)));
    lines.extend(
        nox::commands(&text("noxfile.py").unwrap_or_default())
            .into_iter()
            .map(|line| ("noxfile.py", line)),
    );
    lines.into_iter().find_map(|(file, line)| {
        let (framework, argv) = runner(place, &resolved(&line)?)?;
        Some(Task { framework, argv, file })
    })
}

fn in_pyproject(tools: &toml::Table) -> Vec<String> {
    let table = |names: &[&str]| {
        let mut value = tools.get(*names.first()?)?;
        for name in &names[1..] {
            value = value.get(name)?;
        }
        value.as_table()
    };
    let mut lines = Vec::new();
    if let Some(tox_settings) = table(&["tox"]) {
        lines.extend(tox(tox_settings
            .get("legacy_tox_ini")
            .and_then(toml::Value::as_str)
            .unwrap_or_default()));
        lines.extend(tox_table(tox_settings));
    }
    lines.extend(hatch_scripts(table(&["hatch", "envs"])));
    lines
}

/// The scripts of Hatch's environments that are named after tests.
fn hatch_scripts(environments: Option<&toml::Table>) -> Vec<String> {
    let environments = environments.into_iter().flat_map(toml::Table::values);
    let tables = environments.filter_map(|environment| environment.get("scripts")?.as_table());
    tables.flat_map(scripts).collect()
}

/// The scripts named after tests: a line, or several.
fn scripts(scripts: &toml::Table) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, script) in scripts {
        if name.contains("test") || name == "cov" || name == "run" {
            lines.extend(script.as_str().map(str::to_string));
            let list = script.as_array().into_iter().flatten();
            lines.extend(list.filter_map(|line| line.as_str().map(str::to_string)));
        }
    }
    lines
}

/// The test runner in a command, with the arguments that select its tests.
pub(super) fn runner(place: &Directory<'_>, words: &[String]) -> Option<(Framework, Vec<String>)> {
    let is = |word: &String, name: &str| word.rsplit('/').next() == Some(name);
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let after = |name: &str| words.iter().position(|word| is(word, name)).map(|at| &words[at + 1..]);
    // A command that installs the runner does not run it.
    if words.iter().any(|word| word == "install") {
        return None;
    }
    // Options of Python, which may turn warnings into errors.
    let is_python = words.first().is_some_and(|word| word.starts_with("python"));
    let options = match python_module(words.get(1..).unwrap_or_default()) {
        Some(at) if is_python => &words[1..at],
        _ => &[],
    };
    let python = |module: &str| [&owned(&["python3"]), options, &owned(&["-m", module])].concat();
    if let Some(arguments) = after("pytest").or_else(|| after("py.test")) {
        let mut argv = python("pytest");
        argv.extend(chosen(place, arguments).unwrap_or_default());
        return Some((Framework::Pytest, argv));
    }
    if let Some(arguments) = after("unittest") {
        let mut argv = python("unittest");
        argv.extend(
            arguments
                .iter()
                .filter(|word| !word.starts_with("-v") && !word.contains('{'))
                .cloned(),
        );
        return Some((Framework::Unittest, argv));
    }
    if is_python && inline_tests(words.get(1..).unwrap_or_default()).is_some() {
        let argv = [&owned(&["python3"]), &words[1..]].concat();
        return Some((Framework::Unittest, argv));
    }
    let module = python_module(words.get(1..).unwrap_or_default()).and_then(|at| words.get(at + 1));
    if let Some(module) = module.filter(|module| is_python && is_test_module(module)) {
        let path = module.replace('.', "/");
        let files = [format!("{path}.py"), format!("{path}/__main__.py")];
        // A module of a package starts `unittest`; one at the root may be the project's own runner.
        let starts = |file: &String| place.has(file) && (module.contains('.') || starts_tests(place, file));
        return files.iter().any(starts).then(|| (Framework::Unittest, python(module)));
    }
    if let Some(script) = words.iter().find(|word| is_own_runner(word) && has(place, word)) {
        let mut argv = vec!["python3".to_string(), script.trim_start_matches("./").into()];
        // An option may take the word after it, so only what the tree has is known to choose tests.
        let after = words.iter().skip_while(|word| *word != script).skip(1);
        argv.extend(after.filter(|word| has(place, word)).cloned());
        return Some((Framework::Unittest, argv));
    }
    let argv = django::tests(place, words)?;
    Some((Framework::Unittest, argv))
}

/// Whether a command runs a script of the project that starts `unittest`, or Django's tests.
pub(in crate::discover) fn starts_unittest(place: &Directory<'_>, words: &[String]) -> bool {
    let is_python = words.first().is_some_and(|word| word.starts_with("python"));
    let script = words.iter().find(|word| is_own_runner(word)).filter(|_| is_python);
    script.is_some_and(|script| starts_tests(place, script.trim_start_matches("./")))
}

fn starts_tests(place: &Directory<'_>, file: &str) -> bool {
    let text = place.text(file).filter(|text| text.len() <= MAX_TEXT);
    text.is_some_and(|text| text.contains("unittest") || text.contains("django"))
}

/// `runtests.py`, `tests/run_tests.py`: the script with which a project runs its tests, usually Django's.
fn is_own_runner(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "runtests.py" | "run_tests.py" | "run-tests.py" | "runtest.py")
}

/// The arguments that select tests. `None` if one of them is a path that the tree does not have.
fn chosen(place: &Directory<'_>, arguments: &[String]) -> Option<Vec<String>> {
    let mut chosen = Vec::new();
    let mut words = arguments.iter().peekable();
    let is_plain = |word: &&String| !word.starts_with('-');
    let declared = OnceCell::new();
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        if WITH_VALUE.contains(&word.as_str()) {
            chosen.extend([word.clone(), words.next()?.clone()]);
        } else if SETTINGS.contains(&name) {
            let value = joined.or_else(|| words.next().map(String::as_str));
            match value.filter(|file| has(place, file)) {
                Some(file) if name.starts_with("--") => chosen.push(format!("{name}={file}")),
                Some(file) => chosen.extend([name.to_string(), file.to_string()]),
                None => {}
            }
        } else if word.len() > 2 && JOINED.iter().any(|option| word.starts_with(option)) {
            chosen.push(word.clone());
        } else if word == "-p"
            && let Some(plugin) = words.next_if(|plugin| has(place, &format!("{}.py", plugin.replace('.', "/"))))
        {
            chosen.extend([word.clone(), plugin.clone()]);
        } else if SKIPPED_WITH_VALUE.contains(&word.as_str()) {
            words.next_if(is_plain);
        } else if WITHOUT_VALUE.contains(&name) {
            // How much is printed, and when the run ends.
        } else if word.starts_with('-') {
            let is_own = FLAGS.contains(&name) || declared.get_or_init(|| options(place)).contains(name);
            // The value of an option that is not known, or else a path.
            let value = words.next_if(|next| joined.is_none() && is_plain(next) && !is_path(place, next));
            match value {
                _ if !is_own => {}
                Some(value) => chosen.push(format!("{word}={value}")),
                None => chosen.push(word.clone()),
            }
        } else if is_path(place, word) {
            chosen.push(word.clone());
        } else {
            return None;
        }
    }
    (!chosen.iter().any(|word| word.contains(['{', '\0']))).then_some(chosen)
}

/// The options that the project adds to pytest:
/// <https://docs.pytest.org/en/stable/reference/reference.html#pytest.hookspec.pytest_addoption>
fn options(place: &Directory<'_>) -> BTreeSet<String> {
    let is_conftest = |path: &&str| path.rsplit('/').next() == Some("conftest.py");
    let files = place.files().filter(is_conftest).take(MAX_CONFTESTS);
    let texts = files.filter_map(|file| place.text(file));
    let mut found = BTreeSet::new();
    for text in texts.filter(|text| text.len() <= MAX_TEXT && text.contains("addoption")) {
        let quoted = text.split(['"', '\'', '\n']).filter(|part| part.starts_with("--"));
        found.extend(quoted.map(str::to_string));
    }
    found
}

/// Whether a word is a path in the tree, with the name of a test behind it or not.
fn is_path(place: &Directory<'_>, word: &str) -> bool {
    let path = word.split("::").next().unwrap_or(word);
    let path = path.trim_start_matches("./").trim_end_matches('/');
    path.is_empty() || path == "." || has(place, path)
}

/// Whether a path is a file or a directory of the tree.
fn has(place: &Directory<'_>, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    place.has(path)
        || place
            .files()
            .any(|file| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use greenlight_tree::checkout::Checkout;

    use super::*;

    #[test]
    fn the_words_of_pytest_that_choose_tests_are_kept() {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("tests/test_a.py", ""),
            ("src/a.py", ""),
            ("ci.ini", ""),
            (
                "tests/conftest.py",
                "def pytest_addoption(parser):\n    parser.addoption('--slow')\n    parser.addoption(\"--on\")\n",
            ),
        ] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        for (given, expected) in [
            ("tests -n 4", "tests"),
            ("-n 4 tests", "tests"),
            // The value of an option of a plugin, which may be a directory.
            ("--cov src --cov-report xml tests", "tests"),
            ("--cov --cov-report=xml tests", "tests"),
            ("--reruns 3 --color yes -v tests/", "tests/"),
            // Of an option that nobody knows.
            ("--record file tests", "tests"),
            ("--record tests", "tests"),
            // Of options that the project has.
            ("--slow tests", "--slow tests"),
            ("--on linux tests", "--on=linux tests"),
            ("--on=linux tests", "--on=linux tests"),
            ("-c ci.ini tests", "-c ci.ini tests"),
            ("--config-file=ci.ini tests", "--config-file=ci.ini tests"),
            ("--config-file ci.ini tests", "--config-file=ci.ini tests"),
            ("-v tests/test_a.py::test_b tests", "tests/test_a.py::test_b tests"),
            ("--unknown tests/test_a.py::test_b", "tests/test_a.py::test_b"),
            ("-v .", "."),
            ("-c ../other.ini tests", "tests"),
            ("-k slow -W error", "-k slow -W error"),
            ("-kslow -Werror tests", "-kslow -Werror tests"),
            ("-p tests.conftest -p no:warnings tests", "-p tests.conftest tests"),
            // All, because what is chosen is not in the tree.
            ("dist/tests", ""),
        ] {
            let words: Vec<String> = ["pytest"]
                .into_iter()
                .chain(given.split(' '))
                .map(String::from)
                .collect();
            let (framework, argv) = runner(&place, &words).unwrap();
            let expected = format!("python3 -m pytest {expected}");
            assert_eq!(
                (framework, argv.join(" ").as_str()),
                (Framework::Pytest, expected.trim_end()),
                "{given}"
            );
        }
    }
}
