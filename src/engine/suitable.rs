//! Whether this machine may do what a repository's configuration describes, or another one has to.

use super::{Broken, Context};
use crate::config::repository::RepoConfig;
use crate::domain::run::End;
use crate::domain::worker_labels::WorkerLabels;
use crate::suite::TestCommand;

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

/// Notes which programs the tests need, and leaves them to another machine that has what this one lacks, if there is
/// one. Otherwise this one tries, and says what is missing.
///
/// # Errors
/// [`Broken::Elsewhere`] if there is, or when the journal cannot be used.
pub(super) async fn look_for_tools(
    context: &Context<'_>,
    config: &RepoConfig,
    command: &TestCommand,
) -> Result<(), Broken> {
    let (Some(database), Some(labels)) = (context.app.journal.shared(), &context.app.labels) else {
        return Ok(());
    };
    let program = command.argv.first().and_then(|program| program.rsplit('/').next());
    let tools = WorkerLabels::of_tests(program, command.ecosystem());
    // The tree of a stranger says nothing about what comes later.
    let is_typical = !context.pull_request.is_from_fork();
    database.found_to_need(context.id(), &tools, is_typical).await?;
    let all = tools.clone().with(&config.worker.needs);
    if labels.missing(&tools).is_empty() || !database.has_worker(&all).await? {
        return Ok(());
    }
    tracing::info!(needs = %labels.missing(&tools), "the tests need what another machine has");
    // What was noted keeps the work from coming back as long as the other machine is there.
    Err(Broken::Elsewhere(config.worker.needs.clone()))
}

/// The label of a machine whose sandbox enforces a property.
pub fn sandbox_label(property: &str) -> String {
    format!("sandbox-{}", property.replace('_', "-"))
}
