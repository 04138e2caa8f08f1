//! `run_code`: runs the model's own code on a copy of the edited files.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::ask::{self, Beyond};
use super::{CallResult, MAX_RESULT, packages};
use crate::agent::transcript::ToolCall;
use crate::agent::{Error, Shell};
use crate::domain::execution::{Language, What};
use crate::domain::redact::{fenced, inline};
use crate::sandbox::Outcome;
use crate::suite::{Job, Packages, Ran};

/// How long code may take by default, in minutes.
const MINUTES: u64 = 2;

/// Arguments of `run_code`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct RunCode {
    /// python, javascript or bash.
    language: String,
    code: String,
    /// Packages by name, for python and javascript; a person is asked.
    #[serde(default)]
    packages: Option<Vec<String>>,
    /// Host names to reach; a person is asked.
    #[serde(default)]
    network: Option<Vec<String>>,
    /// How long it may take.
    #[serde(default)]
    minutes: Option<u64>,
}

/// The language with this name.
pub(super) fn language(name: &str) -> Result<Language, String> {
    match name.trim().to_ascii_lowercase().as_str() {
        "python" | "python3" | "py" => Ok(Language::Python),
        "javascript" | "js" | "node" => Ok(Language::JavaScript),
        "bash" | "sh" | "shell" => Ok(Language::Bash),
        other => Err(format!("{} is not python, javascript or bash.", inline(other, 50))),
    }
}

/// Runs the code, or asks a person if the run may not do so without asking.
pub(super) async fn run_code(
    call: &ToolCall,
    wanted: RunCode,
    shell: &mut Shell<'_>,
    stop: &CancellationToken,
) -> Result<CallResult, Error> {
    let language = match language(&wanted.language) {
        Ok(language) => language,
        Err(sentence) => return Ok(CallResult::text(sentence)),
    };
    let limit = shell.tests.as_ref().map(|suite| suite.command.timeout);
    let minutes = wanted.minutes.unwrap_or(MINUTES).clamp(1, ask::MAX_MINUTES);
    let wall = Duration::from_secs(minutes * 60);
    let packages = wanted.packages.unwrap_or_default();
    let hosts = wanted.network.unwrap_or_default();
    let is_within = packages.is_empty()
        && hosts.is_empty()
        && limit.is_some_and(|limit| wall <= limit.max(Duration::from_secs(MINUTES * 60)));
    if is_within {
        let job = Job {
            argv: argv(language, &wanted.code),
            hosts: Vec::new(),
            wall,
        };
        let ran = shell.execute(&job, &Packages::default(), stop).await?;
        return Ok(CallResult::text(match ran {
            Some(ran) => result_text(&ran),
            None => "nothing may be executed in this run.".into(),
        }));
    }
    let checked = packages::check(language, &packages)
        .and_then(|()| ask::code_to_show(&wanted.code))
        .and_then(|()| ask::network(hosts, !packages.is_empty(), &shell.grantable));
    Ok(match checked {
        Err(sentence) => CallResult::text(format!("not asked: {sentence}")),
        Ok(network) => {
            let what = What::Code {
                language,
                code: wanted.code,
                packages,
            };
            let why = "The model calls `run_code` with more than its run may use without asking.".into();
            let seconds = wall.as_secs();
            ask::ask(
                call,
                Beyond {
                    what,
                    network,
                    seconds,
                    why,
                },
                shell,
            )
        }
    })
}

/// The command that starts the code; it writes no file to the tree.
pub(super) fn argv(language: Language, code: &str) -> Vec<String> {
    let [program, flag] = match language {
        Language::Python => ["python3", "-c"],
        Language::JavaScript => ["node", "-e"],
        Language::Bash => ["bash", "-c"],
    };
    [program, flag, code].map(str::to_owned).to_vec()
}

/// The result of a program as data: how it ended, in greenlight's words, and its output.
pub(super) fn result_text(ran: &Ran) -> String {
    let ended = match &ran.outcome {
        Outcome::Exited(code) => format!("exited with {code}"),
        Outcome::Signalled(signal) => format!("was killed by signal {signal}"),
        Outcome::TimedOut => "took too long".into(),
        Outcome::OutOfMemory => "ran out of memory".into(),
        Outcome::DiskLimit => "wrote too much".into(),
        Outcome::Cancelled => "was cancelled".into(),
        Outcome::DidNotStart(why) => format!("did not start: {}", inline(why, 300)),
    };
    let summary = format!("It {ended}, after {:.1} s.", ran.wall.as_secs_f32());
    if ran.printed.trim().is_empty() {
        format!("{summary} It printed nothing.")
    } else {
        format!(
            "{summary} It printed:\n{}",
            fenced("text", &ran.printed, MAX_RESULT - 512)
        )
    }
}
