//! The virtual environment of a checkout, and the Python that it is based on.
//!
//! The environment keeps its path, because its programs contain it. An editable installation in it points to the
//! person's own tree, which is not visible in the sandbox; these packages come from the copy under test instead,
//! which is first on the import path.
//!
//! Somebody else may have made the checkout, and can put an environment into it, or a link that leads to any of the
//! person's folders. So only the folders that every environment has are shown, never others beside them, and no link
//! out of an environment is followed.

use std::fs;
use std::path::{Component, Path, PathBuf};

use greenlight_sandbox::{Access, Mount, WORKSPACE};

use super::generated;
use crate::framework::{Ecosystem, Framework};
use crate::install::Installed;
use crate::test_command::TestCommand;

/// Common names of environment folders.
const NAMES: [&str; 4] = [".venv", "venv", "env", ".env"];
/// Folders in which tools keep their environments.
const TOOLS: [&str; 2] = [".tox", ".nox"];
/// Where the environment is mounted if it cannot keep its path.
const ELSEWHERE: &str = "/lent/venv";
/// The parts of an environment that hold only files of packages.
const PARTS: [&str; 7] = ["pyvenv.cfg", "bin", "lib", "lib64", "include", "share", "ssl"];
/// The parts that an environment uses of its base Python.
const PARTS_OF_BASE: [&str; 3] = ["bin", "lib", "lib64"];
/// What every sandbox shows anyway.
const SYSTEM: [&str; 4] = ["/usr", "/opt", "/nix", "/gnu"];
/// Maximum size of `pyvenv.cfg`, in bytes.
const MAX_SETTINGS: u64 = 64 << 10;

/// Shares the environment. `active` is the one that is active in the person's shell, if any.
pub(super) fn reuse(root: &Path, command: &TestCommand, active: Option<&Path>, reused: &mut Installed) {
    if !command.framework.uses(Ecosystem::Python) {
        return;
    }
    let directory = command
        .directory
        .as_ref()
        .map_or_else(|| root.to_path_buf(), |below| root.join(below.as_str()));
    if let Some(environment) = environment(root, &directory, command.framework, active) {
        show(root, &environment, reused);
    }
    generated::reuse(&directory, reused);
}

/// The environment to use: one in the folder, then the active one, then those of tox and nox. An environment that
/// contains the framework takes precedence.
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
        .filter(|path| !is_around(path, root))
        .chain(active.map(Path::to_path_buf))
        .chain(made.into_iter().filter(|path| !is_around(path, root)))
        .filter(|path| is_environment(path))
        .collect();
    let fits = |path: &&PathBuf| {
        let own = framework.spec().package;
        own.is_none_or(|package| packages(path).is_some_and(|site| site.join(package).is_dir()))
    };
    all.iter().find(fits).or(all.first()).cloned()
}

fn is_environment(path: &Path) -> bool {
    path.is_absolute()
        && (path.join("pyvenv.cfg").is_file() || path.join("conda-meta").is_dir())
        && path.join("bin/python").exists()
}

/// Whether a folder contains the whole checkout. An environment in the checkout only can if it is a link.
fn is_around(path: &Path, root: &Path) -> bool {
    let real = path.canonicalize().ok().zip(root.canonicalize().ok());
    real.is_none_or(|(path, root)| root.starts_with(path))
}

/// `lib/python3.*/site-packages`
fn packages(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    versions
        .map(|version| version.path().join("site-packages"))
        .find(|site| site.is_dir())
}

fn show(root: &Path, environment: &Path, reused: &mut Installed) {
    let Ok(source) = environment.canonicalize() else { return };
    let taken = [WORKSPACE, "/proc", "/dev"]
        .iter()
        .any(|taken| environment.starts_with(taken));
    let target = if taken {
        PathBuf::from(ELSEWHERE)
    } else {
        environment.to_path_buf()
    };
    let Some(name) = target.to_str().filter(|name| !name.contains([':', '\n'])) else {
        return reused.notes.push(format!(
            "{} has a name that cannot be on a search path, so it is not used",
            target.display()
        ));
    };
    reused.env.insert("VIRTUAL_ENV".into(), name.to_string());
    if let Some((base, named)) = base(root, &source) {
        reused.mounts.extend(parts(&base, &base, &PARTS_OF_BASE));
        if named != base {
            // The environment's links refer to it by this name.
            reused.mounts.extend(parts(&base, &named, &PARTS_OF_BASE));
        }
    }
    reused.notes.push(format!(
        "the tests use the virtual environment {}",
        environment.display()
    ));
    reused.mounts.extend(parts(&source, &target, &PARTS));
}

/// Those parts of a folder that exist and are not links out of it.
fn parts(source: &Path, target: &Path, names: &[&str]) -> Vec<Mount> {
    let part = |name: &&str| {
        let real = source.join(name).canonicalize().ok()?;
        let is_inside = real.starts_with(source) && real != source;
        is_inside.then(|| Mount {
            source: real,
            target: target.join(name),
            access: Access::ReadOnly,
        })
    };
    names.iter().filter_map(part).collect()
}

