//! uv, for projects with its lock file. It is installed first if this machine does not have it.

use std::collections::BTreeSet;

use super::super::steps::{Phase, Plan, Project, Step, StepDirectory, TOOLS, VisibleFiles, owned};
use super::needs::settings;
use super::{BUILT, in_place, is_package, listed, sources};

const ONLY_FOR_TESTS: &str = "not all groups and extras could be installed, so only those for tests were";

pub(super) fn plan(project: &Project<'_>) -> Option<Plan> {
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
