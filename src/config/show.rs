//! Writes a configuration as an equivalent `greenlight.toml`, for `/greenlight config`.

use std::fmt;
use std::time::Duration;

use super::repository::{Allowed, Execution, RepoConfig};

impl fmt::Display for RepoConfig {
    /// Writes every field, whether it was set or not; fields without a value become comments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let execution = match self.execution {
            Execution::Approve => "approve",
            Execution::Sandbox => "sandbox",
        };
        writeln!(f, "execution = {}", text(execution))?;

        writeln!(f, "\n[trigger]\nci = {}", self.trigger.ci)?;
        writeln!(f, "label = {}", text(self.trigger.label.as_deref().unwrap_or_default()))?;

        writeln!(f, "\n[test]")?;
        found(f, "command", self.test.command.as_deref())?;
        found(f, "install", self.test.install.as_deref())?;
        writeln!(f, "timeout = {}", duration(self.test.timeout))?;
        writeln!(f, "cold_proof = {}", self.test.cold_proof)?;

        writeln!(f, "\n[triage]\nruns = {}", self.triage.runs)?;
        writeln!(f, "confidence = {}", self.triage.confidence)?;

        let repair = &self.repair;
        writeln!(f, "\n[repair]\ncandidates = {}", repair.candidates)?;
        writeln!(f, "wall = {}", duration(repair.wall))?;
        writeln!(f, "before_model = {}", duration(repair.before_model))?;

        writeln!(f, "\n[gate]\nexpires = {}", duration(self.gate.expires))?;
        writeln!(f, "approvers = {}", self.gate.approvers)?;
        writeln!(f, "tests = {}", self.gate.tests)?;

        let limits = &self.limits;
        writeln!(f, "\n[limits]\nturns = {}\ntokens = {}", limits.turns, limits.tokens)?;
        writeln!(f, "cost_usd = {:?}\nwall = {}", limits.cost_usd, duration(limits.wall))?;
        writeln!(f, "patch_lines = {}", limits.patch_lines)?;
        for (name, allowed) in [
            ("pull_request", &limits.pull_request),
            ("user", &limits.user),
            ("day", &limits.day),
        ] {
            writeln!(f, "\n[limits.{name}]")?;
            if *allowed == Allowed::default() {
                writeln!(f, "# no limits")?;
            }
            optional(f, "turns", allowed.turns)?;
            optional(f, "tokens", allowed.tokens)?;
            optional(f, "cost_usd", allowed.cost_usd.map(|usd| format!("{usd:?}")))?;
            optional(f, "wall", allowed.wall.map(duration))?;
            optional(f, "patch_lines", allowed.patch_lines)?;
        }

        writeln!(f, "\n[protect]\npaths = {}", list(self.protect.paths.patterns()))?;

        let sandbox = &self.sandbox;
        writeln!(f, "\n[sandbox]\nmemory = {}", size(sandbox.memory))?;
        writeln!(f, "processes = {}\ndisk = {}", sandbox.processes, size(sandbox.disk))?;
        writeln!(f, "network = {}", list(&sandbox.network))?;
        let required: Vec<String> = sandbox.require.iter().map(ToString::to_string).collect();
        writeln!(f, "require = {}", list(&required))?;

        let needs: Vec<String> = self.worker.needs.iter().map(String::from).collect();
        writeln!(f, "\n[worker]\nneeds = {}", list(&needs))
    }
}

fn optional(f: &mut fmt::Formatter<'_>, field: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "{field} = {value}"),
        None => Ok(()),
    }
}

/// A command that greenlight looks for in the repository unless it is configured.
fn found(f: &mut fmt::Formatter<'_>, field: &str, value: Option<&str>) -> fmt::Result {
    match value {
        Some(value) => writeln!(f, "{field} = {}", text(value)),
        None => writeln!(f, "# {field}: found automatically"),
    }
}

fn text(value: &str) -> String {
    toml::Value::from(value).to_string()
}

fn list(values: &[String]) -> String {
    toml::Value::from(values.to_vec()).to_string()
}

/// In the largest unit that needs no fraction, as in the documentation: a day is `24h`.
fn duration(value: Duration) -> String {
    let seconds = value.as_secs();
    text(&match () {
        () if value.subsec_nanos() > 0 => humantime::format_duration(value).to_string(),
        () if seconds == 0 => "0s".into(),
        () if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        () if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        () => format!("{seconds}s"),
    })
}

fn size(bytes: u64) -> String {
    text(&size_in_words(bytes))
}

/// In the largest unit that needs no fraction.
pub(super) fn size_in_words(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB")];
    let fitting = units.iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
    let (shift, unit) = fitting.unwrap_or(&(10, "KiB"));
    format!("{}{unit}", bytes >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_means_the_same() {
        let own = "execution = \"sandbox\"\n[trigger]\nci = false\nlabel = \"\"\n\
            [test]\ncommand = \"pytest -k 'a \\\"b\\\"'\"\ninstall = \"x\"\n\
            [repair]\ncandidates = 7\nwall = \"90s\"\nbefore_model = \"0s\"\n\
            [limits]\ncost_usd = 0.5\n[limits.pull_request]\nturns = 9\n[limits.user]\ncost_usd = \
            1.5\n[limits.day]\nturns = 5\ntokens = 5000\ncost_usd = 3\nwall = \"1h 1s\"\n\
            patch_lines = 7\n[protect]\npaths = [\"a\\\\*\", \"b\"]\n\
            [sandbox]\nmemory = \"65537KiB\"\ndisk = \"1TiB\"\nnetwork = [\"pypi.org\"]\n\
            require = [\"memory\", \"disk\"]\n[worker]\nneeds = [\"Java\", \"gpu\"]\n";
        for config in [RepoConfig::default(), RepoConfig::parse(own).unwrap()] {
            let shown = config.to_string();
            assert_eq!(RepoConfig::parse(&shown), Ok(config), "{shown}");
        }
    }

    #[test]
    fn the_defaults_read_as_they_are_documented() {
        insta::assert_snapshot!(RepoConfig::default(), @r#"
        execution = "approve"

        [trigger]
        ci = true
        label = "greenlight"

        [test]
        # command: found automatically
        # install: found automatically
        timeout = "10m"
        cold_proof = false

        [triage]
        runs = 5
        confidence = 95

        [repair]
        candidates = 20000
        wall = "10m"
        before_model = "30s"

        [gate]
        expires = "24h"
        approvers = 1
        tests = false

        [limits]
        turns = 30
        tokens = 400000
        cost_usd = 2.0
        wall = "30m"
        patch_lines = 200

        [limits.pull_request]
        turns = 150
        tokens = 2000000
        cost_usd = 10.0

        [limits.user]
        # no limits

        [limits.day]
        turns = 600
        tokens = 8000000
        cost_usd = 40.0

        [protect]
        paths = []

        [sandbox]
        memory = "2GiB"
        processes = 1024
        disk = "4GiB"
        network = []
        require = []

        [worker]
        needs = []
        "#);
    }
}
