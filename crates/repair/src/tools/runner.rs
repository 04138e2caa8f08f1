//! A copy of the tree in which tools run. Of their changes, only those to existing text files that were named are
//! accepted, read without following links and of bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::{Blob, FileChange, FileMode, Patch};
use greenlight_sandbox as sandbox;
use greenlight_suite as suite;
use greenlight_suite::{CommandPart, Job, Packages, Ran, Suite};
use greenlight_tree::checkout::{Checkout, MAX_FILE_BYTES, Workspace};
use greenlight_tree::files;
use tokio_util::sync::CancellationToken;

use crate::task::Task;

/// Time limit of a tool, even if the tests have a longer one.
const WALL: Duration = Duration::from_secs(300);
/// Maximum size of a tool's output that is kept, in bytes.
const OUTPUT: usize = 8 << 20;
/// Maximum number of files in one fix, and maximum number of bytes in all of them.
const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 4 << 20;

/// Changes to the directory, puts its own packages before those of the root in `PATH`, and executes the tool. The
/// shell never parses text from others.
const AT: &str = r#"cd "$1" || exit 126; shift
[ ! -d node_modules/.bin ] || PATH=$PWD/node_modules/.bin:$PATH
exec env "$@""#;

/// The place where tools run.
pub(crate) struct ToolRunner<'a> {
    task: &'a Task<'a>,
    suite: Suite,
    workspace: Workspace,
    /// The changes accepted so far.
    taken: BTreeMap<RepoPath, Blob>,
}

impl<'a> ToolRunner<'a> {
    pub(crate) async fn new(task: &'a Task<'a>) -> Result<Self, suite::Error> {
        let mut suite = task.suite.clone();
        suite.policy.limits.output = suite.policy.limits.output.max(OUTPUT);
        let workspace = task.checkout.fresh_copy(&suite.workspaces).await?;
        Ok(Self {
            task,
            suite,
            workspace,
            taken: BTreeMap::new(),
        })
    }

    pub(crate) fn suite(&self) -> &Suite {
        &self.suite
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Runs a program in the directory and with the environment of a part of the test command.
    pub(crate) async fn run(
        &self,
        part: &CommandPart,
        argv: &[String],
        cancel: &CancellationToken,
    ) -> Result<Ran, suite::Error> {
        let at = part.directory.as_ref().map_or(".", RepoPath::as_str);
        let env = part
            .env
            .iter()
            .filter(|(name, _)| !name.is_empty() && !name.contains(['=', '\0']));
        let env = env.map(|(name, value)| format!("{name}={value}"));
        let words = ["sh", "-c", AT, "sh", at].map(str::to_owned);
        let job = Job {
            argv: words.into_iter().chain(env).chain(argv.iter().cloned()).collect(),
            hosts: Vec::new(),
            wall: WALL.min(self.task.suite.command.timeout),
        };
        Ok(suite::execute(&self.suite, &self.workspace, &job, &Packages::default(), cancel).await?)
    }

    /// Accepts the changes to these files, as far as permitted. Returns how many changed.
    pub(super) fn take(&mut self, named: &BTreeSet<RepoPath>) -> usize {
        let mut count = 0;
        for path in named {
            let Some(blob) = self.changed(path) else { continue };
            let others = self.taken.iter().filter(|(other, _)| *other != path);
            let bytes: usize = others.map(|(_, blob)| blob.bytes.len()).sum();
            if self.taken.len() < MAX_FILES && bytes.saturating_add(blob.bytes.len()) <= MAX_BYTES {
                self.taken.insert(path.clone(), blob);
                count += 1;
            }
        }
        count
    }

    /// Changes the text of a file, here and in the fix. Files that must not be edited are left alone.
    pub(super) fn put(&mut self, path: &RepoPath, text: &str) -> bool {
        let Some(before) = self.editable(path) else {
            return false;
        };
        let blob = Blob {
            mode: before.mode,
            bytes: text.as_bytes().to_vec(),
        };
        let is_put = text.len() <= MAX_BYTES && self.workspace.put(path, &blob).is_ok();
        if is_put {
            self.taken.insert(path.clone(), blob);
        }
        is_put
    }

    /// Makes the copy like an edited tree, in the files that a fix may edit.
    pub(crate) fn show(&mut self, tree: &Checkout) {
        let edited = tree.patch();
        let paths: BTreeSet<RepoPath> = edited.paths().chain(self.taken.keys()).cloned().collect();
        for path in paths {
            let Some(blob) = tree.read(&path).filter(|_| self.editable(&path).is_some()) else {
                continue;
            };
            if self.workspace.put(&path, &blob).is_ok() {
                self.taken.insert(path, blob);
            }
        }
    }

    /// The text of a file after the accepted changes.
    pub(super) fn text(&self, path: &RepoPath) -> Option<String> {
        let blob = self.taken.get(path).cloned().or_else(|| self.editable(path))?;
        blob.text().map(ToString::to_string)
    }

    /// The original file, if a fix may edit it.
    fn editable(&self, path: &RepoPath) -> Option<Blob> {
        if (self.task.protected)(path) {
            return None;
        }
        let blob = self.task.checkout.read(path)?;
        (blob.mode != FileMode::Symlink && blob.text().is_some()).then_some(blob)
    }

    /// The file as a tool left it, if it is still a text of moderate size and differs from the original. Its mode
    /// stays.
    fn changed(&self, path: &RepoPath) -> Option<Blob> {
        let before = self.editable(path)?;
        let read = files::read_result(self.workspace.path(), Path::new(path.as_str()), MAX_FILE_BYTES);
        let after = Blob {
            mode: before.mode,
            bytes: read.ok()?,
        };
        let is_emptied = after.text()?.trim().is_empty() && !before.text()?.trim().is_empty();
        let known = self.taken.get(path).unwrap_or(&before);
        (!is_emptied && *known != after).then_some(after)
    }

    /// All accepted changes, together with the edits that the tree already has.
    pub(super) fn patch(&self) -> Patch {
        if self
            .taken
            .iter()
            .all(|(path, blob)| self.task.checkout.read(path).as_ref() == Some(blob))
        {
            return Patch::default();
        }
        let mut edited = self.task.checkout.clone();
        let changes = self.taken.iter().map(|(path, blob)| {
            let before = self.task.checkout.read(path);
            let after = Some(blob.clone());
            (path.clone(), FileChange { before, after })
        });
        edited.apply(&Patch::new(changes));
        edited.patch()
    }
}

/// Whether a tool ran to its end; one that was stopped may have written only half of its output.
pub(super) fn ended_by_itself(ran: &Ran) -> bool {
    matches!(ran.outcome, sandbox::Outcome::Exited(0..=125))
}
