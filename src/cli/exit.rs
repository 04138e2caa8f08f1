//! How a subcommand ends, as scripts see it. These codes are stable.

use std::process::ExitCode;

use super::{redrawn, terminal};
use crate::config::SettingsError;
use crate::engine::Broken;
use crate::{agent, journal};

pub(super) const HELP: &str = "Exit codes: 0 fixed, or nothing to fix · 1 no fix found, or the tests cannot be judged \
     here · 2 usage or configuration · 3 refused (not approved, protected path, no sandbox) · 4 a limit was reached · \
     70 an internal error · 130 stopped with ctrl-c";

/// The exit codes of subcommands that end in other ways.
pub(super) const OF_TESTS: &str = "Exit codes: 0 all tests pass · 1 some fail, or cannot be judged here · 2 usage or \
     configuration, such as an unknown test name · 3 refused (no sandbox) · 70 an internal error · 130 stopped with ctrl-c";
pub(super) const OF_INIT: &str = "Exit codes: 0 written, or nothing to do · 2 usage or configuration, such as a workflow \
                                  that exists with other content, or a repository that is not on GitHub · 3 not approved \
                                  at the question · 70 an internal error · 130 stopped with ctrl-c";
pub(super) const OF_CONFIG: &str = "Exit codes: 0 done, or no mistakes · 2 usage, or a mistake";
pub(super) const OF_VERIFY: &str = "Exit codes: 0 proven, and the digest matches if one is given · 1 not proven, or \
                                    the digest differs · \
     2 usage or configuration · 3 refused (the patch weakens tests, no sandbox) · 70 an internal error · 130 stopped with ctrl-c";
pub(super) const OF_REPLAY: &str = "Exit codes: 0 everything matched · 1 something differed · 2 usage or \
                                    configuration · \
     3 refused (no sandbox) · 70 an internal error · 130 stopped with ctrl-c";
pub(super) const OF_SANDBOX: &str = "Exit codes: the command's own · 124 timed out · 137 out of memory · 153 disk \
                                     limit · 127 not started · \
     2 usage or configuration · 3 refused (no sandbox) · 70 an internal error";
pub(super) const OF_DOCTOR: &str = "Exit codes: 0 a sandbox works, or with --app: nothing is missing · 1 with --app: \
                                    something is missing · 2 usage or configuration, such as credentials that GitHub \
                                    refuses · 3 no sandbox works, or it does not hide secrets · 4 GitHub's rate limit \
                                    was reached · 70 an internal error";
pub(super) const OF_MCP: &str = "Exit codes: 0 the agent closed standard input · 2 usage or configuration, or the input is \
                                 not the protocol's · 70 an internal error · 130 stopped with ctrl-c or a signal";
pub(super) const OF_MEMORY: &str = "Exit codes: 0 done · 2 usage, or there is no such entry";

pub(super) const OF_PRUNE: &str = "Exit codes: 0 done, or nothing to do · 2 usage or configuration, or `serve` runs · \
                                   70 an internal error";
pub(super) const OF_DEMO: &str = "Exit codes: 0 the fix was committed, or rejected · 1 the pull request stayed red · 2 usage \
                                  or configuration, or Rust is missing · 3 not approved, or no sandbox · 70 an internal \
                                  error · 130 stopped with ctrl-c";
pub(super) const OF_SERVING: &str = "Exit codes: 0 stopped by a signal · 2 usage or configuration, such as an address that \
                                     is taken · 3 no sandbox works, or it does not hide secrets · 4 GitHub's rate limit \
                                     was reached · 70 an internal error";
pub(super) const OF_MIGRATE: &str = "Exit codes: 0 done, or nothing to do · 2 usage or configuration, or the database \
                                     cannot be used · 70 an internal error";
pub(super) const OF_ACTION: &str = "Exit codes: 0 the event was handled; the outputs and the check run have the verdict · \
                                    2 usage or configuration · 4 GitHub's rate limit was reached · 70 an internal error";
pub(super) const OF_SUGGEST: &str = "Exit codes: 0 shown or posted · 2 usage, or a patch that does not apply · 3 refused, \
                                     such as a closed pull request · 4 GitHub's rate limit was reached · 70 an internal \
                                     error";
pub(super) const OF_PRINTING: &str = "Exit codes: 0 done · 2 usage, or the output cannot be written";
pub(super) const OF_READING: &str = "Exit codes: 0 done · 2 usage or configuration, or there is no such run";

/// The end of a subcommand. A text goes to standard error.
#[derive(Debug)]
pub enum Exit {
    Done,
    NoFix(String),
    Usage(String),
    Refused(String),
    Limit(String),
    /// The environment lacks something that the tests need, so they say nothing about the code.
    Environment(String),
    Fault(String),
    /// Somebody pressed ctrl-c, or sent a signal to terminate.
    Stopped,
}

impl Exit {
    /// The same end with its text rewritten.
    pub(super) fn reworded(self, reword: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::NoFix(text) => Self::NoFix(reword(&text)),
            Self::Usage(text) => Self::Usage(reword(&text)),
            Self::Refused(text) => Self::Refused(reword(&text)),
            Self::Limit(text) => Self::Limit(reword(&text)),
            Self::Environment(text) => Self::Environment(reword(&text)),
            Self::Fault(text) => Self::Fault(reword(&text)),
            Self::Done | Self::Stopped => self,
        }
    }

    /// The reason of the end. `None` if there is nothing to say.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::NoFix(text)
            | Self::Usage(text)
            | Self::Refused(text)
            | Self::Limit(text)
            | Self::Environment(text)
            | Self::Fault(text) => Some(text),
            Self::Done | Self::Stopped => None,
        }
    }

    /// The same, unless it says that all went well although the result could not be printed.
    fn if_printed(self) -> Self {
        match (self, terminal::unprinted()) {
            (Self::Done, Some(error)) => Self::Usage(format!("standard output cannot be written: {error}")),
            (exit, _) => exit,
        }
    }

    /// Prints the reason, and returns the same end without it.
    pub(super) fn told(self) -> Self {
        let kind = if matches!(self, Self::Environment(_)) {
            "environment: "
        } else {
            ""
        };
        if let Some(reason) = self.reason().filter(|reason| !reason.is_empty()) {
            terminal::tell(&format!("greenlight: {kind}{reason}"));
        }
        self.reworded(|_| String::new())
    }

    pub(super) fn report(self) -> ExitCode {
        // Work that was cancelled may not be dropped yet.
        redrawn::end();
        let told = self.if_printed().told();
        ExitCode::from(match told {
            Self::Done => 0,
            Self::NoFix(_) | Self::Environment(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Limit(_) => 4,
            Self::Fault(_) => 70,
            Self::Stopped => {
                terminal::tell("greenlight: stopped");
                130
            }
        })
    }
}

impl From<SettingsError> for Exit {
    fn from(error: SettingsError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<Broken> for Exit {
    fn from(broken: Broken) -> Self {
        match broken {
            // The endpoint, its key or the model's name is wrong, or it is down. This is not a bug in greenlight.
            Broken::Agent(agent::Error::Model(_)) => Self::Usage(broken.to_string()),
            // greenlight is older than the version that wrote the journal, which is not a bug either.
            Broken::Journal(journal::Error::Newer(..)) => Self::Usage(broken.to_string()),
            _ if broken.not_before().is_some() => Self::Limit(broken.to_string()),
            _ => Self::Fault(broken.to_string()),
        }
    }
}
