//! What the tests of a Python project need, according to its CI, its lists and tox.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;

use super::super::steps::Project;
use super::listed;
use crate::discover::tox_requirements;
use crate::shell::line_directory;

/// Maximum number of requirement files that are shown.
const MAX_FILES: usize = 100;

/// What the tests need according to the project and its CI.
#[derive(Default)]
pub(super) struct Needs {
    /// Pairs of options and files for pip.
    pub(super) options: Vec<String>,
    pub(super) requirements: Vec<String>,
    /// Requirements that tests may need; a failure to install them is only noted.
    pub(super) optional: Vec<String>,
    /// Files that the installation reads.
    pub(super) files: BTreeSet<RepoPath>,
    /// Extras of the project that only a build knows.
    pub(super) extras: Vec<String>,
}

impl Needs {
    pub(super) fn is_empty(&self) -> bool {
        self.options.is_empty() && self.requirements.is_empty()
    }

    /// Projects that are built with pbr list their own dependencies in a file.
    /// <https://docs.openstack.org/pbr/latest/user/features.html#requirements>
    fn of_pbr(&mut self, project: &Project<'_>) {
        let is_built_so = project.text("setup.py").is_some_and(|text| text.contains("pbr=True"));
        let file = project.path("requirements.txt").filter(|_| is_built_so);
        if let Some(file) = file.filter(|file| !project.ci.files.contains(file)) {
            self.file("-r", project, &file);
        }
    }

    fn file(&mut self, option: &str, project: &Project<'_>, path: &RepoPath) {
        if project.checkout.contains(path.as_str()) {
            self.options.extend([option.to_owned(), relative(project, path)]);
        }
    }
}

/// What CI installs, as far as its lines say.
pub(super) fn of_ci(project: &Project<'_>, table: Option<&toml::Table>) -> Needs {
    let ci = project.ci;
    let mut needs = Needs::default();
    for (option, files) in [("-r", &ci.files), ("-c", &ci.constraints)] {
        files.iter().for_each(|path| needs.file(option, project, path));
    }
    needs.requirements = table.map(listed::dependencies).unwrap_or_default();
    if ci.all {
        let all = table.map(listed::requirements).unwrap_or_default();
        needs.requirements.extend(all.needed);
        needs
            .requirements
            .extend(table.map(listed::all_extras).unwrap_or_default());
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
    needs.of_pbr(project);
    needs
}

/// What the project's lists say.
pub(super) fn of_lists(project: &Project<'_>, table: Option<&toml::Table>, lists: &[&str]) -> Needs {
    let listed = table.map(listed::requirements).unwrap_or_default();
    let mut needs = Needs {
        requirements: listed.needed,
        optional: listed.optional,
        ..Needs::default()
    };
    for path in lists.iter().filter(|path| is_for_tests(path)) {
        needs.options.extend(["-r".to_owned(), (*path).to_owned()]);
    }
    let pipfile = project.text("Pipfile").unwrap_or_default();
    needs.requirements.extend(listed::of_pipfile(&pipfile));
    needs
}

pub(super) fn settings(project: &Project<'_>) -> Option<toml::Table> {
    project.text("pyproject.toml").and_then(|text| text.parse().ok())
}

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
pub(super) fn with_referenced(project: &Project<'_>, files: BTreeSet<RepoPath>) -> BTreeSet<RepoPath> {
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
pub(super) fn of_tox(project: &Project<'_>, listed: &[&str], wanted: &mut Vec<String>, described: &mut Vec<String>) {
    let settings = project.text("tox.ini").unwrap_or_default();
    for line in tox_requirements(&settings) {
        match line.strip_prefix("-r").map(str::trim) {
            Some(file) if listed.contains(&file) => wanted.extend(["-r".to_owned(), file.to_owned()]),
            Some(_) => {}
            None => described.push(line),
        }
    }
}

/// Files that list requirements, or that such files refer to.
pub(super) fn is_requirements(path: &str) -> bool {
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
