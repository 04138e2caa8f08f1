//! Workflow runs of GitHub Actions: their jobs and logs, and re-running them.

use serde::Deserialize;

use super::client::Client;
use super::error::Error;
use super::escaped;
use super::stream::Download;
use crate::domain::event::{CheckSource, FailedChecks};
use crate::domain::id::{CommitSha, RepoPath, RepositoryName};

/// Pages of jobs that are read, of a hundred each. A matrix has at most 256 jobs.
const MAX_PAGES: usize = 4;

/// A job of a workflow run.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    pub id: u64,
    /// Includes the values of its matrix.
    pub name: String,
    pub conclusion: Option<String>,
    #[serde(default)]
    pub steps: Vec<JobStep>,
}

/// A step of a job. The steps are in order.
#[derive(Debug, Clone, Deserialize)]
pub struct JobStep {
    pub name: String,
    pub conclusion: Option<String>,
}

/// A workflow run.
#[derive(Debug, Clone, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    pub head_sha: CommitSha,
    pub status: Option<String>,
    pub conclusion: Option<String>,
    #[serde(default)]
    pub workflow_id: u64,
    /// The file of the workflow, followed by `@` and a ref if it is not from the run's own commit.
    #[serde(default)]
    path: Option<String>,
    /// The event that triggered the run. A run for `pull_request` tests the merge of the head with its base branch,
    /// although `head_sha` is the head. <https://docs.github.com/en/rest/actions/workflow-runs#get-a-workflow-run>
    #[serde(default)]
    pub event: Option<String>,
}

impl WorkflowRun {
    /// The completed run that an event describes, without its conclusion. `None` if it describes none, or not in full.
    pub fn told_by(checks: &FailedChecks) -> Option<Self> {
        let CheckSource::WorkflowRun {
            id,
            details: Some(details),
            ..
        } = &checks.source
        else {
            return None;
        };
        Some(Self {
            id: *id,
            head_sha: checks.head.clone(),
            status: Some("completed".into()),
            conclusion: None,
            workflow_id: details.workflow,
            path: Some(details.path.clone()),
            event: Some(details.event.clone()),
        })
    }

    /// The file of the workflow, if it is in the repository.
    pub fn workflow(&self) -> Option<RepoPath> {
        let path = self.path.as_deref()?;
        path.split_once('@').map_or(path, |(path, _)| path).parse().ok()
    }
}

impl Job {
    /// Whether it failed.
    pub fn has_failed(&self) -> bool {
        is_red(self.conclusion.as_deref())
    }

    /// The index of the first failed step. Later failures are usually its consequence.
    pub fn failed_step(&self) -> Option<usize> {
        self.steps.iter().position(|step| is_red(step.conclusion.as_deref()))
    }
}

/// The conclusions that greenlight reacts to, both in events and when it reads jobs.
pub(super) fn is_red(conclusion: Option<&str>) -> bool {
    matches!(conclusion, Some("failure" | "timed_out"))
}

impl Client {
    /// The jobs of the latest attempt of a workflow run.
    /// <https://docs.github.com/en/rest/actions/workflow-jobs#list-jobs-for-a-workflow-run>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn jobs(&self, repository: &RepositoryName, run: u64) -> Result<Vec<Job>, Error> {
        #[derive(Deserialize)]
        struct Page {
            total_count: usize,
            jobs: Vec<Job>,
        }
        let mut jobs = Vec::new();
        for page in 1..=MAX_PAGES {
            let route = format!("/repos/{repository}/actions/runs/{run}/jobs?per_page=100&page={page}");
            let mut answer: Page = self.get(&route).await?;
            let is_last = answer.jobs.is_empty();
            jobs.append(&mut answer.jobs);
            if is_last || jobs.len() >= answer.total_count {
                break;
            }
        }
        Ok(jobs)
    }

    /// Begins to download the log of a job.
    /// <https://docs.github.com/en/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run>
    ///
    /// # Errors
    /// When GitHub cannot be reached, or the log is gone.
    pub async fn job_log(&self, repository: &RepositoryName, job: u64) -> Result<Download, Error> {
        self.download(&format!("/repos/{repository}/actions/jobs/{job}/logs"))
            .await
    }

    /// Begins to download the logs of all jobs of a run as one ZIP archive.
    /// <https://docs.github.com/en/rest/actions/workflow-runs#download-workflow-run-logs>
    ///
    /// # Errors
    /// When GitHub cannot be reached, or the logs are gone.
    pub async fn run_logs(&self, repository: &RepositoryName, run: u64) -> Result<Download, Error> {
        self.download(&format!("/repos/{repository}/actions/runs/{run}/logs"))
            .await
    }

    /// The newest green run of a workflow for a push to a branch of this repository. Runs of pull requests are
    /// excluded, because they have the name of the head branch, and a fork may use the same name.
    /// <https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-workflow>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn green_run(
        &self,
        repository: &RepositoryName,
        workflow: u64,
        branch: &str,
    ) -> Result<Option<WorkflowRun>, Error> {
        #[derive(Deserialize)]
        struct Page {
            workflow_runs: Vec<WorkflowRun>,
        }
        let branch = escaped(branch);
        let route = format!(
            "/repos/{repository}/actions/workflows/{workflow}/runs?branch={branch}&event=push&status=success&per_page=1&page=1"
        );
        let page: Option<Page> = self.get_optional(&route).await?;
        Ok(page.and_then(|page| page.workflow_runs.into_iter().next()))
    }

    /// The failed workflow runs on a commit, newest first.
    /// <https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-repository>
    ///
    /// # Errors
    /// When GitHub cannot be reached, or the token may not see them.
    pub async fn failed_runs(&self, repository: &RepositoryName, head: &CommitSha) -> Result<Vec<WorkflowRun>, Error> {
        #[derive(Deserialize)]
        struct Page {
            workflow_runs: Vec<WorkflowRun>,
        }
        // The query accepts a single status, but failures have several.
        let route = format!("/repos/{repository}/actions/runs?head_sha={head}&status=completed&per_page=100&page=1");
        let page: Option<Page> = self.get_optional(&route).await?;
        let mut runs = page.map(|page| page.workflow_runs).unwrap_or_default();
        runs.retain(|run| is_red(run.conclusion.as_deref()));
        Ok(runs)
    }

    /// Re-runs the failed jobs of a workflow run. A run that is still in progress is left alone.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses.
    pub async fn rerun_failed_jobs(&self, repository: &RepositoryName, run: u64) -> Result<(), Error> {
        let route = format!("/repos/{repository}/actions/runs/{run}/rerun-failed-jobs");
        let find = || async {
            let now = self.workflow_run(repository, run).await?;
            Ok((now.status.as_deref() != Some("completed")).then_some(serde_json::Value::Null))
        };
        let _: serde_json::Value = self.once(&route, &serde_json::json!({}), find).await?;
        Ok(())
    }

    /// Fetches one workflow run.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn workflow_run(&self, repository: &RepositoryName, run: u64) -> Result<WorkflowRun, Error> {
        self.get(&format!("/repos/{repository}/actions/runs/{run}")).await
    }
}
