//! Compiles what a suite's runs share, in a sandbox that does not see the project's code.

mod crates;
mod go;
mod skeleton;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::Backend;
use greenlight_tree::checkout::Workspace;
use tokio_util::sync::CancellationToken;

use crate::framework::Ecosystem;
use crate::frameworks::spec::Runtime;
use crate::suite::Suite;

/// Compiles what the suite's runs share, unless that was done before. Every run begins with it.
///
/// # Errors
/// When the sandbox fails. What does not compile is not shared.
pub async fn compile_shared(
    suite: &Suite,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<(), sandbox::Error> {
    let Some((folders, cell)) = suite.prebuilt.cell() else {
        return Ok(());
    };
    if matches!(suite.sandbox.backend(), Backend::Landlock | Backend::None) {
        return Ok(());
    }
    let framework = suite.command.framework;
    let made = if suite.runtime() == Some(Runtime::Go) {
        let compile = || Box::pin(go::share(suite, workspace, folders, cancel));
        cell.get_or_try_init(compile).await
    } else if framework.ecosystem() == Ecosystem::Rust && !framework.is_linter() {
        let compile = || Box::pin(crates::share(suite, workspace, &folders.repository, cancel));
        cell.get_or_try_init(compile).await
    } else {
        return Ok(());
    };
    made.map(|_| ())
}
