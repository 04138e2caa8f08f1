//! Workflow runs of GitHub Actions: their failed jobs, the logs, and running them again.

use serde::Deserialize;

use super::client::{Client, Error};
use crate::domain::id::{CommitSha, RepositoryName};

/// A job of a workflow run.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    pub id: u64,
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
}

impl Client {
    /// The jobs of a workflow run that failed.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn failed_jobs(&self, repository: &RepositoryName, run: u64) -> Result<Vec<Job>, Error> {
        #[derive(Deserialize)]
        struct Jobs {
            jobs: Vec<Job>,
        }
        let jobs: Jobs = self
            .get(&format!("/repos/{repository}/actions/runs/{run}/jobs?per_page=100"))
            .await?;
        Ok(jobs
            .jobs
            .into_iter()
            .filter(|job| matches!(job.conclusion.as_deref(), Some("failure" | "timed_out")))
            .collect())
    }

    /// The log of a job, at most its last `max` bytes: the cause stands near the end.
    /// <https://docs.github.com/en/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run>
    ///
    /// # Errors
    /// When GitHub cannot be reached, or the log is gone.
    pub async fn job_log(&self, repository: &RepositoryName, job: u64, max: usize) -> Result<Vec<u8>, Error> {
        self.tail(&format!("/repos/{repository}/actions/jobs/{job}/logs"), max)
            .await
    }

    /// Runs the failed jobs of a workflow run again; a run that is not over runs already.
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

    /// Reads one workflow run.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn workflow_run(&self, repository: &RepositoryName, run: u64) -> Result<WorkflowRun, Error> {
        self.get(&format!("/repos/{repository}/actions/runs/{run}")).await
    }
}
