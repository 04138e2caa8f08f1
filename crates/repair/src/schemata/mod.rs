//! Compiles many candidates into one program, each behind a switch (mutant schemata: Untch, Offutt, Harrold, 1993).
//!
//! Candidates that the compiler rejects are dropped, and the rest is built again. Then the program is started once
//! for each remaining candidate. A candidate that cannot be put behind a switch is built separately.

mod cargo;
mod go;
mod hanging_test;
mod limits;
mod messages;
mod program;
mod rewrite;
mod spectrum;
mod test_coverage;
mod trace;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Blob;
use greenlight_readers::test_run::Outcome;
use greenlight_sandbox as sandbox;
use greenlight_suite as suite;
use greenlight_suite::Runtime;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::cargo::Cargo;
use self::go::Go;
use self::messages::{BuildError, Built};
use self::program::{Limit, Target, Trial};
use self::rewrite::{Rewritten, Spot};
use self::test_coverage::TestCoverage;
use self::tree::Tree;
use super::candidates::Candidate;
use super::spectrum::Spectrum;
use super::syntax::Source;
use super::verdict::CandidateVerdict;
use crate::task::Task;

/// How many candidates are compiled at once. The first batch is small, because the fix is often among the first
/// candidates.
const FIRST: usize = 20;
const LATER: usize = 60;
/// The same in Go, once this many were tried: linking takes most of the time there, no matter how many there are.
const LATER_IN_GO: (u32, usize) = (80, 180);
/// Maximum size of the candidates in one program, in bytes.
const MAX_BYTES: usize = 300 * 1024;
/// Maximum number of builds of one program. Each leaves out what the compiler rejected; later phases find new errors.
const MAX_BUILDS: usize = 6;

/// A workspace with a build of the tests.
pub(super) struct Build<'a> {
    task: &'a Task<'a>,
    compiler: Compiler,
    targets: Vec<Target>,
    limit: Limit,
    /// What the tests execute, once that is known.
    seen: OnceLock<TestCoverage>,
    /// How long the last build took that recompiled the tests.
    built_in: Duration,
    tree: Mutex<Tree>,
}

enum Compiler {
    Cargo(Cargo),
    Go(Go),
}

/// The candidates of one program: the number of each in its batch, from 1, and its location.
type Group<'c> = Vec<(u32, &'c Candidate, Spot)>;

