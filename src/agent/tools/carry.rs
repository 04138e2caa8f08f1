//! Executes what a person approved: exactly that, on exactly the edits that the request described.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{MAX_RESULT, offered, run_code};
use crate::agent::{Error, Shell, Transcript, catch_up, prompt};
use crate::domain::execution::{Execution, Language, REGISTRIES, What};
use crate::domain::patch::Patch;
use crate::domain::redact::{bounded, fenced, inline, redact, visible};
use crate::suite::{self, Job, Packages, Registry, Suite};

/// Executes exactly what was approved, on the tree with the transcript's edits, and reports the result.
///
/// # Errors
/// When the sandbox cannot be used.
pub async fn carry_out(
    shell: &mut Shell<'_>,
    transcript: &Transcript,
    execution: &Execution,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    if edits(shell, transcript).digest() != execution.patch {
        return Ok("not done: the edits are no longer those that were approved.".into());
    }
    let text = match &execution.what {
        What::Edit { path, .. } => format!(
            "approved: `{path}` is changed, in your working copy only. No proposal will contain that change, so the \
             fix has to work without it."
        ),
        what => {
            let Some(suite) = shell.tests.clone() else {
                return Ok("approved, but nothing can be executed here.".into());
            };
            if !execution.network.is_empty()
                && let Err(why) = suite::can_reach(&suite)
            {
                return Ok(format!("approved, but not done: {why}."));
            }
            if let Some(host) = execution.network.iter().find(|host| !shell.grantable.contains(host)) {
                return Ok(format!(
                    "approved, but not done: {} may not be reached from here.",
                    inline(host, 200)
                ));
            }
            executed(shell, &suite, (what, execution), cancel).await?
        }
    };
    Ok(bounded(&redact(&visible(&text)), MAX_RESULT))
}

/// The edits that a transcript leads to. A request that follows it is executed on them.
pub fn edits(shell: &mut Shell<'_>, transcript: &Transcript) -> Patch {
    let tools = offered(shell, transcript);
    catch_up(shell, transcript, &tools);
    shell.checkout.patch()
}

async fn executed(
    shell: &mut Shell<'_>,
    suite: &Suite,
    (what, execution): (&What, &Execution),
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let wall = Duration::from_secs(execution.seconds);
    let mut granted = execution.network.clone();
    let mut packages = Packages::default();
    let argv = match what {
        What::Command(line) => vec!["sh".into(), "-c".into(), line.clone()],
        What::Code {
            language,
            code,
            packages: names,
        } => {
            let registry = match language {
                Language::Python => Some(Registry::Python),
                Language::JavaScript => Some(Registry::Node),
                Language::Bash => None,
            };
            if let Some(registry) = registry.filter(|_| !names.is_empty()) {
                // The registries are only for the installation.
                granted.retain(|host| host != REGISTRIES);
                packages = match suite::packages(suite, registry, names, cancel).await? {
                    Ok(packages) => packages,
                    Err(why) => {
                        let why = fenced("text", &why, 2 << 10);
                        return Ok(format!("approved, but it did not run:\n{why}"));
                    }
                };
            }
            run_code::argv(*language, code)
        }
        What::Tests(_) | What::Edit { .. } => Vec::new(),
    };
    let hosts = hosts(suite, &granted, cancel).await?;
    if let What::Tests(names) = what {
        let run = shell.run_tests(names, Some(wall), &hosts, cancel).await?;
        let told = run.map_or_else(String::new, |run| prompt::test_run(&run, MAX_RESULT - 512));
        return Ok(format!("approved, and done. {told}"));
    }
    let ran = shell.execute(&Job { argv, hosts, wall }, &packages, cancel).await?;
    let told = ran.map_or_else(String::new, |ran| run_code::result_text(&ran));
    Ok(format!("approved, and done. {told}"))
}

/// The hosts that granted words stand for: themselves, or the registries of this machine's own tools.
async fn hosts(suite: &Suite, granted: &[String], cancel: &CancellationToken) -> Result<Vec<String>, Error> {
    let mut hosts: BTreeSet<String> = granted.iter().filter(|host| *host != REGISTRIES).cloned().collect();
    if granted.iter().any(|host| host == REGISTRIES) {
        hosts.extend(suite::registry_hosts(suite, cancel).await?);
    }
    Ok(hosts.into_iter().collect())
}
