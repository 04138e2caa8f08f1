//! What a Go module imports: the standard library, which Go ships as source, and packages of other modules.
//!
//! Go's build cache names everything by the digest of what it was made from, so an entry is the right one or is not
//! found. The library is compiled once for all repositories, and what else a repository imports, for that one. The tree
//! only says which packages are compiled, by their names, and in which versions, by `go.mod` and
//! `go.sum`. None of them runs: they are compiled and vetted.

mod library;
mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Access, Outcome, Policy};
use greenlight_tree::checkout::Workspace;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::install::{New, Store, StoredInstall};
use crate::prebuilt::{Compiled, Stores, mount};
use crate::run::not_our_own;
use crate::run_clock::Purpose;
use crate::suite::Suite;
use crate::wrapper::environment;

/// Time limits for listing packages and for compiling them.
const LISTING: Duration = Duration::from_secs(60);
const COMPILING: Duration = Duration::from_secs(300);
/// The library has about 350 packages, including internal ones; those of other modules are counted apart.
const MAX_PACKAGES: usize = 1_000;
/// How many lines of the list are read. Packages that are compiled for tests are listed several times.
const MAX_LINES: usize = 20_000;
/// Maximum length of a package name, in bytes.
const MAX_NAME: usize = 100;

/// Marks packages of other modules in the list.
const OTHER: &str = "other ";

/// Where the sandbox mounts the compiled library.
const LIBRARY: &str = "/go-library";
/// The variable that tells the wrapper where the library is.
const VARIABLE: &str = "GREENLIGHT_GO_LIBRARY";

/// Compiles for a suite what its tests import. `None` if Go fails.
///
/// # Errors
/// When the sandbox fails.
pub(super) async fn share(
    suite: &Suite,
    workspace: (&Workspace, bool),
    folders: &Stores,
    cancel: &CancellationToken,
) -> Result<Option<Compiled>, sandbox::Error> {
    let Some(needed) = listing::needed(suite, workspace, &folders.repository, cancel).await? else {
        return Ok(None);
    };
    let library = library::of_everyone(suite, &needed, &folders.everyone, cancel).await?;
    let kept = match library {
        Some(library) if needed.others.is_empty() => Some(library),
        library => of_repository(suite, &needed, (&folders.repository, library), cancel).await?,
    };
    Ok(kept.map(|kept| Compiled {
        env: BTreeMap::from([(VARIABLE.to_owned(), LIBRARY.to_owned())]),
        mount: mount(kept.directory, LIBRARY, Access::ReadOnly),
    }))
}

/// Compiles it for one repository, with the sources of the other modules that its tests import.
async fn of_repository(
    suite: &Suite,
    needed: &Needed,
    (folder, library): (&Path, Option<StoredInstall>),
    cancel: &CancellationToken,
) -> Result<Option<StoredInstall>, sandbox::Error> {
    let store = Store::open(folder)?;
    let key = needed.key();
    if let Some(kept) = store.find(&key) {
        return Ok(Some(kept));
    }
    let mut compiling = Compiling {
        suite,
        needed,
        begins_with: library.as_ref().map(|library| library.directory.as_path()),
        sees: Sees::OtherModules,
    };
    if let Some(new) = compiling.run(&store, cancel).await? {
        return Ok(Some(keep(&store, new, &key, Vec::new()).await?));
    }
    // A package of another module may need more than Go.
    let alone = needed.without_others();
    if library.is_some() || alone == *needed {
        return Ok(library);
    }
    compiling.needed = &alone;
    Ok(match compiling.run(&store, cancel).await? {
        Some(new) => Some(keep(&store, new, &key, Vec::new()).await?),
        None => None,
    })
}

/// What is compiled by one version of Go.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Needed {
    version: String,
    /// Packages of the library.
    packages: BTreeSet<String>,
    /// Packages of other modules.
    others: BTreeSet<String>,
    /// `go.mod` and `go.sum`, which say which versions of other modules are meant.
    versions: Option<[Vec<u8>; 2]>,
}

