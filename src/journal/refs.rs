//! The journal in `refs/greenlight/pr-<number>`, which survives from one workflow run to the next.
//!
//! Anyone with write access to the repository can write here. So everything read is a claim, except what this process
//! wrote itself ([`Refs::has_written`]); `engine/vouch` verifies it with GitHub before anything relies on it.
//!
//! `refs/greenlight/memory` contains the finished runs again, without their transcripts: what greenlight learned in
//! the repository, and what was spent.
//!
//! There is one file per run and one line per step, and before the steps a line with their format. A ref that
//! contains a run of a newer greenlight is read, but not written to.
//!
//! A save costs three requests, so steps of the agent's transcript, of a search, and of what was spent are saved
//! together with the next other step. If a job is killed, losing them costs model turns or time, but never an effect
//! on GitHub.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use tokio::sync::Mutex;

use super::format::{self, Newer, Unread};
use super::once::ReportedOnce;
use super::stored_step::StoredStep;
use super::unreadable::Unreadable;
use super::{Error, fold};
use crate::domain::id::{PullRequestId, Repository, RepositoryName, RunId};
use crate::domain::run::{End, Run, Started, Step, Subject};
use crate::domain::search::Search;
use crate::github::Client;
use crate::github::state::{SaveError, Saved, StateRef};

/// Runs kept in a ref. Older ones are dropped once they are over.
const MAX_RUNS: usize = 20;
/// Runs kept in the memory of the repository.
const MAX_REMEMBERED: usize = 300;
/// The file of the memory, with one run per line, and its maximum size in bytes.
const MEMORY: &str = "runs.jsonl";
const MAX_MEMORY: usize = 4 << 20;
/// Digests of a search kept for a run.
const MAX_DIGESTS: usize = 2_000;
/// How often a save is retried on top of another process's save.
const MAX_TRIES: usize = 5;

pub struct Refs {
    client: Client,
    loaded: Mutex<HashMap<PullRequestId, Saved>>,
    /// The places of runs that this process wrote to.
    written: std::sync::Mutex<HashSet<(RunId, usize)>>,
    /// The unreadable files that were already logged.
    reported: ReportedOnce,
}

