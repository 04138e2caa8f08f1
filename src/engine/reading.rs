//! Reads a failed CI job: its distilled log, and the step that failed. Nothing is executed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Broken, Context};
use crate::domain::ci_step::CiStep;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::run::{JobReading, Log, Origin, Run, Tested};
use crate::domain::test_run::Location;
use crate::github::{self, Job, WorkflowRun};
use crate::suite::{self, Distillate};

mod job_log;

/// How many logs of failed jobs are read. Each yields at most `TestRun::MAX_FAILURES` failures.
const MAX_LOGS: usize = 3;
/// How many files are read to find the commands of a step: the workflow, the workflows it calls, and local actions.
const MAX_FILES: usize = 8;

/// Reads the logs of the failed jobs, and the commands of the first failed step.
///
/// # Errors
/// When GitHub cannot be reached. A log that is gone or forbidden is left out, and the reading says so.
pub(super) async fn read_log(context: &Context<'_>, run: &Run) -> Result<JobReading, Broken> {
    let Failed {
        run: failed_run,
        tested,
        jobs,
    } = match failed(context, run).await? {
        Ok(failed) => failed,
        Err(unread) => return Ok(unread),
    };
    let red = jobs.iter().filter(|job| job.has_failed()).take(MAX_LOGS);
    let read = futures::future::try_join_all(red.map(|job| read_job(context, &failed_run, job)));
    let (read, changed) = tokio::join!(read, foreign(context, &run.started.head, tested));
    let mut reading = unread(Some(tested));
    for (step, distilled) in read? {
        let distilled = match distilled {
            Ok(distilled) => {
                reading.log = Log::Read;
                distilled
            }
            Err(error) => {
                tracing::warn!(%error, "a log could not be read");
                if reading.log != Log::Read {
                    reading.log = refused(&error);
                }
                Distillate::default()
            }
        };
        let shows = distilled.framework.map(|framework| framework.to_string());
        reading.step = reading.step.or(step.map(|step| CiStep { shows, ..step }));
        reading.failures.extend(distilled.failures);
        if reading.excerpt.is_empty() {
            reading.excerpt = distilled.excerpt;
        }
    }
    without_foreign_lines(&mut reading, changed)?;
    Ok(reading)
}

/// A failed workflow run, which commit it tested, and its jobs.
struct Failed {
    run: WorkflowRun,
    tested: Tested,
    jobs: Vec<Job>,
}

/// The workflow run that failed, or the reading if there is none or GitHub does not show it.
async fn failed(context: &Context<'_>, run: &Run) -> Result<Result<Failed, JobReading>, Broken> {
    let (client, repository) = (&context.client, &context.id().repository);
    let (failed_run, tested, jobs) = match run.started.origin {
        Origin::Ci { workflow_run: Some(id) } => {
            let of_run = async {
                match context.failed_run(id) {
                    Some(told) => Ok(told.clone()),
                    None => client.workflow_run(repository, id).await,
                }
            };
            let (failed_run, jobs) = tokio::join!(of_run, client.jobs(repository, id));
            match failed_run {
                // The journal only claims which workflow run it was.
                Ok(failed_run) if failed_run.head_sha != run.started.head => {
                    return Ok(Err(unread(Some(Tested::Unknown))));
                }
                Ok(failed_run) => {
                    let tested = tested(&failed_run);
                    (failed_run, tested, jobs)
                }
                Err(error) => return unreadable(error).map(Err),
            }
        }
        Origin::Ci { workflow_run: None } => return Ok(Err(unread(Some(Tested::Unknown)))),
        // Somebody asked for this run: read what CI reported on this head, if it did.
        _ => {
            let (failed, log) = match client.failed_runs(repository, &run.started.head).await {
                Ok(failed) => (failed, Log::None),
                // The tests can be run without it, and the person who asked is told what is missing.
                Err(error @ github::Error::Refused { .. }) => (Vec::new(), refused(&error)),
                Err(error) => return Err(error.into()),
            };
            let of_merge = failed.iter().map(tested).find(|tested| *tested == Tested::Merge);
            let Some(failed_run) = failed.into_iter().next() else {
                let is_red = client.has_red_checks(repository, &run.started.head).await?;
                let unread = unread(is_red.then_some(Tested::Unknown));
                return Ok(Err(JobReading { log, ..unread }));
            };
            let jobs = client.jobs(repository, failed_run.id).await;
            let tested = of_merge.unwrap_or_else(|| tested(&failed_run));
            (failed_run, tested, jobs)
        }
    };
    Ok(match jobs {
        Ok(jobs) => Ok(Failed {
            run: failed_run,
            tested,
            jobs,
        }),
        Err(error) => {
            let tested = Some(tested);
            Err(unreadable(error).map(|reading| JobReading { tested, ..reading })?)
        }
    })
}

/// The failed step of a job, and its distilled log.
async fn read_job(
    context: &Context<'_>,
    run: &WorkflowRun,
    job: &Job,
) -> Result<(Option<CiStep>, Result<Distillate, github::Error>), Broken> {
    let step = async {
        match run.workflow() {
            Some(workflow) => failed_step(context, &workflow, job).await,
            None => Ok(None),
        }
    };
    let begun = context.client.job_log(&context.id().repository, job.id);
    // The log is read when it is known which step of it matters.
    let (step, begun) = tokio::join!(step, begun);
    let step = step?;
    let script = step.as_ref().map(|step| step.script.as_str());
    let distilled = job_log::distilled(context, (run, job), begun, script).await;
    Ok((step, distilled))
}

/// The paths in which the base branch differs from the merge base, if the merge was tested. `Ok(None)` if they are
/// unknown, or not needed.
async fn foreign(
    context: &Context<'_>,
    head: &CommitSha,
    tested: Tested,
) -> Result<Option<BTreeSet<String>>, github::Error> {
    if tested != Tested::Merge {
        return Ok(None);
    }
    let (client, pull_request) = (&context.client, &context.pull_request);
    client
        .changed_since(&pull_request.id.repository, head, &pull_request.base_branch)
        .await
}

/// Removes the locations in files that the base branch changed since the merge base: the log of a merge shows its line
/// numbers, which do not exist on the head.
fn without_foreign_lines(
    reading: &mut JobReading,
    changed: Result<Option<BTreeSet<String>>, github::Error>,
) -> Result<(), github::Error> {
    let has_places = reading.failures.iter().any(|failure| failure.location.is_some());
    if reading.tested != Some(Tested::Merge) || !has_places {
        return Ok(());
    }
    let changed = changed?;
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
        // At the branch's tip, which CI merged the head with: the pull request may name an earlier commit.
        let base = &context.pull_request.base_branch;
        let bytes = context.client.file(&context.id().repository, &path, base).await?;
        files.insert(path, bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
    }
    Ok(None)
}
