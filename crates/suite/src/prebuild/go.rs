//! The part of Go's standard library that a suite needs.
//!
//! Go ships its library as source. Its build cache names everything by the digest of what it was made from, so an entry
//! is the right one or is not found. The tree only says which packages are compiled, by names that Go itself has to
//! know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Access, Outcome};
use greenlight_tree::checkout::Workspace;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::install::{Store, StoredInstall};
use crate::prebuilt::{Compiled, mount};
use crate::suite::Suite;
use crate::text;
use crate::wrapper::{environment, in_wrapper};

/// Time limits for listing packages and for compiling them.
const LISTING: Duration = Duration::from_secs(60);
const COMPILING: Duration = Duration::from_secs(300);
/// The library has about 350 packages, including internal ones.
const MAX_PACKAGES: usize = 1_000;
/// Maximum length of a package name, in bytes.
const MAX_NAME: usize = 100;

/// Prints the version of Go, then the packages of its library that the tests of a module need.
const LIST: [&str; 3] = [
    "sh",
    "-c",
    "go env GOVERSION && go list -e -deps -test -f '{{if .Standard}}{{.ImportPath}}{{end}}' ./...",
];

/// Where the sandbox mounts the compiled library.
const LIBRARY: &str = "/go-library";
/// The variable that tells the wrapper where the library is.
const VARIABLE: &str = "GREENLIGHT_GO_LIBRARY";

/// Compiles the library for a suite. `None` if Go fails.
///
/// # Errors
/// When the sandbox fails.
pub(super) async fn share(
    suite: &Suite,
    workspace: &Workspace,
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<Option<Compiled>, sandbox::Error> {
    let Some(needed) = needed(suite, workspace, cancel).await? else {
        return Ok(None);
    };
    let store = Store::open(folder)?;
    let key = needed.key();
    let kept = match store.find(&key) {
        Some(kept) => kept,
        None => match compile(suite, &needed, (&store, &key), cancel).await? {
            Some(kept) => kept,
            None => return Ok(None),
        },
    };
    Ok(Some(Compiled {
        env: BTreeMap::from([(VARIABLE.to_owned(), LIBRARY.to_owned())]),
        mount: mount(kept.directory, LIBRARY, Access::ReadOnly),
    }))
}

/// Packages of the library of one version of Go.
#[derive(Debug, PartialEq, Eq)]
struct Needed {
    version: String,
    packages: BTreeSet<String>,
}

impl Needed {
    /// Reads what [`LIST`] printed in a tree that may lie: a name that Go's library cannot have is left out, and the rest
    /// is only ever given to Go as the name of a package.
    fn read(printed: &str) -> Option<Self> {
        let mut lines = printed.lines().map(str::trim);
        let version = lines.next().filter(|line| line.starts_with("go") && is_name(line))?;
        let packages: BTreeSet<String> = lines
            .filter(|name| is_name(name) && *name != "unsafe")
            .take(MAX_PACKAGES)
            .map(str::to_owned)
            .collect();
        (!packages.is_empty()).then(|| Self {
            version: version.to_owned(),
            packages,
        })
    }

    /// A module whose test needs these packages. Those that only the library itself can import come along.
    fn module(&self) -> [(&'static str, String); 3] {
        let is_importable = |name: &&String| !name.split('/').any(|part| matches!(part, "internal" | "vendor"));
        let imports: String = self
            .packages
            .iter()
            .filter(is_importable)
            .map(|name| format!("import _ \"{name}\"\n"))
            .collect();
        [
            ("go.mod", "module greenlight.invalid/library\n".to_owned()),
            ("library.go", format!("package library\n\n{imports}")),
            (
                "library_test.go",
                "package library\n\nimport _ \"testing\"\n".to_owned(),
            ),
        ]
    }

    fn key(&self) -> String {
        let mut digest = Sha256::new();
        for word in std::iter::once(&self.version).chain(&self.packages) {
            digest.update(word.as_bytes());
            digest.update([0]);
        }
        format!("go-library-{}", hex::encode(&digest.finalize()[..16]))
    }
}

/// Whether this can be the name of a package of the library, or of a version.
fn is_name(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    text.len() <= MAX_NAME && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(plain)
}

/// Asks Go which packages of its library the tests need. `None` if Go fails.
async fn needed(
    suite: &Suite,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<Option<Needed>, sandbox::Error> {
    let mut policy = suite.policy.clone();
    policy.limits.wall = LISTING;
    let directory = suite.command.directory.as_ref();
    let command = sandbox::Command {
        cwd: PathBuf::from(directory.map_or("", |directory| directory.as_str())),
        env: environment().into_iter().chain(suite.installed.env.clone()).collect(),
        mounts: suite.installed.mounts.clone(),
        ..sandbox::Command::new(
            in_wrapper(String::new(), ".".into(), LIST.map(str::to_owned).to_vec()),
            workspace.path(),
        )
    };
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    let printed = text::printed(&output.stdout, &output.stderr);
    Ok(Needed::read(&printed).filter(|_| output.outcome == Outcome::Exited(0)))
}

/// Compiles packages in a sandbox that sees only the toolchain and a generated module. `None` if Go fails or is
/// interrupted.
async fn compile(
    suite: &Suite,
    needed: &Needed,
    (store, key): (&Store, &str),
    cancel: &CancellationToken,
) -> Result<Option<StoredInstall>, sandbox::Error> {
    let new = store.begin()?;
    let module = tempfile::tempdir_in(&suite.workspaces)?;
    for (name, text) in needed.module() {
        std::fs::write(module.path().join(name), text)?;
    }
    let mut policy = suite.policy.clone();
    policy.limits.wall = COMPILING;
    // `go build` would leave out what vet, which is a part of `go test`, computes for each package.
    let mut command = sandbox::Command::new(["go", "test", "-run", "^$", "."], module.path());
    command.env = environment();
    command.env.insert("GOCACHE".into(), LIBRARY.into());
    command
        .mounts
        .push(mount(new.path().to_path_buf(), LIBRARY, Access::ReadWrite));
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    if output.outcome != Outcome::Exited(0) {
        tracing::debug!(outcome = ?output.outcome, "Go's library is not shared");
        return Ok(None);
    }
    let (store, key) = (store.clone(), key.to_owned());
    let kept = tokio::task::spawn_blocking(move || store.keep(new, &key, &[])).await;
    Ok(Some(kept.map_err(std::io::Error::other)??))
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
    }
}
