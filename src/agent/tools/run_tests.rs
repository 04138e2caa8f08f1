//! `run_tests`: the only tool that executes anything.

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::{Error, Shell, prompt};
use crate::domain::redact::inline;

/// More names than this in one call are not run.
const MAX_NAMES: usize = 50;

/// Arguments of `run_tests`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct RunTests {
    /// Names of tests, as they are shown where they fail. Leave it out to run all tests.
    #[serde(default)]
    names: Option<Vec<String>>,
}

/// Runs the tests, and tells what came of it as data.
pub(super) async fn run_tests(
    wanted: &RunTests,
    shell: &mut Shell<'_>,
    stop: &CancellationToken,
) -> Result<String, Error> {
    let names = wanted.names.as_deref().unwrap_or_default();
    if names.len() > MAX_NAMES {
        return Ok(format!("at most {MAX_NAMES} names; leave them out to run all tests."));
    }
    if let Some(name) = names
        .iter()
        .find(|name| name.starts_with('-') || name.contains(char::is_control))
    {
        return Ok(format!("{} is not the name of a test.", inline(name, 200)));
    }
    Ok(match shell.run_tests(names, stop).await? {
        Some(run) => prompt::test_run(&run, super::MAX_RESULT - 512),
        None => "nothing may be executed in this run.".into(),
    })
}
