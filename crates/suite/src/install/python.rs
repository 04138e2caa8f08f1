//! Python: uv if the project has its lock file, else pip with the project's requirements, into a separate
//! environment.

mod listed;

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;

use super::INSTALLED;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles, owned};
use crate::discover::tox_requirements;

/// Creates the virtual environment that everything else is installed into.
pub(super) fn environment() -> Step {
    let directory = format!("{INSTALLED}/venv");
    Step::new(
        Phase::Offline,
        StepDirectory::Workspace(None),
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
    let place = StepDirectory::Workspace(project.directory.clone());
    let step = Step::new(Phase::Online, place, &built).or(owned(&sync), BUILT);
    let (mut files, empty) = sources(project);
    files.extend(project.named(&["pyproject.toml", "uv.lock", "uv.toml"]));
    let own = is_package(project).then(|| in_place(project, &["uv", "pip", "install", "--no-deps", "-e", "."]));
    Some(Plan {
        tools: BTreeSet::from(["python3", "uv"]),
        steps: [step].into_iter().chain(own).collect(),
        shown: VisibleFiles::Only { files, empty },
        may_see_all: false,
        modules: None,
    })
}

const BUILT: &str = "not every package has a wheel, so some were built, which runs their code";

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
    let mut described = table.as_ref().map(listed::requirements).unwrap_or_default();
    let is_built = described.is_empty() && wanted.is_empty() && needs_building(project, table.as_ref());
    if described.is_empty() && wanted.is_empty() {
        of_tox(project, &listed, &mut wanted, &mut described);
    }
    let runner = project.framework.spec().package;
    let own = is_built || is_package(project);
    if wanted.is_empty() && described.is_empty() && !is_built && runner.is_none() && !own {
        return None;
    }
    // After this word, no text from a file of the tree can be an option.
    wanted.push("--".into());
    wanted.extend(described);
    wanted.extend(runner.map(str::to_owned));
    let has_something = wanted.last().is_some_and(|word| word != "--") || wanted.len() > 1;
    let python = format!("{INSTALLED}/venv/bin/python");
    let pip = [
        &python,
        "-m",
        "pip",
        "install",
        "--no-input",
        "--no-warn-script-location",
    ];
    let install = |kind: &str| {
        let mut argv = owned(&pip);
        argv.push(kind.to_owned());
        argv.extend(wanted.iter().cloned());
        argv
    };
    let mut steps = vec![environment()];
    if has_something {
        let mut step = Step::new(Phase::Online, StepDirectory::Workspace(project.directory.clone()), &[]);
        step.argv = install("--only-binary=:all:");
        steps.push(step.or(install("--prefer-binary"), BUILT));
    }
    if own {
        // If only the build knows the dependencies, installing the project must find them.
        let own_words: &[&str] = if is_built {
            &["-e", ".[test,tests,testing]"]
        } else if needs_building(project, table.as_ref()) {
            &["-e", "."]
        } else {
            &["--no-deps", "-e", "."]
        };
        let argv = [&pip[..], own_words].concat();
        let step = in_place(project, &argv);
        steps.push(Step {
            is_optional: !is_built,
            ..step
        });
    }
    // If nothing is built, the installation sees only the lists.
    let (sources, empty) = if own { sources(project) } else { Default::default() };
    files.extend(sources);
    Some(Plan {
        tools: BTreeSet::from(["python3"]),
        steps,
        shown: if is_built {
            VisibleFiles::All
        } else {
            VisibleFiles::Only { files, empty }
        },
        may_see_all: false,
        modules: None,
    })
}

/// Adds what tox installs before it runs the tests: requirement files, and requirements.
fn of_tox(project: &Project<'_>, listed: &[&str], wanted: &mut Vec<String>, described: &mut Vec<String>) {
    let settings = project.text("tox.ini").unwrap_or_default();
    for line in tox_requirements(&settings) {
        match line.strip_prefix("-r").map(str::trim) {
            Some(file) if listed.contains(&file) => wanted.extend(["-r".to_owned(), file.to_owned()]),
            Some(_) => {}
            None => described.push(line),
        }
    }
}

