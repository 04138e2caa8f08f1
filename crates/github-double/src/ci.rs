//! CI events on GitHub's side: completed workflow runs, and pressed buttons of check runs.

use super::merging::test_merge;
use super::names::{DEFAULT_BRANCH, HOME, MAINTAINER};
use super::play::{branch_tip, known};
use super::state::{Job, State, WorkflowRun};
use super::{Double, DoubleError, actions, checks};

/// A failed job of a workflow run.
#[derive(Debug, Clone)]
pub struct JobLog<'a> {
    /// The name of the workflow.
    pub workflow: &'a str,
    /// The name of the job.
    pub job: &'a str,
    /// The name of the step that failed.
    pub step: &'a str,
    /// The downloadable log.
    pub log: &'a str,
}

impl Double {
    /// Completes a workflow run for a pull request with one failed job; delivers `check_run.completed`,
    /// `check_suite.completed` and `workflow_run.completed`. Returns the id of the workflow run.
    ///
    /// The run tested the merge with the base branch, although it is listed under the head.
    /// <https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>
    ///
    /// # Errors
    /// When there is no such pull request, or it conflicts with its base branch: GitHub then runs no such workflow.
    pub async fn fail_ci(&self, number: u64, log: JobLog<'_>) -> Result<u64, DoubleError> {
        self.conclude_ci(number, log, "failure").await
    }

