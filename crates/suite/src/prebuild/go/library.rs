//! Go's standard library, compiled once for all repositories.
//!
//! When it is compiled, nothing of any repository is seen: neither files, nor variables, nor an installed toolchain. A
//! tree only chooses, by their names, which of the library's own packages are compiled first.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::{Backend, Outcome, Policy};
use tokio_util::sync::CancellationToken;

use super::{COMPILING, Compiling, LISTING, Needed, Sees, keep};
use crate::install::{Store, StoredInstall};
use crate::suite::Suite;
use crate::text;
use crate::wrapper::environment;

/// How many results with only some packages are kept for a version of Go. The next one has all packages, so a stranger
/// who names other packages each time cannot fill the disk.
const MAX_PARTIAL: usize = 4;
/// How often it is looked whether another process has finished compiling.
const LOOK: Duration = Duration::from_millis(100);

/// Prints the version of Go, and all packages of its library.
const LIST: [&str; 3] = ["sh", "-c", "go env GOVERSION && go list std"];

/// A result that contains the packages of the library that a suite needs, compiled now if there is none. `None` if Go
/// fails, or if the repository is tested by another Go than the machine's.
///
/// # Errors
/// When the sandbox or the folder fails.
pub(super) async fn of_everyone(
    suite: &Suite,
    needed: &Needed,
    folder: &Path,
    cancel: &CancellationToken,
) -> Result<Option<StoredInstall>, sandbox::Error> {
    // A container has the Go of its image.
    if !matches!(suite.sandbox.backend(), Backend::Native | Backend::Bubblewrap) {
        return Ok(None);
    }
    let store = Store::open(folder)?;
    if let Some(found) = Kept::of(&store, &needed.version).containing(&store, needed) {
        return Ok(Some(found));
    }
    let Some(_lock) = alone(&store, cancel).await? else {
        return Ok(None);
    };
    // Another process may have compiled it meanwhile.
    let kept = Kept::of(&store, &needed.version);
    if let Some(found) = kept.containing(&store, needed) {
        return Ok(Some(found));
    }
    let Some(all) = all(suite, cancel).await?.filter(|all| all.version == needed.version) else {
        return Ok(None);
    };
    let wanted = needed.of_library(&all, kept.0.len());
    // Of what the tree named, these are the packages that exist.
    if let Some(found) = kept.containing(&store, &wanted) {
        return Ok(Some(found));
    }
    let largest = kept.largest(&store);
    let compiling = Compiling {
        suite,
        needed: &wanted,
        begins_with: largest.as_ref().map(|kept| kept.directory.as_path()),
        sees: Sees::Nothing,
    };
    let Some(new) = compiling.run(&store, cancel).await? else {
        return Ok(None);
    };
    // The result also contains what it began with.
    let before = largest
        .as_ref()
        .and_then(|kept| kept.notes.get(1..))
        .unwrap_or_default();
    let packages: BTreeSet<String> = before.iter().cloned().chain(wanted.packages.iter().cloned()).collect();
    let notes = std::iter::once(wanted.version.clone()).chain(packages);
    Ok(Some(keep(&store, new, &wanted.key(), notes.collect()).await?))
}

impl Needed {
    /// What is compiled after this number of results: what a tree named, if it exists, or everything.
    fn of_library(&self, all: &Self, results: usize) -> Self {
        if results >= MAX_PARTIAL {
            return all.clone();
        }
        Self {
            packages: self.packages.intersection(&all.packages).cloned().collect(),
            ..self.without_others()
        }
    }
}

/// The results for one version of Go: their keys and packages.
struct Kept(Vec<(String, Vec<String>)>);

impl Kept {
    fn of(store: &Store, version: &str) -> Self {
        let of_version = store.all().into_iter().filter_map(|(key, mut notes)| {
            (notes.first().map(String::as_str) == Some(version)).then(|| (key, notes.split_off(1)))
        });
        Self(of_version.collect())
    }

