//! A Rust project without its code: manifests and lock file as they are, and an empty file for each target. Compiling it
//! compiles the crates that the project depends on, exactly as compiling the project does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use greenlight_tree::files;
use ignore::WalkBuilder;
use sha2::{Digest as _, Sha256};
use toml::{Table, Value};

/// Bounds on the project: how many entries are looked at, how deep they are, how many manifests are read, and the size
/// of all files together, in bytes.
const MAX_ENTRIES: usize = 50_000;
const MAX_DEPTH: usize = 12;
const MAX_MANIFESTS: usize = 1_000;
const MAX_BYTES: u64 = 16 << 20;

/// Directories without manifests of the project.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];
/// Files that decide how crates are compiled, besides manifests.
const SETTINGS: [&str; 3] = ["Cargo.lock", "rust-toolchain", "rust-toolchain.toml"];
const CARGO_SETTINGS: [&str; 2] = ["config", "config.toml"];

/// The entry point of a program or of a build script.
const PROGRAM: &str = "fn main() {}\n";
/// A library without content.
const LIBRARY: &str = "";

/// The files of a skeleton, relative to the root of the tree.
#[derive(Debug, Default)]
pub(super) struct Skeleton {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// The names of the project's own packages.
    packages: BTreeSet<String>,
}

impl Skeleton {
    /// Reads the skeleton of a project. `None` if it has no lock file, no manifest that can be read, or too many.
    pub(super) fn of(tree: &Path) -> Option<Self> {
        let all = entries(tree)?;
        let mut skeleton = Self::default();
        let mut manifests = Vec::new();
        let mut left = MAX_BYTES;
        for path in &all {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_setting = SETTINGS.contains(&name) || (CARGO_SETTINGS.contains(&name) && is_below_dot_cargo(path));
            if is_setting || name == "Cargo.toml" {
                let content = files::read_result(tree, path, left).ok()?;
                left = left.saturating_sub(content.len() as u64);
                if name == "Cargo.toml" {
                    let manifest: Table = toml::from_str(std::str::from_utf8(&content).ok()?).ok()?;
                    manifests.push((path.parent().unwrap_or(Path::new("")).to_owned(), manifest));
                }
                skeleton.files.insert(path.clone(), content);
            }
        }
        let has_lock = skeleton.files.keys().any(|path| path.ends_with("Cargo.lock"));
        if !has_lock || manifests.is_empty() || manifests.len() > MAX_MANIFESTS {
            return None;
        }
        for (directory, manifest) in &manifests {
            skeleton.add_package(directory, manifest, &all);
        }
        Some(skeleton)
    }

    /// Adds a file for each target of a package that the tree has one for.
    fn add_package(&mut self, directory: &Path, manifest: &Table, all: &BTreeSet<PathBuf>) {
        let Some(package) = manifest.get("package").and_then(Value::as_table) else {
            return;
        };
        if let Some(name) = package.get("name").and_then(Value::as_str) {
            self.packages.insert(name.to_owned());
        }
        let mut add = |path: &str, content: &str| {
            if let Some(path) = below(directory, path).filter(|path| all.contains(path)) {
                self.files.entry(path).or_insert_with(|| content.into());
            }
        };
        let path_of = |table: &Table| table.get("path").and_then(Value::as_str).map(str::to_owned);
        let library = manifest.get("lib").and_then(Value::as_table).and_then(path_of);
        add(library.as_deref().unwrap_or("src/lib.rs"), LIBRARY);
        add("src/main.rs", PROGRAM);
        match package.get("build") {
            Some(Value::String(path)) => add(path, PROGRAM),
            _ => add("build.rs", PROGRAM),
        }
        for (kind, folder) in [
            ("bin", "src/bin"),
            ("test", "tests"),
            ("bench", "benches"),
            ("example", "examples"),
        ] {
            let declared = manifest.get(kind).and_then(Value::as_array).into_iter().flatten();
            for target in declared.filter_map(Value::as_table) {
                match (path_of(target), target.get("name").and_then(Value::as_str)) {
                    (Some(path), _) => add(&path, PROGRAM),
                    (None, Some(name)) => {
                        add(&format!("{folder}/{name}.rs"), PROGRAM);
                        add(&format!("{folder}/{name}/main.rs"), PROGRAM);
                    }
                    (None, None) => {}
                }
            }
        }
        // Programs that no manifest declares; without one, a package may have no target at all.
        let programs = directory.join("src/bin");
        for path in all
            .range(programs.clone()..)
            .take_while(|path| path.starts_with(&programs))
        {
            if path.extension().is_some_and(|extension| extension == "rs") {
                self.files.entry(path.clone()).or_insert_with(|| PROGRAM.into());
            }
        }
    }

    /// The names of the project's own packages.
    pub(super) fn packages(&self) -> &BTreeSet<String> {
        &self.packages
    }

    /// Adds all files, with their names, to a digest.
    pub(super) fn digest(&self, digest: &mut Sha256) {
        for (path, content) in &self.files {
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update(content.len().to_le_bytes());
            digest.update(content);
        }
    }

    /// Writes the files into an empty directory.
    ///
    /// # Errors
    /// On I/O errors.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        for (path, content) in &self.files {
            let path = directory.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, content)?;
        }
        Ok(())
    }
}

