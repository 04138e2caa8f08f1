//! What the tools work on, and what they may do with it: a checkout whose edits are in memory, and its tests if they
//! may be executed. [`super::running`] executes them.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::AgentLimits;
use super::history::History;
use super::interpreters::Cells;
use super::model::{Live, Speech};
use super::running::InUse;
use super::transcript::ToolCall;
use crate::checkout::Checkout;
use crate::domain::execution::What;
use crate::domain::id::RepoPath;
use crate::domain::patch::{Blob, FileChange, FileMode, Patch};
use crate::domain::proposal::Bounds;
use crate::domain::redact::{redact, visible};
use crate::domain::test_path::{decides_how_tests_run, is_ci_path};
use crate::suite::Suite;

/// The largest file that a tool may write, in bytes.
const MAX_WRITE: usize = 1 << 20;
/// The longest change of a protected file that a person is asked to approve, in bytes.
const MAX_SHOWN: usize = 8 << 10;
/// The longest time limit, because a clock cannot represent instants that are too far away.
const LONGEST_WALL: Duration = Duration::from_secs(30 * 24 * 3600);
/// Tools for explanations only.
pub(super) const ONLY_TO_EXPLAIN: &[&str] = &["explain"];
/// What replaces a credential in a tool's result.
const REDACTED: &str = "[redacted]";

/// A tree to work on, and the rules for it.
pub struct Shell<'a> {
    /// The tree with the edits made so far.
    pub checkout: Checkout,
    /// How to run the tests. `None`: nothing may be executed, and the tool for it is not offered.
    pub tests: Option<Suite>,
    pub bounds: Bounds<'a>,
    pub limits: AgentLimits,
    /// Tools that this run is not offered.
    pub without: &'static [&'static str],
    /// Why a file must not change, even if it is not protected.
    pub leave_alone: &'a (dyn Fn(&RepoPath) -> Option<String> + Send + Sync),
    /// How many more requests may be forwarded to people. At 0, calls that need approval are refused immediately.
    pub may_ask: u32,
    /// Host names that a person may grant to such a request.
    pub grantable: Vec<String>,
    /// Answers questions about the history. `None`: the tools for it are not offered.
    pub history: Option<History>,
    /// How the model acts.
    pub speech: Speech,
    /// Receives the model's replies as they arrive.
    pub live: &'a Live,
    /// When the time limit is reached.
    pub(super) deadline: Instant,
    /// The tree before the transcript's edits.
    start: Checkout,
    pub(super) workspace: Option<InUse>,
    /// The interpreters of a model that acts through code.
    pub(super) cells: Option<Cells>,
    /// Calls that a person rejected; nobody is asked about them again.
    turned_down: HashSet<(String, String)>,
}

/// Why a file was not written.
pub(super) enum NotWritten {
    /// It can never be written; the sentence says why.
    Never(String),
    /// A person has to allow it.
    Beyond(Box<What>),
}

impl From<String> for NotWritten {
    fn from(sentence: String) -> Self {
        Self::Never(sentence)
    }
}