impl Refs {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            loaded: Mutex::default(),
            written: std::sync::Mutex::default(),
            reported: ReportedOnce::default(),
        }
    }

    pub(super) fn has_written(&self, run: &RunId, place: usize) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.contains(&(run.clone(), place))
    }

    fn note_written(&self, run: &Run) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert((run.id().clone(), run.length));
    }

    pub(super) async fn begin(&self, started: &Started) -> Result<(), Error> {
        let pull_request = super::pull_request(started)?;
        let mut saved = self.saved(pull_request).await?;
        let file = file(&started.run.0);
        if saved.get(&file).is_some() {
            return Ok(());
        }
        let runs = self.in_order(pull_request, &saved);
        let unreadable: Vec<String> = files_without_start(&saved).map(str::to_string).collect();
        let surplus = (runs.len() + unreadable.len() + 1).saturating_sub(MAX_RUNS);
        let over = runs.into_iter().filter(|(_, run)| run.is_over()).map(|(file, _)| file);
        for file in unreadable.into_iter().chain(over).take(surplus) {
            saved.remove(&file);
        }
        saved.put(&file, format::append("", &Step::Started(Box::new(started.clone())))?);
        match self.save(pull_request, saved, &file).await {
            // Another process began it, so it exists.
            Err(Error::Taken) if self.saved(pull_request).await?.get(&file).is_some() => Ok(()),
            result => result,
        }
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let pull_request = super::pull_request(&run.started)?;
        let mut saved = self.saved(pull_request).await?;
        let file = file(&run.id().0);
        let text = saved
            .get(&file)
            .ok_or_else(|| Error::Broken("the run is missing from its ref".into()))?;
        if format::steps(text).count() != run.length {
            return Err(Error::Taken);
        }
        let text = format::append(text, &small(run, step))?;
        saved.put(&file, text);
        if matches!(step, Step::Said(_) | Step::Searched(_) | Step::Spent(_)) {
            self.loaded.lock().await.insert(pull_request.clone(), saved);
            return Ok(());
        }
        self.save(pull_request, saved, &file).await?;
        self.note_written(run);
        if *step == Step::Announced
            && let Err(error) = self.remember(run).await
        {
            // The run is over and announced. Only the memory lacks it.
            tracing::warn!(run.id = %run.id(), %error, "a run could not be added to the memory");
        }
        Ok(())
    }

    /// Writes a finished run into the memory of the repository, and drops the oldest runs there.
    async fn remember(&self, run: &Run) -> Result<(), Error> {
        let pull_request = super::pull_request(&run.started)?;
        let saved = self.saved(pull_request).await?;
        let file = file(&run.id().0);
        let steps = format::steps(saved.get(&file).unwrap_or_default()).map(serde_json::from_str);
        let steps: Vec<Step> = steps
            .collect::<Result<_, _>>()
            .map_err(|error| Error::Broken(error.to_string()))?;
        let lesson = format::lesson(steps.into_iter().map(without_conversation).collect())?;
        let place = memory(&pull_request.repository);
        for _ in 0..MAX_TRIES {
            let mut all = self.client.load_state(&place).await?;
            let known = all.get(MEMORY).unwrap_or_default();
            if let Some(newer) = known.lines().find_map(|line| format::read_lesson(line).err()) {
                return Err(Error::Newer("refs/greenlight/memory".into(), newer));
            }
            let kept = known.lines().rev().take(MAX_REMEMBERED - 1).collect::<Vec<_>>();
            let lines = kept.into_iter().rev().chain([lesson.as_str()]).collect::<Vec<_>>();
            let text = newest(&lines);
            all.put(MEMORY, text);
            match self.client.save_state(&place, all).await {
                Ok(_) => return Ok(()),
                Err(SaveError::Lost) => {}
                Err(SaveError::GitHub(error)) => return Err(error.into()),
            }
        }
        Err(Error::Taken)
    }

    pub(super) async fn runs_in(&self, repository: &Repository, limit: usize) -> Result<Vec<Run>, Error> {
        let remembered = self.client.load_state(&memory(repository)).await?;
        let mut runs = self.loaded_runs().await?;
        let tell_newer = |newer: Newer| self.reported.tell_newer("refs/greenlight/memory", newer);
        runs.retain(|run| {
            run.started
                .pull_request()
                .is_some_and(|id| id.repository == *repository)
        });
        for text in remembered.get(MEMORY).unwrap_or_default().lines() {
            // An unreadable lesson is skipped.
            let run = format::read_lesson(text).inspect_err(|newer| tell_newer(*newer));
            let run = run.ok().flatten().and_then(|mut run| {
                run.started.pull_request_mut()?.repository = repository.clone();
                Some(run)
            });
            runs.extend(run.filter(|run| !runs.iter().any(|known| known.id() == run.id())));
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.started.at));
        runs.truncate(limit);
        Ok(runs)
    }

    pub(super) async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        let saved = self.saved(pull_request).await?;
        let runs = self.in_order(pull_request, &saved).into_iter();
        Ok(runs.map(|(_, run)| run).collect())
    }

    pub(super) async fn unreadable(&self, pull_request: &PullRequestId) -> Result<Vec<Unreadable>, Error> {
        let saved = self.saved(pull_request).await?;
        let unreadable = saved.files().filter_map(|(file, text)| {
            Some(Unreadable {
                run: RunId(file.trim_end_matches(".jsonl").into()),
                number: pull_request.number,
                is_over: false,
                why: fold(text).err()?,
            })
        });
        Ok(unreadable.collect())
    }

    pub(super) async fn steps(&self, id: &RunId, from: usize, limit: usize) -> Vec<StoredStep> {
        let (file, loaded) = (file(&id.0), self.loaded.lock().await);
        let text = loaded.values().find_map(|saved| saved.get(&file)).unwrap_or_default();
        let lines = format::steps(text).enumerate().skip(from).take(limit);
        lines.map(|(place, line)| StoredStep::of_line(place, line)).collect()
    }

    pub(super) async fn loaded_runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for (pull_request, saved) in self.loaded.lock().await.iter() {
            runs.extend(self.in_order(pull_request, saved).into_iter().map(|(_, run)| run));
        }
        runs.sort_by_key(|run| run.started.at);
        Ok(runs)
    }

    /// The runs of a ref with their file names, oldest first. Unreadable ones are logged once and left out.
    fn in_order(&self, pull_request: &PullRequestId, saved: &Saved) -> Vec<(String, Run)> {
        let mut runs = Vec::new();
        for (file, text) in saved.files() {
            match fold(text) {
                Ok(mut run) => {
                    // The ref is in the repository itself, so a recorded name may be outdated.
                    run.started.subject = Subject::PullRequest(pull_request.clone());
                    runs.push((file.to_string(), run));
                }
                Err(why) => self.reported.tell(&format!("{file} in {}", named(pull_request)), why),
            }
        }
        runs.sort_by_key(|(_, run)| run.started.at);
        runs
    }

    async fn saved(&self, pull_request: &PullRequestId) -> Result<Saved, Error> {
        if let Some(saved) = self.loaded.lock().await.get(pull_request) {
            return Ok(saved.clone());
        }
        self.load(pull_request).await
    }

    async fn load(&self, pull_request: &PullRequestId) -> Result<Saved, Error> {
        let saved = self.client.load_state(&place(pull_request)).await?;
        self.loaded.lock().await.insert(pull_request.clone(), saved.clone());
        Ok(saved)
    }

    /// Saves a change to one file. A concurrent save of another file does not prevent it, but a newer greenlight
    /// does.
    async fn save(&self, pull_request: &PullRequestId, mut saved: Saved, changed: &str) -> Result<(), Error> {
        for _ in 0..MAX_TRIES {
            if let Some(newer) = newer_in(&saved) {
                return Err(Error::Newer(named(pull_request), newer));
            }
            let mine = saved.get(changed).unwrap_or_default().to_string();
            match self.client.save_state(&place(pull_request), saved).await {
                Ok(saved) => {
                    self.loaded.lock().await.insert(pull_request.clone(), saved);
                    return Ok(());
                }
                Err(SaveError::Lost) => {
                    let mut theirs = self.load(pull_request).await?;
                    if theirs.get(changed).is_some_and(|theirs| !mine.starts_with(theirs)) {
                        return Err(Error::Taken);
                    }
                    theirs.put(changed, mine);
                    saved = theirs;
                }
                Err(SaveError::GitHub(error)) => {
                    // The copy in memory may be outdated, so the next access reads the ref again.
                    self.loaded.lock().await.remove(pull_request);
                    return Err(error.into());
                }
            }
        }
        Err(Error::Taken)
    }
}

