//! Handles red CI, and the label that asks for greenlight. Begins at most one run per head, and none on greenlight's
//! own commits.

use super::{App, Broken, Context, pull_request, start};
use crate::domain::event::{CheckSource, FailedChecks};
use crate::domain::id::{Account, CommitSha, InstallationId, PullRequestId};
use crate::domain::mode::Mode;
use crate::domain::permission::authorize;
use crate::domain::run::{Consent, End, Origin, Run};
use crate::github::WorkflowRun;

/// Begins a run for every open pull request with this head.
///
/// # Errors
/// When something broke.
pub(super) async fn checks_failed(
    app: &App,
    installation: Option<InstallationId>,
    checks: FailedChecks,
) -> Result<(), Broken> {
    let Some(workflow_run) = workflow_run(&checks.source) else {
        return Ok(());
    };
    for id in pull_requests(app, installation, &checks).await? {
        // GitHub reports a red head once for each workflow, and only the first report needs the configuration.
        let known = app.journal.runs_of(&id).await?;
        let context = match known.iter().any(|run| run.started.head == checks.head) {
            true => Context::of(app, installation, &id).await?,
            false => Context::with_config(app, installation, &id).await?,
        };
        if context.pull_request.head != checks.head || !context.pull_request.is_open {
            continue;
        }
        let context = context.with_failed_run(WorkflowRun::told_by(&checks));
        begin(&context, Origin::Ci { workflow_run }).await?;
    }
    Ok(())
}

/// How many runs of a repository are read, newest first.
const MAX_RUNS: usize = 100;

/// The name of greenlight's own check run.
const OWN_CHECK: &str = "greenlight";

/// Whether greenlight itself reported this failure.
fn is_own(source: &CheckSource, me: &Account) -> bool {
    match source {
        CheckSource::CheckRun {
            app_slug: Some(slug), ..
        }
        | CheckSource::CheckSuite {
            app_slug: Some(slug), ..
        } => format!("{slug}[bot]") == me.as_str(),
        CheckSource::Status { context, by, .. } => context == OWN_CHECK || by.as_ref().is_some_and(|by| by.is(me)),
        _ => false,
    }
}

/// The workflow run whose logs can be read: `Some(None)` if there is none, and `None` if the event is to be ignored.
fn workflow_run(source: &CheckSource) -> Option<Option<u64>> {
    match source {
        CheckSource::WorkflowRun { id, .. } => Some(Some(*id)),
        // GitHub Actions also reports the same failure as a workflow run, whose logs can be read.
        CheckSource::CheckRun { app_slug, .. } | CheckSource::CheckSuite { app_slug, .. }
            if app_slug.as_deref() == Some("github-actions") =>
        {
            None
        }
        CheckSource::CheckRun { name, .. } if name == OWN_CHECK => None,
        CheckSource::CheckRun { .. } | CheckSource::CheckSuite { .. } | CheckSource::Status { .. } => Some(None),
    }
}

/// Handles the configured label being added.
///
/// # Errors
/// When something broke.
pub(super) async fn labelled(
    app: &App,
    installation: Option<InstallationId>,
    id: &PullRequestId,
    (label, by, head): (&str, &Account, &CommitSha),
) -> Result<(), Broken> {
    let context = Context::with_config(app, installation, id).await?;
    let Ok(config) = context.config().await? else {
        return Ok(());
    };
    if config.trigger.label.as_deref() != Some(label) || context.pull_request.head != *head {
        return Ok(());
    }
    // Not everyone who may label may run code, so the gate asks unless the configuration says otherwise.
    let permission = context.client.permission(&context.id().repository, by).await?;
    let Ok(request) = authorize(Mode::Debug, by, by.as_str().ends_with("[bot]"), permission) else {
        return Ok(());
    };
    let by = request.by().clone();
    begin(&context, Origin::Label { by }).await
}

async fn begin(context: &Context<'_>, origin: Origin) -> Result<(), Broken> {
    let head = &context.pull_request.head;
    let runs = context.app.journal.runs_of(context.id()).await?;
    // At most one run per head. What greenlight landed itself starts no new run, which prevents loops.
    let landed_by_us = runs
        .iter()
        .any(|run| run.end == Some(End::Landed { commit: head.clone() }) || run.undone.as_ref() == Some(head));
    let same = |other: &Origin| std::mem::discriminant(other) == std::mem::discriminant(&origin);
    let resumes = |run: &Run| same(&run.started.origin) && !run.is_over();
    // An explanation only answers a question.
    let works_here = |run: &&Run| run.started.head == *head && run.started.mode != Mode::Explain;
    if landed_by_us || runs.iter().filter(works_here).any(|run| !resumes(run)) {
        return Ok(());
    }
    let config = match context.config().await? {
        Ok(config) if matches!(origin, Origin::Ci { .. }) && !config.trigger.ci => return Ok(()),
        Ok(config) => config,
        Err(mistake) => {
            tracing::info!(pull_request = %context.id(), mistake, "greenlight.toml on the base branch cannot be used");
            return Ok(());
        }
    };
    let consent: Consent = start::consent_by_config(context, &config).await?;
    let begun = start::start(context, &config, (origin, Mode::Debug), consent).await?;
    pull_request::drive_begun(context, begun).await
}

/// The pull requests that GitHub names; for a fork, those with this branch or this commit as their head.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn pull_requests(
    app: &App,
    installation: Option<InstallationId>,
    checks: &FailedChecks,
) -> Result<Vec<PullRequestId>, Broken> {
    if workflow_run(&checks.source).is_none() {
        return Ok(Vec::new());
    }
    if is_own(&checks.source, app.github.me().await?) {
        return Ok(Vec::new());
    }
    if !checks.pull_requests.is_empty() {
        let ids = checks.pull_requests.iter().map(|&number| PullRequestId {
            repository: checks.repository.clone(),
            number,
        });
        return Ok(ids.collect());
    }
    let client = app.github.client(installation, &checks.repository).await?;
    let found = match (&checks.head_owner, &checks.head_branch) {
        (Some(owner), Some(branch)) => client.pull_requests_of(&checks.repository, owner, branch).await?,
        // With many checks, GitHub reports a red head many times. Once a run exists, the lookup is skipped.
        _ if is_worked_on(app, checks).await? => Vec::new(),
        _ => client.pull_requests_at(&checks.repository, &checks.head).await?,
    };
    Ok(found.into_iter().map(|pull_request| pull_request.id).collect())
}

/// Whether a run began on this head. Explanations do not count.
async fn is_worked_on(app: &App, checks: &FailedChecks) -> Result<bool, Broken> {
    let runs = app.journal.runs_in(&checks.repository, MAX_RUNS).await?;
    let works_here = |run: &Run| run.started.head == checks.head && run.started.mode != Mode::Explain;
    Ok(runs.iter().any(works_here))
}