impl<'a> Shell<'a> {
    /// A shell for the tree before the transcript's edits. A workspace is made when tests first run.
    pub fn new(checkout: Checkout, tests: Option<Suite>, bounds: Bounds<'a>, limits: AgentLimits) -> Self {
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
            history: None,
            speech: Speech::default(),
            live: &|_| {},
            deadline: Instant::now() + limits.wall.min(LONGEST_WALL),
            workspace: None,
            cells: None,
            turned_down: HashSet::new(),
        }
    }

    pub(super) fn may_execute(&self) -> bool {
        self.tests.is_some()
    }

    /// All edits except those of protected files, which may only change in the working copy.
    pub fn proposal_patch(&self) -> Patch {
        let patch = self.checkout.patch();
        let free = patch.files().filter(|(path, _)| !(self.bounds.is_protected)(path));
        Patch::new(free.map(|(path, change)| (path.clone(), change.clone())))
    }

    /// Undoes every edit made through this shell.
    pub(super) fn rewind(&mut self) {
        self.checkout = self.start.clone();
    }

    /// Records that a person rejected a call.
    pub(super) fn turn_down(&mut self, call: &ToolCall) {
        self.turned_down.insert(gist(call));
    }

    pub(super) fn was_turned_down(&self, call: &ToolCall) -> bool {
        self.turned_down.contains(&gist(call))
    }

    /// Removes a file that was created through this shell; false if there is no such file.
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

    /// Replaces the text of a file, or says why that is not allowed. A protected file is written only if a person
    /// `granted` it.
    pub(super) fn write(&mut self, path: &RepoPath, text: String, granted: bool) -> Result<(), NotWritten> {
        let is_protected = (self.bounds.is_protected)(path);
        // A protected file changes only in the working copy, for a run. If nothing may run, nobody is asked.
        if is_protected && !granted && (self.may_ask == 0 || !self.may_execute()) {
            return Err(format!("`{path}` is protected: you may read it but never change it.").into());
        }
        if let Some(why) = (self.leave_alone)(path) {
            return Err(why.into());
        }
        let after = self.fit_to_write(path, text)?;
        if is_protected && !granted {
            return Err(NotWritten::Beyond(Box::new(self.protected_edit(path, after)?)));
        }
        if !is_protected && (is_ci_path(path.as_str()) || decides_how_tests_run(path.as_str())) {
            return Err(format!(
                "`{path}` decides how tests run. You may read it but not change it: change the code under test."
            )
            .into());
        }
        self.checkout.edit(path.clone(), Some(after));
        Ok(())
    }

    /// A change of a protected file, as a person sees it before it is made.
    fn protected_edit(&self, path: &RepoPath, after: Blob) -> Result<What, String> {
        let before = self.checkout.read(path);
        let change = FileChange {
            before,
            after: Some(after),
        };
        let difference = Patch::new([(path.clone(), change)]).unified();
        if difference.len() > MAX_SHOWN {
            return Err(format!(
                "`{path}` is protected, and a change of more than {MAX_SHOWN} bytes is too long to request."
            ));
        }
        if redact(&difference) != difference {
            return Err(format!(
                "`{path}` is protected, and a change next to what looks like a credential cannot be requested."
            ));
        }
        let path = path.clone();
        Ok(What::Edit { path, difference })
    }

    /// The new file, if it can be written.
    fn fit_to_write(&self, path: &RepoPath, text: String) -> Result<Blob, String> {
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
                "`{REDACTED}` replaces text that is not shown; the file says something else. Leave those lines alone."
            ));
        }
        let mode = before.as_ref().map_or(FileMode::Regular, |blob| blob.mode);
        Ok(Blob {
            mode,
            bytes: text.into_bytes(),
        })
    }

    /// A file where the path needs a folder, a folder where it needs a file, or a submodule.
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
}

/// What a call does, without the reason it gives.
fn gist(call: &ToolCall) -> (String, String) {
    let mut arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    if let Some(fields) = arguments.as_object_mut() {
        fields.remove("why");
    }
    (call.name.clone(), arguments.to_string())
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
        let limits = AgentLimits {
            turns: 1,
            tokens: 1,
            cost_micros: None,
            wall: Duration::from_secs(1),
        };
        let mut shell = Shell::new(checkout, None, bounds, limits);
        for path in ["vendor/lib", "vendor/lib/x.rs", "vendor"] {
            let refusal = match shell.write(&path.parse().unwrap(), "x".into(), false) {
                Err(NotWritten::Never(sentence)) => sentence,
                _ => String::new(),
            };
            assert_eq!(
                refusal,
                format!("`{path}` cannot be written: `vendor/lib` is in the way.")
            );
        }
        assert!(shell.write(&"vendor/x.rs".parse().unwrap(), "x".into(), false).is_ok());
    }
}
