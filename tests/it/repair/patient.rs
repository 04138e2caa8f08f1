//! A tree with a fault, and everything that a search needs to know about it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight::checkout::Checkout;
use greenlight::domain::id::RepoPath;
use greenlight::domain::patch::{Blob, Patch};
use greenlight::domain::test_run::TestRun;
use greenlight::repair::{self, Budget, End, LeftOut, PassingPatch, Progress, Task, ToolFix};
use greenlight::sandbox::Policy;
use greenlight::suite::{self, Prebuilt, Suite, TestSettings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const BUDGET: Budget = Budget {
    candidates: 300,
    wall: Duration::from_secs(300),
};

/// For tests that fool any edit or none: each edit that a forger meets costs a process.
pub(crate) const A_FEW: Budget = Budget {
    candidates: 8,
    ..BUDGET
};

/// A tree, its suite and its failing run.
pub(crate) struct Patient {
    pub(crate) checkout: Checkout,
    pub(crate) suite: Suite,
    pub(crate) before: TestRun,
    pub(crate) changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    pub(crate) originals: BTreeMap<RepoPath, String>,
    pub(crate) protected: Vec<&'static str>,
    pub(crate) excluded: Vec<String>,
    pub(crate) turned_down: Vec<Patch>,
    _directories: Vec<TempDir>,
}

impl Patient {
    pub(crate) async fn fixture(name: &str) -> Self {
        Self::new(&fixture(name)).await
    }

    pub(crate) async fn written(files: &[(&str, &str)]) -> Self {
        Self::new(directory_with(files).path()).await
    }

    /// The same, with files beside a person's checkout that are shared with the tests.
    pub(crate) async fn lent(files: &[(&str, &str)], beside: &[(&str, &str)]) -> Self {
        let beside = directory_with(beside);
        Self::with(directory_with(files).path(), None, Some(beside), None).await
    }

    /// The same with `[test] command` set.
    pub(crate) async fn commanded(files: &[(&str, &str)], command: &str) -> Self {
        Self::with(directory_with(files).path(), Some(command), None, None).await
    }

    /// The same, but the failing run was ended after this time, because its tests never end.
    pub(crate) async fn endless(files: &[(&str, &str)], after: Duration) -> Self {
        Self::with(directory_with(files).path(), None, None, Some(after)).await
    }

    async fn new(root: &Path) -> Self {
        Self::with(root, None, None, None).await
    }

    async fn with(root: &Path, command: Option<&str>, beside: Option<TempDir>, after: Option<Duration>) -> Self {
        let settings = TestSettings {
            command: command.map(Into::into),
            timeout: None,
        };
        // A copy, because the tree of a real run is never inside another repository.
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        copy(root, directories[0].path());
        let checkout = Checkout::open(directories[0].path()).unwrap();
        let command = suite::find(&checkout, &settings, &suite::Hints::default()).unwrap();
        let lent = beside
            .as_ref()
            .map(|beside| suite::reuse_installed(beside.path(), &command, None));
        let suite = Suite {
            sandbox: crate::harness::sandbox().await,
            command,
            policy: Policy::default(),
            workspaces: directories[1].path().to_path_buf(),
            installed: lent.unwrap_or_default(),
            // One for all tests, and for the next time that they run.
            prebuilt: Prebuilt::kept_in(crate::harness::stores()),
            cold_proof: false,
            purpose: greenlight::suite::Purpose::default(),
            clock: greenlight::suite::RunClock::default(),
        };
        let mut ended = suite.clone();
        ended.command.timeout = after.unwrap_or(ended.command.timeout);
        let before = suite::run_fresh(&ended, &checkout, &[], &CancellationToken::new())
            .await
            .unwrap();
        Self {
            checkout,
            suite,
            before,
            changed: BTreeMap::new(),
            originals: BTreeMap::new(),
            protected: Vec::new(),
            excluded: Vec::new(),
            turned_down: Vec::new(),
            _directories: directories.into_iter().chain(beside).collect(),
        }
    }

    pub(crate) async fn search(&self, budget: Budget) -> End {
        let cancel = CancellationToken::new();
        self.watched(budget, &mut |_| {}, &cancel).await
    }

    pub(crate) async fn watched(
        &self,
        budget: Budget,
        progress: &mut (dyn FnMut(Progress) + Send),
        cancel: &CancellationToken,
    ) -> End {
        let protected = |path: &RepoPath| self.protected.contains(&path.as_str());
        let task = self.task(&protected);
        repair::search(&task, &budget, progress, cancel).await.unwrap()
    }

    pub(crate) async fn tool_fixes(&self, cancel: &CancellationToken) -> Vec<ToolFix> {
        repair::tool_fixes(&self.task(&|path| self.protected.contains(&path.as_str())), cancel)
            .await
            .unwrap()
    }

    fn task<'a>(&'a self, protected: &'a (dyn Fn(&RepoPath) -> bool + Sync)) -> Task<'a> {
        Task {
            checkout: &self.checkout,
            suite: &self.suite,
            before: &self.before,
            changed: &self.changed,
            originals: &self.originals,
            protected,
            excluded: &self.excluded,
            turned_down: &self.turned_down,
            tried: &[],
            left_out: LeftOut::default(),
        }
    }

    pub(crate) async fn found(&self) -> PassingPatch {
        match self.search(BUDGET).await {
            End::Found(found) => *found,
            other => panic!("not repaired: {other:?}\nbefore: {:#?}", self.before),
        }
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/repos")
        .join(name)
}

/// A new directory with these files. Those with a `#!` line are executable.
fn directory_with(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    directory
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub(crate) fn tree(checkout: &Checkout) -> BTreeMap<String, Blob> {
    let read = |path: &&RepoPath| (path.to_string(), checkout.read(path).unwrap());
    checkout.paths().iter().map(read).collect()
}

/// The lines of one file that are not in another version of it.
pub(crate) fn changed_lines(from: &Path, to: &Path, path: &str) -> (RepoPath, Vec<RangeInclusive<u32>>) {
    let read = |root: &Path| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let (from, to) = (read(from), read(to));
    let lines = similar::TextDiff::from_lines(&from, &to)
        .iter_all_changes()
        .filter(|change| change.tag() == similar::ChangeTag::Insert)
        .map(|change| u32::try_from(change.new_index().unwrap()).unwrap() + 1)
        .map(|line| line..=line)
        .collect();
    (path.parse().unwrap(), lines)
}
