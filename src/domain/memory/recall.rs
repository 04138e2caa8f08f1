//! The fold over runs that makes the memory of a repository.

use super::{Forgotten, Memory};
use crate::domain::run::Run;

/// Computes the memory from runs, one after the other.
#[derive(Debug)]
pub struct Recall<'a> {
    memory: Memory,
    forgotten: &'a Forgotten,
}

impl<'a> Recall<'a> {
    pub fn new(forgotten: &'a Forgotten) -> Self {
        Self {
            memory: Memory::default(),
            forgotten,
        }
    }

    /// Takes the next run. They come newest first.
    pub fn take(&mut self, run: &Run) {
        if self.forgotten.keeps_run(run.started.at) {
            self.memory.learn(run);
        }
    }

    /// The memory of the runs so far, without what people told greenlight to forget.
    pub fn end(self) -> Memory {
        let Self { mut memory, forgotten } = self;
        memory.fixes.retain(|fix| forgotten.keeps(&fix.id(), fix.at));
        memory.rejections.retain(|down| forgotten.keeps(&down.id(), down.at));
        memory.forget_the_oldest();
        memory
    }
}

/// Computes the memory from runs, which come newest first.
pub fn recall<'a>(runs: impl IntoIterator<Item = &'a Run>, forgotten: &Forgotten) -> Memory {
    let mut recall = Recall::new(forgotten);
    for run in runs {
        recall.take(run);
    }
    recall.end()
}
