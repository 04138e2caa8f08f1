//! `greenlight doctor`: which sandboxes work on this machine, what each guarantees, and what the others lack.

use serde_json::json;

use super::{Exit, app, terminal};
use crate::config::environment::Environment;
use crate::config::flags::{Flags, LogFlags, SandboxFlags};
use crate::config::settings::Settings;
use crate::sandbox::{Backend, Guarantee, Property, Sandbox, Unusable};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sandbox: SandboxFlags,
    #[command(flatten)]
    log: LogFlags,
}

type Found = [(Backend, Result<Sandbox, Unusable>)];

pub(super) async fn doctor(arguments: Arguments) -> Exit {
    match examine(arguments).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn examine(arguments: Arguments) -> Result<Exit, Exit> {
    let flags = Flags {
        sandbox: arguments.sandbox,
        log: arguments.log,
        ..Flags::default()
    };
    let settings = Settings::new(flags, &Environment::of_this_process().for_local_work())?;
    terminal::start_logging(&settings, Some("error"));
    let found = Sandbox::survey(app::places(&settings)?).await;
    let chosen = found
        .iter()
        .find(|(backend, sandbox)| *backend != Backend::None && sandbox.is_ok())
        .map(|(backend, _)| *backend);
    if arguments.json {
        terminal::show_document(&document(&found, chosen));
    } else {
        terminal::show(&table(&found));
        terminal::show(&advice(&found, chosen));
    }
    Ok(match chosen {
        Some(_) => Exit::Done,
        None => Exit::Refused("no sandbox works here, so nothing will be executed".into()),
    })
}

fn document(found: &Found, chosen: Option<Backend>) -> serde_json::Value {
    let backends = found.iter().map(|(backend, sandbox)| match sandbox {
        Ok(sandbox) => json!({ "backend": backend, "usable": true, "guarantees": sandbox.guarantees() }),
        Err(unusable) => {
            json!({ "backend": backend, "usable": false, "reason": unusable.reason, "remedy": unusable.remedy })
        }
    });
    json!({ "chosen": chosen, "backends": backends.collect::<Vec<_>>() })
}

/// One column for each backend, one line for each property.
fn table(found: &Found) -> String {
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

fn advice(found: &Found, chosen: Option<Backend>) -> String {
    let mut advice = match chosen {
        Some(backend) => format!("`--sandbox auto` takes {backend}.\n"),
        None => String::new(),
    };
    for (backend, sandbox) in found {
        match sandbox {
            Err(unusable) => advice += &format!("\n{backend}: {}\n  remedy: {}\n", unusable.reason, unusable.remedy),
            Ok(_) if *backend == Backend::None => {
                advice +=
                    "\nnone: no confinement; only when asked for by name, and never for pull requests from forks\n";
            }
            Ok(_) if *backend == Backend::Landlock => {
                advice += "\nlandlock: reduced isolation; never for pull requests from forks\n";
            }
            Ok(_) => {}
        }
    }
    advice.trim_end().to_owned()
}
