//! `request_execution`, and anything else that a run may not do without asking: what is asked for, exactly, and putting
//! it before a person. Carrying it out is in [`super::carry`].

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, packages, run_code, run_tests};
use crate::agent::transcript::ToolCall;
use crate::agent::{Exit, Shell};
use crate::domain::execution::{Deferred, Execution, REGISTRIES, What};
use crate::domain::redact::{self, inline};

/// The longest line of shell, code and reason that a person is asked to judge, in bytes.
const MAX_COMMAND: usize = 1 << 10;
const MAX_CODE: usize = 8 << 10;
const MAX_WHY: usize = 500;
/// More hosts than these are not asked for at once.
const MAX_HOSTS: usize = 10;
/// The longest that can be asked for.
pub(super) const MAX_MINUTES: u64 = 30;

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

/// Something beyond what the run may do without asking.
pub(super) struct Beyond {
    pub(super) what: What,
    pub(super) network: Vec<String>,
    pub(super) seconds: u64,
    pub(super) why: String,
}

/// Checks a request and puts it before a person.
pub(super) fn request_execution(call: &ToolCall, wanted: RequestExecution, shell: &mut Shell<'_>) -> Answer {
    match checked(wanted, shell) {
        Ok(beyond) => ask(call, beyond, shell),
        Err(sentence) => Answer::text(format!("not asked: {sentence}")),
    }
}

/// Ends the run until a person has decided, or says at once that there is no use in asking.
pub(super) fn ask(call: &ToolCall, beyond: Beyond, shell: &mut Shell<'_>) -> Answer {
    if shell.was_turned_down(call) {
        return Answer::text("not asked again: a maintainer rejected exactly this. Continue without it.");
    }
    if shell.may_ask == 0 {
        return Answer::text(
            "no more requests are possible: no network, packages, extra time or protected files. Continue without \
             them.",
        );
    }
    shell.may_ask -= 1;
    let patch = shell.checkout.patch();
    let execution = Execution {
        what: beyond.what,
        network: beyond.network,
        seconds: beyond.seconds,
        why: beyond.why,
        patch: patch.digest(),
        files: patch.files().count(),
    };
    let call_id = call.id.clone();
    Answer {
        text: String::new(),
        exit: Some(Exit::Deferred(Box::new(Deferred { call_id, execution }))),
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

/// Checks code that a person is to read.
pub(super) fn code_to_show(code: &str) -> Result<(), String> {
    if code.trim().is_empty() || code.len() > MAX_CODE {
        return Err(format!("`code` has to have 1 to {MAX_CODE} bytes."));
    }
    as_shown("`code`", code)
}

/// The hosts in question, if a person may grant them.
pub(super) fn network(mut hosts: Vec<String>, packages: bool, grantable: &[String]) -> Result<Vec<String>, String> {
    for host in &mut hosts {
        *host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    }
    if packages {
        hosts.push(REGISTRIES.into());
    }
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.len() > MAX_HOSTS {
        return Err(format!("at most {MAX_HOSTS} hosts."));
    }
    match hosts.iter().find(|host| !grantable.contains(host)) {
        None => Ok(hosts),
        Some(host) => {
            let list = match grantable.join(", ").as_str() {
                "" => "which is empty".to_owned(),
                some => format!("which has {some}"),
            };
            let what = if host == REGISTRIES {
                "packages need `registries`, which is"
            } else {
                "that host is"
            };
            Err(format!(
                "{what} not something anyone can grant here ({}): only `[sandbox] network` on the base branch names \
                 hosts, {list}.",
                inline(host, 100)
            ))
        }
    }
}

/// Refuses what would not be shown as it is run: hidden characters, and what looks like a credential.
fn as_shown(what: &str, text: &str) -> Result<(), String> {
    if redact::hidden(text).next().is_some() {
        return Err(format!(
            "{what} has invisible or text-reordering characters; leave them out."
        ));
    }
    if redact::redact(text) != text {
        return Err(format!("{what} contains what looks like a credential; leave it out."));
    }
    Ok(())
}