    /// The same for a workflow that runs on `push`, and so tests the head alone.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn fail_ci_of_push(&self, number: u64, log: JobLog<'_>) -> Result<u64, DoubleError> {
        let id = self.change(|state| {
            let head = Head {
                event: "push",
                ..head_of(state, number)?
            };
            end_ci(state, head, &log, "failure")
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Completes a workflow run for a pull request with one job that has this conclusion; delivers the same events.
    ///
    /// # Errors
    /// When there is no such pull request, or it conflicts with its base branch.
    pub async fn conclude_ci(&self, number: u64, log: JobLog<'_>, conclusion: &str) -> Result<u64, DoubleError> {
        let id = self.change(|state| {
            let pull = known(state, number)?;
            let home = state.repository(HOME);
            if pull.open && home.is_none_or(|home| test_merge(home, &pull).is_none()) {
                let why = "GitHub runs no workflows for a pull request that conflicts with its base branch";
                return Err(DoubleError::Refused(why.into()));
            }
            let head = head_of(state, number)?;
            end_ci(state, head, &log, conclusion)
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Completes a workflow run on the head of a pull request with one successful job; delivers the same events.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn pass_ci(&self, number: u64, log: JobLog<'_>) -> Result<u64, DoubleError> {
        self.conclude_ci(number, log, "success").await
    }

    /// Completes a workflow run on the default branch with one successful job; delivers the same events.
    ///
    /// # Errors
    /// When there is no such branch.
    pub async fn pass_ci_on_main(&self, log: JobLog<'_>) -> Result<u64, DoubleError> {
        let id = self.change(|state| {
            let head = Head {
                repository: HOME,
                branch: DEFAULT_BRANCH.into(),
                commit: branch_tip(state, HOME, DEFAULT_BRANCH)?,
                author: MAINTAINER.into(),
                event: "push",
            };
            end_ci(state, head, &log, "success")
        })?;
        self.delivered().await;
        Ok(id)
    }

    /// Completes the re-run jobs of a workflow run; delivers the same events.
    ///
    /// # Errors
    /// When there is no such run, or none of its jobs was re-run.
    pub async fn finish_rerun(&self, run: u64, conclusion: &str, log: &str) -> Result<(), DoubleError> {
        self.change(|state| end_rerun(state, run, conclusion, log))?;
        self.delivered().await;
        Ok(())
    }

    /// Presses a button of a check run; delivers `check_run.requested_action`.
    ///
    /// # Errors
    /// When there is no such check run, or it has no such button.
    pub async fn press_button(&self, check_run: u64, identifier: &str, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let run = state.check_runs.get(&check_run).cloned();
            let run = run.ok_or(DoubleError::Missing {
                what: "check run",
                id: check_run,
            })?;
            if !run.actions.iter().any(|action| action["identifier"] == identifier) {
                return Err(DoubleError::Refused(format!(
                    "the check run has no button {identifier:?}"
                )));
            }
            checks::notify(state, "requested_action", &run, Some((Some(identifier), login)));
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }
}

/// The commit that CI runs on.
pub(super) struct Head {
    pub(super) repository: u64,
    pub(super) branch: String,
    pub(super) commit: git2::Oid,
    author: String,
    event: &'static str,
}

pub(super) fn head_of(state: &State, number: u64) -> Result<Head, DoubleError> {
    let pull = known(state, number)?;
    Ok(Head {
        repository: pull.head_repository,
        branch: pull.head_branch.clone(),
        commit: pull.head,
        author: pull.author.clone(),
        event: "pull_request",
    })
}

fn end_ci(state: &mut State, head: Head, log: &JobLog<'_>, conclusion: &str) -> Result<u64, DoubleError> {
    let (started, ended) = (state.now(), state.now());
    let slug = state.apps[1].slug.clone();
    let mut check = checks::blank(state, HOME, head.commit, log.job, &slug);
    check.status = "completed".into();
    check.conclusion = Some(conclusion.into());
    check.started_at = Some(started.clone());
    check.completed_at = Some(ended.clone());
    let run = WorkflowRun {
        id: state.fresh_id(),
        repository: HOME,
        number: u64::try_from(state.workflow_runs.len()).unwrap_or_default() + 1,
        name: log.workflow.into(),
        head_repository: head.repository,
        head_branch: head.branch,
        head: head.commit,
        event: head.event,
        actor: head.author.clone(),
        status: "completed".into(),
        conclusion: Some(conclusion.into()),
        attempt: 1,
        suite: check.suite,
        created_at: started.clone(),
        updated_at: ended.clone(),
    };
    let job = Job {
        id: state.fresh_id(),
        run: run.id,
        check_run: check.id,
        name: log.job.into(),
        attempt: 1,
        status: "completed".into(),
        conclusion: Some(conclusion.into()),
        failed_step: Some(log.step.into()),
        log: log.log.into(),
        created_at: started,
        completed_at: Some(ended),
    };
    state.jobs.insert(job.id, job);
    state.workflow_runs.insert(run.id, run.clone());
    checks::add(state, check);
    actions::notify(state, "completed", &run, &head.author);
    Ok(run.id)
}

fn end_rerun(state: &mut State, id: u64, conclusion: &str, log: &str) -> Result<(), DoubleError> {
    let now = state.now();
    let waiting: Vec<Job> = state
        .jobs
        .values()
        .filter(|job| job.run == id && job.status == "queued")
        .cloned()
        .collect();
    let run = state.workflow_runs.get_mut(&id).filter(|_| !waiting.is_empty());
    let run = run.ok_or(DoubleError::Missing {
        what: "workflow run that was started again",
        id,
    })?;
    run.status = "completed".into();
    run.conclusion = Some(conclusion.into());
    run.updated_at.clone_from(&now);
    let run = run.clone();
    let slug = state.apps[1].slug.clone();
    for mut job in waiting {
        let mut check = checks::blank(state, run.repository, run.head, &job.name, &slug);
        check.status = "completed".into();
        check.conclusion = Some(conclusion.into());
        check.completed_at = Some(now.clone());
        job.check_run = checks::add(state, check).id;
        job.status = "completed".into();
        job.conclusion = Some(conclusion.into());
        job.completed_at = Some(now.clone());
        job.log = log.into();
        state.jobs.insert(job.id, job);
    }
    let actor = run.actor.clone();
    actions::notify(state, "completed", &run, &actor);
    Ok(())
}
