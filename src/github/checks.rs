//! The check run of a head, with evidence, annotations and up to three buttons.

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Client;
use super::error::Error;
use crate::domain::id::{CommitSha, RepositoryName};

/// The name that GitHub shows. It keeps one check run per name and App.
pub(super) const NAME: &str = "greenlight";

/// The content of the check run.
#[derive(Debug, Clone)]
pub struct CheckRun {
    pub head: CommitSha,
    /// `None` while it is in progress.
    pub conclusion: Option<Conclusion>,
    pub title: String,
    pub summary: String,
    pub annotations: Vec<Annotation>,
    pub buttons: Vec<Button>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    Success,
    Neutral,
    Failure,
    Cancelled,
    ActionRequired,
}

impl Conclusion {
    fn wire(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::ActionRequired => "action_required",
        }
    }
}

/// GitHub accepts this many annotations per request, and appends those of an update.
const ANNOTATIONS_A_REQUEST: usize = 50;
/// Nobody reads more annotations than this.
pub const MAX_ANNOTATIONS: usize = 150;

/// A message on a line.
#[derive(Debug, Clone)]
pub struct Annotation {
    pub path: String,
    pub line: u32,
    pub message: String,
}

/// A button. GitHub accepts at most 20 characters for `label`, 40 for `description` and 20 for `identifier`, and at
/// most three buttons.
/// <https://docs.github.com/en/rest/checks/runs#create-a-check-run>
#[derive(Debug, Clone)]
pub struct Button {
    pub label: &'static str,
    pub description: &'static str,
    pub identifier: String,
}

#[derive(Deserialize)]
struct Existing {
    id: u64,
    external_id: Option<String>,
    output: Output,
}

#[derive(Deserialize)]
struct Output {
    annotations_count: usize,
}

#[derive(Deserialize)]
struct List {
    check_runs: Vec<Existing>,
}

impl Client {
    /// Creates the check run of a head, or updates it. `external_id` distinguishes it from others of the same name.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses. A plain user token may not write check runs, which is `Refused` with
    /// 403.
    pub async fn check(&self, repository: &RepositoryName, check: &CheckRun) -> Result<u64, Error> {
        let external_id = format!("greenlight:{}", check.head);
        let list = format!(
            "/repos/{repository}/commits/{}/check-runs?check_name={NAME}&per_page=100",
            check.head
        );
        let find = || async {
            let list: List = self.get(&list).await?;
            Ok(list
                .check_runs
                .into_iter()
                .find(|run| run.external_id.as_deref() == Some(&external_id)))
        };
        let (mut body, all) = (wire(check), annotations(check));
        let (id, sent) = match find().await? {
            Some(existing) => {
                let route = format!("/repos/{repository}/check-runs/{}", existing.id);
                let _: Existing = self.set(http::Method::PATCH, &route, &body).await?;
                (existing.id, existing.output.annotations_count)
            }
            None => {
                let first = &all[..all.len().min(ANNOTATIONS_A_REQUEST)];
                if !first.is_empty() {
                    body["output"]["annotations"] = json!(first);
                }
                body["head_sha"] = json!(check.head);
                body["external_id"] = json!(external_id);
                let created: Existing = self
                    .once(&format!("/repos/{repository}/check-runs"), &body, find)
                    .await?;
                (created.id, first.len())
            }
        };
        self.annotate(repository, (id, &body["output"]), &all, sent).await?;
        Ok(id)
    }

    /// Sends the annotations that are still missing. If an earlier set was begun, that set is completed: GitHub never
    /// removes annotations, so a second set would appear beside it.
    async fn annotate(
        &self,
        repository: &RepositoryName,
        (id, output): (u64, &Value),
        all: &[Value],
        mut sent: usize,
    ) -> Result<(), Error> {
        let route = format!("/repos/{repository}/check-runs/{id}");
        while sent.is_multiple_of(ANNOTATIONS_A_REQUEST) && sent < all.len() {
            let end = all.len().min(sent + ANNOTATIONS_A_REQUEST);
            let body = json!({ "output": {
                "title": output["title"], "summary": output["summary"], "annotations": &all[sent..end],
            } });
            let find = || async {
                let now: Existing = self.get(&route).await?;
                Ok((now.output.annotations_count >= end).then_some(now))
            };
            let _: Existing = self.once_by(http::Method::PATCH, &route, &body, find).await?;
            sent = end;
        }
        Ok(())
    }
}

fn annotations(check: &CheckRun) -> Vec<Value> {
    check
        .annotations
        .iter()
        .take(MAX_ANNOTATIONS)
        .map(|annotation| {
            json!({
                "path": annotation.path, "start_line": annotation.line, "end_line": annotation.line,
                "annotation_level": "failure", "message": annotation.message,
            })
        })
        .collect()
}

fn wire(check: &CheckRun) -> Value {
    let output = json!({ "title": check.title, "summary": check.summary });
    let buttons: Vec<Value> = check
        .buttons
        .iter()
        .take(3)
        .map(|button| json!({ "label": button.label, "description": button.description, "identifier": button.identifier }))
        .collect();
    let mut body = json!({ "name": NAME, "output": output, "actions": buttons });
    match check.conclusion {
        None => body["status"] = json!("in_progress"),
        Some(conclusion) => {
            body["status"] = json!("completed");
            body["conclusion"] = json!(conclusion.wire());
        }
    }
    body
}
