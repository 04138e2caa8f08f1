//! What the logs of failed CI jobs say. Nothing is executed.

use crate::domain::run::{Origin, Reading, Run};
use crate::domain::test_run::Failure;
use crate::suite;

use super::{Broken, Context};

/// How much of a failed job's log is read.
const MAX_LOG_BYTES: usize = 8 << 20;
/// How many failed jobs' logs are read; each tells at most `TestRun::MAX_FAILURES` failures.
const MAX_LOGS: usize = 3;

/// Reads the logs of the failed jobs.
///
/// # Errors
/// When GitHub cannot be reached; a log that is gone is left out.
pub(super) async fn read_log(context: &Context<'_>, run: &Run) -> Result<Reading, Broken> {
    let Origin::Ci {
        workflow_run: Some(workflow_run),
    } = run.started.origin
    else {
        return Ok(Reading::default());
    };
    let repository = &context.id().repository;
    let jobs = context.client.failed_jobs(repository, workflow_run).await?;
    let mut reading = Reading::default();
    for job in jobs.iter().take(MAX_LOGS) {
        let log = match context.client.job_log(repository, job.id, MAX_LOG_BYTES).await {
            Ok(log) => log,
            Err(error) => {
                tracing::warn!(job.id = job.id, %error, "a log could not be read");
                continue;
            }
        };
        let distilled = suite::distil(&log);
        reading
            .failures
            .extend(distilled.failures.into_iter().map(in_repository));
        if reading.excerpt.is_empty() {
            reading.excerpt = distilled.excerpt;
        }
    }
    Ok(reading)
}

/// Takes the folder of GitHub's own runners off a path, so that it is one of the repository.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/variables> (`GITHUB_WORKSPACE`)
fn in_repository(mut failure: Failure) -> Failure {
    if let Some(at) = &mut failure.location {
        let within = ["/home/runner/work/", "/Users/runner/work/"]
            .iter()
            .find_map(|root| at.path.strip_prefix(root));
        if let Some(path) = within.and_then(|path| path.splitn(3, '/').nth(2)) {
            at.path = path.to_string();
        }
    }
    failure
}
