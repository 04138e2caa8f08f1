//! Whether this machine may do what a repository's configuration describes, or another one has to.

use super::{Broken, Context};
use crate::config::repository::RepoConfig;
use crate::domain::run::End;
use crate::domain::worker_labels::WorkerLabels;

/// The end of a run that this machine must not do, because it lacks labels that the configuration demands. `None` if
/// it has them, or its labels do not count.
///
/// # Errors
/// [`Broken::Elsewhere`] where several machines share the work: it waits for one that has the labels.
pub(super) fn refused(context: &Context<'_>, config: &RepoConfig) -> Result<Option<End>, Broken> {
    let Some(labels) = &context.app.labels else {
        return Ok(None);
    };
    let missing = labels.missing(&config.worker.needs);
    if missing.is_empty() {
        return Ok(None);
    }
    if context.app.journal.shared().is_some() {
        return Err(Broken::Elsewhere(config.worker.needs.clone()));
    }
    Ok(Some(End::Refused {
        reason: format!(
            "`worker.needs` in `greenlight.toml` asks for {missing}, which this machine does not have. Nothing was \
             executed."
        ),
    }))
}

/// Leaves work to another machine whose sandbox enforces what the configuration requires, if there is one.
///
/// # Errors
/// [`Broken::Elsewhere`] if there is, or when the journal cannot be read.
pub(super) async fn look_for_sandbox(context: &Context<'_>, config: &RepoConfig) -> Result<(), Broken> {
    let Some(database) = context.app.journal.shared() else {
        return Ok(());
    };
    let required: Vec<String> = config
        .sandbox
        .require
        .iter()
        .map(|property| sandbox_label(property.name()))
        .collect();
    let Ok(needs) = WorkerLabels::new(required.iter().map(String::as_str).chain(["sandbox"])) else {
        return Ok(());
    };
    let needs = needs.with(&config.worker.needs);
    match database.has_worker(&needs).await? {
        true => Err(Broken::Elsewhere(needs)),
        false => Ok(()),
    }
}

/// The label of a machine whose sandbox enforces a property.
pub fn sandbox_label(property: &str) -> String {
    format!("sandbox-{}", property.replace('_', "-"))
}
