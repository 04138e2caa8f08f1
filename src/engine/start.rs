//! Begins a run: by a command, by red CI, or by a label. The same cause begins the same run, however often it arrives.

use sha2::{Digest as _, Sha256};

use crate::config::repository::{Execution, RepoConfig};
use crate::domain::id::{Login, PullRequestId, RunId};
use crate::domain::mode::Mode;
use crate::domain::run::{Consent, Origin, Run, Started};

use super::{Broken, Context};

/// Begins a run, or finds it when it was begun before.
///
/// # Errors
/// When the journal cannot be written.
pub(super) async fn start(
    context: &Context<'_>,
    config: &RepoConfig,
    (origin, mode): (Origin, Mode),
    consent: Consent,
) -> Result<Run, Broken> {
    let pull_request = &context.pull_request;
    let started = Started {
        run: run_id(&pull_request.id, (&origin, &mode), pull_request.head.as_str()),
        pull_request: pull_request.id.clone(),
        installation: context.installation,
        head: pull_request.head.clone(),
        base: pull_request.base.clone(),
        origin,
        consent,
        asks_about_tests: config.gate.tests && matches!(mode, Mode::Tdd { .. }),
        mode,
        approvers: config.gate.approvers,
        gate_seconds: config.gate.expires.as_secs(),
        at: jiff::Timestamp::now(),
    };
    tracing::info!(run.id = %started.run, pull_request = %started.pull_request, head = %started.head, "a run begins");
    Ok(context.app.journal.begin(started).await?)
}

/// Whether the author's own standing allows sandboxed runs before any gate: `execution = "sandbox"` on the base
/// branch, and write access, fetched live.
///
/// # Errors
/// When GitHub cannot be reached.
pub(super) async fn consent_by_config(context: &Context<'_>, config: &RepoConfig) -> Result<Consent, Broken> {
    if config.execution != Execution::Sandbox {
        return Ok(Consent::None);
    }
    let author: &Login = &context.pull_request.author;
    let permission = context.client.permission(&context.id().repository, author).await?;
    Ok(if permission.may_approve() {
        Consent::Config { author: author.clone() }
    } else {
        Consent::None
    })
}

/// The name of a run, from its cause: a comment begins one run of each mode, and red CI begins one run a head.
fn run_id(pull_request: &PullRequestId, (origin, mode): (&Origin, &Mode), head: &str) -> RunId {
    let cause = match origin {
        Origin::Comment { id, .. } if mode.is_debug() => format!("comment {id}"),
        Origin::Comment { id, .. } => format!("comment {id} {}", mode.name()),
        Origin::Ci { .. } => format!("ci {head}"),
        Origin::Label { .. } => format!("label {head}"),
    };
    let hash = hex::encode(Sha256::digest(format!("{pull_request}\n{cause}")));
    RunId(format!("r{}", &hash[..9]))
}
