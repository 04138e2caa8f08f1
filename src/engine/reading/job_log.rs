//! The log of one failed job: downloaded, and distilled while it arrives.

use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;

use super::super::Context;
use crate::github::{self, Download, Job, Streamed, WorkflowRun};
use crate::suite::{self, Distillate, Distiller, GreenLog};

/// The maximum size of an archive of logs, in bytes.
const MAX_ARCHIVE: u64 = 256 << 20;
/// The note in the excerpt of an incomplete log.
const CUT: &str = "the log is incomplete: the download was interrupted or took too long";

/// The distilled log of a job whose download has begun. `script` is what the failed step ran, if known. If it does not
/// begin with a failure that is recognised, the lines that a green log has, too, are left out: what remains is more
/// likely the cause.
///
/// # Errors
/// When the log is gone, forbidden, or cannot be downloaded.
pub(super) async fn distilled(
    context: &Context<'_>,
    (run, job): (&WorkflowRun, &Job),
    begun: Result<Download, github::Error>,
    script: Option<&str>,
) -> Result<Distillate, github::Error> {
    let distiller = || match script {
        Some(script) => Distiller::default().of_script(script),
        None => Distiller::default(),
    };
    let alone = read(context, (run, job), begun, distiller()).await?;
    if alone.begins_with_failure {
        return Ok(alone);
    }
    let Some(green) = green_log(context, run, job).await else {
        return Ok(alone);
    };
    let begun = context.client.job_log(&context.id().repository, job.id).await;
    Ok(read(context, (run, job), begun, distiller().beside(green))
        .await
        .unwrap_or(alone))
}

/// The distilled log of a job whose download has begun, or from the archive of the run's logs if it is not available
/// separately.
async fn read(
    context: &Context<'_>,
    (run, job): (&WorkflowRun, &Job),
    begun: Result<Download, github::Error>,
    mut distiller: Distiller,
) -> Result<Distillate, github::Error> {
    let (client, repository) = (&context.client, &context.id().repository);
    let mut take = |bytes: &[u8]| distiller.take(bytes);
    let streamed = match begun {
        Ok(download) => match download.read(&mut take).await {
            // The connection may have been closed while the download waited.
            Err(github::Error::Unclear(_)) => match client.job_log(repository, job.id).await {
                Ok(download) => download.read(&mut take).await,
                Err(error) => Err(error),
            },
            read => read,
        },
        Err(error) => Err(error),
    };
    match streamed {
        Ok(streamed) => {
            if streamed == Streamed::Cut {
                distiller.note(CUT);
            }
            Ok(distiller.finish())
        }
        Err(gone) if matches!(gone.status(), Some(404 | 410)) => match archived(context, run, job, distiller).await? {
            Some(distillate) => Ok(distillate),
            None => Err(gone),
        },
        Err(error) => Err(error),
    }
}

/// The log of a job from the archive of its run. `None` if it is missing, or the archive cannot be read.
async fn archived(
    context: &Context<'_>,
    run: &WorkflowRun,
    job: &Job,
    distiller: Distiller,
) -> Result<Option<Distillate>, github::Error> {
    let unusable = |error: std::io::Error| {
        tracing::warn!(%error, "an archive of logs could not be read");
    };
    let Ok(mut file) = tempfile::tempfile_in(&context.app.folder).map_err(unusable) else {
        return Ok(None);
    };
    let mut length = 0_u64;
    let mut keep = |bytes: &[u8]| {
        length += bytes.len() as u64;
        if length > MAX_ARCHIVE || file.write_all(bytes).is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let download = context.client.run_logs(&context.id().repository, run.id).await?;
    let streamed = download.read(&mut keep).await?;
    // The directory of an archive is at its end, so an incomplete one is useless.
    if streamed != Streamed::Whole || file.rewind().is_err() {
        return Ok(None);
    }
    let name = job.name.clone();
    let distilled = tokio::task::spawn_blocking(move || suite::distil_archive(file, &name, distiller)).await;
    let distilled = distilled.map_err(std::io::Error::other).flatten();
    Ok(distilled.map_err(unusable).ok().flatten())
}

/// The log of the same job in the newest green run on the base branch. `None` if it is unavailable.
async fn green_log(context: &Context<'_>, run: &WorkflowRun, job: &Job) -> Option<GreenLog> {
    let (client, repository) = (&context.client, &context.id().repository);
    let branch = &context.pull_request.base_branch;
    let found = async {
        let Some(green) = client.green_run(repository, run.workflow_id, branch).await? else {
            return Ok(None);
        };
        let jobs = client.jobs(repository, green.id).await?;
        let same = |other: &&Job| other.name == job.name && other.conclusion.as_deref() == Some("success");
        let Some(same) = jobs.iter().find(same) else {
            return Ok(None);
        };
        let mut log = GreenLog::default();
        let download = client.job_log(repository, same.id).await?;
        download.read(&mut |bytes| log.take(bytes)).await?;
        Ok::<_, github::Error>(Some(log))
    };
    match found.await {
        Ok(log) => log,
        Err(error) => {
            tracing::debug!(%error, "there is no green log to compare with");
            None
        }
    }
}
