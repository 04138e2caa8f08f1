//! `greenlight doctor`: shows which sandboxes work on this machine, what each one guarantees, what the others lack,
//! and whether code inside can read secrets beside tools or greenlight's own files. With `--app`, it shows instead what
//! the GitHub App lacks.

mod canaries;
mod github_app;
mod machine;
mod missing;

use std::path::PathBuf;

use serde_json::json;

use self::canaries::{Canary, Tried};
use self::machine::Machine;
pub(super) use self::machine::programs_in;
use super::{Exit, app, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, GithubFlags, LogFlags, RecordFlags, SandboxFlags, StorageFlags, WebhookFlags};
use crate::config::settings::Settings;
use crate::sandbox::{Backend, Guarantee, Property, Sandbox, Unusable};

/// How the self-test names calls that allocate machine-wide resources.
const MACHINE_WIDE: &str = "io_setup and io_uring_setup";

/// How many columns the table of the sandboxes has.
const TABLE_WIDTH: usize = 80;

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArguments {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Ask GitHub what the App lacks, instead: permissions, events, webhook, installations; and show the last deliveries
    #[arg(long, conflicts_with_all = ["docker_socket", "bundles", "database_url"])]
    app: bool,
    /// File with the webhook secret, which is not sent [env: GREENLIGHT_WEBHOOK_SECRET_FILE; the secret itself:
    /// GREENLIGHT_WEBHOOK_SECRET]
    #[arg(long, value_name = "FILE", help_heading = "GitHub", requires = "app")]
    webhook_secret_file: Option<PathBuf>,
    #[command(flatten)]
    github: GithubFlags,
    /// Socket of a Docker or Podman engine on this machine, if not at a usual path [env: GREENLIGHT_DOCKER_SOCKET]
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    docker_socket: Option<PathBuf>,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    storage: StorageFlags,
    #[command(flatten)]
    log: LogFlags,
}

type SandboxSurvey = [(Backend, Result<Sandbox, Unusable>)];

/// The attacks that each usable sandbox did not stop, as the self-test describes them.
type Attacks<'a> = [(&'a Sandbox, Vec<String>)];

pub(super) async fn doctor(arguments: DoctorArguments) -> Exit {
    let of_app = |arguments: &DoctorArguments| Flags {
        github: arguments.github.clone(),
        webhook: WebhookFlags {
            webhook_secret_file: arguments.webhook_secret_file.clone(),
            repositories: None,
        },
        storage: arguments.storage.clone(),
        log: arguments.log.clone(),
        ..Flags::default()
    };
    let done = match arguments.app {
        true => github_app::examine(of_app(&arguments), arguments.json).await,
        false => examine(arguments).await,
    };
    done.unwrap_or_else(|exit| exit)
}

async fn examine(arguments: DoctorArguments) -> Result<Exit, Exit> {
    if arguments.github.is_any() {
        let problem = "the flags about GitHub have an effect only with --app";
        return Err(Exit::Usage(problem.into()));
    }
    let flags = Flags {
        record: arguments.record,
        storage: arguments.storage,
        sandbox: SandboxFlags {
            sandbox: None,
            docker_socket: arguments.docker_socket,
        },
        log: arguments.log,
        ..Flags::default()
    };
    let environment = Environment::of_this_process();
    let local = || Settings::new(flags.clone(), &environment.clone().for_local_work());
    // `serve` reports wrong settings of a service itself.
    let settings = Settings::new(flags.clone(), &environment).or_else(|_| local())?;
    terminal::start_logging(&settings, Some("error"));
    let canaries = canaries::plant(settings.private_places().unwrap_or_default());
    let found = Sandbox::survey(app::places(&settings)?).await;
    let planted: Vec<PathBuf> = canaries.iter().filter_map(Canary::file).map(PathBuf::from).collect();
    let mut attacks = Vec::new();
    for sandbox in confining(&found) {
        match sandbox.attack(&planted).await {
            Ok(worked) => attacks.push((sandbox, worked)),
            Err(reason) => {
                return Err(Exit::Fault(format!(
                    "the self-test did not end in {}: {reason}",
                    sandbox.backend()
                )));
            }
        }
    }
    let tried: Vec<Tried<'_>> = canaries.iter().map(|canary| canary.tried(&attacks)).collect();
    let chosen = confining(&found).next().map(Sandbox::backend);
    let machine = Machine::look(&settings, &environment).await;
    if arguments.json {
        let mut document = document(&found, chosen, (&attacks, &tried));
        document["machine"] = machine.document();
        terminal::show_document(&document);
    } else {
        terminal::show(&match terminal::is_narrower_than(TABLE_WIDTH) {
            true => paragraphs(&found),
            false => table(&found),
        });
        terminal::show(&advice(&found, chosen));
        terminal::show(&trials(&attacks, &tried));
        terminal::show(&machine.lines());
    }
    Ok(match chosen {
        _ if tried.iter().any(Tried::is_shown) => {
            Exit::Refused("code under test could read files that it must not read; see above".into())
        }
        Some(_) => Exit::Done,
        None => Exit::Refused("no sandbox works here, so nothing will be executed".into()),
    })
}

