//! Python projects: pytest where the project uses it, else the standard library's `unittest`.

use super::Place;
use crate::suite::{Framework, TestCommand};

/// How many test files are read to see what they are written for.
const MAX_READ: usize = 50;

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    let tests: Vec<&str> = place.files().filter(|path| is_test(path)).collect();
    let mut command = if let Some(file) = pytest_settings(place) {
        place.command(&["python3", "-m", "pytest"], Framework::Pytest, file)
    } else if let Some(file) = tests.iter().take(MAX_READ).find(|path| needs_pytest(place, path)) {
        place.command(&["python3", "-m", "pytest"], Framework::Pytest, file)
    } else {
        let first = tests.first()?;
        let start = start_directory(place, &tests);
        let mut argv = vec!["python3", "-m", "unittest", "discover"];
        if let Some(start) = &start {
            argv.extend(["-s", start]);
        }
        if !tests.iter().any(|path| file_name(path).starts_with("test")) {
            argv.extend(["-p", "*_test.py"]);
        }
        place.command(&argv, Framework::Unittest, first)
    }?;
    command.import_root = import_root(place).or_else(|| Some(".".into()));
    Some(command)
}

/// Where Python finds the project's packages without an installation; none if there are none.
pub(super) fn import_root(place: &Place<'_>) -> Option<String> {
    let is_module = |path: &str| {
        path.strip_prefix("src/")
            .is_some_and(|path| path.ends_with(".py") && path.split('/').count() <= 2)
    };
    if place.files().any(is_module) {
        Some("src".into())
    } else {
        place.files().any(|path| path.ends_with(".py")).then(|| ".".into())
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

/// The file with which the project says that it uses pytest.
fn pytest_settings<'a>(place: &Place<'a>) -> Option<&'a str> {
    let says = |file: &str, mark: &str| place.text(file).is_some_and(|text| text.contains(mark));
    if place.has("pytest.ini") {
        Some("pytest.ini")
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

/// Test functions outside of classes are for pytest only.
fn needs_pytest(place: &Place<'_>, path: &str) -> bool {
    place.text(path).is_some_and(|text| {
        text.lines().any(|line| {
            line.starts_with("def test_")
                || line.starts_with("async def test_")
                || line.starts_with("import pytest")
                || line.starts_with("from pytest")
        }) || (text.contains("class Test") && !text.contains("unittest"))
    })
}

/// `unittest` enters packages only, so it starts at the tests where the way there is not made of packages.
fn start_directory(place: &Place<'_>, tests: &[&str]) -> Option<String> {
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
    // Where the tests themselves are packages, their topmost package is entered from above.
    let mut top = directory;
    while place.has(&format!("{top}/__init__.py")) {
        top = top.rsplit_once('/').map_or("", |(above, _)| above);
    }
    (!top.is_empty()).then(|| top.to_string())
}
