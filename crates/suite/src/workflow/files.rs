//! The files of the base branch that describe a step: each read and taken apart once, and bounded in how much is
//! looked at in all of them together, because files can name each other many times over.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::ReadFile;
use super::node::{self, Node};

/// More files than this describe no step.
const MAX_FILES: usize = 50;
/// Jobs and steps that are looked at for one step; those of a job are looked at again for each job of a matrix.
const MAX_LOOKS: usize = 20_000;

/// What was read so far.
pub(super) struct WorkflowFiles<'r, 'f> {
    read: &'r mut ReadFile<'f>,
    known: BTreeMap<String, Option<Rc<Node>>>,
    looks: usize,
}

impl<'r, 'f> WorkflowFiles<'r, 'f> {
    pub(super) fn new(read: &'r mut ReadFile<'f>) -> Self {
        Self {
            read,
            known: BTreeMap::new(),
            looks: 0,
        }
    }

    /// The document in a file. `None` if there is none, or it cannot be read, or it is one too many.
    pub(super) fn document(&mut self, path: &str) -> Option<Rc<Node>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        if self.known.len() >= MAX_FILES {
            return None;
        }
        let document = (self.read)(path).and_then(|text| node::parse(&text)).map(Rc::new);
        self.known.insert(path.to_string(), document.clone());
        document
    }

    /// Counts jobs or steps that are about to be looked at. `None` if they are too many.
    pub(super) fn look_at(&mut self, count: usize) -> Option<()> {
        self.looks = self.looks.saturating_add(count);
        (self.looks <= MAX_LOOKS).then_some(())
    }
}