    /// The smallest result with all of these packages of the library: each run links to what it finds.
    fn containing(&self, store: &Store, needed: &Needed) -> Option<StoredInstall> {
        let contains = |packages: &[String]| {
            needed
                .packages
                .iter()
                .all(|package| packages.binary_search(package).is_ok())
        };
        let suitable = self.0.iter().filter(|(_, packages)| contains(packages));
        let (key, _) = suitable.min_by_key(|(_, packages)| packages.len())?;
        store.find(key)
    }

    fn largest(&self, store: &Store) -> Option<StoredInstall> {
        let (key, _) = self.0.iter().max_by_key(|(_, packages)| packages.len())?;
        store.find(key)
    }
}

/// Asks the machine's Go for its version and its library. `None` if there is no Go.
async fn all(suite: &Suite, cancel: &CancellationToken) -> Result<Option<Needed>, sandbox::Error> {
    let mut policy = Policy::default();
    policy.limits.wall = LISTING;
    let nowhere = tempfile::tempdir_in(&suite.workspaces)?;
    let mut command = sandbox::Command::new(LIST, nowhere.path());
    command.env = environment();
    let output = suite.sandbox.exec(&command, &policy, cancel).await?;
    if output.outcome != Outcome::Exited(0) {
        return Ok(None);
    }
    Ok(Needed::read(&text::printed(&output.stdout, &output.stderr)))
}

/// Waits until no other process compiles the library, and keeps others from it until the lock is dropped. `None` if that
/// takes longer than compiling it, or is cancelled.
async fn alone(store: &Store, cancel: &CancellationToken) -> io::Result<Option<File>> {
    let lock = store.lock()?;
    let mut looks = tokio::time::interval(LOOK);
    let free = async {
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => drop(looks.tick().await),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    };
    let waited = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(None),
        waited = tokio::time::timeout(COMPILING, free) => waited,
    };
    Ok(match waited {
        Ok(locked) => Some(locked.map(|()| lock)?),
        Err(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(packages: &str) -> Needed {
        Needed::read(&format!("go1.26.8\n{packages}")).unwrap()
    }

    #[test]
    fn a_tree_chooses_among_the_packages_of_the_library_and_not_for_ever() {
        let all = needed("errors\nfmt\nio\nos\n");
        let named = needed("fmt\nnot/there\nother example.com/x\n");
        assert_eq!(named.of_library(&all, 0), needed("fmt\n"));
        assert_eq!(named.of_library(&all, MAX_PARTIAL), all);
    }

    #[test]
    fn the_smallest_result_with_all_packages_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for (key, notes) in [
            ("a", ["go1.26.8", "fmt", "io", "os"].as_slice()),
            ("b", &["go1.26.8", "fmt", "os"]),
            ("c", &["go1.25.1", "fmt"]),
        ] {
            let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
            store.keep(store.begin().unwrap(), key, &notes).unwrap();
        }
        let kept = Kept::of(&store, "go1.26.8");
        let found = |packages| kept.containing(&store, &needed(packages)).map(|found| found.directory);
        assert_eq!(found("os\n"), Some(folder.path().join("b")));
        assert_eq!(found("io\n"), Some(folder.path().join("a")));
        assert_eq!(found("net\n"), None);
        assert_eq!(kept.largest(&store).unwrap().directory, folder.path().join("a"));
        assert!(Kept::of(&store, "go1.24.0").largest(&store).is_none());
    }

    #[tokio::test]
    async fn one_process_at_a_time_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let cancel = CancellationToken::new();
        let first = alone(&store, &cancel).await.unwrap();
        assert!(first.is_some());
        let mut second = Box::pin(alone(&store, &cancel));
        let waits = tokio::time::timeout(LOOK, &mut second).await;
        assert!(waits.is_err(), "the first is still at it");
        drop(first);
        assert!(second.await.unwrap().is_some());
        cancel.cancel();
        assert!(alone(&store, &cancel).await.unwrap().is_none());
    }
}