impl Needed {
    /// Reads what [`listing`] gets from a tree that may lie: a name that no package can have is left out, and the rest is
    /// only ever given to Go as the name of a package.
    fn read(printed: &str) -> Option<Self> {
        let mut lines = printed.lines().map(str::trim);
        let version = lines.next().filter(|line| line.starts_with("go") && is_name(line))?;
        let (mut packages, mut others) = (BTreeSet::new(), BTreeSet::new());
        for line in lines.take(MAX_LINES) {
            match line.strip_prefix(OTHER) {
                Some(name) if is_other_name(name) && others.len() < MAX_PACKAGES => {
                    others.insert(name.to_owned());
                }
                None if is_name(line) && line != "unsafe" && packages.len() < MAX_PACKAGES => {
                    packages.insert(line.to_owned());
                }
                _ => {}
            }
        }
        (!packages.is_empty()).then(|| Self {
            version: version.to_owned(),
            packages,
            others,
            versions: None,
        })
    }

    /// The library alone.
    fn without_others(&self) -> Self {
        Self {
            others: BTreeSet::new(),
            versions: None,
            ..self.clone()
        }
    }

    /// With the versions of other modules, or without their packages if there are none.
    fn with_versions(self, versions: Option<[Vec<u8>; 2]>) -> Self {
        match versions {
            None => self.without_others(),
            versions if !self.others.is_empty() => Self { versions, ..self },
            _ => self,
        }
    }

    /// A module whose test needs these packages. Those that only others can import come along.
    fn module(&self) -> Vec<(&'static str, Vec<u8>)> {
        let is_importable = |name: &&String| !name.split('/').any(|part| matches!(part, "internal" | "vendor"));
        let all = self.packages.iter().chain(&self.others);
        let imports: String = all
            .filter(is_importable)
            .map(|name| format!("import _ \"{name}\"\n"))
            .collect();
        let mut files = vec![
            ("library.go", format!("package library\n\n{imports}").into_bytes()),
            ("library_test.go", "package library\n\nimport _ \"testing\"\n".into()),
        ];
        match &self.versions {
            Some([module, sums]) => files.extend([("go.mod", module.clone()), ("go.sum", sums.clone())]),
            None => files.push(("go.mod", "module greenlight.invalid/library\n".into())),
        }
        files
    }

    fn key(&self) -> String {
        let mut digest = Sha256::new();
        let names = std::iter::once(&self.version).chain(&self.packages).chain(&self.others);
        let versions = self.versions.iter().flatten().map(Vec::as_slice);
        for word in names.map(String::as_bytes).chain(versions) {
            digest.update(word.len().to_le_bytes());
            digest.update(word);
        }
        format!("go-{}", hex::encode(&digest.finalize()[..16]))
    }
}

/// Whether this can be the name of a package of the library, or of a version.
fn is_name(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    text.len() <= MAX_NAME && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(plain)
}

/// Whether this can be the name of a package of another module, whose first part is a host:
/// <https://go.dev/ref/mod#go-mod-file-ident>.
fn is_other_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'~');
    let host = text.split('/').next().unwrap_or_default();
    let is_host = host.contains('.') && host.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.len() <= MAX_NAME && is_host && text.bytes().all(plain)
}

/// What a compilation sees besides the toolchain and a generated module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    /// Nothing of any repository, nor its limits: Go does not fail if there is no room for what it keeps.
    Nothing,
    /// The sources of other modules, as they were installed, and the variables of the installation.
    OtherModules,
}

/// A compilation of packages, in a sandbox that does not see the project's code.
struct Compiling<'a> {
    suite: &'a Suite,
    needed: &'a Needed,
    /// Build output to begin with.
    begins_with: Option<&'a Path>,
    sees: Sees,
}

