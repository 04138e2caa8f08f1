//! What `serve` and `worker` say about their workers: how many there are, for whom, and what their machine has.

use std::path::PathBuf;

use super::Exit;
use super::doctor::programs_in;
use crate::config::environment::Environment;
use crate::domain::worker_labels::WorkerLabels;
use crate::engine::sandbox_label;
use crate::sandbox::{Guarantee, Sandbox, Unusable};
use crate::server::WorkerSettings;

const DEFAULT_WORKERS: usize = 2;
const MAX_WORKERS: usize = 64;
/// A limit beyond this is none.
const MAX_LIMIT: usize = 10_000;
/// The largest amount of memory that has a label, in powers of two of GiB.
const MAX_MEMORY_LABEL: u32 = 12;

#[derive(Debug, Default, clap::Args)]
pub(super) struct WorkerFlags {
    /// How many pull requests are worked on at the same time, at most 64; 2 if not set. 0 leaves the work to
    /// `greenlight worker`, with a PostgreSQL database [env: GREENLIGHT_WORKERS]
    #[arg(long, value_name = "NUMBER", value_parser = workers)]
    workers: Option<usize>,
    /// The most pull requests of one repository that are worked on at the same time, by all processes that share the
    /// work; 4 of all workers if not set, or three quarters of those of a single process
    /// [env: GREENLIGHT_MAX_PER_REPOSITORY]
    #[arg(long, value_name = "NUMBER", value_parser = limit)]
    max_per_repository: Option<usize>,
    /// The same for all repositories of one owner; no limit if not set
    /// [env: GREENLIGHT_MAX_PER_OWNER]
    #[arg(long, value_name = "NUMBER", value_parser = limit)]
    max_per_owner: Option<usize>,
    /// Something this machine has that repositories can ask for with `[worker]` `needs`, such as `gpu`. Can be given
    /// several times; the variable separates them by commas [env: GREENLIGHT_LABELS]
    #[arg(long = "label", value_name = "LABEL", value_parser = labels)]
    labels: Vec<WorkerLabels>,
}

impl WorkerFlags {
    /// The settings of the workers, and the labels that were given.
    pub(super) fn read(self, environment: &Environment) -> Result<(WorkerSettings, WorkerLabels), Exit> {
        let number = set(self.workers, (environment, "GREENLIGHT_WORKERS"), workers)?;
        let given = match environment.get("GREENLIGHT_LABELS") {
            Some(text) => labels(text).map_err(|problem| Exit::Usage(format!("GREENLIGHT_LABELS: {problem}")))?,
            None => WorkerLabels::default(),
        };
        let settings = WorkerSettings {
            number: number.unwrap_or(DEFAULT_WORKERS),
            per_repository: set(
                self.max_per_repository,
                (environment, "GREENLIGHT_MAX_PER_REPOSITORY"),
                limit,
            )?,
            per_owner: set(self.max_per_owner, (environment, "GREENLIGHT_MAX_PER_OWNER"), limit)?,
        };
        let all = self.labels.iter().fold(given, WorkerLabels::with);
        Ok((settings, all))
    }
}

/// The settings of the workers, each with the name of its variable.
pub(super) fn shown(environment: &Environment) -> Result<[(&'static str, String); 4], Exit> {
    let (settings, labels) = WorkerFlags::default().read(environment)?;
    let or_not = |value: Option<String>| value.unwrap_or_else(|| "not set".into());
    let labels = Some(labels.iter().collect::<Vec<_>>().join(",")).filter(|labels| !labels.is_empty());
    Ok([
        ("GREENLIGHT_WORKERS", settings.number.to_string()),
        (
            "GREENLIGHT_MAX_PER_REPOSITORY",
            or_not(settings.per_repository.map(|limit| limit.to_string())),
        ),
        (
            "GREENLIGHT_MAX_PER_OWNER",
            or_not(settings.per_owner.map(|limit| limit.to_string())),
        ),
        ("GREENLIGHT_LABELS", or_not(labels)),
    ])
}

/// The labels that every machine gives itself: system, architecture, memory, sandbox, and the programs of the
/// languages.
pub(super) fn of_this_machine(sandbox: &Result<Sandbox, Unusable>, environment: &Environment) -> WorkerLabels {
    let mut found = vec![std::env::consts::OS.to_string(), std::env::consts::ARCH.to_string()];
    let gibibytes = rustix::system::sysinfo().totalram >> 30;
    // The kernel keeps some of the memory that was installed: 16 GiB count from 15 on.
    let enough = (0..=MAX_MEMORY_LABEL)
        .map(|power| 1_u64 << power)
        .take_while(|size| gibibytes >= size - size / 16);
    found.extend(enough.map(|size| format!("memory-{size}g")));
    if let Ok(sandbox) = sandbox {
        found.push("sandbox".into());
        found.push(format!("sandbox-{}", sandbox.backend()));
        let guarantees = sandbox.guarantees().all();
        let enforced = guarantees
            .iter()
            .filter(|(_, guarantee)| *guarantee == Guarantee::Enforced);
        found.extend(enforced.map(|(property, _)| sandbox_label(property.name())));
    }
    let folders: Vec<PathBuf> = std::env::split_paths(environment.get("PATH").unwrap_or_default()).collect();
    found.extend(programs_in(&folders).into_iter().map(String::from));
    WorkerLabels::new(found.iter().map(String::as_str)).unwrap_or_default()
}

fn workers(text: &str) -> Result<usize, String> {
    number(text, 0, MAX_WORKERS)
}

fn limit(text: &str) -> Result<usize, String> {
    number(text, 1, MAX_LIMIT)
}

fn number(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("it is not a number from {least} to {most}"))
}

fn labels(text: &str) -> Result<WorkerLabels, String> {
    let named = text.split(',').map(str::trim).filter(|label| !label.is_empty());
    WorkerLabels::new(named).map_err(|error| error.to_string())
}

/// The value of the flag, or else of the variable.
pub(super) fn set<T>(
    flag: Option<T>,
    (environment, variable): (&Environment, &str),
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Exit> {
    match (flag, environment.get(variable)) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(text)) => read(text)
            .map(Some)
            .map_err(|problem| Exit::Usage(format!("{variable}: {problem}"))),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_says_what_it_has() {
        let environment = Environment::of_this_process();
        let none = Err(Unusable {
            reason: "none".into(),
            remedy: String::new(),
        });
        let has = of_this_machine(&none, &environment);
        let sure = WorkerLabels::new([std::env::consts::OS, std::env::consts::ARCH, "memory-1g", "cargo"]).unwrap();
        assert!(has.missing(&sure).is_empty(), "{has}");
        assert!(!has.iter().any(|label| label.starts_with("sandbox")), "{has}");
    }
}
