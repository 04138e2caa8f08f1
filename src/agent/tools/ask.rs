//! Asks a person to approve what a run may not do without asking.

use super::CallResult;
use crate::agent::transcript::ToolCall;
use crate::agent::{Exit, Shell};
use crate::domain::execution::{Deferred, Execution, REGISTRIES, What};
use crate::domain::redact::{self, inline};

/// The longest time that can be requested.
pub(super) const MAX_MINUTES: u64 = 30;

const MAX_CODE: usize = 8 << 10;
/// The maximum number of hosts in one request.
const MAX_HOSTS: usize = 10;

/// A call that exceeds what the run may do without asking.
pub(super) struct Beyond {
    pub(super) what: What,
    pub(super) network: Vec<String>,
    pub(super) seconds: u64,
    pub(super) why: String,
}

/// Ends the run until a person has decided, or answers immediately if asking is pointless.
pub(super) fn ask(call: &ToolCall, beyond: Beyond, shell: &mut Shell<'_>) -> CallResult {
    if shell.was_turned_down(call) {
        return CallResult::text("not asked again: a maintainer rejected exactly this. Continue without it.");
    }
    if shell.may_ask == 0 {
        return CallResult::text(
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
    CallResult {
        text: String::new(),
        exit: Some(Exit::Deferred(Box::new(Deferred { call_id, execution }))),
    }
}

/// Checks code that a person is to read.
pub(super) fn code_to_show(code: &str) -> Result<(), String> {
    if code.trim().is_empty() || code.len() > MAX_CODE {
        return Err(format!("`code` has to have 1 to {MAX_CODE} bytes."));
    }
    as_shown("`code`", code)
}

/// The requested hosts, if a person may grant them.
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

/// Refuses text that would not be shown as it is run: hidden characters, and what looks like a credential.
pub(super) fn as_shown(what: &str, text: &str) -> Result<(), String> {
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
