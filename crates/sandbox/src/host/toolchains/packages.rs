//! Packages outside of the system's own directories: the parts of `/opt` and `/usr/local` that a command may see.
//! These may contain anything, so only packages that the user runs programs from are mounted, without what looks like
//! settings or data.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

/// Where people unpack software manually.
pub(super) const ROOTS: [&str; 2] = ["/opt", "/usr/local"];

/// Directories of `/usr/local` with programs, libraries and their data. `etc`, `src`, `var` and directories with any
/// other name are excluded, unless the search path refers to them.
pub(super) const LOCAL: [&str; 13] = [
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "share",
    "include",
    "go",
    "man",
    "games",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// The maximum number of links that are followed to a program.
const MAX_LINKS: usize = 16;

/// The packages below each root that this search path refers to, by a directory or by a link to a program, and others
/// there that commands are known to need. Outer directories come first.
pub(super) fn find<const N: usize>(roots: [&Path; N], path: &OsStr) -> [BTreeSet<PathBuf>; N] {
    let mut found = roots.map(|root| {
        // The tool cache of GitHub's runners, see <https://github.com/actions/toolkit/tree/main/packages/tool-cache>.
        let mut known = BTreeSet::from([root.join("hostedtoolcache")]);
        known.extend(runtimes(root));
        known.extend(libraries(root));
        known
    });
    let mut directories = Directories::default();
    let usual = ["/usr/local/bin", "/usr/bin"].map(PathBuf::from);
    for directory in env::split_paths(path).chain(usual) {
        for (root, found) in roots.iter().zip(&mut found) {
            found.extend(directories.packages_of(&directory, root).into_iter().flatten());
        }
        let links = fs::read_dir(&directory).into_iter().flatten().flatten();
        for link in links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())) {
            for program in directories.link_chain(link.path()) {
                let Some(parent) = program.parent() else { continue };
                for (root, found) in roots.iter().zip(&mut found) {
                    if parent == *root {
                        found.insert(program.clone());
                    } else {
                        found.extend(directories.packages_of(parent, root).into_iter().flatten());
                    }
                }
            }
        }
    }
    found
}

/// The parts of a package to mount: all of it, unless an entry at its top level does not belong to its programs.
pub(super) fn pieces(package: &Path) -> Vec<PathBuf> {
    let is_directory = fs::symlink_metadata(package).is_ok_and(|meta| meta.is_dir());
    let entries: Vec<PathBuf> = fs::read_dir(package)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let has_private = |entries: &[PathBuf]| entries.iter().any(|entry| is_private(entry));
    // Maven keeps its logging configuration beside its `settings.xml`, which contains passwords.
    let conf = package.join("conf");
    let beside_settings = if is_directory && entries.contains(&conf) {
        pieces(&conf)
    } else {
        Vec::new()
    };
    let conf_is_whole = beside_settings.is_empty() || beside_settings == [conf.clone()];
    if !has_private(&entries) && conf_is_whole {
        return vec![package.to_owned()];
    }
    let shown = entries
        .into_iter()
        .filter(|entry| !is_private(entry) && (conf_is_whole || *entry != conf));
    let rest = if conf_is_whole { Vec::new() } else { beside_settings };
    shown.chain(rest).collect()
}

/// Whether a CI agent with its credentials is installed there.
pub(super) fn is_agent(package: &Path) -> bool {
    [".credentials", ".runner", ".agent"]
        .iter()
        .any(|name| package.join(name).exists())
}

/// Whether the name of a package's top-level entry suggests settings, data or credentials.
fn is_private(entry: &Path) -> bool {
    const NAMES: [&str; 26] = [
        "etc",
        "var",
        "data",
        "db",
        "log",
        "logs",
        "run",
        "tmp",
        "home",
        "config",
        "configs",
        "configuration",
        "settings",
        "settings-security",
        "credentials",
        "credential",
        "secret",
        "secrets",
        "password",
        "passwords",
        "passwd",
        "token",
        "tokens",
        "private",
        "backup",
        "backups",
    ];
    const ENDINGS: [&str; 8] = [".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx", ".properties"];
    let name = entry.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    name.starts_with('.') || NAMES.contains(&stem) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The resolved names of directories. A search path has thousands of links, most of them to the same few directories,
/// and resolving each of them takes longer than all else that is needed to start a sandbox.
#[derive(Default)]
struct Directories(HashMap<PathBuf, Option<PathBuf>>);

impl Directories {
    /// The name of a directory without links, if it exists.
    fn resolved(&mut self, directory: &Path) -> Option<&Path> {
        if !self.0.contains_key(directory) {
            self.0.insert(directory.to_owned(), directory.canonicalize().ok());
        }
        self.0.get(directory)?.as_deref()
    }

    /// The packages that a directory of programs belongs to, by its name and by its resolved name.
    fn packages_of(&mut self, directory: &Path, root: &Path) -> [Option<PathBuf>; 2] {
        let resolved = self.resolved(directory).and_then(|name| package_of(name, root));
        [package_of(directory, root), resolved]
    }

    /// Every file in a chain of links; each must exist inside.
    fn link_chain(&mut self, mut link: PathBuf) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for _ in 0..MAX_LINKS {
            let Ok(content) = fs::read_link(&link) else { break };
            let mut target = link.parent().unwrap_or(Path::new("/")).to_owned();
            for part in content.components() {
                match part {
                    Component::ParentDir => drop(target.pop()),
                    Component::CurDir => {}
                    part => target.push(part),
                }
            }
            found.push(target.clone());
            link = target;
        }
        if let (Some(parent), Some(name)) = (link.parent(), link.file_name())
            && let Some(parent) = self.resolved(parent)
        {
            found.push(parent.join(name));
        }
        found
    }
}

