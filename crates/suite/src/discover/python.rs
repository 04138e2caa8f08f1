//! Python projects: pytest where the project uses it, else the standard library's `unittest`.

mod tasks;

pub(crate) use tasks::tox_requirements;

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;

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

/// Maximum number of test files that are read to find out which framework they use.
const MAX_READ: usize = 50;

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
        let first = tests.first()?;
        if place.has("manage.py") && place.text("manage.py").is_some_and(|text| text.contains("django")) {
            place.command(&["python3", "manage.py", "test"], Framework::Unittest, "manage.py")
        } else if let Some(file) = tests.iter().take(MAX_READ).find(|path| needs_pytest(place, path)) {
            place.command(&plain, Framework::Pytest, file)
        } else if let Some(file) = asks_for_pytest(place) {
            place.command(&plain, Framework::Pytest, &file)
        } else {
            let start = start_directory(place, &tests);
            let mut argv = vec!["python3", "-m", "unittest", "discover"];
            if let Some(start) = &start {
                argv.extend(["-s", start]);
            }
            if !tests.iter().any(|path| file_name(path).starts_with("test")) {
                argv.extend(["-p", "*_test.py"]);
            }
            place.command(&argv, Framework::Unittest, first)
        }
    }?;
    command.import_root = import_root(place).or_else(|| Some(".".into()));
    Some(command)
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
    !names_paths
        && !["pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"]
            .iter()
            .any(limits)
}

/// The tests below a directory, without those of nested projects.
fn own_tests<'a>(place: &'a Directory<'_>) -> Vec<&'a str> {
    let is_own = |path: &&str| match path.split_once('/') {
        Some((directory, _)) => !MANIFESTS.iter().any(|file| place.has(&format!("{directory}/{file}"))),
        None => true,
    };
    place.files().filter(|path| is_test(path)).filter(is_own).collect()
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

/// `unittest` enters packages only, so it starts at the tests if the directories above them are not packages.
fn start_directory(place: &Directory<'_>, tests: &[&str]) -> Option<String> {
    let is_reachable = |path: &&str| {
        let mut directory = String::new();
        let parts: Vec<&str> = path.split('/').collect();
        parts[..parts.len() - 1].iter().all(|part| {
            directory = format!("{directory}{part}/");
            place.has(&format!("{directory}__init__.py"))
        })
    };
    let hidden = tests.iter().find(|path| !is_reachable(path))?;
    let directory = hidden.rsplit_once('/')?.0;
    // If the tests themselves are packages, it starts above the topmost one.
    let mut top = directory;
    while place.has(&format!("{top}/__init__.py")) {
        top = top.rsplit_once('/').map_or("", |(above, _)| above);
    }
    (!top.is_empty()).then(|| top.to_string())
}
