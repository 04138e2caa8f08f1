//! What the tools work on, and what they may do with it: a checkout whose edits are held in memory, and, where it is
//! allowed, its tests in a workspace of their own.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::model::Live;
use super::{Error, Limits};
use crate::checkout::{self, Checkout, Workspace};
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};
use crate::domain::proposal::Bounds;
use crate::domain::redact::visible;
use crate::domain::test_path::{decides_how_tests_run, is_ci_path};
use crate::domain::test_run::TestRun;
use crate::suite::{self, Suite};

/// The largest file a tool may leave behind, in bytes.
const MAX_WRITE: usize = 1 << 20;
/// A clock cannot be asked for a time that is too far away.
const LONGEST_WALL: Duration = Duration::from_secs(30 * 24 * 3600);
/// The tool that ends an explanation, and nothing else.
pub(super) const ONLY_TO_EXPLAIN: &[&str] = &["explain"];
/// What stands in a tool's result where a credential stood.
const REDACTED: &str = "[redacted]";

/// A tree to work on, and the rules for it.
pub struct Shell<'a> {
    /// The tree with the edits made so far.
    pub checkout: Checkout,
    /// How to run the tests. None: nothing may be executed, and the tool for it is not offered.
    pub tests: Option<Suite>,
    pub bounds: Bounds<'a>,
    pub limits: Limits,
    /// Tools that this run is not offered.
    pub without: &'static [&'static str],
    /// Why a file must stay as it is, besides being protected.
    pub leave_alone: &'a (dyn Fn(&RepoPath) -> Option<String> + Send + Sync),
    /// How many more calls may be put before a person; at none, what would have to be is refused at once.
    pub may_ask: u32,
    /// Host names that a person may grant to such a call.
    pub grantable: Vec<String>,
    /// Hears of the model's replies as they come in.
    pub live: &'a Live,
    /// When the time of the limits is used up.
    pub(super) deadline: Instant,
    /// The tree as the transcript found it.
    start: Checkout,
    workspace: Option<InUse>,
}

/// A workspace, and what it differs from the original tree by.
struct InUse {
    workspace: Workspace,
    patch: Patch,
}

impl<'a> Shell<'a> {
    /// A shell over a tree as the transcript finds it; a workspace is made when tests are first run.
    pub fn new(checkout: Checkout, tests: Option<Suite>, bounds: Bounds<'a>, limits: Limits) -> Self {
        Self {
            start: checkout.clone(),
            checkout,
            tests,
            bounds,
            limits,
            without: ONLY_TO_EXPLAIN,
            leave_alone: &|_| None,
            may_ask: 0,
            grantable: Vec::new(),
            live: &|_| {},
            deadline: Instant::now() + limits.wall.min(LONGEST_WALL),
            workspace: None,
        }
    }

    pub(super) fn may_execute(&self) -> bool {
        self.tests.is_some()
    }

    /// Forgets every edit made through this shell.
    pub(super) fn start_over(&mut self) {
        self.checkout = self.start.clone();
    }

    /// Removes a file that was made through this shell; false if there is none of this path.
    pub(super) fn take_back(&mut self, path: &RepoPath) -> bool {
        if (self.leave_alone)(path).is_some() {
            return false;
        }
        let was_made = self.checkout.contains(path.as_str()) && self.checkout.read_original(path).is_none();
        if was_made {
            self.checkout.edit(path.clone(), None);
        }
        was_made
    }

    /// Puts a text in place of a file, or says in a sentence why that may not be.
    pub(super) fn write(&mut self, path: &RepoPath, text: String) -> Result<(), String> {
        if (self.bounds.is_protected)(path) {
            return Err(format!("`{path}` is protected: it may be read, but never changed."));
        }
        if let Some(why) = (self.leave_alone)(path) {
            return Err(why);
        }
        if text.len() > MAX_WRITE {
            return Err(format!("`{path}` would be larger than {MAX_WRITE} bytes."));
        }
        let before = self.checkout.read(path);
        if self.checkout.contains(path.as_str()) && before.as_ref().is_none_or(|blob| blob.text().is_none()) {
            return Err(format!("`{path}` is not a text file of a size that can be edited."));
        }
        if before.as_ref().is_some_and(|blob| blob.mode == FileMode::Symlink) {
            return Err(format!("`{path}` is a symbolic link; edit the file it points to."));
        }
        if let Some(other) = self.in_the_way(path) {
            return Err(format!("`{path}` cannot be written: `{other}` is in the way."));
        }
        let old_text = before.as_ref().and_then(Blob::text).unwrap_or_default();
        if hidden(&text) > hidden(old_text) {
            return Err("the new text has invisible or text-reordering characters; leave them out.".into());
        }
        if text.matches(REDACTED).count() > old_text.matches(REDACTED).count() {
            return Err(format!(
                "`{REDACTED}` stands for text that is not shown; it is not what the file says. Leave those lines alone."
            ));
        }
        let mode = before.as_ref().map_or(FileMode::Regular, |blob| blob.mode);
        let after = Blob {
            mode,
            bytes: text.into_bytes(),
        };
        let change = FileChange {
            before: self.checkout.read_original(path),
            after: Some(after),
        };
        if is_ci_path(path.as_str()) || decides_how_tests_run(path.as_str()) {
            return Err(format!(
                "`{path}` decides how tests run. It may be read, not changed: change the code under test."
            ));
        }
        self.checkout.edit(path.clone(), change.after);
        Ok(())
    }