/// The result of compiling a group.
enum Compiled<'c> {
    /// The remaining candidates, and those that the compiler rejected.
    Ready(Group<'c>, Vec<u32>),
    /// It does not build, and the reason is unknown.
    Stuck(Group<'c>, Vec<u32>),
}

impl<'a> Build<'a> {
    /// Builds the tests, and checks that they fail when started in this way. `None` if they do not.
    pub(super) async fn set_up(task: &'a Task<'a>, stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        // A run that exhausts the memory may end more than one program.
        if !matches!(
            task.before.outcome,
            Outcome::Failed | Outcome::Panicked | Outcome::Crashed | Outcome::TimedOut
        ) {
            return Ok(None);
        }
        let compiler = match task.suite.runtime() {
            Some(Runtime::Cargo) => Cargo::of(task).map(Compiler::Cargo),
            Some(Runtime::Go) => Go::of(task).map(Compiler::Go),
            _ => None,
        };
        let Some(mut compiler) = compiler else { return Ok(None) };
        let tree = Tree::new(task).await?;
        let started = Instant::now();
        let targets = match &mut compiler {
            Compiler::Cargo(cargo) => cargo.find(task, &tree.workspace, stop).await?,
            Compiler::Go(go) => go.find(task, &tree.workspace, stop).await?,
        };
        let Some(targets) = targets else { return Ok(None) };
        // An upper bound: this also built everything that the tests depend on.
        let built_in = started.elapsed() / 2;
        let place = (task.suite, &tree.workspace);
        let baseline = limits::baseline(place, &targets, task.before.outcome, stop).await?;
        Ok(baseline.filter(|_| !stop.is_cancelled()).map(|limit| Self {
            task,
            compiler,
            targets,
            limit,
            seen: OnceLock::new(),
            built_in,
            tree: Mutex::new(tree),
        }))
    }

    pub(super) fn batch(&self, judged: u32) -> usize {
        match self.compiler {
            _ if judged == 0 => FIRST,
            Compiler::Go(_) if judged >= LATER_IN_GO.0 => LATER_IN_GO.1,
            _ => LATER,
        }
    }

    /// Measures what the tests execute with an extra build. `None` if it takes too long.
    pub(super) async fn spectrum(
        &self,
        wall: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<Spectrum>, suite::Error> {
        if wall < self.built_in * 2 {
            return Ok(None);
        }
        spectrum::follow(self, wall, stop).await
    }

    /// Judges candidates; returns a verdict for each, in their order.
    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        let mut tree = self.tree.lock().await;
        let mut verdicts: BTreeMap<u32, CandidateVerdict> = BTreeMap::new();
        let (mut groups, mut singles) = self.grouped(candidates);
        while let Some(group) = groups.pop().filter(|_| !stop.is_cancelled()) {
            match self.compile(&mut tree, group, stop).await? {
                Compiled::Ready(group, refused) => {
                    verdicts.extend(refused.into_iter().map(|id| (id, CandidateVerdict::Invalid)));
                    let trials: Vec<Trial> = group
                        .iter()
                        .map(|(id, candidate, _)| self.trial(*id, candidate))
                        .collect();
                    verdicts.extend(self.tried(&tree, &trials, stop).await?);
                }
                Compiled::Stuck(mut group, refused) => {
                    verdicts.extend(refused.into_iter().map(|id| (id, CandidateVerdict::Invalid)));
                    if group.len() < 2 {
                        singles.extend(group.into_iter().map(|(id, candidate, _)| (id, candidate)));
                    } else {
                        let half = group.split_off(group.len() / 2);
                        groups.extend([half, group]);
                    }
                }
            }
        }
        for (id, candidate) in singles {
            if stop.is_cancelled() {
                break;
            }
            let text = Blob::regular(candidate.text.as_bytes());
            tree.put(self.task, vec![(candidate.path.clone(), text)]).await?;
            let verdict = if self.build(&tree, stop).await?.is_complete {
                self.tried(&tree, &[self.trial(id, candidate)], stop).await?.remove(&id)
            } else {
                (!stop.is_cancelled()).then_some(CandidateVerdict::Invalid)
            };
            verdicts.extend(verdict.map(|verdict| (id, verdict)));
        }
        let ids = 1..=u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        Ok(ids
            .map(|id| verdicts.get(&id).copied().unwrap_or(CandidateVerdict::Stopped))
            .collect())
    }

    /// Groups of bounded size that can be compiled together, the last first; and the candidates that cannot.
    fn grouped<'c>(&self, candidates: &'c [Candidate]) -> (Vec<Group<'c>>, Vec<(u32, &'c Candidate)>) {
        let mut sources: BTreeMap<&RepoPath, Option<Source>> = BTreeMap::new();
        let mut groups: Vec<Group<'c>> = Vec::new();
        let mut singles = Vec::new();
        let mut bytes = usize::MAX;
        for (id, candidate) in (1_u32..).zip(candidates) {
            let source = sources
                .entry(&candidate.path)
                .or_insert_with(|| self.source(&candidate.path));
            let Some(spot) = source.as_ref().and_then(|source| Spot::of(source, &candidate.range)) else {
                singles.push((id, candidate));
                continue;
            };
            bytes = bytes.saturating_add(spot.bytes());
            match groups.last_mut() {
                Some(group) if bytes <= MAX_BYTES => group.push((id, candidate, spot)),
                _ => {
                    bytes = spot.bytes();
                    groups.push(vec![(id, candidate, spot)]);
                }
            }
        }
        groups.reverse();
        (groups, singles)
    }

    fn source(&self, path: &RepoPath) -> Option<Source> {
        let text = self.task.checkout.read_text(path.as_str())?;
        Source::parse(path.as_str(), text)
    }

    /// Compiles a group without the candidates that the compiler rejects.
    async fn compile<'c>(
        &self,
        tree: &mut Tree,
        mut group: Group<'c>,
        stop: &CancellationToken,
    ) -> Result<Compiled<'c>, suite::Error> {
        let mut refused = Vec::new();
        for _ in 0..MAX_BUILDS {
            if group.is_empty() {
                return Ok(Compiled::Ready(group, refused));
            }
            let files = self.rewritten(&group);
            tree.put(self.task, self.blobs(&files)).await?;
            let built = self.build(tree, stop).await?;
            if built.is_complete {
                return Ok(Compiled::Ready(group, refused));
            }
            let blamed: BTreeSet<u32> = built
                .errors
                .iter()
                .filter_map(|error| self.blamed(error, &files))
                .collect();
            if blamed.is_empty() || stop.is_cancelled() {
                break;
            }
            group.retain(|(id, ..)| !blamed.contains(id));
            refused.extend(blamed);
        }
        Ok(Compiled::Stuck(group, refused))
    }

    fn rewritten(&self, group: &Group<'_>) -> BTreeMap<RepoPath, Rewritten> {
        let paths: BTreeSet<&RepoPath> = group.iter().map(|(_, candidate, _)| &candidate.path).collect();
        let written = paths.into_iter().filter_map(|path| {
            let members: Vec<_> = group
                .iter()
                .filter(|(_, candidate, _)| candidate.path == *path)
                .map(|(id, candidate, spot)| (*id, *candidate, spot))
                .collect();
            Some((path.clone(), rewrite::rewrite(&self.source(path)?, &members)))
        });
        written.collect()
    }

    fn blobs(&self, files: &BTreeMap<RepoPath, Rewritten>) -> Vec<(RepoPath, Blob)> {
        let mut blobs: BTreeMap<RepoPath, Blob> = BTreeMap::new();
        for (path, file) in files {
            blobs.insert(path.clone(), Blob::regular(file.text.as_bytes()));
            if matches!(self.compiler, Compiler::Go(_))
                && let Some((path, text)) = rewrite::go_switch(path, &file.text)
            {
                blobs.insert(path, Blob::regular(text));
            }
        }
        blobs.into_iter().collect()
    }

    /// The candidate that caused an error: the one at the first of its locations that belongs to a candidate.
    fn blamed(&self, error: &BuildError, files: &BTreeMap<RepoPath, Rewritten>) -> Option<u32> {
        error.at.iter().find_map(|(printed, at)| {
            let (_, file) = files.iter().find(|(path, _)| is_same(printed, path.as_str()))?;
            match self.compiler {
                Compiler::Cargo(_) => file.at(*at),
                Compiler::Go(_) => {
                    let (row, column) = go::row_and_column(*at);
                    file.at(file.byte(row, column))
                }
            }
        })
    }

    async fn build(&self, tree: &Tree, stop: &CancellationToken) -> Result<Built, sandbox::Error> {
        match &self.compiler {
            Compiler::Cargo(cargo) => cargo.build((self.task, &tree.workspace), stop).await,
            Compiler::Go(go) => go.build((self.task, &tree.workspace), stop).await,
        }
    }

    /// How a candidate is tried: without the tests that do not execute its line.
    fn trial(&self, id: u32, candidate: &Candidate) -> Trial {
        let can_skip = self.targets.iter().all(|target| target.can_skip);
        let seen = self.seen.get().filter(|_| can_skip);
        let unseen = seen.map(|seen| seen.tests_not_covering(&candidate.path, candidate.line));
        Trial {
            id,
            unseen: unseen.unwrap_or_default(),
        }
    }

    async fn tried(
        &self,
        tree: &Tree,
        trials: &[Trial],
        stop: &CancellationToken,
    ) -> Result<BTreeMap<u32, CandidateVerdict>, sandbox::Error> {
        program::trials(
            (self.task.suite, &tree.workspace),
            &self.targets,
            trials,
            self.limit,
            stop,
        )
        .await
    }
}

/// Whether a printed path refers to a file of the tree: compilers print it relative to a package or to the workspace.
fn is_same(printed: &str, path: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    !printed.is_empty() && (ends(path, printed) || ends(printed, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_whole_names() {
        assert!(is_same("src/lib.rs", "crates/a/src/lib.rs"));
        assert!(is_same("/workspace/src/lib.rs", "src/lib.rs"));
        assert!(!is_same("b.rs", "src/ab.rs"));
        assert!(!is_same("", "src/lib.rs"));
    }
}
