//! Compiles what a suite's runs share, in a sandbox that does not see the project's code.

mod crates;
mod go;
mod own_code;
mod skeleton;

use std::collections::BTreeMap;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Backend;
use greenlight_tree::checkout::Workspace;
pub(crate) use own_code::OwnCode;
use tokio_util::sync::CancellationToken;

use crate::framework::Ecosystem;
use crate::frameworks::spec::Runtime;
use crate::suite::Suite;

/// Compiles what the suite's runs share, unless that was done before. Every run begins with it, in a workspace that may
/// still be [untouched](Workspace::begins_untouched).
///
/// # Errors
/// When the sandbox fails. What does not compile is not shared.
pub async fn compile_shared(
    suite: &Suite,
    (workspace, is_untouched): (&Workspace, bool),
    cancel: &CancellationToken,
) -> Result<(), sandbox::Error> {
    let Some((folders, cell)) = suite.prebuilt.cell() else {
        return Ok(());
    };
    if matches!(suite.sandbox.backend(), Backend::Landlock | Backend::None) {
        return Ok(());
    }
    let made = if suite.runtime() == Some(Runtime::Go) {
        let compile = || Box::pin(go::share(suite, (workspace, is_untouched), folders, cancel));
        cell.get_or_try_init(compile).await
    } else if is_of_crates(suite) {
        let compile = || Box::pin(crates::share(suite, workspace, &folders.repository, cancel));
        cell.get_or_try_init(compile).await
    } else {
        return Ok(());
    };
    made.map(|_| ())
}

/// Finds what the code of an untouched workspace compiles to, or compiles it for later runs of the same tree. The run has
/// these variables, and runs the whole suite or a part of it.
///
/// # Errors
/// When the sandbox or the folder fails.
pub(crate) async fn compile_own(
    suite: &Suite,
    workspace: &Workspace,
    run: (&BTreeMap<String, String>, bool),
    cancel: &CancellationToken,
) -> Result<OwnCode, sandbox::Error> {
    // Without shared crates, as in a sandbox that cannot share them, nothing is kept of a tree either.
    let folders = suite
        .prebuilt
        .cell()
        .map(|(folders, _)| folders)
        .filter(|_| suite.has_prebuilt());
    match folders.filter(|_| is_of_crates(suite)) {
        Some(folders) if suite.command.builds().next().is_none() => {
            own_code::of_tree(suite, workspace, run, &folders.repository, cancel).await
        }
        _ => Ok(OwnCode::default()),
    }
}

/// Whether the suite's tests are compiled from crates.
fn is_of_crates(suite: &Suite) -> bool {
    let framework = suite.command.framework;
    framework.ecosystem() == Ecosystem::Rust && !framework.is_linter()
}
