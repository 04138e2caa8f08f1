//! What a failed CI job says: its log, distilled, and the step that failed. Nothing is executed.

use std::collections::BTreeMap;
use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;

use crate::domain::ci_step::CiStep;
use crate::domain::id::RepoPath;
use crate::domain::run::{Origin, Reading, Run};
use crate::github::{self, Job, Streamed, WorkflowRun};
use crate::suite::{self, Distillate, Distiller, GreenLog};

use super::{Broken, Context};

/// How many failed jobs' logs are read; each tells at most `TestRun::MAX_FAILURES` failures.
const MAX_LOGS: usize = 3;
/// Longest archive of logs.
const MAX_ARCHIVE: u64 = 256 << 20;
/// How many files are read to find out what a step ran: the workflow, those it calls, and local actions.
const MAX_FILES: usize = 8;
/// What the excerpt says where a log is not whole.
const CUT: &str = "the log was not read to its end: the download broke off, or took too long";

/// Reads the logs of the failed jobs, and what the first failed step ran.
///
/// # Errors
/// When GitHub cannot be reached; a log that is gone is left out.
pub(super) async fn read_log(context: &Context<'_>, run: &Run) -> Result<Reading, Broken> {
    let repository = &context.id().repository;
    let red = match run.started.origin {
        Origin::Ci { workflow_run: Some(id) } => Some(context.client.workflow_run(repository, id).await?),
        // Somebody asked: what CI said of this head, if it has said anything.
        _ => {
            let failed = context.client.failed_runs(repository, &run.started.head).await?;
            failed.into_iter().next()
        }
    };
    let Some(told) = red else {
        return Ok(Reading::default());
    };
    let jobs = context.client.jobs(repository, told.id).await?;
    let mut reading = Reading::default();
    for job in jobs.iter().filter(|job| job.has_failed()).take(MAX_LOGS) {
        let mut step = match told.workflow() {
            Some(workflow) => failed_step(context, &workflow, job).await?,
            None => None,
        };
        let distilled = match log(context, &told, job, step.as_ref()).await {
            Ok(distilled) => distilled,
            Err(error) => {
                tracing::warn!(job.id = job.id, %error, "a log could not be read");
                Distillate::default()
            }
        };
        if let Some(step) = &mut step {
            step.shows = distilled.framework.map(|framework| framework.to_string());
        }
        reading.step = reading.step.or(step);
        reading.failures.extend(distilled.failures);
        if reading.excerpt.is_empty() {
            reading.excerpt = distilled.excerpt;
        }
    }
    Ok(reading)
}

/// The step of a job that failed, as the files of the base branch describe it: the head's may be anybody's.
async fn failed_step(context: &Context<'_>, workflow: &RepoPath, job: &Job) -> Result<Option<CiStep>, Broken> {
    let Some(failed) = job.failed_step() else {
        return Ok(None);
    };
    let steps: Vec<String> = job.steps.iter().map(|step| step.name.clone()).collect();
    let asked = suite::Failed {
        workflow,
        job: &job.name,
        steps: &steps,
        failed,
    };
    let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
    for _ in 0..MAX_FILES {
        let mut missing = None;
        let found = suite::failed_step(&asked, &mut |path| {
            if !files.contains_key(path) && missing.is_none() {
                missing = Some(path.to_string());
            }
            files.get(path).cloned().flatten()
        });
        let Some(path) = missing else { return Ok(found) };
        let base = &context.pull_request.base_branch;
        let bytes = context.client.file(&context.id().repository, &path, base).await?;
        files.insert(path, bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
    }
    Ok(None)
}

/// The distilled log of a job; taken from the archive of the run's logs where it is not there by itself.
async fn log(
    context: &Context<'_>,
    run: &WorkflowRun,
    job: &Job,
    step: Option<&CiStep>,
) -> Result<Distillate, github::Error> {
    let mut distiller = Distiller::default();
    if let Some(step) = step {
        distiller = distiller.of_script(&step.script);
    }
    if let Some(green) = green_log(context, run, job).await {
        distiller = distiller.beside(green);
    }
    let repository = &context.id().repository;
    let streamed = context
        .client
        .job_log(repository, job.id, &mut |bytes| distiller.take(bytes))
        .await;
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

/// The log of a job from the archive of its run; none if it is not there, or the archive cannot be read.
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
    let streamed = context
        .client
        .run_logs(&context.id().repository, run.id, &mut keep)
        .await?;
    // The directory of an archive is at its end.
    if streamed != Streamed::Whole || file.rewind().is_err() {
        return Ok(None);
    }
    let name = job.name.clone();
    let distilled = tokio::task::spawn_blocking(move || suite::distil_archive(file, &name, distiller)).await;
    let distilled = distilled.map_err(std::io::Error::other).flatten();
    Ok(distilled.map_err(unusable).ok().flatten())
}

/// The log of the same job in the newest green run on the base branch; none if there is none to be had.
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
        client
            .job_log(repository, same.id, &mut |bytes| log.take(bytes))
            .await?;
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