/// Installs the project in the workspace, so that its name, version and entry points are known. Files that this
/// creates among the sources, such as versions and compiled modules, are kept. There is no git history, so the
/// version is set by variables.
const IN_PLACE: &str = r#"export SETUPTOOLS_SCM_PRETEND_VERSION=999.0.0 POETRY_DYNAMIC_VERSIONING_BYPASS=999.0.0 PBR_VERSION=999.0.0
find . -type f | sort > "$TMPDIR/before"; "$@" || exit
find . -type f | sort | comm -13 "$TMPDIR/before" - | grep -v -e '^./build/' -e __pycache__ | head -n 500 | while IFS= read -r file
do mkdir -p "$KEPT/${file%/*}" && cp "$file" "$KEPT/$file"; done"#;

fn in_place(project: &Project<'_>, argv: &[&str]) -> Step {
    let script = IN_PLACE.replace("$KEPT", &format!("{INSTALLED}/generated"));
    let mut words = vec!["sh", "-c", &script, "sh"];
    words.extend(argv);
    Step::new(
        Phase::Online,
        StepDirectory::Workspace(project.directory.clone()),
        &words,
    )
    .optional()
}

/// Whether the project can be installed.
fn is_package(project: &Project<'_>) -> bool {
    let described = project.text("pyproject.toml").is_some_and(|text| {
        text.contains("[build-system]") || text.contains("[project]") || text.contains("[tool.poetry]")
    });
    described || project.path("setup.py").is_some()
}

/// The files that a build of the project reads: its settings, its metadata, and sources in other languages. Of other
/// modules only the names matter, so they are shown empty and may change.
fn sources(project: &Project<'_>) -> (BTreeSet<RepoPath>, BTreeSet<RepoPath>) {
    const VERSIONS: [&str; 7] = [
        "__init__.py",
        "_version.py",
        "__version__.py",
        "version.py",
        "__about__.py",
        "hatch_build.py",
        "setup.py",
    ];
    const COMPILED: [&str; 10] = ["c", "h", "cc", "cpp", "hpp", "pyx", "pxd", "pxi", "rs", "in"];
    let (mut files, mut empty) = (BTreeSet::new(), BTreeSet::new());
    for path in project.paths() {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_test = path
            .split('/')
            .any(|part| matches!(part, "tests" | "test" | "testing" | "docs" | "node_modules"));
        let Some(whole) = project.path(path) else { continue };
        if is_test {
            // A build fails without a package that its settings list, and some list test packages.
            empty.extend((name == "__init__.py").then_some(whole));
            continue;
        }
        let at_top = directory.is_empty()
            && (matches!(extension, "toml" | "cfg" | "md" | "rst" | "txt" | "")
                || name.eq_ignore_ascii_case("version"));
        if at_top || VERSIONS.contains(&name) || COMPILED.contains(&extension) || name == "Cargo.toml" {
            files.insert(whole);
        } else if extension == "py" {
            empty.insert(whole);
        }
    }
    (files, empty)
}

/// Files that list requirements, or that such files refer to.
fn is_requirements(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let named = |word: &str| name.contains(word) && matches!(name.rsplit_once('.'), Some((_, "txt" | "in" | "pip")));
    let in_place = directory.is_empty() && (named("requirements") || named("constraints"));
    path.parse::<RepoPath>().is_ok()
        && (in_place || (matches!(directory, "requirements" | "tests" | "test") && named_list(directory, name)))
}

/// In a directory of lists, every text file is one.
fn named_list(directory: &str, name: &str) -> bool {
    name.ends_with(".txt") && (directory == "requirements" || name.contains("requirements"))
}

/// `requirements-dev.txt`, `requirements/test.txt`, but neither `requirements-docs.txt` nor `constraints.txt`.
fn is_for_tests(path: &str) -> bool {
    let Some(stem) = path.strip_suffix(".txt") else {
        return false;
    };
    let stem = stem.to_ascii_lowercase();
    let mut words = stem.split(['-', '_', '/', '.']);
    path.contains("requirements") && words.all(|word| word == "requirements" || listed::FOR_TESTS.contains(&word))
}

/// Whether only building the project reveals its dependencies.
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
