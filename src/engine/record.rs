//! Writes a run to a bundle for later analysis. Nothing relies on it.

use super::worktree::Worktree;
use super::{Context, bundle};
use crate::domain::run::{Run, Step};

/// Writes the current state of the run, and replaces its earlier bundle.
pub(super) async fn record(context: &Context<'_>, run: &Run, worktree: &Worktree) {
    let Some(folder) = &context.app.bundles else { return };
    let repository = &context.id().repository;
    let folder = folder.join(repository.owner()).join(repository.name());
    let file = folder.join(format!("{}.zip", run.id()));
    let written = async {
        let steps = context.app.journal.steps(run.id(), 0, bundle::MAX_STEPS).await?;
        let steps = steps.iter().map(|stored| serde_json::from_str::<Step>(&stored.json));
        let steps = steps.collect::<Result<Vec<_>, _>>()?;
        let manifest = bundle::manifest(run, worktree, context.app.model.as_ref(), &worktree.memory).await?;
        let (tree, place) = (worktree.checkout.clone(), file.clone());
        tokio::task::spawn_blocking(move || bundle::write(&place, &manifest, &steps, &tree)).await??;
        anyhow::Ok(())
    };
    if let Err(error) = written.await {
        tracing::warn!(run.id = %run.id(), file = %file.display(), %error, "a run could not be recorded");
    }
}