/// The Python that an environment is based on, unless it is the system's. To make sure that nothing else is ever
/// shown, the folder must contain the standard library and must be unrelated to the checkout. Returns its real path,
/// and the path that the environment uses.
fn base(root: &Path, environment: &Path) -> Option<(PathBuf, PathBuf)> {
    let settings = environment.join("pyvenv.cfg");
    // Opening anything but a regular file could block forever.
    if settings.metadata().ok()?.len() > MAX_SETTINGS || !settings.is_file() {
        return None;
    }
    let settings = fs::read_to_string(settings).ok()?;
    let home = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "home").then(|| value.trim().to_string())
    })?;
    let home = Path::new(&home);
    // A relative path, or one through `/proc`, means something different to every reader.
    let is_plain = home
        .components()
        .skip(1)
        .all(|part| matches!(part, Component::Normal(_)));
    let cannot_be = [WORKSPACE, "/proc", "/dev"].iter().any(|taken| home.starts_with(taken));
    if !home.is_absolute() || !is_plain || cannot_be {
        return None;
    }
    let named = home.parent()?.to_path_buf();
    let base = named.canonicalize().ok()?;
    let is_shown = |path: &Path| SYSTEM.iter().any(|system| path.starts_with(system)) || path == Path::new("/");
    if is_shown(&base) || is_around(&base, root) || base.starts_with(root.canonicalize().ok()?) {
        return None;
    }
    let mut versions = fs::read_dir(base.join("lib")).ok()?.flatten();
    versions
        .any(|version| version.path().join("os.py").is_file())
        .then(|| (base.clone(), if is_shown(&named) { base } else { named }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::test_command::Source;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn reused(root: &Path, active: Option<&Path>) -> Installed {
        let command = TestCommand::new(vec!["pytest".into()], Framework::Pytest, Source::Settings);
        let mut reused = Installed::default();
        reuse(root, &command, active, &mut reused);
        reused
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
        let environment = |reused: Installed| reused.env.get("VIRTUAL_ENV").cloned();
        assert_eq!(
            environment(reused(root, None)),
            root.join("venv").to_str().map(str::to_string)
        );
        assert_eq!(
            environment(reused(root, Some(active))),
            active.to_str().map(str::to_string)
        );
        assert!(
            reused(root, Some(active))
                .mounts
                .iter()
                .all(|mount| mount.access == Access::ReadOnly)
        );
        assert_eq!(environment(reused(&root.join("nowhere"), None)), None);
    }

    /// Ways in which somebody else's checkout could try to have other folders shown.
    #[test]
    fn nothing_but_the_parts_of_an_environment_is_ever_shown() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("checkout");
        let python = [("pyvenv.cfg", ""), ("bin/python", ""), ("prod.key", "")];
        write(
            &home,
            &[("lib/python3/os.py", ""), (".ssh/id", ""), (".ssh/bin/python", "")],
        );
        let sources = |root: &Path, active: Option<&Path>| {
            let reused = reused(root, active);
            let sources = reused.mounts.into_iter().map(|mount| mount.source);
            sources.collect::<BTreeSet<PathBuf>>()
        };
        // The checkout itself, or a folder around it, through a link.
        write(&root, &python);
        write(&home, &python);
        for target in [".", "..", "../../../../.."] {
            std::os::unix::fs::symlink(target, root.join("venv")).unwrap();
            assert_eq!(sources(&root, None), BTreeSet::new(), "{target}");
            fs::remove_file(root.join("venv")).unwrap();
        }
        // A folder that pretends to be an environment shows only the parts of one, and no links out of it.
        write(&root.join("env"), &python);
        for (link, target) in [
            ("lib", home.join(".ssh")),
            ("share", home.clone()),
            ("include", "..".into()),
            ("ssl", ".".into()),
        ] {
            std::os::unix::fs::symlink(target, root.join("env").join(link)).unwrap();
        }
        std::os::unix::fs::symlink("bin", root.join("env/lib64")).unwrap();
        let shown = ["bin", "pyvenv.cfg"].map(|name| root.join("env").join(name));
        assert_eq!(sources(&root, None), shown.clone().into());
        // The base Python cannot be near the checkout, nor have a path that only the reader can resolve.
        for base in [
            home.join("bin"),
            root.join("bin"),
            "bin".into(),
            "./bin".into(),
            "/proc/self/cwd/bin".into(),
            "/proc/self/root/bin".into(),
        ] {
            write(&root, &[("lib/x/os.py", "")]);
            write(
                &root.join("env"),
                &[("pyvenv.cfg", &format!("home = {}\n", base.display()))],
            );
            assert_eq!(sources(&root, None), shown.clone().into(), "{}", base.display());
        }
        // Of a Python elsewhere, too, only its parts are shown.
        let elsewhere = home.join("pythons/3.11");
        write(
            &elsewhere,
            &[("lib/python3.11/os.py", ""), ("bin/python3", ""), ("notes.txt", "")],
        );
        let settings = format!("home = {}\n", elsewhere.join("bin").display());
        write(&root.join("env"), &[("pyvenv.cfg", &settings)]);
        let base = ["bin", "lib"].map(|name| elsewhere.join(name));
        assert_eq!(sources(&root, None), shown.into_iter().chain(base).collect());
        // A pipe in place of the settings does not block.
        fs::remove_file(root.join("env/pyvenv.cfg")).unwrap();
        fs::create_dir_all(root.join("env/conda-meta")).unwrap();
        let pipe = std::ffi::CString::new(root.join("env/pyvenv.cfg").to_str().unwrap()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(sources(&root, None).contains(&root.join("env/bin")));
    }
}