fn confining(found: &SandboxSurvey) -> impl Iterator<Item = &Sandbox> {
    let confining = found.iter().filter(|(backend, _)| *backend != Backend::None);
    confining.filter_map(|(_, sandbox)| sandbox.as_ref().ok())
}

fn document(
    found: &SandboxSurvey,
    chosen: Option<Backend>,
    (attacks, tried): (&Attacks<'_>, &[Tried<'_>]),
) -> serde_json::Value {
    let backends = found.iter().map(|(backend, sandbox)| match sandbox {
        Ok(sandbox) => {
            let attack = attacks.iter().find(|(attacked, _)| attacked.backend() == *backend);
            json!({
                "backend": backend,
                "usable": true,
                "guarantees": sandbox.guarantees(),
                "breaches": attack.map(|(_, worked)| worked),
            })
        }
        Err(unusable) => {
            json!({ "backend": backend, "usable": false, "reason": unusable.reason, "remedy": unusable.remedy })
        }
    });
    json!({
        "chosen": chosen,
        "backends": backends.collect::<Vec<_>>(),
        "places": tried.iter().map(Tried::document).collect::<Vec<_>>(),
    })
}

/// What was tried from inside, and the result.
fn trials(attacks: &Attacks<'_>, tried: &[Tried<'_>]) -> String {
    if attacks.is_empty() {
        return String::new();
    }
    let mut lines = vec!["\nTried from inside each sandbox, with a world-readable file:".to_owned()];
    lines.extend(tried.iter().map(Tried::line));
    let may_call = |(_, worked): &&(&Sandbox, Vec<String>)| worked.iter().any(|what| what.contains("io_"));
    let (open, closed): (Vec<_>, Vec<_>) = attacks.iter().partition(may_call);
    let names = |those: Vec<&(&Sandbox, Vec<String>)>| {
        canaries::list(&those.iter().map(|(sandbox, _)| sandbox.backend()).collect::<Vec<_>>())
    };
    if !open.is_empty() {
        lines.push(format!(
            "{MACHINE_WIDE}: NOT refused in {}\n  remedy: choose another sandbox",
            names(open)
        ));
    }
    if !closed.is_empty() {
        lines.push(format!("{MACHINE_WIDE}: refused in {}", names(closed)));
    }
    for (sandbox, worked) in attacks {
        for what in worked
            .iter()
            .filter(|what| !what.starts_with("read ") && !what.contains("io_"))
        {
            lines.push(format!("{}: code inside could {what}", sandbox.backend()));
        }
    }
    lines.join("\n")
}

