//! The virtual environment of a checkout, and what building the project left among its sources.
//!
//! The environment is shown where it lies, because its programs name themselves by their paths. An editable
//! installation in it points to the person's own tree, which is not there inside; the packages come from the copy
//! under test instead, which the import path names first.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::sandbox::{Access, Mount, WORKSPACE};
use crate::suite::{Framework, GENERATED, Installed, TestCommand};

/// What people call the folder of their environment.
const NAMES: [&str; 4] = [".venv", "venv", "env", ".env"];
/// Where tools keep the environments that they make.
const TOOLS: [&str; 2] = [".tox", ".nox"];
/// Where the environment is shown when it cannot be where it is.
const ELSEWHERE: &str = "/lent/venv";
/// More generated files than this are not the sources' companions any more.
const MAX_GENERATED: usize = 200;
/// Files and folders that are looked at for them.
const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 8;

/// `active` is the environment that the person works in, if any.
pub(super) fn lend(root: &Path, command: &TestCommand, active: Option<&Path>, lent: &mut Installed) {
    let uses_python = matches!(
        command.framework,
        Framework::Pytest
            | Framework::Unittest
            | Framework::Ruff
            | Framework::Mypy
            | Framework::Ctest
            | Framework::Other
    );
    if !uses_python {
        return;
    }
    let directory = command
        .directory
        .as_ref()
        .map_or_else(|| root.to_path_buf(), |below| root.join(below.as_str()));
    if let Some(environment) = environment(root, &directory, command.framework, active) {
        show(&environment, lent);
    }
    let generated = generated(&directory);
    if !generated.is_empty() {
        lent.env.insert("GREENLIGHT_GENERATED".into(), GENERATED.into());
        lent.mounts.extend(generated.iter().map(|path| Mount {
            source: directory.join(path),
            target: Path::new(GENERATED).join(path),
            access: Access::ReadOnly,
        }));
    }
}

/// The environment to use: of the folder, then the active one, then those of tox and nox; one that has pytest goes first
/// where pytest is wanted.
fn environment(root: &Path, directory: &Path, framework: Framework, active: Option<&Path>) -> Option<PathBuf> {
    let near = [directory, root]
        .into_iter()
        .flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let made = [directory, root]
        .into_iter()
        .flat_map(|folder| TOOLS.map(|name| folder.join(name)));
    let mut made: Vec<PathBuf> = made
        .filter_map(|tool| fs::read_dir(tool).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    made.sort_unstable();
    let all: Vec<PathBuf> = near
        .chain(active.map(Path::to_path_buf))
        .chain(made)
        .filter(|path| is_environment(path))
        .collect();
    let fits = |path: &&PathBuf| {
        framework != Framework::Pytest || packages(path).is_some_and(|site| site.join("pytest").is_dir())
    };
    all.iter().find(fits).or(all.first()).cloned()
}

fn is_environment(path: &Path) -> bool {
    path.is_absolute()
        && (path.join("pyvenv.cfg").is_file() || path.join("conda-meta").is_dir())
        && path.join("bin/python").exists()
}

/// `lib/python3.*/site-packages`
fn packages(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    versions
        .map(|version| version.path().join("site-packages"))
        .find(|site| site.is_dir())
}

fn show(environment: &Path, lent: &mut Installed) {
    let Ok(source) = environment.canonicalize() else { return };
    let taken = [WORKSPACE, "/proc", "/dev"]
        .iter()
        .any(|taken| environment.starts_with(taken));
    let target = if taken {
        PathBuf::from(ELSEWHERE)
    } else {
        environment.to_path_buf()
    };
    let Some(name) = target.to_str().filter(|name| !name.contains(':')) else {
        return lent.notes.push(format!(
            "{} has a name that cannot be on a search path, so it is not used",
            target.display()
        ));
    };
    lent.env.insert("VIRTUAL_ENV".into(), name.to_string());
    if let Some(base) = base(&source) {
        lent.mounts.push(Mount {
            source: base.clone(),
            target: base,
            access: Access::ReadOnly,
        });
    }
    lent.notes.push(format!(
        "the tests use the virtual environment {}",
        environment.display()
    ));
    lent.mounts.push(Mount {
        source,
        target,
        access: Access::ReadOnly,
    });
}

/// The Python that an environment was made from, where it is not one of the system's; a folder is one only if it has
/// the standard library, so that nothing else is ever shown.
fn base(environment: &Path) -> Option<PathBuf> {
    let settings = fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let home = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| value.trim().to_string())
    })?;
    let base = Path::new(&home).parent()?.canonicalize().ok()?;
    let is_shown = ["/usr", "/opt", "/nix", "/gnu"]
        .iter()
        .any(|system| base.starts_with(system))
        || base == Path::new("/");
    let mut versions = fs::read_dir(base.join("lib")).ok()?.flatten();
    (!is_shown && versions.any(|version| version.path().join("os.py").is_file())).then_some(base)
}

