//! Python: uv if the project has its lock file, else pip with what CI or the project's lists name, in the versions of
//! its lock file, into a separate environment.

mod listed;
mod locked;

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;

use super::INSTALLED;
use super::steps::{Phase, Plan, Project, Step, StepDirectory, VisibleFiles, owned};
use crate::discover::{line_directory, tox_requirements};

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
    let Some(uv) = uv(project) else { return pip(project) };
    let instead = pip(project).map(|pip| Plan {
        notes: vec!["uv could not install what `uv.lock` lists, so pip did, with the versions in it".into()],
        ..pip
    });
    Some(Plan {
        instead: instead.map(Box::new),
        ..uv
    })
}

fn uv(project: &Project<'_>) -> Option<Plan> {
    project.path("uv.lock")?;
    let table = settings(project);
    let is_present = project.present.contains("uv");
    let fetched = if is_present {
        Vec::new()
    } else {
        fetched(&uv_package(table.as_ref()))
    };
    let uv = if is_present {
        "uv".to_owned()
    } else {
        format!("{TOOLS}/bin/uv")
    };
    let sync = |build: bool, chosen: &[String]| {
        let mut argv = owned(&[&uv, "sync", "--frozen", "--no-install-workspace"]);
        argv.extend((!build).then(|| "--no-build".to_owned()));
        argv.extend(chosen.iter().cloned());
        argv
    };
    let all = owned(&["--all-extras", "--all-groups"]);
    let of_ci = chosen(&project.ci.extras, &project.ci.groups);
    let wanted = if project.ci.all || of_ci.is_empty() { all } else { of_ci };
    let (extras, groups) = table.as_ref().map(listed::names_for_tests).unwrap_or_default();
    let place = StepDirectory::Workspace(project.directory.clone());
    let mut step = Step::new(Phase::Online, place, &[]);
    step.argv = sync(false, &wanted);
    let step = step
        .or(sync(true, &wanted), BUILT)
        .or(sync(true, &chosen(&extras, &groups)), ONLY_FOR_TESTS);
    let (mut files, empty) = sources(project);
    files.extend(project.named(&["pyproject.toml", "uv.lock", "uv.toml"]));
    let own = is_package(project).then(|| in_place(project, &[&uv, "pip", "install", "--no-deps", "-e", "."]));
    Some(Plan {
        tools: BTreeSet::from(["python3", "uv"]),
        steps: fetched.into_iter().chain([step]).chain(own).collect(),
        shown: VisibleFiles::Only { files, empty },
        ..Plan::default()
    })
}

/// The options of uv that choose these extras and groups.
fn chosen(extras: &[String], groups: &[String]) -> Vec<String> {
    let extras = extras.iter().flat_map(|name| ["--extra".to_owned(), name.clone()]);
    let groups = groups.iter().flat_map(|name| ["--group".to_owned(), name.clone()]);
    extras.chain(groups).collect()
}

/// uv as pip installs it, in the versions that the project allows.
fn uv_package(table: Option<&toml::Table>) -> String {
    let wanted = table.and_then(|table| table.get("tool")?.get("uv")?.get("required-version")?.as_str());
    let is_version = |text: &&str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || ".,<>=!~ ".contains(c))
    };
    match wanted.map(str::trim).filter(is_version) {
        Some(wanted) if wanted.starts_with(|c: char| c.is_ascii_digit()) => format!("uv=={wanted}"),
        Some(wanted) => format!("uv{wanted}"),
        None => "uv".into(),
    }
}

/// Where tools are installed that this machine does not have. Tests never see them.
const TOOLS: &str = "/installed/tmp/tools";

/// Installs a tool from the registry of Python.
fn fetched(package: &str) -> Vec<Step> {
    let python = format!("{TOOLS}/bin/python");
    let here = StepDirectory::Workspace(None);
    let pip = [
        "-m",
        "pip",
        "install",
        "--no-input",
        "--only-binary=:all:",
        "--",
        package,
    ];
    vec![
        Step::new(Phase::Offline, here.clone(), &["python3", "-m", "venv", TOOLS]),
        Step::new(Phase::Online, here, &[&[python.as_str()], &pip[..]].concat()),
    ]
}

