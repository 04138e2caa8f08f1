//! `run_tests`: runs the project's tests on a copy of the edited files.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::ask::{self, Beyond};
use super::{CallResult, MAX_RESULT};
use crate::agent::transcript::ToolCall;
use crate::agent::{Error, Shell, prompt};
use crate::domain::execution::What;
use crate::domain::redact::{hidden, inline};
use crate::suite::DEFAULT_TIMEOUT;

/// The maximum number of names in one call.
const MAX_NAMES: usize = 50;
/// The most bytes of names that a person is asked about.
const MAX_SHOWN: usize = 1_500;

/// Arguments of `run_tests`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct RunTests {
    /// Names of tests, as they are shown where they fail. Leave it out to run all tests.
    #[serde(default)]
    names: Option<Vec<String>>,
    /// How long they may take; more than the configured time needs a person's approval.
    #[serde(default)]
    minutes: Option<u64>,
}

/// Runs the tests and reports the result as data, or asks a person first.
pub(super) async fn run_tests(
    call: &ToolCall,
    wanted: RunTests,
    shell: &mut Shell<'_>,
    stop: &CancellationToken,
) -> Result<CallResult, Error> {
    let names = wanted.names.unwrap_or_default();
    if let Err(sentence) = named(&names) {
        return Ok(CallResult::text(sentence));
    }
    let limit = shell.tests.as_ref().map(|suite| suite.command.timeout);
    let minutes = wanted.minutes.map(|minutes| minutes.clamp(1, ask::MAX_MINUTES));
    let asked = minutes.map(|minutes| Duration::from_secs(minutes * 60));
    if limit.is_some_and(|limit| asked.is_none_or(|asked| asked <= limit)) {
        let run = shell.run_tests(&names, asked, &[], stop).await?;
        return Ok(CallResult::text(match run {
            Some(run) => prompt::test_run(&run, MAX_RESULT - 512),
            None => "nothing may be executed in this run.".into(),
        }));
    }
    if let Err(sentence) = check(&names) {
        return Ok(CallResult::text(sentence));
    }
    let beyond = Beyond {
        what: What::Tests(names),
        network: Vec::new(),
        seconds: asked.unwrap_or(DEFAULT_TIMEOUT).as_secs(),
        why: "The model calls `run_tests` with more than its run may use without asking.".into(),
    };
    Ok(ask::ask(call, beyond, shell))
}

/// Checks test names that a person is to read; the error is a sentence.
pub(super) fn check(names: &[String]) -> Result<(), String> {
    named(names)?;
    let all = names.join(", ");
    if all.len() > MAX_SHOWN || hidden(&all).next().is_some() {
        return Err("fewer names of tests, without invisible characters; an empty list runs all tests.".into());
    }
    Ok(())
}

fn named(names: &[String]) -> Result<(), String> {
    if names.len() > MAX_NAMES {
        return Err(format!("at most {MAX_NAMES} names; leave them out to run all tests."));
    }
    let is_none = |name: &&String| name.starts_with('-') || name.contains(char::is_control);
    match names.iter().find(is_none) {
        Some(name) => Err(format!("{} is not the name of a test.", inline(name, 200))),
        None => Ok(()),
    }
}
