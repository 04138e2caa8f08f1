//! Which test commands a tree has, which of them a change calls for, and which one is worked on.

use std::sync::OnceLock;

use super::Worktree;
use crate::domain::run::Run;
use crate::suite::{self, NothingFound, Selection, TestCommand, TestSettings};

/// How many test runs a fix takes at least: one that shows the failure, one that repeats it, and the proof.
const RUNS_IN_WALL: u32 = 3;

impl Worktree {
    /// Finds the test command.
    ///
    /// # Errors
    /// What was looked for, if there is no test command.
    pub fn test_command(&self) -> Result<TestCommand, NothingFound> {
        if let Some(command) = &self.command {
            return Ok(command.clone());
        }
        let found = suite::find(&self.checkout, &self.test_settings(), &self.hints)?;
        Ok(self.selection().wanted.into_iter().next().unwrap_or(found))
    }

    /// The test commands that the change calls for, and those that it does not.
    pub fn selection(&self) -> Selection {
        // CI's failed step says what to look at.
        if self.hints.step.is_some() || self.config.test.command.is_some() {
            let found = suite::find(&self.checkout, &self.test_settings(), &self.hints);
            return Selection {
                wanted: found.into_iter().collect(),
                unaffected: Vec::new(),
            };
        }
        let mut selection = suite::select(&self.checkout, self.test_commands(), &self.touched);
        // A command that worked before comes first, unless CI names files, and only if the tree offers it.
        if let Some(worked) = self.memory.test_command.as_ref().filter(|_| self.hints.near.is_empty())
            && let Some(again) = self.test_commands().into_iter().find(|one| one.to_string() == *worked)
        {
            let unaffected = selection.unaffected.iter().position(|one| *one == again);
            match selection.wanted.iter().position(|one| *one == again) {
                Some(at) => selection.wanted[..=at].rotate_right(1),
                None if unaffected.is_some() && !self.touched.is_empty() => {}
                None if unaffected.is_some() => {
                    selection.unaffected.retain(|one| *one != again);
                    selection.wanted.insert(0, again);
                }
                // Another way to run the same tests.
                None => {
                    selection.wanted.retain(|one| one.directory != again.directory);
                    selection.wanted.insert(0, again);
                }
            }
        }
        selection
    }

    /// Turns to the suite that a run works on: the one that it reproduced a failure of, or the next one that it has not
    /// set aside. Every suite has its own dependencies.
    pub(in crate::engine) fn turn_to(&mut self, run: &Run) {
        let Some(suites) = run.suites.as_ref().filter(|_| self.merge.is_none()) else {
            return;
        };
        let mut wanted = self.selection().wanted.into_iter();
        let next = match &run.reproduced {
            Some((before, _)) => wanted.find(|command| command.to_string() == before.command),
            None => wanted.find(|command| !suites.is_set_aside(&command.to_string())),
        };
        if let Some(next) = next.filter(|next| self.command.as_ref() != Some(next)) {
            (self.command, self.done) = (Some(next), OnceLock::new());
        }
    }

    /// Finds every test command, the best match first.
    pub fn test_commands(&self) -> Vec<TestCommand> {
        suite::find_all(&self.checkout, &self.test_settings(), &self.hints)
    }

    fn test_settings(&self) -> TestSettings {
        TestSettings {
            command: self.config.test.command.clone(),
            timeout: Some(self.config.test.timeout.min(self.config.limits.wall / RUNS_IN_WALL)),
        }
    }

    /// Works on the suite with this command, if the tree has it.
    pub fn prefer(&mut self, command: &str) {
        let mut all = self.test_commands().into_iter();
        if let Some(found) = all.find(|one| one.to_string() == command) {
            self.command = Some(found);
        }
    }
}