impl Compiling<'_> {
    /// Compiles the packages into a new result of a store. `None` if Go fails or is interrupted.
    async fn run(&self, store: &Store, cancel: &CancellationToken) -> Result<Option<New>, sandbox::Error> {
        let suite = self.suite;
        let new = store.begin()?;
        if let Some(from) = self.begins_with {
            let (from, to) = (from.to_path_buf(), new.path().to_path_buf());
            let copied = tokio::task::spawn_blocking(move || copy(&from, &to)).await;
            copied.map_err(std::io::Error::other)??;
        }
        let module = tempfile::tempdir_in(&suite.workspaces)?;
        for (name, text) in self.needed.module() {
            std::fs::write(module.path().join(name), text)?;
        }
        let mut policy = match self.sees {
            Sees::Nothing => Policy::default(),
            Sees::OtherModules => suite.policy.clone(),
        };
        policy.limits.wall = COMPILING;
        // `go build` would leave out what vet, which is a part of `go test`, computes for each package. No test runs, nor
        // does what packages do when they are loaded.
        let argv = ["go", "test", "-exec", "true", "."];
        let mut command = sandbox::Command::new(argv, module.path());
        command.env = environment();
        if self.sees == Sees::OtherModules {
            command.env.extend(not_our_own(&suite.installed.env));
            command.mounts.clone_from(&suite.installed.mounts);
        }
        command.env.insert("GOCACHE".into(), LIBRARY.into());
        command
            .mounts
            .push(mount(new.path().to_path_buf(), LIBRARY, Access::ReadWrite));
        let begun = suite.clock.begins(Purpose::Preparation);
        let output = suite.sandbox.exec(&command, &policy, cancel).await?;
        suite.clock.add_preparation(output.wall);
        drop(begun);
        if output.outcome != Outcome::Exited(0) {
            tracing::debug!(outcome = ?output.outcome, sees = ?self.sees, "what Go imports is not shared");
            return Ok(None);
        }
        Ok(Some(new))
    }
}

/// Copies Go's build cache: files in folders of one level.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

async fn keep(store: &Store, new: New, key: &str, notes: Vec<String>) -> std::io::Result<StoredInstall> {
    let (store, key) = (store.clone(), key.to_owned());
    let kept = tokio::task::spawn_blocking(move || store.keep(new, &key, &notes)).await;
    kept.map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_packages_are_taken_from_a_tree() {
        let printed = "go1.26.8\nfmt\nnet/http\nunsafe\n-toolexec=/bin/sh\n./evil\n../up\nA\ncrypto/internal/fips140\n";
        let needed = Needed::read(printed).unwrap();
        assert_eq!(needed.version, "go1.26.8");
        let packages: Vec<&str> = needed.packages.iter().map(String::as_str).collect();
        assert_eq!(packages, ["crypto/internal/fips140", "fmt", "net/http"]);
        assert_eq!(Needed::read("bash: go: not found\n"), None);
        assert_eq!(Needed::read("go1.26.8\n"), None);
        let printed = "go1.26.8\nfmt\nother github.com/BurntSushi/toml\nother gopkg.in/yaml.v3\nother a/b\nother -x.y/z\n\
                       other a.b/c [a.b/c.test]\nother a.b/\"\n";
        let others = Needed::read(printed).unwrap().others;
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        assert_eq!(others, ["github.com/BurntSushi/toml", "gopkg.in/yaml.v3"]);
        let many: String = (0..5_000).map(|n| format!("p{n}\n")).collect();
        assert_eq!(
            Needed::read(&format!("go1.26.8\n{many}")).unwrap().packages.len(),
            MAX_PACKAGES
        );
    }

    #[test]
    fn another_version_or_package_is_another_library() {
        let key = |printed| Needed::read(printed).unwrap().key();
        assert_eq!(key("go1.26.8\nfmt\nos\n"), key("go1.26.8\nos\nfmt\nfmt\n"));
        assert_ne!(key("go1.26.8\nfmt\n"), key("go1.26.8\nfmt\nos\n"));
        assert_ne!(key("go1.26.8\nfmt\n"), key("go1.25.1\nfmt\n"));
        let of = |sums: &str| {
            let needed = Needed::read("go1.26.8\nfmt\nother a.b/c\n").unwrap();
            needed.with_versions(Some([b"module x\n".to_vec(), sums.into()])).key()
        };
        assert_ne!(of("a.b/c v1.0.0 h1:x=\n"), of("a.b/c v1.0.1 h1:y=\n"));
        // Nobody can say which version of another module is meant, so only the library is compiled.
        let needed = Needed::read("go1.26.8\nfmt\nother a.b/c\n")
            .unwrap()
            .with_versions(None);
        assert_eq!(needed.key(), key("go1.26.8\nfmt\n"));
    }
}