    /// A file where the path needs a folder, or the other way round, or a submodule.
    fn in_the_way(&self, path: &RepoPath) -> Option<String> {
        if let Some(taken) = self.checkout.taken(path) {
            return Some(taken.to_string());
        }
        let text = path.as_str();
        let parents = text.match_indices('/').map(|(at, _)| &text[..at]);
        let parent = parents
            .filter(|parent| self.checkout.contains(parent))
            .map(str::to_string)
            .next();
        let folder = format!("{text}/");
        let child = || {
            let paths = self.checkout.paths();
            paths
                .iter()
                .any(|path| path.as_str().starts_with(&folder))
                .then_some(folder)
        };
        parent.or_else(child)
    }

    /// Runs the tests on the edited tree, in a workspace that is kept for the next time.
    ///
    /// Tests may have changed other files of that workspace, so what comes of it is for the model to go on, and proves
    /// nothing. None if nothing may be executed.
    pub(super) async fn run_tests(
        &mut self,
        only: &[String],
        stop: &CancellationToken,
    ) -> Result<Option<TestRun>, Error> {
        let Some(suite) = &self.tests else { return Ok(None) };
        let patch = self.checkout.patch();
        let in_use = match self.workspace.take() {
            Some(in_use) if in_use.bring_up_to(&patch) => InUse { patch, ..in_use },
            _ => InUse {
                workspace: fresh_workspace(&self.checkout, &suite.workspaces).await?,
                patch,
            },
        };
        let run = suite::run(suite, &in_use.workspace, only, stop).await?;
        self.workspace = Some(in_use);
        Ok(Some(run))
    }
}

impl InUse {
    /// Writes what changed since the last run; false if that cannot be done in place.
    fn bring_up_to(&self, patch: &Patch) -> bool {
        let was = |path: &RepoPath| self.patch.files().find(|(other, _)| *other == path);
        let is = |path: &RepoPath| patch.files().any(|(other, _)| other == path);
        let changed = patch
            .files()
            .filter(|(path, change)| was(path).is_none_or(|(_, was)| was.after != change.after))
            .map(|(path, change)| (path, change.after.as_ref()));
        let reverted = self.patch.files().filter(|(path, _)| !is(path));
        let reverted = reverted.map(|(path, change)| (path, change.before.as_ref()));
        changed
            .chain(reverted)
            .all(|(path, blob)| blob.is_some_and(|blob| self.workspace.put(path, blob).is_ok()))
    }
}

async fn fresh_workspace(checkout: &Checkout, within: &Path) -> Result<Workspace, checkout::Error> {
    let (checkout, at) = (checkout.clone(), within.to_path_buf());
    let copied = tokio::task::spawn_blocking(move || checkout.workspace(&at)).await;
    copied.unwrap_or_else(|panicked| {
        Err(checkout::Error::Io {
            path: within.display().to_string(),
            source: std::io::Error::other(panicked),
        })
    })
}

fn hidden(text: &str) -> usize {
    let without_returns = text.replace('\r', "");
    without_returns.chars().count() - visible(&without_returns).chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submodule_is_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let checkout = Checkout::exported(dir.path(), &["vendor/lib".into()]).unwrap();
        let bounds = Bounds {
            patch_lines: 9,
            is_protected: &|_| false,
            weakenings: &|_| Vec::new(),
            without_tests: |_| None,
        };
        let limits = Limits {
            turns: 1,
            tokens: 1,
            cost_micros: None,
            wall: Duration::from_secs(1),
        };
        let mut shell = Shell::new(checkout, None, bounds, limits);
        for path in ["vendor/lib", "vendor/lib/x.rs", "vendor"] {
            let refusal = shell.write(&path.parse().unwrap(), "x".into()).unwrap_err();
            assert_eq!(
                refusal,
                format!("`{path}` cannot be written: `vendor/lib` is in the way.")
            );
        }
        assert_eq!(shell.write(&"vendor/x.rs".parse().unwrap(), "x".into()), Ok(()));
    }
}
