//! Python: uv if the project has its lock file, else pip with what CI or the project's lists name, in the versions of
//! its lock file, into a separate environment.

mod listed;
mod locked;
mod needs;
mod pip;
mod uv;

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;

use self::needs::{is_requirements, of_ci, of_lists, of_tox, settings, with_referenced};
use super::INSTALLED;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles};

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
    let Some(uv) = uv::plan(project) else {
        return with_pip(project);
    };
    let instead = with_pip(project).map(|pip| Plan {
        notes: vec!["uv could not install what `uv.lock` lists, so pip did, with the versions in it".into()],
        ..pip
    });
    Some(Plan {
        instead: instead.map(Box::new),
        ..uv
    })
}

/// `tox`, `tox>=4`, and its plugins.
fn is_tox(requirement: &str) -> bool {
    let name = requirement
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .next()
        .unwrap_or_default();
    name == "tox" || name.starts_with("tox-")
}

const BUILT: &str = "not every package has a wheel, so some were built, which runs their code";

fn with_pip(project: &Project<'_>) -> Option<Plan> {
    let lists: Vec<&str> = project.paths().filter(|path| is_requirements(path)).collect();
    let table = settings(project);
    let mut needs = if project.ci.is_for_python() {
        of_ci(project, table.as_ref())
    } else {
        of_lists(project, table.as_ref(), &lists)
    };
    let needs_build = needs_building(project, table.as_ref());
    let is_built = (needs.is_empty() || !needs.extras.is_empty()) && needs_build;
    // CI may install no more than tox, which installs the rest.
    let has_tox = needs.requirements.iter().any(|line| is_tox(line));
    needs.requirements.retain(|line| !is_tox(line));
    if has_tox || (needs.is_empty() && !is_built) {
        of_tox(project, &lists, &mut needs.options, &mut needs.requirements);
    }
    let runner = project.framework.spec().package;
    let own = is_built || is_package(project);
    if needs.is_empty() && !is_built && runner.is_none() && !own {
        return None;
    }
    needs.files.extend(lists.iter().filter_map(|path| project.path(path)));
    needs
        .files
        .extend(project.ci.files.iter().chain(&project.ci.constraints).cloned());
    needs.files = with_referenced(project, needs.files);
    needs.requirements.extend(runner.map(str::to_owned));
    let python = format!("{INSTALLED}/venv/bin/python");
    let mut steps = vec![environment()];
    steps.extend(pip::steps(project, &python, &needs));
    if own {
        // If only the build knows the dependencies, installing the project must find them.
        let extras = match needs.extras.as_slice() {
            [] => "test,tests,testing".to_owned(),
            extras => extras.join(","),
        };
        let with_extras = format!(".[{extras}]");
        let own_words: &[&str] = if is_built {
            &["-e", &with_extras]
        } else if needs_build {
            &["-e", "."]
        } else {
            &["--no-deps", "-e", "."]
        };
        let pip = [
            &python,
            "-m",
            "pip",
            "install",
            "--no-input",
            "--no-warn-script-location",
        ];
        let step = in_place(project, &[&pip[..], own_words].concat());
        steps.push(Step {
            is_optional: !is_built,
            ..step
        });
    }
    // If nothing is built, the installation sees only the lists.
    let (sources, empty) = if own { sources(project) } else { Default::default() };
    let mut files = needs.files;
    files.extend(sources);
    Some(Plan {
        tools: BTreeSet::from(["python3"]),
        steps,
        shown: if is_built {
            VisibleFiles::All
        } else {
            VisibleFiles::Only { files, empty }
        },
        ..Plan::default()
    })
}

/// Installs the project in the workspace, so that its name, version and entry points are known. Files that this
/// creates among the sources, such as versions and compiled modules, are kept. There is no git history, so the
/// version is set by variables.
const IN_PLACE: &str = r#"export SETUPTOOLS_SCM_PRETEND_VERSION=999.0.0 POETRY_DYNAMIC_VERSIONING_BYPASS=999.0.0 PBR_VERSION=999.0.0
find . -type f | sort > "$TMPDIR/before"; "$@" || exit
find . -type f | sort | comm -13 "$TMPDIR/before" - | grep -v -e '^./build/' -e '^./.git/' -e __pycache__ | head -n 500 | while IFS= read -r file
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
