//! Reads a failed CI job: its distilled log, and the step that failed. Nothing is executed.

use std::collections::BTreeMap;
use std::io::{Seek as _, Write as _};
use std::ops::ControlFlow;

use super::{Broken, Context};
use crate::domain::ci_step::CiStep;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::run::{JobReading, Log, Origin, Run, Tested};
use crate::domain::test_run::Location;
use crate::github::{self, Job, Streamed, WorkflowRun};
use crate::suite::{self, Distillate, Distiller, GreenLog};

/// How many logs of failed jobs are read. Each yields at most `TestRun::MAX_FAILURES` failures.
const MAX_LOGS: usize = 3;
/// The maximum size of an archive of logs, in bytes.
const MAX_ARCHIVE: u64 = 256 << 20;
/// How many files are read to find the commands of a step: the workflow, the workflows it calls, and local actions.
const MAX_FILES: usize = 8;
/// The note in the excerpt of an incomplete log.
const CUT: &str = "the log is incomplete: the download was interrupted or took too long";

/// Reads the logs of the failed jobs, and the commands of the first failed step.
///
/// # Errors
/// When GitHub cannot be reached. A log that is gone or forbidden is left out, and the reading says so.
pub(super) async fn read_log(context: &Context<'_>, run: &Run) -> Result<JobReading, Broken> {
    let (client, repository) = (&context.client, &context.id().repository);
    let (failed_run, tested) = match run.started.origin {
        Origin::Ci { workflow_run: Some(id) } => match client.workflow_run(repository, id).await {
            // The journal only claims which workflow run it was.
            Ok(failed_run) if failed_run.head_sha != run.started.head => return Ok(unread(Some(Tested::Unknown))),
            Ok(run) => (run.clone(), Some(tested(&run))),
            Err(error) => return unreadable(error),
        },
        Origin::Ci { workflow_run: None } => return Ok(unread(Some(Tested::Unknown))),
        // Somebody asked for this run: read what CI reported on this head, if it did.
        _ => {
            let (failed, log) = match client.failed_runs(repository, &run.started.head).await {
                Ok(failed) => (failed, Log::None),
                // The tests can be run without it, and the person who asked is told what is missing.
                Err(error @ github::Error::Refused { .. }) => (Vec::new(), refused(&error)),
                Err(error) => return Err(error.into()),
            };
            let of_merge = failed.iter().map(tested).find(|tested| *tested == Tested::Merge);
            match failed.into_iter().next() {
                Some(run) => (run.clone(), of_merge.or(Some(tested(&run)))),
                None => {
                    let is_red = client.has_red_checks(repository, &run.started.head).await?;
                    let unread = unread(is_red.then_some(Tested::Unknown));
                    return Ok(JobReading { log, ..unread });
                }
            }
        }
    };
    let jobs = match client.jobs(repository, failed_run.id).await {
        Ok(jobs) => jobs,
        Err(error) => {
            return unreadable(error).map(|reading| JobReading { tested, ..reading });
        }
    };
    let mut reading = unread(tested);
    for job in jobs.iter().filter(|job| job.has_failed()).take(MAX_LOGS) {
        let mut step = match failed_run.workflow() {
            Some(workflow) => failed_step(context, &workflow, job).await?,
            None => None,
        };
        let distilled = match log(context, &failed_run, job, step.as_ref()).await {
            Ok(distilled) => {
                reading.log = Log::Read;
                distilled
            }
            Err(error) => {
                tracing::warn!(job.id = job.id, %error, "a log could not be read");
                if reading.log != Log::Read {
                    reading.log = refused(&error);
                }
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
    if reading.tested == Some(Tested::Merge) {
        without_foreign_lines(context, &run.started.head, &mut reading).await?;
    }
    Ok(reading)
}

/// Removes the locations in files that the base branch changed since the merge base: the log shows line numbers of
/// the merge, which do not exist on the head.
async fn without_foreign_lines(
    context: &Context<'_>,
    head: &CommitSha,
    reading: &mut JobReading,
) -> Result<(), github::Error> {
    if reading.failures.iter().all(|failure| failure.location.is_none()) {
        return Ok(());
    }
    let (client, pull_request) = (&context.client, &context.pull_request);
    let changed = client.changed_since(&pull_request.id.repository, head, &pull_request.base_branch);
    let changed = changed.await?;
    for failure in &mut reading.failures {
        let is_foreign = |at: &Location| match &changed {
            Some(paths) => paths.contains(&at.path),
            None => true,
        };
        failure.location.take_if(|at| is_foreign(at));
    }
    Ok(())
}

/// Which commit a workflow run tested.
fn tested(run: &WorkflowRun) -> Tested {
    match run.event.as_deref() {
        Some("pull_request") => Tested::Merge,
        // It begins on the base branch and may check out anything.
        Some("pull_request_target") | None => Tested::Unknown,
        Some(_) => Tested::Head,
    }
}

/// A reading without a log.
fn unread(tested: Option<Tested>) -> JobReading {
    JobReading {
        log: Log::None,
        tested,
        ..JobReading::default()
    }
}

/// The reading if GitHub shows neither the run nor its jobs.
///
/// # Errors
/// The same error, if retrying may help.
fn unreadable(error: github::Error) -> Result<JobReading, Broken> {
    if error.may_pass() {
        return Err(error.into());
    }
    tracing::warn!(%error, "a workflow run could not be read");
    Ok(JobReading {
        log: refused(&error),
        ..unread(Some(Tested::Unknown))
    })
}

fn refused(error: &github::Error) -> Log {
    match error {
        github::Error::Refused {
            status: 404 | 410,
            lacks: None,
            ..
        } => Log::Gone,
        github::Error::Refused {
            status, message, lacks, ..
        } => {
            let lacks = lacks.as_ref().map_or_else(String::new, |lacks| format!("; {lacks}"));
            Log::Refused {
                why: format!("{status}: {message}{lacks}"),
            }
        }
        error => Log::Refused { why: error.to_string() },
    }
}

/// The failed step of a job, as the files of the base branch define it: anybody may have written the head's.
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

/// The distilled log of a job, from the archive of the run's logs if it is not available separately.
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
    let streamed = context
        .client
        .run_logs(&context.id().repository, run.id, &mut keep)
        .await?;
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
