//! Answers a call of a model that a person decided about.

use tokio_util::sync::CancellationToken;

use crate::agent::{self, Item, Shell, Transcript};
use crate::domain::execution::{Deferred, Resolution};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::suite::Suite;

use super::super::Broken;
use super::super::desk::Desk;

/// Gives the result of a call that waited: what came of carrying it out, or why it was not done.
///
/// # Errors
/// When the transcript cannot be read, or the sandbox cannot be used.
pub async fn resolve(
    (desk, suite): (&Desk, Option<&Suite>),
    (said, deferred): (&[serde_json::Value], &Deferred),
    resolution: &Resolution,
    cancel: &CancellationToken,
) -> Result<serde_json::Value, Broken> {
    let unreadable = |error: serde_json::Error| Broken::Bug(format!("a transcript cannot be read: {error}"));
    let needs_a_sandbox = deferred.execution.runs_code();
    let (text, granted) = match (resolution, suite) {
        (Resolution::Approved, None) if needs_a_sandbox => {
            ("approved, but the sandbox cannot be used here.".into(), false)
        }
        (Resolution::Approved, suite) => {
            let items = serde_json::Value::Array(said.to_vec());
            let transcript: Transcript = serde_json::from_value(items).map_err(unreadable)?;
            let is_protected = |path: &RepoPath| desk.config.protect.paths.covers(path);
            let weakenings = |_: &Patch| Vec::new();
            let bounds = desk.bounds(&is_protected, &weakenings);
            let limits = super::limits::limits(desk, said);
            let mut shell = Shell::new(desk.checkout.clone(), suite.cloned(), bounds, limits);
            let text = agent::carry_out(&mut shell, &transcript, &deferred.execution, cancel).await?;
            (text, true)
        }
        (Resolution::Rejected { reason }, _) => (agent::prompt::rejected(reason.as_deref()), false),
        (Resolution::NoAnswer, _) => (
            "no answer: nobody approved or rejected it in time. Go on without it.".into(),
            false,
        ),
    };
    serde_json::to_value(Item::Result {
        call_id: deferred.call_id.clone(),
        text,
        exit: None,
        granted,
    })
    .map_err(unreadable)
}
