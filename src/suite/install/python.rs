//! Python: uv where the project has its lock file, else pip with what the project lists, into an environment of its own.

use std::collections::BTreeSet;

use super::INSTALLED;
use super::plan::{Phase, Place, Plan, Project, Shown, Step, owned};
use crate::domain::id::RepoPath;
use crate::suite::Framework;

/// What files and groups with requirements are called when tests need them, besides `requirements` itself.
const FOR_TESTS: [&str; 11] = [
    "base",
    "ci",
    "common",
    "core",
    "dev",
    "develop",
    "development",
    "main",
    "test",
    "testing",
    "tests",
];

/// Makes the environment that everything else is installed to.
pub(super) fn environment() -> Step {
    let directory = format!("{INSTALLED}/venv");
    Step::new(
        Phase::Offline,
        Place::Workspace(None),
        &["python3", "-m", "venv", &directory],
    )
}

pub(super) fn plan(project: &Project<'_>) -> Option<Plan> {
    uv(project).or_else(|| pip(project))
}

fn uv(project: &Project<'_>) -> Option<Plan> {
    if !project.present.contains("uv") || project.path("uv.lock").is_none() {
        return None;
    }
    let sync = [
        "uv",
        "sync",
        "--frozen",
        "--no-install-workspace",
        "--all-extras",
        "--all-groups",
    ];
    let mut built = owned(&sync);
    built.insert(2, "--no-build".into());
    let built: Vec<&str> = built.iter().map(String::as_str).collect();
    let place = Place::Workspace(project.directory.clone());
    let step = Step::new(Phase::Online, place, &built).or(owned(&sync), BUILT);
    Some(Plan {
        tools: BTreeSet::from(["python3", "uv"]),
        steps: vec![step],
        shown: Shown::Only {
            files: project.named(&["pyproject.toml", "uv.lock", "uv.toml"]),
            empty: BTreeSet::new(),
        },
        modules: None,
    })
}

const BUILT: &str = "not every package has a wheel, so that some were built, which runs code of theirs";

fn pip(project: &Project<'_>) -> Option<Plan> {
    let (mut wanted, mut files) = (Vec::new(), BTreeSet::new());
    let listed: Vec<&str> = project.paths().filter(|path| is_requirements(path)).collect();
    for path in &listed {
        files.extend(project.path(path));
        if is_for_tests(path) {
            wanted.extend(["-r".to_owned(), (*path).to_owned()]);
        }
    }
    let table: Option<toml::Table> = project.text("pyproject.toml").and_then(|text| text.parse().ok());
    let described = table.as_ref().map(requirements).unwrap_or_default();
    let is_built = described.is_empty() && wanted.is_empty() && needs_building(project, table.as_ref());
    let needs_pytest = project.framework == Framework::Pytest;
    if wanted.is_empty() && described.is_empty() && !is_built && !needs_pytest {
        return None;
    }
    // After this word, nothing that a file of the tree says is an option.
    wanted.push("--".into());
    wanted.extend(described);
    wanted.extend(needs_pytest.then(|| "pytest".to_owned()));
    if is_built {
        wanted.push(".".into());
    }
    let python = format!("{INSTALLED}/venv/bin/python");
    let install = |kind: &str| {
        let mut argv = owned(&[
            &python,
            "-m",
            "pip",
            "install",
            "--no-input",
            "--no-warn-script-location",
            kind,
        ]);
        argv.retain(|word| !word.is_empty());
        argv.extend(wanted.iter().cloned());
        argv
    };
    let place = Place::Workspace(project.directory.clone());
    let mut step = Step::new(Phase::Online, place, &[]);
    step.argv = install("--only-binary=:all:");
    let step = step.or(install("--prefer-binary"), BUILT);
    Some(Plan {
        tools: BTreeSet::from(["python3"]),
        steps: vec![environment(), step],
        shown: if is_built {
            Shown::All
        } else {
            Shown::Only {
                files,
                empty: BTreeSet::new(),
            }
        },
        modules: None,
    })
}

/// Files that list requirements, or that those refer to.
fn is_requirements(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let named = |word: &str| name.contains(word) && matches!(name.rsplit_once('.'), Some((_, "txt" | "in" | "pip")));
    let in_place = directory.is_empty() && (named("requirements") || named("constraints"));
    path.parse::<RepoPath>().is_ok() && (in_place || (directory == "requirements" && name.ends_with(".txt")))
}

/// `requirements-dev.txt`, `requirements/test.txt`, but neither `requirements-docs.txt` nor `constraints.txt`.
fn is_for_tests(path: &str) -> bool {
    let Some(stem) = path.strip_suffix(".txt") else {
        return false;
    };
    let stem = stem.to_ascii_lowercase();
    let mut words = stem.split(['-', '_', '/', '.']);
    path.contains("requirements") && words.all(|word| word == "requirements" || FOR_TESTS.contains(&word))
}

/// What `pyproject.toml` lists in the standard ways: its dependencies, and the groups and extras for tests.
fn requirements(table: &toml::Table) -> Vec<String> {
    let strings = |value: Option<&toml::Value>| -> Vec<String> {
        let list = value.and_then(toml::Value::as_array).into_iter().flatten();
        list.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let for_tests = |groups: Option<&toml::Value>| -> Vec<String> {
        let groups = groups.and_then(toml::Value::as_table).into_iter().flatten();
        let groups = groups.filter(|(name, _)| FOR_TESTS.contains(&name.to_ascii_lowercase().as_str()));
        groups.flat_map(|(_, list)| strings(Some(list))).collect()
    };
    let project = table.get("project");
    let mut found = strings(project.and_then(|project| project.get("dependencies")));
    found.extend(for_tests(
        project.and_then(|project| project.get("optional-dependencies")),
    ));
    found.extend(for_tests(table.get("dependency-groups")));
    found
}

/// Whether only the project's own build says what it needs.
fn needs_building(project: &Project<'_>, table: Option<&toml::Table>) -> bool {
    let described = table.and_then(|table| table.get("project"));
    let dynamic = described
        .and_then(|project| project.get("dynamic"))
        .and_then(toml::Value::as_array)
        .is_some_and(|fields| fields.iter().any(|field| field.as_str() == Some("dependencies")));
    let poetry = table
        .and_then(|table| table.get("tool"))
        .is_some_and(|tool| tool.get("poetry").is_some());
    let old = project.path("setup.py").is_some()
        || project
            .text("setup.cfg")
            .is_some_and(|text| text.contains("install_requires"));
    dynamic || (described.is_none() && (poetry || old))
}
