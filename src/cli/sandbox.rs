//! `greenlight sandbox`: runs one command in the sandbox of a test run, so that anybody can try to break out.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Exit, app, folder, hidden, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, FolderFlags, LogFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::domain::clock::in_words;
use crate::domain::size;
use crate::engine::worktree::Worktree;
use crate::sandbox::{Captured, Code, Command, Guarantee, Network, Outcome, Output, Policy, Sandbox};
use crate::suite;

/// How long the command has to end after a request to stop.
const GRACE: Duration = Duration::from_secs(15);

#[derive(Debug, clap::Args)]
pub(super) struct SandboxArguments {
    /// What the command can reach: nothing, its own processes, or also the package registries, through a proxy
    #[arg(long, value_enum, default_value_t = Reach::Loopback)]
    network: Reach,
    /// How long the command may take, such as `90s` or `5m`, or a number of seconds. Defaults to the limit of a test run
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    log: LogFlags,
    /// The program and its arguments; it runs in a copy of the current directory, without files that git ignores
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Reach {
    None,
    Loopback,
    Registries,
}

fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.trim().parse() {
        return Ok(Duration::from_secs(seconds));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as `2s` or `5m`"))
}

/// A run, and how it was confined.
struct ConfinementReport<'a> {
    command: &'a [OsString],
    sandbox: &'a Sandbox,
    policy: &'a Policy,
    output: &'a Output,
}

/// Exits with the command's exit code, or with one of greenlight's own if the command did not run.
pub(super) async fn sandbox(arguments: SandboxArguments) -> Result<ExitCode, Exit> {
    let as_json = arguments.json;
    let cancel = CancellationToken::new();
    let stopped = async {
        terminal::stopped().await;
        cancel.cancel();
        tokio::time::sleep(GRACE).await;
    };
    let ended = tokio::select! {
        result = run(arguments, &cancel) => result,
        () = stopped => Err(Exit::Stopped),
    };
    if let (true, Err(Exit::Usage(text) | Exit::Refused(text) | Exit::Fault(text))) = (as_json, &ended) {
        terminal::show_document(&json!({ "error": text }));
    }
    ended.map(ExitCode::from)
}

async fn run(arguments: SandboxArguments, cancel: &CancellationToken) -> Result<u8, Exit> {
    let flags = Flags {
        storage: arguments.data.into(),
        sandbox: arguments.sandbox,
        log: arguments.log,
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("warn"));
    let root = folder::checkout(Path::new("."))?;
    let own = folder::own(&settings.data_dir()?)?;
    let stores = folder::stores(&settings.data_dir()?, &root);
    let worktree = app::worktree(&root, own.path(), stores).await?;
    let sandbox = app::sandbox(&settings).await?;
    let sandbox = sandbox.and_then(|sandbox| {
        let required = &worktree.config.sandbox.require;
        sandbox.suffices(Code::Trusted, required).map(|()| sandbox)
    });
    let sandbox = sandbox.map_err(|unusable| Exit::Refused(unusable.to_string()))?;
    hidden::tighten(&settings)?;
    hidden::check(&settings, &sandbox, Some(&root))?;
    app::warn_without(&sandbox);

    let mut policy = worktree.policy(arguments.timeout.unwrap_or(worktree.config.test.timeout));
    policy.network = match arguments.network {
        Reach::None => Network::None,
        Reach::Loopback => Network::Loopback,
        Reach::Registries => Network::Registries(registries(&sandbox, &worktree, cancel).await?),
    };
    let within = sandbox.workspaces(&worktree.workspaces);
    let workspace = worktree.checkout.fresh_copy(&within).await;
    let workspace = workspace.map_err(|error| Exit::Usage(error.to_string()))?;
    let command = Command::new(&arguments.command, workspace.path());
    let output = sandbox.exec(&command, &policy, cancel).await;
    let output = output.map_err(|error| Exit::Fault(error.to_string()))?;
    let report = ConfinementReport {
        command: &arguments.command,
        sandbox: &sandbox,
        policy: &policy,
        output: &output,
    };
    if arguments.json {
        terminal::show_document(&report.document());
    } else {
        report.show();
    }
    Ok(code(&output.outcome))
}

/// The hosts that an installation could reach: the registries of this machine's own tools, and those in the
/// configuration.
async fn registries(sandbox: &Sandbox, worktree: &Worktree, cancel: &CancellationToken) -> Result<Vec<String>, Exit> {
    let own = suite::hosts_of_tools(sandbox, cancel).await;
    let mut hosts = own.map_err(|error| Exit::Refused(error.to_string()))?;
    hosts.extend(worktree.install_settings(Vec::new()).hosts);
    Ok(hosts)
}

