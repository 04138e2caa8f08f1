//! Python projects: pytest where the project uses it, else the standard library's `unittest`.

mod django;
pub(super) mod hatch;
pub(super) mod nox;
pub(super) mod tasks;
pub(super) mod tox;

pub(crate) use tox::tox_requirements;

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::{Source, TestCommand};

/// What is looked for, shown to people whose tests were not found.
pub(super) const LOOKS_FOR: &str = "Python test files or pytest settings";
/// Files that make a directory a separate project.
const MANIFESTS: [&str; 9] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
    "requirements.txt",
    "Pipfile",
    "manage.py",
];

/// Files with the settings of pytest.
const SETTINGS: [&str; 5] = ["pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"];

/// Maximum number of test files that are read to find out which framework they use.
const MAX_READ: usize = 50;
const DISCOVER: [&str; 4] = ["python3", "-m", "unittest", "discover"];
/// Maximum number of runs of `unittest` for one project.
const MAX_STARTS: usize = 20;

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    // Deeper directories belong to the project above them.
    if place.directory.is_some() && !is_project(place) {
        return None;
    }
    let plain = ["python3", "-m", "pytest"];
    let task = tasks::find(place);
    let mut command = if let Some(file) = pytest_settings(place) {
        place.command(&plain, Framework::Pytest, file)
    } else if let Some(task) = task {
        let argv: Vec<&str> = task.argv.iter().map(String::as_str).collect();
        place.command(&argv, task.framework, task.file)
    } else {
        let tests = own_tests(place);
        if tests.is_empty() {
            return None;
        }
        if place.has("manage.py") && place.text("manage.py").is_some_and(|text| text.contains("django")) {
            place.command(&["python3", "manage.py", "test"], Framework::Unittest, "manage.py")
        } else if let Some(file) = tests.iter().take(MAX_READ).find(|path| needs_pytest(place, path)) {
            place.command(&plain, Framework::Pytest, file)
        } else if let Some(file) = asks_for_pytest(place) {
            place.command(&plain, Framework::Pytest, &file)
        } else {
            starts(place, &tests).first().and_then(|start| start.command(place))
        }
    }?;
    command.import_root = import_root(place).or_else(|| Some(".".into()));
    Some(command)
}

/// The other commands of a project whose tests one run of `unittest` does not reach all.
pub(super) fn rest(place: &Directory<'_>, first: &TestCommand) -> Vec<TestCommand> {
    let tests = own_tests(place);
    let starts = starts(place, &tests);
    let commands: Vec<TestCommand> = starts.iter().filter_map(|start| start.command(place)).collect();
    // Another command was chosen.
    if commands.first().is_none_or(|command| command.argv != first.argv) {
        return Vec::new();
    }
    let more = commands.into_iter().skip(1);
    more.map(|command| TestCommand {
        import_root: first.import_root.clone(),
        ..command
    })
    .collect()
}

/// Whether both are runs of one project from [`find`] and [`rest`], which have no tests in common.
pub(super) fn start_apart(one: &TestCommand, other: &TestCommand) -> bool {
    let is_found = |command: &TestCommand| {
        command.framework == Framework::Unittest
            && command.argv.starts_with(&DISCOVER.map(String::from))
            && matches!(command.source, Source::File(_))
    };
    is_found(one) && is_found(other) && one.argv != other.argv
}

/// Where `unittest` starts to look for tests, and for which names.
struct Start<'a> {
    directory: Option<String>,
    pattern: Option<&'static str>,
    /// A file that it finds.
    found: &'a str,
}

impl Start<'_> {
    fn command(&self, place: &Directory<'_>) -> Option<TestCommand> {
        let mut argv = DISCOVER.to_vec();
        argv.extend(self.directory.iter().flat_map(|start| ["-s", start.as_str()]));
        argv.extend(self.pattern.iter().flat_map(|pattern| ["-p", *pattern]));
        place.command(&argv, Framework::Unittest, self.found)
    }
}

