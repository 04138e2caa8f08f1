//! The files of the base branch that describe a step. Each is read and parsed once, and the total work on all of them
//! is bounded, because files can refer to each other many times.

use std::collections::BTreeMap;
use std::rc::Rc;

use greenlight_anchor::RepoPath;

use super::node::{self, Node};
use super::{ReadFile, WORKSPACE};

/// Maximum number of files that describe a step.
const MAX_FILES: usize = 50;
/// Maximum size of a file with one line, in bytes.
const MAX_LINE_FILE: usize = 1_000;
/// Maximum size of a script, in bytes.
const MAX_SCRIPT_FILE: usize = 100_000;
/// Maximum number of jobs and steps that are examined for one step; those of a job count again for each job of a
/// matrix.
const MAX_LOOKS: usize = 20_000;

/// The files read so far.
pub(super) struct WorkflowFiles<'r, 'f> {
    read: &'r mut ReadFile<'f>,
    known: BTreeMap<String, Option<Rc<Node>>>,
    /// The scripts that were looked at, and what was found.
    scripts: BTreeMap<String, bool>,
    looks: usize,
}

impl<'r, 'f> WorkflowFiles<'r, 'f> {
    pub(super) fn new(read: &'r mut ReadFile<'f>) -> Self {
        Self {
            read,
            known: BTreeMap::new(),
            scripts: BTreeMap::new(),
            looks: 0,
        }
    }

    /// The document in a file. `None` if the file is missing or unreadable, or exceeds the limit.
    pub(super) fn document(&mut self, path: &str) -> Option<Rc<Node>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        if self.known.len() >= MAX_FILES {
            return None;
        }
        // GitHub does not know merge keys.
        let has_merges = !path.starts_with(".github/");
        let document = (self.read)(path)
            .and_then(|text| node::parse(&text, has_merges))
            .map(Rc::new);
        self.known.insert(path.to_string(), document.clone());
        document
    }

    /// The first line of a small file, such as `.node-version`.
    pub(super) fn line(&mut self, path: &str) -> Option<String> {
        self.look_at(1)?;
        let text = (self.read)(path).filter(|text| text.len() <= MAX_LINE_FILE)?;
        let mut lines = text.lines().map(str::trim);
        lines
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
    }

    /// Whether a script of the tree is one of these. Each is read once, and a few of them at most.
    pub(super) fn is_script(&mut self, path: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
        if let Some(known) = self.scripts.get(path) {
            return *known;
        }
        if self.scripts.len() >= MAX_FILES {
            return false;
        }
        let text = (self.read)(path).filter(|text| text.len() <= MAX_SCRIPT_FILE);
        let found = text.is_some_and(|text| is_wanted(&text));
        self.scripts.insert(path.to_owned(), found);
        found
    }

    /// Counts jobs or steps that are about to be examined. `None` if there are too many.
    pub(super) fn look_at(&mut self, count: usize) -> Option<()> {
        self.looks = self.looks.saturating_add(count);
        (self.looks <= MAX_LOOKS).then_some(())
    }
}

/// A directory as a path of the tree, where the inner `None` is the root. `None` if it is outside.
pub(super) fn in_tree(directory: &str) -> Option<Option<RepoPath>> {
    let path = directory.trim().trim_start_matches(WORKSPACE).trim_start_matches('/');
    if directory.starts_with('/') {
        return None;
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    match parts.as_slice() {
        [] => Some(None),
        parts => parts.join("/").parse().ok().map(Some),
    }
}
