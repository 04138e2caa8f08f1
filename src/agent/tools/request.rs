//! `request_execution` and other calls that need permission: checks what is requested, exactly, and asks a person.
//! [`super::carry`] executes it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::ask::{Beyond, MAX_MINUTES, as_shown, ask, code_to_show, network};
use super::{CallResult, packages, run_code, run_tests};
use crate::agent::Shell;
use crate::agent::transcript::ToolCall;
use crate::domain::execution::What;

/// The longest shell line, and the longest reason, that a person is asked to judge, in bytes.
const MAX_COMMAND: usize = 1 << 10;
const MAX_WHY: usize = 500;
/// Arguments of `request_execution`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct RequestExecution {
    /// One line of shell, run at the root of the repository. Give this, or `code`, or `tests`.
    #[serde(default)]
    command: Option<String>,
    /// Code to run, in `language`.
    #[serde(default)]
    code: Option<String>,
    /// python, javascript or bash.
    #[serde(default)]
    language: Option<String>,
    /// Names of tests; an empty list means all.
    #[serde(default)]
    tests: Option<Vec<String>>,
    /// For `code` in python or javascript: packages by name, such as `requests` or `requests==2.32.3`. They are
    /// installed first; the code itself has only the hosts of `network`.
    #[serde(default)]
    packages: Option<Vec<String>>,
    /// Host names to reach.
    #[serde(default)]
    network: Option<Vec<String>>,
    /// How long it may take, 1 to 30.
    minutes: u64,
    /// Why it is needed, for the person who decides.
    why: String,
}

/// Checks a request and asks a person.
pub(super) fn request_execution(call: &ToolCall, wanted: RequestExecution, shell: &mut Shell<'_>) -> CallResult {
    match checked(wanted, shell) {
        Ok(beyond) => ask(call, beyond, shell),
        Err(sentence) => CallResult::text(format!("not asked: {sentence}")),
    }
}

fn checked(wanted: RequestExecution, shell: &Shell<'_>) -> Result<Beyond, String> {
    let why = wanted.why.trim().to_owned();
    if why.is_empty() || why.len() > MAX_WHY {
        return Err(format!("`why` has to say what it is for, in 1 to {MAX_WHY} bytes."));
    }
    as_shown("`why`", &why)?;
    if !(1..=MAX_MINUTES).contains(&wanted.minutes) {
        return Err(format!("`minutes` has to be 1 to {MAX_MINUTES}."));
    }
    let packages = wanted.packages.unwrap_or_default();
    let what = match (wanted.command, wanted.code, wanted.tests) {
        (Some(command), None, None) => command_line(command)?,
        (None, Some(code), None) => {
            let language = run_code::language(wanted.language.as_deref().unwrap_or("python"))?;
            packages::check(language, &packages)?;
            code_to_show(&code)?;
            What::Code {
                language,
                code,
                packages: packages.clone(),
            }
        }
        (None, None, Some(names)) => {
            run_tests::check(&names)?;
            What::Tests(names)
        }
        _ => return Err("give one of `command`, `code` and `tests`.".into()),
    };
    if !packages.is_empty() && !matches!(what, What::Code { .. }) {
        return Err("`packages` go with `code` only.".into());
    }
    Ok(Beyond {
        what,
        network: network(
            wanted.network.unwrap_or_default(),
            !packages.is_empty(),
            &shell.grantable,
        )?,
        seconds: wanted.minutes * 60,
        why,
    })
}

fn command_line(command: String) -> Result<What, String> {
    let command = command.trim().to_owned();
    if command.is_empty() || command.len() > MAX_COMMAND || command.contains(char::is_control) {
        return Err(format!(
            "`command` has to be one line of at most {MAX_COMMAND} bytes; put more into `code`, in bash."
        ));
    }
    as_shown("`command`", &command)?;
    Ok(What::Command(command))
}