/// `unittest` enters packages only, and looks for one pattern, so tests elsewhere take further runs.
fn starts<'a>(place: &Directory<'_>, tests: &[&'a str]) -> Vec<Start<'a>> {
    let mut starts: Vec<Start<'a>> = Vec::new();
    for found in tests {
        let directory = start_directory(place, found);
        let pattern = (!file_name(found).starts_with("test")).then_some("*_test.py");
        let is_known = |start: &Start<'_>| start.directory == directory && start.pattern == pattern;
        if starts.len() < MAX_STARTS && !starts.iter().any(is_known) {
            starts.push(Start {
                directory,
                pattern,
                found,
            });
        }
    }
    // First where most projects have their tests: at the root, under the usual name.
    starts.sort_by_key(|start| (start.directory.is_some(), start.pattern.is_some()));
    starts
}

/// Whether a directory is a Python project, and does not only contain Python files.
pub(super) fn is_project(place: &Directory<'_>) -> bool {
    MANIFESTS.iter().any(|file| place.has(file))
}

/// The test runner in a command of CI, with the arguments that select its tests. `None` if it is unknown.
pub(super) fn selected(place: &Directory<'_>, argv: &[String]) -> Option<(Vec<String>, Framework)> {
    tasks::runner(place, argv).map(|(framework, argv)| (argv, framework))
}

/// Whether a command of pytest or unittest also runs the tests of projects further down: it is told neither where to
/// look nor by its settings.
pub(super) fn searches_all(place: &Directory<'_>, argv: &[String]) -> bool {
    let is_runner = |word: &str| matches!(word, "pytest" | "py.test" | "unittest" | "discover");
    let mut plain = argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    let names_paths = plain.any(|word| !is_runner(word));
    let limits = |file: &&str| place.text(file).is_some_and(|text| text.contains("testpaths"));
    !names_paths && !SETTINGS.iter().any(limits)
}

/// The tests below a directory, without those of nested projects.
pub(super) fn own_tests<'a>(place: &'a Directory<'_>) -> Vec<&'a str> {
    let is_own = |path: &&str| match path.split_once('/') {
        Some((directory, _)) => !MANIFESTS.iter().any(|file| place.has(&format!("{directory}/{file}"))),
        None => true,
    };
    place.files().filter(|path| is_test(path)).filter(is_own).collect()
}

/// Whether all tests of a project are below some of its directories, so that commands there run them all. Not where its
/// settings say which files are tests.
pub(super) fn has_tests_only_in(place: &Directory<'_>, directories: &[&str]) -> bool {
    let tests = own_tests(place);
    let is_below = |path: &&str| {
        let rest = |directory: &&str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
        directories.iter().any(rest)
    };
    let names_files = |file: &&str| place.text(file).is_some_and(|text| text.contains("python_files"));
    !tests.is_empty() && tests.iter().all(is_below) && !SETTINGS.iter().any(names_files)
}

/// The file in which a project lists pytest as a dependency.
fn asks_for_pytest(place: &Directory<'_>) -> Option<String> {
    let lists = |text: String| {
        let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')));
        words.into_iter().any(|word| word == "pytest")
    };
    let is_list = |path: &&str| {
        let in_place = !path.contains('/') || path.starts_with("requirements/");
        let named = matches!(*path, "pyproject.toml" | "setup.py" | "setup.cfg" | "Pipfile")
            || (path.contains("requirements") && path.ends_with(".txt"));
        in_place && named
    };
    let file = place
        .files()
        .filter(is_list)
        .find(|path| place.text(path).is_some_and(lists));
    file.map(str::to_string)
}

/// Where Python finds the project's packages without an installation. `None` if there are none.
pub(super) fn import_root(place: &Directory<'_>) -> Option<String> {
    let holds_packages = |folder: &&str| {
        !place.has(&format!("{folder}/__init__.py"))
            && place.files().any(|path| {
                let below = path.strip_prefix(*folder).and_then(|path| path.strip_prefix('/'));
                below.is_some_and(|path| path.ends_with(".py") && !path.starts_with("test"))
            })
    };
    // A folder other than `src` counts only if the project's settings name it.
    let settings = ["setup.py", "setup.cfg", "pyproject.toml"].map(|file| place.text(file).unwrap_or_default());
    let says = |folder: &&str| {
        settings
            .iter()
            .any(|text| text.contains(&format!("\"{folder}\"")) || text.contains(&format!("= {folder}\n")))
    };
    let named = ["lib", "python"].into_iter().filter(says);
    match ["src"].into_iter().chain(named).find(holds_packages) {
        Some(folder) => Some(folder.into()),
        None => place.files().any(|path| path.ends_with(".py")).then(|| ".".into()),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_test(path: &str) -> bool {
    let name = file_name(path);
    let foreign = path
        .split('/')
        .any(|part| matches!(part, "node_modules" | "site-packages" | "venv" | ".venv"));
    !foreign
        && (name.starts_with("test_") && name.ends_with(".py")
            || name.ends_with("_test.py")
            || matches!(name, "test.py" | "tests.py"))
}

/// The file whose settings show that the project uses pytest.
fn pytest_settings<'a>(place: &Directory<'a>) -> Option<&'a str> {
    let says = |file: &str, mark: &str| place.text(file).is_some_and(|text| text.contains(mark));
    let own = ["pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"];
    if let Some(file) = own.into_iter().find(|file| place.has(file)) {
        Some(file)
    } else if says("pyproject.toml", "[tool.pytest") {
        Some("pyproject.toml")
    } else if says("tox.ini", "[pytest]") {
        Some("tox.ini")
    } else if says("setup.cfg", "[tool:pytest]") {
        Some("setup.cfg")
    } else {
        ["conftest.py", "tests/conftest.py", "test/conftest.py"]
            .into_iter()
            .find(|file| place.has(file))
    }
}

/// Only pytest runs test functions outside of classes.
fn needs_pytest(place: &Directory<'_>, path: &str) -> bool {
    place.text(path).is_some_and(|text| {
        text.lines().any(|line| {
            line.starts_with("def test_")
                || line.starts_with("async def test_")
                || line.starts_with("import pytest")
                || line.starts_with("from pytest")
        }) || (text.contains("class Test") && !text.contains("unittest"))
    })
}

/// Where `unittest` has to start for a test: in its directory if those above it are not packages.
fn start_directory(place: &Directory<'_>, test: &str) -> Option<String> {
    let directory = test.rsplit_once('/')?.0;
    let mut above = String::new();
    let is_reachable = directory.split('/').all(|part| {
        above = format!("{above}{part}/");
        place.has(&format!("{above}__init__.py"))
    });
    if is_reachable {
        return None;
    }
    // If the tests themselves are packages, it starts above the topmost one.
    let mut top = directory;
    while place.has(&format!("{top}/__init__.py")) {
        top = top.rsplit_once('/').map_or("", |(above, _)| above);
    }
    (!top.is_empty()).then(|| top.to_string())
}
