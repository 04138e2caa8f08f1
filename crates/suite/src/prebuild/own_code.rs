//! What a Rust tree's own code compiles to, before any of its tests runs. Kept for exactly this tree.
//!
//! The tree is compiled in a run without its tests, and what Cargo wrote is kept under a digest of all files of the tree,
//! the command, its variables, and what was installed and compiled for it. The next run of the same tree begins with a
//! copy. So nothing that tests leave behind is there in the next run, and a build script only ever decides about trees
//! that contain it.
//!
//! Cargo compares times of files, so all files of a fresh copy get the same old one. What a build writes among the sources
//! would be missing in the next run, so the output of such a build is not kept. What it writes outside of the tree is gone
//! when the tests run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Access, Outcome};
use greenlight_tree::checkout::Workspace;
use greenlight_units::clock::millis;
use ignore::WalkBuilder;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::crates;
use crate::install::{OF_TREE, Store};
use crate::prebuilt::{Compiled, mount};
use crate::run::{blocking, in_place, wrapped};
use crate::run_clock::Purpose;
use crate::suite::Suite;

/// Where the sandbox mounts the output, and the variables that tell the wrapper where it is and where the tree has it.
const OUTPUT: &str = "/compiled-tree";
const VARIABLES: [&str; 2] = ["GREENLIGHT_TREE", "GREENLIGHT_TREE_IN"];

/// Bounds on a tree and on its output: how many files, how many bytes in all, and how deep.
const MAX_FILES: usize = 50_000;
const MAX_BYTES: u64 = 256 << 20;
const MAX_DEPTH: usize = 40;

/// The time of all files, counted from 1970: long before anything was compiled.
const OLD: Duration = Duration::from_secs(1_000_000_000);
/// What Cargo writes for the next edit, which takes more room than all else, and a lock that each run makes.
const LEFT_OUT: [&str; 2] = ["incremental", ".cargo-lock"];

/// What a run of a tree begins with.
#[derive(Debug, Default)]
pub(crate) struct OwnCode {
    /// The output, if the tree was compiled in an earlier run.
    pub(crate) compiled: Option<Compiled>,
    /// How long it took, then or just now.
    pub(crate) took: Duration,
}