/// For terminals that are too narrow for the table: a paragraph for each backend.
fn paragraphs(found: &SandboxSurvey) -> String {
    let one = |(backend, sandbox): &(Backend, Result<Sandbox, Unusable>)| {
        let Ok(sandbox) = sandbox else {
            return format!("{backend}: not usable\n");
        };
        let with = |wanted: Guarantee| {
            let names = Property::ALL
                .iter()
                .filter(|property| sandbox.guarantees().of(**property) == wanted);
            names.map(|property| property.name()).collect::<Vec<_>>().join(", ")
        };
        let kinds = [
            ("enforced", Guarantee::Enforced),
            ("partial", Guarantee::Partial),
            ("not enforced", Guarantee::None),
        ];
        let kinds = kinds.map(|(kind, wanted)| (kind, with(wanted)));
        let lines = kinds.iter().filter(|(_, names)| !names.is_empty());
        let lines = lines.map(|(kind, names)| format!("  {kind}: {names}\n"));
        format!("{backend}: usable\n{}", lines.collect::<String>())
    };
    found.iter().map(one).collect()
}

/// A table with one column for each backend, and one row for each property.
fn table(found: &SandboxSurvey) -> String {
    let line = |head: &str, cell: &dyn Fn(&Result<Sandbox, Unusable>, Backend) -> String| {
        let cells = found
            .iter()
            .map(|(backend, sandbox)| format!(" {:10}", cell(sandbox, *backend)));
        format!("{head:13}{}", cells.collect::<String>()).trim_end().to_owned() + "\n"
    };
    let mut table = line("", &|_, backend| backend.to_string());
    table += &line("usable", &|sandbox, _| {
        if sandbox.is_ok() { "yes" } else { "no" }.into()
    });
    for property in Property::ALL {
        table += &line(property.name(), &|sandbox, _| match sandbox {
            Ok(sandbox) => match sandbox.guarantees().of(property) {
                Guarantee::None => "-".into(),
                held => held.to_string(),
            },
            Err(_) => String::new(),
        });
    }
    table
}

/// What helps if memory is only measured and not limited. Root is not told to become root.
fn memory_advice(is_root: bool) -> &'static str {
    match is_root {
        true => {
            "it is measured from outside, so a run that exceeds its limit is ended a moment later\n  remedy: let greenlight \
             make control groups: run it as a systemd service with `Delegate=yes`, or where `/sys/fs/cgroup` is writable; \
             for docker, boot with `swapaccount=1` or without swap"
        }
        false => {
            "it is measured from outside, so a run that exceeds its limit is ended a moment later\n  remedy: let greenlight \
             make control groups: run it as root, or as a systemd service with `Delegate=yes`; for docker, boot with \
             `swapaccount=1` or without swap"
        }
    }
}

fn advice(found: &SandboxSurvey, chosen: Option<Backend>) -> String {
    let mut advice = match chosen {
        Some(backend) => format!("`--sandbox auto` takes {backend}.\n"),
        None => String::new(),
    };
    for (backend, sandbox) in found {
        match sandbox {
            Err(unusable) => advice += &format!("\n{backend}: {}\n  remedy: {}\n", unusable.reason, unusable.remedy),
            Ok(_) if *backend == Backend::None => {
                advice += "\nnone: no confinement; only if requested by name, and never for pull requests from forks\n";
            }
            Ok(_) if *backend == Backend::Landlock => {
                advice += "\nlandlock: reduced isolation; never for pull requests from forks\n";
            }
            Ok(_) => {}
        }
    }
    for (property, what) in [
        (Property::Memory, memory_advice(rustix::process::geteuid().is_root())),
        (
            Property::ProcessCount,
            "all runs of this user share one limit\n  remedy: as for memory",
        ),
        (
            Property::Disk,
            "the kernel cannot bound a folder on every file system, so usage is counted at least every 2 s\n  \
             remedy: keep GREENLIGHT_DATA_DIR on a separate file system, so that a run cannot fill up anything else",
        ),
    ] {
        let partial: Vec<Backend> = confining(found)
            .filter(|sandbox| sandbox.guarantees().of(property) == Guarantee::Partial)
            .map(Sandbox::backend)
            .collect();
        if !partial.is_empty() {
            advice += &format!(
                "\n{} is partial in {}: {what}\n",
                property.name(),
                canaries::list(&partial)
            );
        }
    }
    advice.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_become_root() {
        assert!(memory_advice(false).contains("as root") && !memory_advice(true).contains("as root"));
    }
}