/// The package that a directory of programs belongs to, by this name.
fn package_of(directory: &Path, root: &Path) -> Option<PathBuf> {
    let below = directory.strip_prefix(root).ok()?;
    let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || below.as_os_str().is_empty() {
        return None;
    }
    let is_part = ["bin", "sbin", "shims", "condabin", "libexec"]
        .iter()
        .any(|name| below.file_name() == Some(OsStr::new(name)));
    match directory.parent() {
        Some(holder) if is_part && holder != root => Some(holder.to_owned()),
        _ => Some(directory.to_owned()),
    }
}

/// Java runtimes at or directly below a root, which build tools find without the search path.
fn runtimes(root: &Path) -> Vec<PathBuf> {
    let below = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let top = below(root);
    let inner: Vec<PathBuf> = top.iter().flat_map(|directory| below(directory)).collect();
    let is_runtime = |path: &PathBuf| path.join("bin/java").is_file() && path.join("release").is_file();
    top.into_iter().chain(inner).filter(is_runtime).collect()
}

/// The directories below a root that the dynamic linker searches, see ld.so.conf(5).
fn libraries(root: &Path) -> Vec<PathBuf> {
    let more = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    let files = more.map(|entry| entry.path()).chain(["/etc/ld.so.conf".into()]);
    let mut found = Vec::new();
    for text in files.filter_map(|file| fs::read_to_string(file).ok()) {
        let lines = text.lines().map(|line| Path::new(line.trim()));
        found.extend(
            lines
                .filter(|line| line.starts_with(root) && *line != root)
                .map(Path::to_owned),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn root(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in files {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        (place, root)
    }

    #[track_caller]
    fn check(root: &Path, path: &[&str], expected: &[&str]) {
        let path = env::join_paths(path.iter().map(|name| root.join(name))).unwrap();
        let [mut found] = find([root], &path);
        found.remove(&root.join("hostedtoolcache"));
        let names: Vec<_> = found
            .iter()
            .map(|package| package.strip_prefix(root).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_package_is_found_by_the_search_path_and_its_siblings_are_not() {
        let (_place, root) = root(&[
            "maven/bin/mvn",
            "x/.env",
            "zig/zig",
            "bin/tool",
            "tools/go/bin/go",
            "tools/x",
        ]);
        check(&root, &["maven/bin"], &["maven"]);
        check(&root, &["zig", "tools/go/bin"], &["tools/go", "zig"]);
        check(&root, &["bin"], &["bin"]);
        check(&root, &["", "maven/../x/bin", "missing/.."], &[]);
    }

    #[test]
    fn a_link_to_a_program_leads_to_its_package_by_every_name_on_the_way() {
        let (_place, root) = root(&["gradle-8/bin/gradle", "links/empty", "x/.env", "single"]);
        symlink("gradle-8", root.join("gradle")).unwrap();
        symlink(root.join("gradle/bin/gradle"), root.join("links/gradle")).unwrap();
        symlink(root.join("single"), root.join("links/single")).unwrap();
        symlink("loop", root.join("links/loop")).unwrap();
        check(&root, &["links"], &["gradle", "gradle-8", "links", "single"]);
    }

    #[test]
    fn a_runtime_of_java_is_found_without_a_search_path() {
        let (_place, root) = root(&[
            "java/openjdk/bin/java",
            "java/openjdk/release",
            "jdk-21/bin/java",
            "jdk-21/release",
        ]);
        fs::create_dir_all(root.join("x/bin/java")).unwrap();
        check(&root, &[], &["java/openjdk", "jdk-21"]);
    }

    #[test]
    fn settings_and_data_of_a_package_stay_outside() {
        let files = ["a/bin/x", "a/lib/y", "a/VERSION"];
        let (_place, plain) = root(&files);
        assert_eq!(pieces(&plain.join("a")), [plain.join("a")]);
        for private in [
            ".env",
            "etc/x",
            "config.yml",
            "credentials.toml",
            "server.KEY",
            "prod.env",
            ".git/config",
        ] {
            let (_place, root) = root(&files);
            let file = root.join("a").join(private);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            let mut shown = pieces(&root.join("a"));
            shown.sort();
            assert_eq!(
                shown,
                ["VERSION", "bin", "lib"].map(|name| root.join("a").join(name)),
                "{private}"
            );
        }
        let (_place, maven) = root(&["m/bin/mvn", "m/conf/settings.xml", "m/conf/logging/x"]);
        let mut shown = pieces(&maven.join("m"));
        shown.sort();
        assert_eq!(shown, ["bin", "conf/logging"].map(|name| maven.join("m").join(name)));
    }
}