/// Finds what a tree compiles to, or compiles it in its untouched workspace and keeps the output. Only a run of all tests
/// is sure to need all of it.
///
/// # Errors
/// When the sandbox or the folder fails. Code that does not compile is no error: the tests will say so.
pub(super) async fn of_tree(
    suite: &Suite,
    workspace: &Workspace,
    (env, is_whole): (&BTreeMap<String, String>, bool),
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<OwnCode, sandbox::Error> {
    let Some((command, output)) = crates::compiling(suite).zip(suite.env().remove(crates::OUTPUT)) else {
        return Ok(OwnCode::default());
    };
    // Output that belongs to the tree decides what is compiled, and may be what another tree compiles to.
    if workspace.path().join(&output).symlink_metadata().is_ok() {
        return Ok(OwnCode::default());
    }
    let (tree, within) = (workspace.path().to_path_buf(), PathBuf::from(&output));
    let before = blocking(move || make_old(&tree).and_then(|()| TreeDigest::of(&tree, Some(&within)))).await?;
    let Some(before) = before.unwrap_or_else(|error| not_kept(&error)) else {
        return Ok(OwnCode::default());
    };
    let store = Store::open(folder)?;
    let key = key(&before.whole, (&command.argv, env), suite);
    if let Some(kept) = store.find(&key) {
        let values = [OUTPUT, &output].map(str::to_owned);
        return Ok(OwnCode {
            compiled: Some(Compiled {
                env: VARIABLES.map(str::to_owned).into_iter().zip(values).collect(),
                mount: mount(kept.directory, OUTPUT, Access::ReadOnly),
            }),
            took: Duration::from_millis(kept.notes.first().and_then(|took| took.parse().ok()).unwrap_or(0)),
        });
    }
    // An edit that is tried will hardly be tried again.
    if !is_whole || suite.purpose == Purpose::Search {
        return Ok(OwnCode::default());
    }
    let compiled = compile(suite, workspace, (command.argv, env), cancel).await?;
    let took = compiled.wall;
    let (tree, is_complete) = (workspace.path().to_path_buf(), compiled.outcome == Outcome::Exited(0));
    let keep = move || -> io::Result<()> {
        let (new, output) = (store.begin()?, Path::new(&output));
        let after = TreeDigest::of(&tree, Some(output))?;
        let is_unchanged = after.is_some_and(|after| after.sources == before.sources);
        // A build may have put a link to anywhere in its place.
        let is_inside = crates::leads_inside(&tree, output);
        if is_unchanged && is_inside && Copy::default().all(&tree.join(output), new.path(), 0)? {
            store.keep(new, &key, &[millis(took).to_string()])?;
        }
        Ok(())
    };
    // A build script can leave anything behind.
    if is_complete {
        blocking(keep).await?.unwrap_or_else(|error| not_kept(&error));
    }
    Ok(OwnCode { compiled: None, took })
}

fn not_kept<T: Default>(error: &io::Error) -> T {
    tracing::debug!(%error, "what a tree compiles to is not kept");
    T::default()
}

/// Compiles the code and the tests of a workspace, without running a test.
async fn compile(
    suite: &Suite,
    workspace: &Workspace,
    (argv, env): (Vec<String>, &BTreeMap<String, String>),
    cancel: &CancellationToken,
) -> Result<sandbox::Output, sandbox::Error> {
    let mut policy = suite.policy.clone();
    policy.limits.wall = suite.command.timeout;
    let run = sandbox::Command {
        cwd: in_place(&suite.command),
        env: env.clone(),
        mounts: suite.mounts(),
        ..sandbox::Command::new(wrapped(&suite.command, argv), workspace.path())
    };
    let begun = suite.clock.begins(Purpose::Preparation);
    let output = suite.sandbox.exec(&run, &policy, cancel).await?;
    suite.clock.add_preparation(output.wall);
    drop(begun);
    Ok(output)
}

/// What a tree's output is kept under.
fn key(tree: &[u8], (argv, env): (&[String], &BTreeMap<String, String>), suite: &Suite) -> String {
    let mut digest = Sha256::new();
    let variables = env.iter().flat_map(|(name, value)| [name, value]);
    let words = argv.iter().chain(variables).map(|word| word.as_bytes().to_vec());
    // What is installed and compiled for a tree is in folders that are named after what it was made from.
    let mounts = suite.mounts().into_iter();
    let mounts = mounts.map(|mount| mount.source.into_os_string().into_encoded_bytes());
    let below = in_place(&suite.command).into_os_string().into_encoded_bytes();
    for word in [tree.to_vec(), below].into_iter().chain(words).chain(mounts) {
        digest.update(word.len().to_le_bytes());
        digest.update(word);
    }
    format!("{OF_TREE}{}", hex::encode(&digest.finalize()[..16]))
}

/// Everything in a tree, parents first.
fn entries(tree: &Path, except: Option<PathBuf>) -> ignore::Walk {
    WalkBuilder::new(tree)
        .standard_filters(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| Some(entry.path()) != except.as_deref())
        .build()
}

/// Gives everything in a tree the same old time.
fn make_old(tree: &Path) -> io::Result<()> {
    let old = SystemTime::UNIX_EPOCH + OLD;
    for entry in entries(tree, None) {
        let entry = entry.map_err(io::Error::other)?;
        if entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_dir()) {
            File::open(entry.path())?.set_modified(old)?;
        }
    }
    Ok(())
}

/// A digest of every path, mode and content of a tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TreeDigest {
    pub(super) whole: Vec<u8>,
    /// Without the lock file, which Cargo writes in its own form.
    sources: Vec<u8>,
}

impl TreeDigest {
    /// Of a tree without its build output. `None` if there is too much of it.
    pub(super) fn of(tree: &Path, output: Option<&Path>) -> io::Result<Option<Self>> {
        let (mut whole, mut sources) = (Sha256::new(), Sha256::new());
        let (mut files, mut bytes) = (0, 0);
        for entry in entries(tree, output.map(|output| tree.join(output))) {
            let entry = entry.map_err(io::Error::other)?;
            let (path, metadata) = (entry.path(), entry.metadata().map_err(io::Error::other)?);
            files += 1;
            bytes += metadata.len();
            // What is below would not be seen.
            if files > MAX_FILES || bytes > MAX_BYTES || entry.depth() >= MAX_DEPTH {
                return Ok(None);
            }
            // The sandbox changes who may read and write.
            let (kind, content) = match metadata.file_type() {
                kind if kind.is_dir() => (*b"d", Vec::new()),
                kind if kind.is_symlink() => (*b"l", fs::read_link(path)?.into_os_string().into_encoded_bytes()),
                kind if kind.is_file() && metadata.mode() & 0o100 != 0 => (*b"x", fs::read(path)?),
                kind if kind.is_file() => (*b"f", fs::read(path)?),
                _ => return Ok(None),
            };
            let name = path.strip_prefix(tree).unwrap_or(path).as_os_str().as_encoded_bytes();
            let is_lock = entry.file_name() == "Cargo.lock";
            for digest in [Some(&mut whole), Some(&mut sources).filter(|_| !is_lock)]
                .into_iter()
                .flatten()
            {
                digest.update(kind);
                for part in [name, &content] {
                    digest.update(part.len().to_le_bytes());
                    digest.update(part);
                }
            }
        }
        Ok(Some(Self {
            whole: whole.finalize().to_vec(),
            sources: sources.finalize().to_vec(),
        }))
    }
}