const BUILT: &str = "not every package has a wheel, so some were built, which runs their code";
const ONLY_FOR_TESTS: &str = "not all groups and extras could be installed, so only those for tests were";
const ONE_BY_ONE: &str = "not every listed package could be installed, so the others were, without those";

/// Installs requirement files and requirements one after the other, and fails only if nothing could be installed.
const EACH: &str = r#"pip() { "$PYTHON" -m pip install --no-input --no-warn-script-location --prefer-binary "$@" && done=1; }
done=
while [ $# -gt 0 ] && [ "$1" != -- ]; do pip "$1" "$2"; shift 2; done
[ $# = 0 ] || shift
for requirement in "$@"; do pip -- "$requirement"; done
[ -n "$done" ]"#;

/// What the tests need according to the project and its CI.
#[derive(Default)]
struct Needs {
    /// Pairs of options and files for pip.
    options: Vec<String>,
    requirements: Vec<String>,
    /// Requirements that tests may need; a failure to install them is only noted.
    optional: Vec<String>,
    /// Files that the installation reads.
    files: BTreeSet<RepoPath>,
    /// Extras of the project that only a build knows.
    extras: Vec<String>,
}

impl Needs {
    fn is_empty(&self) -> bool {
        self.options.is_empty() && self.requirements.is_empty()
    }

    fn file(&mut self, option: &str, project: &Project<'_>, path: &RepoPath) {
        if project.checkout.contains(path.as_str()) {
            self.options.extend([option.to_owned(), relative(project, path)]);
        }
    }
}

/// What CI installs, as far as its lines say.
fn of_ci(project: &Project<'_>, table: Option<&toml::Table>) -> Needs {
    let ci = project.ci;
    let mut needs = Needs::default();
    for (option, files) in [("-r", &ci.files), ("-c", &ci.constraints)] {
        files.iter().for_each(|path| needs.file(option, project, path));
    }
    needs.requirements = table.map(listed::dependencies).unwrap_or_default();
    if ci.all {
        let all = table.map(listed::requirements).unwrap_or_default();
        needs.requirements.extend(all.needed);
        needs.optional = all.optional;
    }
    for extra in &ci.extras {
        match table.and_then(|table| listed::extra(table, extra)) {
            Some(list) => needs.requirements.extend(list),
            None => needs.extras.push(extra.clone()),
        }
    }
    let groups = ci.groups.iter().filter_map(|name| listed::group_named(table?, name));
    needs.requirements.extend(groups.flatten());
    needs.requirements.extend(ci.requirements.iter().cloned());
    needs
}

/// What the project's lists say.
fn of_lists(table: Option<&toml::Table>, lists: &[&str]) -> Needs {
    let listed = table.map(listed::requirements).unwrap_or_default();
    let mut needs = Needs {
        requirements: listed.needed,
        optional: listed.optional,
        ..Needs::default()
    };
    for path in lists.iter().filter(|path| is_for_tests(path)) {
        needs.options.extend(["-r".to_owned(), (*path).to_owned()]);
    }
    needs
}

fn settings(project: &Project<'_>) -> Option<toml::Table> {
    project.text("pyproject.toml").and_then(|text| text.parse().ok())
}

fn pip(project: &Project<'_>) -> Option<Plan> {
    let lists: Vec<&str> = project.paths().filter(|path| is_requirements(path)).collect();
    let table = settings(project);
    let mut needs = if project.ci.is_for_python() {
        of_ci(project, table.as_ref())
    } else {
        of_lists(table.as_ref(), &lists)
    };
    let needs_build = needs_building(project, table.as_ref());
    let is_built = (needs.is_empty() || !needs.extras.is_empty()) && needs_build;
    if needs.is_empty() && !is_built {
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
    let locked = locked::find(project);
    let python = format!("{INSTALLED}/venv/bin/python");
    let pip = [
        &python,
        "-m",
        "pip",
        "install",
        "--no-input",
        "--no-warn-script-location",
    ];
    let place = StepDirectory::Workspace(project.directory.clone());
    // After `--`, no text from a file of the tree can be an option.
    let install = |kind: &str, is_pinned: bool, options: &[String], requirements: &[String]| {
        let mut argv = owned(&pip);
        argv.push(kind.to_owned());
        argv.extend(
            is_pinned
                .then_some(["-c".to_owned(), CONSTRAINTS.to_owned()])
                .into_iter()
                .flatten(),
        );
        argv.extend(options.iter().cloned());
        argv.push("--".into());
        argv.extend(requirements.iter().cloned());
        argv
    };
    let mut steps = vec![environment()];
    if let Some(locked) = &locked {
        let script = format!("mkdir -p {INSTALLED}/tmp && printf '%s\\n' \"$@\" > {CONSTRAINTS}");
        let mut step = Step::new(Phase::Offline, place.clone(), &["sh", "-c", &script, "sh"]);
        step.argv.extend(locked.constraints.iter().cloned());
        steps.push(step);
    }
    let is_pinned = locked.is_some();
    if !needs.is_empty() {
        let (options, requirements) = (&needs.options, &needs.requirements);
        let mut step = Step::new(Phase::Online, place.clone(), &[]);
        step.argv = install("--only-binary=:all:", is_pinned, options, requirements);
        step = step.or(install("--prefer-binary", is_pinned, options, requirements), BUILT);
        if let Some(locked) = &locked {
            let note = format!(
                "the versions that `{}` pins cannot be installed here, so others were",
                locked.file
            );
            step = step.or(install("--prefer-binary", false, options, requirements), &note);
        }
        let script = EACH.replace("$PYTHON", &python);
        let mut each = owned(&["sh", "-c", &script, "sh"]);
        each.extend(options.iter().cloned());
        each.push("--".into());
        each.extend(requirements.iter().cloned());
        steps.push(step.or(each, ONE_BY_ONE));
    }
    if !needs.optional.is_empty() {
        let mut step = Step::new(Phase::Online, place.clone(), &[]);
        step.argv = install("--only-binary=:all:", is_pinned, &[], &needs.optional);
        steps.push(
            step.or(install("--prefer-binary", false, &[], &needs.optional), BUILT)
                .optional(),
        );
    }
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
        let argv = [&pip[..], own_words].concat();
        let step = in_place(project, &argv);
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

/// The file with the versions of a lock file, while packages are installed.
const CONSTRAINTS: &str = "/installed/tmp/constraints.txt";
/// Maximum number of requirement files that are shown.
const MAX_FILES: usize = 100;

/// A path of the tree, relative to the project's directory.
fn relative(project: &Project<'_>, path: &RepoPath) -> String {
    let Some(directory) = &project.directory else {
        return path.to_string();
    };
    let below = path
        .as_str()
        .strip_prefix(directory.as_str())
        .and_then(|rest| rest.strip_prefix('/'));
    below.map_or_else(
        || format!("{}{path}", "../".repeat(directory.as_str().split('/').count())),
        str::to_owned,
    )
}

/// These requirement files, and those that they refer to, wherever they are in the tree.
fn with_referenced(project: &Project<'_>, files: BTreeSet<RepoPath>) -> BTreeSet<RepoPath> {
    let mut open: Vec<RepoPath> = files.into_iter().collect();
    let mut known = BTreeSet::new();
    while let Some(path) = open.pop().filter(|_| known.len() < MAX_FILES) {
        if known.contains(&path) || !project.checkout.contains(path.as_str()) {
            continue;
        }
        let text = project.checkout.read_text(path.as_str()).unwrap_or_default();
        let above = path.as_str().rsplit_once('/').and_then(|(above, _)| above.parse().ok());
        for line in text.lines() {
            let options = ["--requirement", "--constraint", "-r", "-c"];
            let file = options.iter().find_map(|option| line.trim().strip_prefix(option));
            let file = file.map(|file| file.trim_start_matches(['=', ' ']).trim_end().to_owned());
            let directory: Option<&RepoPath> = above.as_ref();
            open.extend(
                file.and_then(|file| line_directory(directory, &[file], &BTreeMap::new()))
                    .flatten(),
            );
        }
        known.insert(path);
    }
    known
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
