//! Begins a run: by a command, by red CI, or by a label. The same cause begins the same run, no matter how often it
//! arrives.

use sha2::{Digest as _, Sha256};

use super::{Broken, Context};
use crate::config::repository::{Execution, RepoConfig};
use crate::domain::id::{Account, PullRequestId, RunId};
use crate::domain::mode::Mode;
use crate::domain::run::{Consent, End, Origin, Run, Started, Subject};

/// A run that begins, or began before.
pub(super) struct Begun {
    pub(super) run: Run,
    /// Whether it was begun just now and no other run worked on this head before, so that nothing has been posted about
    /// it.
    pub(super) is_first_on_head: bool,
}

/// Begins a run, or finds the one that the same cause began before.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn start(
    context: &Context<'_>,
    config: &RepoConfig,
    (origin, mode): (Origin, Mode),
    consent: Consent,
) -> Result<Begun, Broken> {
    let pull_request = &context.pull_request;
    context.app.journal.refuse_newer(&pull_request.id).await?;
    let cause = cause(&origin, &mode, pull_request.head.as_str());
    let known = context.app.journal.runs_of(&pull_request.id).await?;
    // Runs that an earlier version began have other ids.
    let same = |run: &Run| self::cause(&run.started.origin, &run.started.mode, run.started.head.as_str()) == cause;
    if let Some(run) = known.iter().find(|run| same(run)) {
        return Ok(Begun {
            run: run.clone(),
            is_first_on_head: false,
        });
    }
    // A commit that greenlight landed has its check run already.
    let head = &pull_request.head;
    let is_known = |run: &Run| run.started.head == *head || run.end == Some(End::Landed { commit: head.clone() });
    // What others could remove from the journal proves nothing.
    let is_first_on_head = context.app.journal.is_own() && !known.iter().any(is_known);
    let started = Started {
        run: run_id(&pull_request.id, &cause),
        subject: Subject::PullRequest(pull_request.id.clone()),
        installation: context.installation,
        head: pull_request.head.clone(),
        base: pull_request.base.clone(),
        base_branch: Some(pull_request.base_branch.clone()),
        asks_first: consent == Consent::None
            && matches!(origin, Origin::Ci { .. })
            && strangers_can_push(context).await?,
        origin,
        consent,
        asks_about_tests: config.gate.tests && matches!(mode, Mode::Tdd { .. }),
        asks_nobody: false,
        mode,
        approvers: config.gate.approvers,
        gate_seconds: config.gate.expires.as_secs(),
        writes_as: Some(context.me.login.clone()),
        at: context.app.journal.now(),
    };
    tracing::info!(run.id = %started.run, pull_request = %pull_request.id, head = %started.head, "a run begins");
    let run = context.app.journal.begin(started).await?;
    context.app.metrics.runs.begin(&run.started);
    Ok(Begun { run, is_first_on_head })
}

/// Whether the configuration allows sandboxed runs before any gate. This needs `execution = "sandbox"` on the base
/// branch, an author with write access, fetched now, and a head in this repository: the owner and collaborators of a
/// fork can push to its branch at any time, no matter who opened the pull request.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn consent_by_config(context: &Context<'_>, config: &RepoConfig) -> Result<Consent, Broken> {
    if config.execution != Execution::Sandbox || context.pull_request.is_from_fork() {
        return Ok(Consent::None);
    }
    let author: &Account = &context.pull_request.author;
    let permission = context.client.permission(&context.id().repository, author).await?;
    Ok(if permission.may_approve() {
        Consent::Config { author: author.clone() }
    } else {
        Consent::None
    })
}

/// Whether somebody without write access can push to the head. Branches of the repository itself need write access. A
/// fork is trusted if its owner opened the pull request and has write access here.
///
/// # Errors
/// When GitHub cannot be reached.
async fn strangers_can_push(context: &Context<'_>) -> Result<bool, Broken> {
    let pull_request = &context.pull_request;
    if !pull_request.is_from_fork() {
        return Ok(false);
    }
    let author = &pull_request.author;
    let fork = pull_request.head_repository.as_ref();
    if fork.is_none_or(|fork| !fork.name.owner().eq_ignore_ascii_case(author.login.as_str())) {
        return Ok(true);
    }
    let permission = context.client.permission(&context.id().repository, author).await?;
    Ok(!permission.may_approve())
}

/// Identifies what begins a run: a comment begins one run per mode, red CI and a label one per head.
fn cause(origin: &Origin, mode: &Mode, head: &str) -> String {
    match origin {
        Origin::Comment { id, .. } if mode.is_debug() => format!("comment {id}"),
        Origin::Comment { id, .. } => format!("comment {id} {}", mode.name()),
        Origin::CommandLine => format!("command line {head}"),
        Origin::Ci { .. } => format!("ci {head}"),
        Origin::Rerun { pressed, .. } => format!("rerun {pressed}"),
        Origin::Label { .. } => format!("label {head}"),
    }
}

/// The id of a run, derived from its cause. Renaming the repository does not change it.
fn run_id(pull_request: &PullRequestId, cause: &str) -> RunId {
    let hash = hex::encode(Sha256::digest(format!("{}\n{cause}", pull_request.key())));
    RunId(format!("r{}", &hash[..9]))
}