/// How much of a build output was copied.
#[derive(Default)]
struct Copy {
    files: usize,
    bytes: u64,
}

impl Copy {
    /// Copies a folder of build output with the times of its files. Links to shared crates are left out, because every run
    /// makes them. `false` if there is too much of it, or if it has other links, which would lead elsewhere in a copy.
    fn all(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<bool> {
        for entry in fs::read_dir(from)? {
            let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let (metadata, target) = (entry.symlink_metadata()?, to.join(&name));
            let is_in_profile = depth > 0 && from.join(".fingerprint").is_dir();
            if is_in_profile && LEFT_OUT.iter().any(|left_out| name == *left_out) {
                continue;
            }
            self.files += 1;
            self.bytes += metadata.len();
            if self.files > MAX_FILES || self.bytes > MAX_BYTES || depth >= MAX_DEPTH {
                return Ok(false);
            }
            match metadata.file_type() {
                kind if kind.is_dir() => {
                    fs::create_dir(&target)?;
                    if !self.all(&entry, &target, depth + 1)? {
                        return Ok(false);
                    }
                }
                kind if kind.is_file() => {
                    fs::copy(&entry, &target)?;
                    File::open(&target)?.set_modified(metadata.modified()?)?;
                }
                kind if kind.is_symlink() && fs::read_link(&entry)?.starts_with(crates::CRATES) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn digest(tree: &Path) -> Option<TreeDigest> {
        TreeDigest::of(tree, Some(Path::new("target"))).unwrap()
    }

    #[test]
    fn every_difference_of_trees_shows() {
        let files = [("src/lib.rs", "a"), ("Cargo.lock", "l"), ("target/debug/x", "y")];
        let first = tree(&files);
        let same = digest(first.path());
        assert!(
            same.is_some() && same == digest(tree(&files[..2]).path()),
            "build output does not count"
        );
        for other in [
            [("src/lib.rs", "b"), files[1]],
            [("src/lib2.rs", "a"), files[1]],
            [("src/l/ib.rs", "a"), files[1]],
        ] {
            assert_ne!(same, digest(tree(&other).path()), "{other:?}");
        }
        let locked = digest(tree(&[files[0], ("Cargo.lock", "m")]).path()).unwrap();
        let same = same.unwrap();
        assert!(same.whole != locked.whole && same.sources == locked.sources);
        let program = first.path().join("src/lib.rs");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(digest(first.path()), Some(same));
        symlink("src", first.path().join("link")).unwrap();
        let linked = digest(first.path());
        fs::remove_file(first.path().join("link")).unwrap();
        fs::write(first.path().join("link"), "src").unwrap();
        assert!(linked.is_some() && linked != digest(first.path()), "a link is no file");
        let deep = vec!["d"; MAX_DEPTH + 1].join("/");
        assert_eq!(
            digest(tree(&[(&deep, "")]).path()),
            None,
            "what is deep would be missed"
        );
    }

    #[test]
    fn a_copy_has_no_links_and_is_bounded() {
        let output = tree(&[
            ("debug/deps/a.rlib", "a"),
            ("debug/incremental/b", "b"),
            ("debug/.cargo-lock", ""),
        ]);
        let outside = tree(&[("secret", "s")]);
        fs::create_dir(output.path().join("debug/.fingerprint")).unwrap();
        symlink(
            "/crates/target/debug/deps/b.rlib",
            output.path().join("debug/deps/b.rlib"),
        )
        .unwrap();
        make_old(output.path()).unwrap();
        let kept = tempfile::tempdir().unwrap();
        assert!(Copy::default().all(output.path(), kept.path(), 0).unwrap());
        let names: Vec<String> = WalkBuilder::new(kept.path())
            .standard_filters(false)
            .build()
            .flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
            .map(|entry| entry.path().strip_prefix(kept.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["debug/deps/a.rlib"]);
        let copied = kept
            .path()
            .join("debug/deps/a.rlib")
            .metadata()
            .unwrap()
            .modified()
            .unwrap();
        assert_eq!(copied, SystemTime::UNIX_EPOCH + OLD);
        symlink(outside.path().join("secret"), output.path().join("debug/deps/secret")).unwrap();
        let other = tempfile::tempdir().unwrap();
        assert!(
            !Copy::default().all(output.path(), other.path(), 0).unwrap(),
            "a link elsewhere"
        );
        let mut full = Copy {
            files: MAX_FILES,
            bytes: 0,
        };
        let again = tempfile::tempdir().unwrap();
        assert!(!full.all(output.path(), again.path(), 0).unwrap());
    }
}