fn place(pull_request: &PullRequestId) -> StateRef {
    StateRef {
        repository: pull_request.repository.name.clone(),
        name: format!("pr-{}", pull_request.number),
    }
}

fn memory(repository: &RepositoryName) -> StateRef {
    StateRef {
        repository: repository.clone(),
        name: "memory".into(),
    }
}

/// A part of a search with no more digests than a ref can store. In the worst case, the dropped candidates are tried
/// again.
fn small<'a>(run: &Run, step: &'a Step) -> Cow<'a, Step> {
    let Step::Searched(part) = step else {
        return Cow::Borrowed(step);
    };
    let room = MAX_DIGESTS.saturating_sub(run.search.digests.len());
    if part.digests.len() <= room {
        return Cow::Borrowed(step);
    }
    Cow::Owned(Step::Searched(Box::new(Search {
        digests: part.digests.iter().take(room).cloned().collect(),
        ..part.told()
    })))
}

/// Reduces an item of a transcript to the usage of a reply.
fn without_conversation(step: Step) -> Step {
    match step {
        Step::Said(item) => Step::Said(match item.pointer("/reply/usage") {
            Some(usage) => serde_json::json!({ "reply": { "usage": usage } }),
            None => serde_json::Value::Null,
        }),
        Step::Resolved(_) => Step::Resolved(serde_json::Value::Null),
        Step::Searched(part) => Step::Searched(Box::new(Search {
            suspects: Vec::new(),
            unverified: Vec::new(),
            ..part.told()
        })),
        Step::Ended(End::NotFound { reason, search }) => Step::Ended(End::NotFound {
            reason,
            search: Box::new(Search {
                suspects: Vec::new(),
                unverified: Vec::new(),
                ..search.told()
            }),
        }),
        step => step,
    }
}

/// The newest lines that fit within the bound.
fn newest(lines: &[&str]) -> String {
    let mut left = MAX_MEMORY;
    let kept = lines.iter().rev().take_while(|line| {
        left = left.saturating_sub(line.len() + 1);
        left > 0
    });
    let mut kept: Vec<&str> = kept.copied().collect();
    kept.reverse();
    kept.iter().map(|line| format!("{line}\n")).collect()
}

fn file(run: &str) -> String {
    format!("{run}.jsonl")
}

fn named(pull_request: &PullRequestId) -> String {
    format!("refs/greenlight/pr-{}", pull_request.number)
}

fn newer_in(saved: &Saved) -> Option<Newer> {
    saved.files().find_map(|(_, text)| match fold(text) {
        Err(Unread::Newer(newer)) => Some(newer),
        Err(Unread::NoStart) | Ok(_) => None,
    })
}

/// The files that cannot be read at all.
fn files_without_start(saved: &Saved) -> impl Iterator<Item = &str> {
    let files = saved.files().filter(|(_, text)| fold(text) == Err(Unread::NoStart));
    files.map(|(file, _)| file)
}