/// The command's own exit code, or the one that a shell or `timeout` would use.
fn code(outcome: &Outcome) -> u8 {
    let by_signal = |signal: i32| u8::try_from(128 + signal).unwrap_or(u8::MAX);
    match outcome {
        Outcome::Exited(code) => u8::try_from(*code).unwrap_or(u8::MAX),
        Outcome::Signalled(signal) => by_signal(*signal),
        Outcome::TimedOut => 124,
        Outcome::OutOfMemory => by_signal(9),
        Outcome::DiskLimit => by_signal(25),
        Outcome::Cancelled => by_signal(2),
        Outcome::DidNotStart(_) => 127,
    }
}

impl ConfinementReport<'_> {
    fn document(&self) -> Value {
        let Self { output, policy, .. } = self;
        let words = self.command.iter().map(|word| word.to_string_lossy());
        json!({
            "command": words.collect::<Vec<_>>(),
            "backend": self.sandbox.backend(),
            "outcome": outcome(&output.outcome),
            "stdout": stream(&output.stdout),
            "stderr": stream(&output.stderr),
            "wall_seconds": output.wall.as_secs_f64(),
            "cpu_seconds": output.cpu.as_secs_f64(),
            "peak_memory_bytes": output.peak_memory,
            "network": network(&policy.network),
            "limits": {
                "wall_seconds": policy.limits.wall.as_secs_f64(),
                "cpu_seconds": policy.limits.cpu_time.as_secs_f64(),
                "memory_bytes": policy.limits.memory,
                "processes": policy.limits.processes,
                "file_size_bytes": policy.limits.file_size,
                "disk_bytes": policy.limits.disk,
                "open_files": policy.limits.open_files,
                "output_bytes": policy.limits.output,
            },
            "guarantees": self.sandbox.guarantees(),
        })
    }

    /// Prints the output to the stream it came from, without terminal control characters, and then the result.
    fn show(&self) {
        let Self { output, policy, .. } = self;
        let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
        if !stdout.is_empty() {
            terminal::show(stdout.strip_suffix('\n').unwrap_or(&stdout));
        }
        if !stderr.is_empty() {
            terminal::tell(stderr.strip_suffix('\n').unwrap_or(&stderr));
        }
        terminal::tell(&format!(
            "{} sandbox · {} · {} · {} of processor time · {} at most in memory",
            self.sandbox.backend(),
            output.outcome,
            in_words(output.wall),
            in_words(output.cpu),
            size::in_words(output.peak_memory),
        ));
        terminal::tell(&format!(
            "limits: {} · {} memory · {} processes · {} disk · {} a file · {} open files · network {}",
            in_words(policy.limits.wall),
            size::in_words(policy.limits.memory),
            policy.limits.processes,
            size::in_words(policy.limits.disk),
            size::in_words(policy.limits.file_size),
            policy.limits.open_files,
            network(&policy.network)["mode"].as_str().unwrap_or_default(),
        ));
        for guarantee in [Guarantee::Enforced, Guarantee::Partial, Guarantee::None] {
            let all = self.sandbox.guarantees().all();
            let names = all
                .iter()
                .filter(|(_, held)| *held == guarantee)
                .map(|(property, _)| property.name());
            let names = names.collect::<Vec<_>>().join(", ");
            if !names.is_empty() {
                terminal::tell(&format!("{guarantee}: {names}"));
            }
        }
    }
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Exited(code) => json!({ "kind": "exited", "code": code }),
        Outcome::Signalled(signal) => json!({ "kind": "signalled", "signal": signal }),
        Outcome::TimedOut => json!({ "kind": "timed_out" }),
        Outcome::OutOfMemory => json!({ "kind": "out_of_memory" }),
        Outcome::DiskLimit => json!({ "kind": "disk_limit" }),
        Outcome::Cancelled => json!({ "kind": "cancelled" }),
        Outcome::DidNotStart(reason) => json!({ "kind": "did_not_start", "reason": reason }),
    }
}

fn stream(captured: &Captured) -> Value {
    json!({ "text": captured.text(), "total_bytes": captured.total, "omitted_bytes": captured.omitted() })
}

fn network(network: &Network) -> Value {
    match network {
        Network::None => json!({ "mode": "none" }),
        Network::Loopback => json!({ "mode": "loopback" }),
        Network::Registries(hosts) => json!({ "mode": "registries", "hosts": hosts }),
    }
}
