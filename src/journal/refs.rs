//! The journal in `refs/greenlight/pr-<number>`: what survives from one workflow run to the next.
//!
//! One file a run, one line a step. Steps of the agent's transcript, and what was spent, are written together with the
//! next other step, because a save costs three requests; losing them in a killed job costs model turns, never an effect.

use std::collections::HashMap;

use tokio::sync::Mutex;

use super::Error;
use crate::domain::id::{PullRequestId, RepositoryName};
use crate::domain::run::{Run, Started, Step};
use crate::github::Client;
use crate::github::state::{Place, SaveError, Saved};

/// Runs kept in a ref; older ones that are over are dropped.
const MAX_RUNS: usize = 20;
/// Of how many pull requests the runs of a repository are read.
const MAX_PULL_REQUESTS: usize = 30;
/// How often a save that came second is tried again on top of the one that came first.
const MAX_TRIES: usize = 5;

pub struct Refs {
    client: Client,
    loaded: Mutex<HashMap<PullRequestId, Saved>>,
}

impl Refs {
    pub fn new(client: Client) -> Self {
        Self {
            client,
            loaded: Mutex::default(),
        }
    }

    pub(super) async fn begin(&self, started: &Started) -> Result<(), Error> {
        let pull_request = &started.pull_request;
        let mut saved = self.saved(pull_request).await?;
        let file = file(&started.run.0);
        if saved.get(&file).is_some() {
            return Ok(());
        }
        let runs = in_order(pull_request, &saved)?;
        let surplus = (runs.len() + 1).saturating_sub(MAX_RUNS);
        for (file, _) in runs.iter().filter(|(_, run)| run.is_over()).take(surplus) {
            saved.remove(file);
        }
        saved.put(&file, line(&Step::Started(Box::new(started.clone())))?);
        match self.save(pull_request, saved, &file).await {
            // Somebody else began it: then it is there.
            Err(Error::Taken) if self.saved(pull_request).await?.get(&file).is_some() => Ok(()),
            result => result,
        }
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let pull_request = &run.started.pull_request;
        let mut saved = self.saved(pull_request).await?;
        let file = file(&run.id().0);
        let text = saved
            .get(&file)
            .ok_or_else(|| Error::Broken("the run is not in its ref".into()))?;
        if text.lines().count() != run.length {
            return Err(Error::Taken);
        }
        let text = text.to_string() + &line(step)?;
        saved.put(&file, text);
        if matches!(step, Step::Said(_) | Step::Spent(_)) {
            self.loaded.lock().await.insert(pull_request.clone(), saved);
            return Ok(());
        }
        self.save(pull_request, saved, &file).await
    }

    pub(super) async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        let saved = self.saved(pull_request).await?;
        Ok(in_order(pull_request, &saved)?
            .into_iter()
            .map(|(_, run)| run)
            .collect())
    }

    pub(super) async fn loaded_runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for (pull_request, saved) in self.loaded.lock().await.iter() {
            runs.extend(in_order(pull_request, saved)?.into_iter().map(|(_, run)| run));
        }
        runs.sort_by_key(|run| run.started.at);
        Ok(runs)
    }

    /// Reads the newest pull requests only, as the numbers say it, so that a large repository stays cheap to ask about.
    pub(super) async fn runs_in(&self, repository: &RepositoryName, limit: usize) -> Result<Vec<Run>, Error> {
        let names = self.client.states(repository).await;
        let names = names.map_err(|error| Error::Broken(error.to_string()))?;
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|name| name.strip_prefix("pr-")?.parse().ok())
            .collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        let mut runs = Vec::new();
        for number in numbers.into_iter().take(limit.min(MAX_PULL_REQUESTS)) {
            let repository = repository.clone();
            runs.extend(self.runs_of(&PullRequestId { repository, number }).await?);
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.started.at));
        runs.truncate(limit);
        Ok(runs)
    }

    async fn saved(&self, pull_request: &PullRequestId) -> Result<Saved, Error> {
        if let Some(saved) = self.loaded.lock().await.get(pull_request) {
            return Ok(saved.clone());
        }
        self.load(pull_request).await
    }

    async fn load(&self, pull_request: &PullRequestId) -> Result<Saved, Error> {
        let loaded = self.client.load_state(&place(pull_request)).await;
        let saved = loaded.map_err(|error| Error::Broken(error.to_string()))?;
        self.loaded.lock().await.insert(pull_request.clone(), saved.clone());
        Ok(saved)
    }

    /// Saves a change to one file. Somebody else who was first, at another file, is not in its way.
    async fn save(&self, pull_request: &PullRequestId, mut saved: Saved, changed: &str) -> Result<(), Error> {
        for _ in 0..MAX_TRIES {
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
                    // What is in memory may be behind; the next look reads the ref again.
                    self.loaded.lock().await.remove(pull_request);
                    return Err(Error::Broken(error.to_string()));
                }
            }
        }
        Err(Error::Taken)
    }
}

fn place(pull_request: &PullRequestId) -> Place {
    Place {
        repository: pull_request.repository.clone(),
        name: format!("pr-{}", pull_request.number),
    }
}

fn file(run: &str) -> String {
    format!("{run}.jsonl")
}

fn line(step: &Step) -> Result<String, Error> {
    serde_json::to_string(step)
        .map(|json| json + "\n")
        .map_err(|error| Error::Broken(error.to_string()))
}

/// The runs of a ref with their file names, oldest first.
fn in_order(pull_request: &PullRequestId, saved: &Saved) -> Result<Vec<(String, Run)>, Error> {
    let mut runs = Vec::new();
    for (file, text) in saved.files() {
        let unreadable = |error: &dyn std::fmt::Display| {
            let name = format!("refs/greenlight/pr-{}", pull_request.number);
            Error::Broken(format!(
                "{file} in {name} cannot be read: {error}; `git push origin :{name}` starts over"
            ))
        };
        let steps: Result<Vec<Step>, _> = text.lines().map(serde_json::from_str).collect();
        let steps = steps.map_err(|error| unreadable(&error))?;
        runs.push((file.to_string(), Run::fold(steps).map_err(|error| unreadable(&error))?));
    }
    runs.sort_by_key(|(_, run)| run.started.at);
    Ok(runs)
}
