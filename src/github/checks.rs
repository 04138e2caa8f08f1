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

/// What is known of greenlight's check run of a head. What is known is not looked for again.
#[derive(Debug, Clone, Default)]
pub enum CheckOnHead {
    /// It may exist.
    #[default]
    Unknown,
    /// There is none on this head yet.
    None(CommitSha),
    /// GitHub has confirmed it on this head.
    Posted(CommitSha, PostedCheck),
}

/// A check run that GitHub has confirmed.
#[derive(Debug, Clone)]
pub struct PostedCheck {
    id: u64,
    /// How many annotations it has.
    annotations: usize,
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
    /// It is looked for first, unless it is `known`, which this updates.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses. A plain user token may not write check runs, which is `Refused` with
    /// 403.
    pub async fn check(
        &self,
        repository: &RepositoryName,
        check: &CheckRun,
        known: &mut CheckOnHead,
    ) -> Result<u64, Error> {
        let existing = match std::mem::take(known) {
            CheckOnHead::None(head) if head == check.head => None,
            CheckOnHead::Posted(head, posted) if head == check.head => Some(posted),
            _ => self.existing_check(repository, &check.head).await?,
        };
        let (mut body, all) = (wire(check), annotations(check));
        let (id, sent) = match existing {
            Some(existing) => {
                let route = format!("/repos/{repository}/check-runs/{}", existing.id);
                let first = match existing.annotations {
                    0 => &all[..all.len().min(ANNOTATIONS_A_REQUEST)],
                    _ => &[],
                };
                if first.is_empty() {
                    let _: Existing = self.set(http::Method::PATCH, &route, &body).await?;
                } else {
                    let mut with_first = body.clone();
                    with_first["output"]["annotations"] = json!(first);
                    let find = || self.annotated(&route, first.len());
                    let _: Existing = self.create_by(http::Method::PATCH, &route, &with_first, find).await?;
                }
                (existing.id, existing.annotations + first.len())
            }
            None => {
                let first = &all[..all.len().min(ANNOTATIONS_A_REQUEST)];
                if !first.is_empty() {
                    body["output"]["annotations"] = json!(first);
                }
                body["head_sha"] = json!(check.head);
                body["external_id"] = json!(external_id(&check.head));
                let route = format!("/repos/{repository}/check-runs");
                let find = || self.find_check(repository, &check.head);
                let created: Existing = self.create(&route, &body, find).await?;
                (created.id, first.len())
            }
        };
        let annotations = self.annotate(repository, (id, &body["output"]), &all, sent).await?;
        *known = CheckOnHead::Posted(check.head.clone(), PostedCheck { id, annotations });
        Ok(id)
    }

    async fn existing_check(
        &self,
        repository: &RepositoryName,
        head: &CommitSha,
    ) -> Result<Option<PostedCheck>, Error> {
        let found = self.find_check(repository, head).await?;
        Ok(found.map(|existing| PostedCheck {
            id: existing.id,
            annotations: existing.output.annotations_count,
        }))
    }

    async fn find_check(&self, repository: &RepositoryName, head: &CommitSha) -> Result<Option<Existing>, Error> {
        let route = format!("/repos/{repository}/commits/{head}/check-runs?check_name={NAME}&per_page=100");
        let list: List = self.get(&route).await?;
        let id = external_id(head);
        let is_it = |run: &Existing| run.external_id.as_deref() == Some(&id);
        Ok(list.check_runs.into_iter().find(is_it))
    }

    /// The check run, if it has this many annotations.
    async fn annotated(&self, route: &str, count: usize) -> Result<Option<Existing>, Error> {
        let now: Existing = self.get(route).await?;
        Ok((now.output.annotations_count >= count).then_some(now))
    }

    /// Sends the annotations that are still missing. If an earlier set was begun, that set is completed: GitHub never
    /// removes annotations, so a second set would appear beside it. Returns how many there are.
    async fn annotate(
        &self,
        repository: &RepositoryName,
        (id, output): (u64, &Value),
        all: &[Value],
        mut sent: usize,
    ) -> Result<usize, Error> {
        let route = format!("/repos/{repository}/check-runs/{id}");
        while sent.is_multiple_of(ANNOTATIONS_A_REQUEST) && sent < all.len() {
            let end = all.len().min(sent + ANNOTATIONS_A_REQUEST);
            let body = json!({ "output": {
                "title": output["title"], "summary": output["summary"], "annotations": &all[sent..end],
            } });
            let find = || self.annotated(&route, end);
            let _: Existing = self.create_by(http::Method::PATCH, &route, &body, find).await?;
            sent = end;
        }
        Ok(sent)
    }
}

fn external_id(head: &CommitSha) -> String {
    format!("greenlight:{head}")
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
