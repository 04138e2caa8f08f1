//! A few files in a git ref of the repository, for use without a disk, written by compare-and-swap.
//!
//! The ref is outside `refs/heads` and `refs/tags`, so it does not appear as a branch. Each save is a commit on top
//! of the last one. GitHub only fast-forwards the ref, so of two concurrent writers one fails.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::commits::{Object, Reference};
use super::error::Error;
use super::escaped;
use crate::domain::id::RepositoryName;

/// The ref of the files: `refs/greenlight/<name>`.
#[derive(Debug, Clone)]
pub struct StateRef {
    pub repository: RepositoryName,
    pub name: String,
}

/// The files that were loaded, and the changes to save.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// The commit of the ref. `None` before the first save.
    commit: Option<String>,
    files: BTreeMap<String, StateFile>,
}

#[derive(Debug, Clone)]
struct StateFile {
    text: String,
    /// The hash of its blob, if the text is unchanged and need not be sent again.
    blob: Option<String>,
}

impl Saved {
    /// The files, ordered by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(name, file)| (name.as_str(), file.text.as_str()))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(|file| file.text.as_str())
    }

    pub fn put(&mut self, name: &str, text: String) {
        self.files.insert(name.into(), StateFile { text, blob: None });
    }

    pub fn remove(&mut self, name: &str) {
        self.files.remove(name);
    }
}

/// Why files were not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody else saved since the files were loaded; load them again.
    #[error("somebody else wrote refs/greenlight first")]
    Lost,
    #[error(transparent)]
    GitHub(#[from] Error),
}

#[derive(Deserialize)]
struct Commit {
    sha: String,
    tree: Object,
}

#[derive(Deserialize)]
struct NewTree {
    sha: String,
    tree: Vec<TreeEntry>,
}

#[derive(Deserialize)]
struct TreeEntry {
    path: String,
    sha: String,
}

impl Client {
    /// Loads the files of a ref.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn load_state(&self, place: &StateRef) -> Result<Saved, Error> {
        let StateRef { repository, name } = place;
        let reference: Option<Reference> = self
            .get_optional(&format!("/repos/{repository}/git/ref/greenlight/{}", escaped(name)))
            .await?;
        let Some(reference) = reference else {
            return Ok(Saved::default());
        };
        let commit: Commit = self
            .get(&format!("/repos/{repository}/git/commits/{}", reference.object.sha))
            .await?;
        let tree: NewTree = self
            .get(&format!("/repos/{repository}/git/trees/{}", commit.tree.sha))
            .await?;
        let mut files = BTreeMap::new();
        for entry in tree.tree {
            let raw = self
                .get_raw(
                    &format!("/repos/{repository}/git/blobs/{}", entry.sha),
                    "application/vnd.github.raw+json",
                )
                .await?;
            let text = String::from_utf8_lossy(&raw).into_owned();
            let blob = Some(entry.sha);
            files.insert(entry.path, StateFile { text, blob });
        }
        Ok(Saved {
            commit: Some(commit.sha),
            files,
        })
    }

    /// Saves the files on top of the loaded ones, and returns the saved state.
    ///
    /// # Errors
    /// [`SaveError::Lost`] when somebody else saved in between.
    pub async fn save_state(&self, place: &StateRef, mut saved: Saved) -> Result<Saved, SaveError> {
        let StateRef { repository, name } = place;
        let entries: Vec<Value> = saved
            .files
            .iter()
            .map(|(path, file)| match &file.blob {
                Some(blob) => json!({ "path": path, "mode": "100644", "type": "blob", "sha": blob }),
                None => json!({ "path": path, "mode": "100644", "type": "blob", "content": file.text }),
            })
            .collect();
        let tree: NewTree = self
            .post_again(&format!("/repos/{repository}/git/trees"), &json!({ "tree": entries }))
            .await?;
        for entry in tree.tree {
            if let Some(file) = saved.files.get_mut(&entry.path) {
                file.blob = Some(entry.sha);
            }
        }
        let parents: Vec<&String> = saved.commit.iter().collect();
        let message = "State of greenlight's runs; see https://github.com/greenlight-rs/greenlight";
        let body = json!({ "message": message, "tree": tree.sha, "parents": parents });
        let commit: Commit = self
            .post_again(&format!("/repos/{repository}/git/commits"), &body)
            .await?;
        let moved: Result<Reference, Error> = if saved.commit.is_some() {
            let route = format!("/repos/{repository}/git/refs/greenlight/{}", escaped(name));
            self.set(Method::PATCH, &route, &json!({ "sha": commit.sha, "force": false }))
                .await
        } else {
            let body = json!({ "ref": format!("refs/greenlight/{name}"), "sha": commit.sha });
            self.set(Method::POST, &format!("/repos/{repository}/git/refs"), &body)
                .await
        };
        let expected = saved.commit.replace(commit.sha.clone());
        match moved {
            Ok(_) => Ok(saved),
            Err(error) => {
                // Either the response was lost after the save, or another writer was first.
                let reference: Option<Reference> = self
                    .get_optional(&format!("/repos/{repository}/git/ref/greenlight/{}", escaped(name)))
                    .await?;
                match (reference, error) {
                    (Some(reference), _) if reference.object.sha == commit.sha => Ok(saved),
                    (Some(reference), Error::Refused { status: 422, .. })
                        if Some(&reference.object.sha) != expected.as_ref() =>
                    {
                        Err(SaveError::Lost)
                    }
                    (_, error) => Err(error.into()),
                }
            }
        }
    }
}
