//! The journal in `refs/greenlight/pr-<number>`: what survives from one workflow run to the next.
//!
//! One file a run, one line a step. Steps of the agent's transcript are written together with the next other step,
//! because a save costs three requests; losing them in a killed job costs model turns, never an effect.

use std::collections::HashMap;

use tokio::sync::Mutex;

use super::Error;
use crate::domain::id::PullRequestId;
use crate::domain::run::{Run, Started, Step};
use crate::github::Client;
use crate::github::state::{Place, SaveError, Saved};

/// Runs kept in a ref; older ones that are over are dropped.
const MAX_RUNS: usize = 20;

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
        if saved.files.contains_key(&file) {
            return Ok(());
        }
        let over: Vec<String> = in_order(&saved)?
            .into_iter()
            .filter(|(_, run)| run.is_over())
            .map(|(file, _)| file)
            .collect();
        let surplus = (saved.files.len() + 1).saturating_sub(MAX_RUNS);
        for file in over.into_iter().take(surplus) {
            saved.files.remove(&file);
        }
        saved
            .files
            .insert(file, line(&Step::Started(Box::new(started.clone())))?);
        self.save(pull_request, saved).await
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let pull_request = &run.started.pull_request;
        let mut saved = self.saved(pull_request).await?;
        let text = saved
            .files
            .get_mut(&file(&run.id().0))
            .ok_or_else(|| Error::Broken("the run is not in its ref".into()))?;
        if text.lines().count() != run.length {
            return Err(Error::Taken);
        }
        text.push_str(&line(step)?);
        if matches!(step, Step::Said(_)) {
            self.loaded.lock().await.insert(pull_request.clone(), saved);
            return Ok(());
        }
        self.save(pull_request, saved).await
    }

    pub(super) async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        let saved = self.saved(pull_request).await?;
        Ok(in_order(&saved)?.into_iter().map(|(_, run)| run).collect())
    }

    pub(super) async fn loaded_runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for saved in self.loaded.lock().await.values() {
            runs.extend(in_order(saved)?.into_iter().map(|(_, run)| run));
        }
        runs.sort_by_key(|run| run.started.at);
        Ok(runs)
    }

    async fn saved(&self, pull_request: &PullRequestId) -> Result<Saved, Error> {
        if let Some(saved) = self.loaded.lock().await.get(pull_request) {
            return Ok(saved.clone());
        }
        let saved = self
            .client
            .load_state(&place(pull_request))
            .await
            .map_err(|error| Error::Broken(error.to_string()))?;
        self.loaded.lock().await.insert(pull_request.clone(), saved.clone());
        Ok(saved)
    }

    async fn save(&self, pull_request: &PullRequestId, mut saved: Saved) -> Result<(), Error> {
        match self.client.save_state(&place(pull_request), &saved).await {
            Ok(commit) => {
                saved.commit = Some(commit);
                self.loaded.lock().await.insert(pull_request.clone(), saved);
                Ok(())
            }
            Err(error) => {
                // What is in memory is behind; the next look reads the ref again.
                self.loaded.lock().await.remove(pull_request);
                match error {
                    SaveError::Lost => Err(Error::Taken),
                    SaveError::GitHub(error) => Err(Error::Broken(error.to_string())),
                }
            }
        }
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
fn in_order(saved: &Saved) -> Result<Vec<(String, Run)>, Error> {
    let mut runs = Vec::new();
    for (file, text) in &saved.files {
        let steps: Result<Vec<Step>, _> = text.lines().map(serde_json::from_str).collect();
        let steps =
            steps.map_err(|error| Error::Broken(format!("{file} in refs/greenlight cannot be read: {error}")))?;
        runs.push((
            file.clone(),
            Run::fold(steps).map_err(|error| Error::Broken(error.to_string()))?,
        ));
    }
    runs.sort_by_key(|(_, run)| run.started.at);
    Ok(runs)
}