/// What git ignores although Python needs it, below a directory: modules that a build wrote (`_version.py`, compiled
/// ones) into packages, and descriptions of packages that are installed as they lie there.
fn generated(directory: &Path) -> Vec<PathBuf> {
    let tracked: BTreeSet<PathBuf> = walk(directory, true).collect();
    let is_wanted = |path: &PathBuf| {
        let in_package = path
            .parent()
            .is_some_and(|above| directory.join(above).join("__init__.py").is_file());
        let is_described = path
            .parent()
            .and_then(Path::extension)
            .is_some_and(|kind| kind == "egg-info");
        let kind = path.extension().and_then(|kind| kind.to_str());
        is_described || (in_package && matches!(kind, Some("py" | "so" | "pyd" | "typed")))
    };
    let mut found: Vec<PathBuf> = walk(directory, false)
        .filter(|path| !tracked.contains(path))
        .filter(is_wanted)
        .take(MAX_GENERATED + 1)
        .collect();
    found.sort_unstable();
    if found.len() > MAX_GENERATED { Vec::new() } else { found }
}

fn walk(directory: &Path, respect_ignore_files: bool) -> impl Iterator<Item = PathBuf> {
    const FOREIGN: [&str; 8] = [
        ".git",
        "node_modules",
        "__pycache__",
        "site-packages",
        "build",
        "dist",
        "target",
        ".tox",
    ];
    let root = directory.to_path_buf();
    let mut walk = WalkBuilder::new(directory);
    walk.standard_filters(false)
        .git_ignore(respect_ignore_files)
        .git_exclude(respect_ignore_files)
        .parents(respect_ignore_files)
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| {
            let is_foreign = FOREIGN.iter().any(|name| entry.file_name() == *name);
            !is_foreign && !entry.path().join("pyvenv.cfg").exists()
        });
    walk.build()
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(move |entry| Some(entry.path().strip_prefix(&root).ok()?.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::suite::Source;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn lent(root: &Path, active: Option<&Path>) -> Installed {
        let command = TestCommand {
            argv: vec!["pytest".into()],
            directory: None,
            framework: Framework::Pytest,
            source: Source::Settings,
            timeout: Duration::from_secs(1),
            import_root: None,
            env: BTreeMap::new(),
        };
        let mut lent = Installed::default();
        lend(root, &command, active, &mut lent);
        lent
    }

    #[test]
    fn the_environment_that_has_pytest_is_shown_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(
            root,
            &[("venv/pyvenv.cfg", "home = /usr/bin\n"), ("venv/bin/python", "")],
        );
        let other = tempfile::tempdir().unwrap();
        let active = other.path();
        write(
            active,
            &[
                ("pyvenv.cfg", "home = /nowhere/bin\n"),
                ("bin/python", ""),
                ("lib/python3.11/site-packages/pytest/__init__.py", ""),
            ],
        );
        let environment = |lent: Installed| lent.env.get("VIRTUAL_ENV").cloned();
        assert_eq!(
            environment(lent(root, None)),
            root.join("venv").to_str().map(str::to_string)
        );
        assert_eq!(
            environment(lent(root, Some(active))),
            active.to_str().map(str::to_string)
        );
        assert!(
            lent(root, Some(active))
                .mounts
                .iter()
                .all(|mount| mount.access == Access::ReadOnly)
        );
        assert_eq!(environment(lent(&root.join("nowhere"), None)), None);
    }

    #[test]
    fn what_a_build_left_among_the_sources_is_lent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(
            root,
            &[
                (".gitignore", "_version.py\n*.so\n*.egg-info\nsecrets.py\n"),
                ("src/shop/__init__.py", ""),
                ("src/shop/_version.py", ""),
                ("src/shop/fast.so", ""),
                ("src/shop.egg-info/entry_points.txt", ""),
                ("secrets.py", ""),
                ("venv/pyvenv.cfg", ""),
                ("venv/lib/x/__init__.py", ""),
                ("venv/lib/x/y.so", ""),
            ],
        );
        let lent = lent(root, None);
        let targets: Vec<&str> = lent.mounts.iter().filter_map(|mount| mount.target.to_str()).collect();
        assert_eq!(
            targets,
            [
                "/generated/src/shop/_version.py",
                "/generated/src/shop/fast.so",
                "/generated/src/shop.egg-info/entry_points.txt"
            ]
        );
    }
}