/// The ordinary files of a tree, relative to its root. `None` if there are too many.
fn entries(tree: &Path) -> Option<BTreeSet<PathBuf>> {
    let walk = WalkBuilder::new(tree)
        .standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| !SKIPPED.iter().any(|name| entry.file_name() == *name))
        .build();
    let mut found = BTreeSet::new();
    for (seen, entry) in walk.flatten().enumerate() {
        if seen > MAX_ENTRIES {
            return None;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Ok(path) = entry.path().strip_prefix(tree)
        {
            found.insert(path.to_owned());
        }
    }
    Some(found)
}

fn is_below_dot_cargo(path: &Path) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(".cargo"))
}

/// A path in a manifest, relative to the root of the tree. `None` if it leads out of the tree.
fn below(directory: &Path, path: &str) -> Option<PathBuf> {
    let mut joined = directory.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::CurDir => {}
            Component::ParentDir => joined.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    fn shown(skeleton: &Skeleton) -> Vec<String> {
        let files = skeleton.files.iter();
        files
            .map(|(path, content)| format!("{} {}", path.display(), String::from_utf8_lossy(content).trim()))
            .filter(|line| !line.contains("Cargo."))
            .collect()
    }

    const LOCK: (&str, &str) = ("Cargo.lock", "version = 4\n");

    #[test]
    fn a_skeleton_has_every_target_and_no_code() {
        let tree = tree(&[
            LOCK,
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"crates/*\"]\n[package]\nname = \"all\"\n",
            ),
            ("src/main.rs", "fn main() { secret() }"),
            ("src/secret.rs", "pub fn secret() {}"),
            ("src/bin/tool.rs", "fn main() {}"),
            (".cargo/config.toml", "[build]\n"),
            ("tests/all.rs", "#[test] fn t() {}"),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"a\"\nbuild = \"make.rs\"\n[lib]\npath = \"lib/a.rs\"\n[[test]]\nname = \"own\"\n",
            ),
            ("crates/a/lib/a.rs", "pub fn a() {}"),
            ("crates/a/make.rs", "fn main() { steal() }"),
            ("crates/a/tests/own.rs", "#[test] fn t() {}"),
            ("target/Cargo.toml", "[package]\nname = \"output\"\n"),
        ]);
        let skeleton = Skeleton::of(tree.path()).unwrap();
        assert_eq!(
            shown(&skeleton),
            [
                ".cargo/config.toml [build]",
                "crates/a/lib/a.rs ",
                "crates/a/make.rs fn main() {}",
                "crates/a/tests/own.rs fn main() {}",
                "src/bin/tool.rs fn main() {}",
                "src/main.rs fn main() {}",
            ]
        );
        assert_eq!(skeleton.packages().iter().collect::<Vec<_>>(), ["a", "all"]);
    }

    #[test]
    fn nothing_outside_of_the_tree_is_read_or_written() {
        let outside = tree(&[("secret.toml", "[package]\nname = \"secret\"\n"), ("evil.rs", "")]);
        let link = outside.path().join("secret.toml");
        let absolute = outside.path().join("evil.rs").display().to_string();
        let manifest = format!(
            "[package]\nname = \"a\"\nbuild = \"../../../../tmp/x.rs\"\n[lib]\npath = \"{absolute}\"\n\
             [[bin]]\nname = \"b\"\npath = \"../up.rs\"\n"
        );
        let tree = tree(&[LOCK, ("Cargo.toml", &manifest), ("src/lib.rs", "")]);
        fs::create_dir(tree.path().join("linked")).unwrap();
        std::os::unix::fs::symlink(link, tree.path().join("linked/Cargo.toml")).unwrap();
        std::os::unix::fs::symlink(outside.path(), tree.path().join("away")).unwrap();
        let skeleton = Skeleton::of(tree.path()).unwrap();
        assert!(shown(&skeleton).is_empty(), "{skeleton:?}");
        let written = tempfile::tempdir().unwrap();
        skeleton.write(written.path()).unwrap();
        assert_eq!(fs::read_dir(written.path()).unwrap().count(), 2);
    }

    #[test]
    fn code_does_not_change_the_digest_and_manifests_do() {
        let key = |files: &[(&str, &str)]| {
            let tree = tree(files);
            let mut digest = Sha256::new();
            Skeleton::of(tree.path()).unwrap().digest(&mut digest);
            hex::encode(digest.finalize())
        };
        let package = ("Cargo.toml", "[package]\nname = \"a\"\n");
        let first = key(&[LOCK, package, ("src/lib.rs", "a")]);
        assert_eq!(first, key(&[LOCK, package, ("src/lib.rs", "b"), ("src/other.rs", "")]));
        assert_ne!(
            first,
            key(&[LOCK, ("Cargo.toml", "[package]\nname = \"b\"\n"), ("src/lib.rs", "a")])
        );
        assert_ne!(
            first,
            key(&[("Cargo.lock", "version = 3\n"), package, ("src/lib.rs", "a")])
        );
    }

    #[test]
    fn without_a_lock_file_or_a_readable_manifest_there_is_no_skeleton() {
        let package = ("Cargo.toml", "[package]\nname = \"a\"\n");
        assert!(Skeleton::of(tree(&[package]).path()).is_none());
        assert!(Skeleton::of(tree(&[LOCK, ("Cargo.toml", "[package")]).path()).is_none());
        assert!(Skeleton::of(tree(&[LOCK]).path()).is_none());
    }
}
