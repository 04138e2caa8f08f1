//! Combines the configurations of the default branch and of a pull request's base branch: the stricter value of each
//! field counts.
//!
//! The author of a pull request may choose any branch as its base, including old ones, without any permission. So no
//! branch may loosen what the default branch says. Only the commands come from the base, like its code. Every struct
//! is destructured here, so that a new field does not compile until somebody decides about it;
//! `docs/configuration.md` has the table.

use std::time::Duration;

use super::protect::Protected;
use super::repository::{
    Allowed, Execution, Gate, Protect, Repair, RepoConfig, RunLimits, Sandbox, TestConfig, Triage, Trigger,
};
use super::worker::WorkerConfig;

/// The configuration for a pull request whose base is not the default branch.
pub fn stricter(default: &RepoConfig, base: &RepoConfig) -> RepoConfig {
    let RepoConfig {
        execution,
        trigger,
        test,
        triage,
        repair,
        gate,
        limits,
        protect,
        sandbox,
        worker: WorkerConfig { needs },
    } = default;
    RepoConfig {
        execution: match (execution, base.execution) {
            (Execution::Sandbox, Execution::Sandbox) => Execution::Sandbox,
            (Execution::Approve, _) | (_, Execution::Approve) => Execution::Approve,
        },
        trigger: stricter_trigger(trigger, &base.trigger),
        test: stricter_test(test, &base.test),
        triage: stricter_triage(triage, &base.triage),
        repair: stricter_repair(repair, &base.repair),
        gate: stricter_gate(gate, &base.gate),
        limits: stricter_limits(limits, &base.limits),
        protect: stricter_protect(protect, &base.protect),
        sandbox: stricter_sandbox(sandbox, &base.sandbox),
        worker: WorkerConfig {
            needs: needs.clone().with(&base.worker.needs),
        },
    }
}

/// Both must allow what starts a run; the label is the default branch's.
fn stricter_trigger(Trigger { ci, label }: &Trigger, base: &Trigger) -> Trigger {
    Trigger {
        ci: *ci && base.ci,
        label: label.clone().filter(|_| base.label.is_some()),
    }
}

/// The commands are the base's: they belong to the code that they run on, run only in the sandbox, and are shown
/// before anybody approves them. [`stricter_sandbox`] decides what they may reach.
fn stricter_test(default: &TestConfig, base: &TestConfig) -> TestConfig {
    let TestConfig {
        command: _,
        install: _,
        timeout,
        cold_proof,
    } = default;
    TestConfig {
        command: base.command.clone(),
        install: base.install.clone(),
        timeout: base.timeout.min(*timeout),
        cold_proof: base.cold_proof || *cold_proof,
    }
}

/// The smaller number of runs, and the higher confidence.
fn stricter_triage(Triage { runs, confidence }: &Triage, base: &Triage) -> Triage {
    Triage {
        runs: base.runs.min(*runs),
        confidence: base.confidence.max(*confidence),
    }
}

fn stricter_repair(default: &Repair, base: &Repair) -> Repair {
    let Repair {
        candidates,
        wall,
        before_model,
    } = default;
    Repair {
        candidates: base.candidates.min(*candidates),
        wall: base.wall.min(*wall),
        before_model: base.before_model.min(*before_model),
    }
}

fn stricter_gate(default: &Gate, base: &Gate) -> Gate {
    let Gate {
        expires,
        approvers,
        tests,
    } = default;
    Gate {
        expires: base.expires.min(*expires),
        approvers: base.approvers.max(*approvers),
        tests: base.tests || *tests,
    }
}

fn stricter_limits(default: &RunLimits, base: &RunLimits) -> RunLimits {
    let RunLimits {
        turns,
        tokens,
        cost_usd,
        wall,
        patch_lines,
        pull_request,
        user,
        day,
    } = default;
    RunLimits {
        turns: base.turns.min(*turns),
        tokens: base.tokens.min(*tokens),
        // Parsing has ensured that it is a number.
        cost_usd: base.cost_usd.min(*cost_usd),
        wall: base.wall.min(*wall),
        patch_lines: base.patch_lines.min(*patch_lines),
        pull_request: stricter_allowed(pull_request, &base.pull_request),
        user: stricter_allowed(user, &base.user),
        day: stricter_allowed(day, &base.day),
    }
}

fn stricter_allowed(default: &Allowed, base: &Allowed) -> Allowed {
    let Allowed {
        turns,
        tokens,
        cost_usd,
        wall,
        patch_lines,
    } = default;
    Allowed {
        turns: least(*turns, base.turns, u32::min),
        tokens: least(*tokens, base.tokens, u64::min),
        cost_usd: least(*cost_usd, base.cost_usd, f64::min),
        wall: least(*wall, base.wall, Duration::min),
        patch_lines: least(*patch_lines, base.patch_lines, u32::min),
    }
}

/// The smaller limit. `None` means no limit.
fn least<T>(one: Option<T>, other: Option<T>, smaller: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(smaller(one, other)),
        (one, other) => one.or(other),
    }
}

fn stricter_protect(Protect { paths }: &Protect, base: &Protect) -> Protect {
    Protect {
        paths: Protected::both(paths, &base.paths),
    }
}

/// The smaller value of everything, the hosts that both name, and all properties that either requires.
fn stricter_sandbox(default: &Sandbox, base: &Sandbox) -> Sandbox {
    let Sandbox {
        memory,
        processes,
        disk,
        network,
        require,
    } = default;
    let hosts = network.iter().filter(|host| base.network.contains(host));
    let more = base.require.iter().filter(|property| !require.contains(property));
    Sandbox {
        memory: base.memory.min(*memory),
        processes: base.processes.min(*processes),
        disk: base.disk.min(*disk),
        network: hosts.cloned().collect(),
        require: require.iter().chain(more).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> RepoConfig {
        RepoConfig::parse(text).unwrap()
    }

    const STRICT: &str = r#"
        execution = "approve"
        [trigger]
        ci = false
        label = ""
        [test]
        timeout = "1m"
        cold_proof = true
        [triage]
        runs = 3
        confidence = 99
        [repair]
        candidates = 10
        wall = "1m"
        before_model = "1s"
        [gate]
        expires = "1h"
        approvers = 2
        tests = true
        [limits]
        turns = 5
        tokens = 5_000
        cost_usd = 0.5
        wall = "5m"
        patch_lines = 20
        [limits.pull_request]
        turns = 10
        tokens = 10_000
        cost_usd = 1.0
        wall = "10m"
        patch_lines = 30
        [limits.user]
        turns = 20
        tokens = 20_000
        cost_usd = 2.0
        wall = "20m"
        patch_lines = 40
        [limits.day]
        turns = 30
        tokens = 30_000
        cost_usd = 3.0
        wall = "30m"
        patch_lines = 50
        [protect]
        paths = ["a", "b"]
        [sandbox]
        memory = "1GiB"
        processes = 64
        disk = "1GiB"
        network = []
        require = ["memory"]
    "#;

    const LOOSE: &str = r#"
        execution = "sandbox"
        [trigger]
        label = "fix it"
        [test]
        timeout = "2h"
        cold_proof = false
        [triage]
        runs = 20
        confidence = 50
        [repair]
        candidates = 1_000_000
        wall = "6h"
        before_model = "6h"
        [gate]
        expires = "30days"
        [limits]
        turns = 200
        tokens = 100_000_000
        cost_usd = 1000.0
        wall = "6h"
        patch_lines = 10_000
        [limits.pull_request]
        turns = 1_000_000
        tokens = 100_000_000_000
        cost_usd = 1_000_000
        [limits.day]
        turns = 1_000_000
        tokens = 100_000_000_000
        cost_usd = 1_000_000
        [protect]
        paths = ["b"]
        [sandbox]
        memory = "1TiB"
        processes = 65_536
        disk = "16TiB"
        network = ["pypi.org"]
    "#;

    #[test]
    fn the_stricter_branch_counts_whichever_it_is() {
        let (strict, loose) = (parsed(STRICT), parsed(LOOSE));
        assert_eq!(stricter(&strict, &loose), strict);
        let other_way = stricter(&loose, &strict);
        // Only the order of the patterns differs.
        assert_eq!(other_way.protect.paths.patterns(), ["b", "a"]);
        let protect = strict.protect.clone();
        assert_eq!(RepoConfig { protect, ..other_way }, strict);
        assert_eq!(stricter(&strict, &strict), strict);
        assert_eq!(
            stricter(&RepoConfig::default(), &RepoConfig::default()),
            RepoConfig::default()
        );
    }

    #[test]
    fn each_field_counts_for_itself() {
        let default = parsed(
            "[gate]\napprovers = 3\n[limits.user]\nturns = 5\n[sandbox]\nnetwork = [\"pypi.org\", \"crates.io\"]\n\
             require = [\"memory\"]\n",
        );
        let base = parsed(
            "[gate]\nexpires = \"1h\"\n[limits.user]\nwall = \"1h\"\n[sandbox]\nnetwork = [\"crates.io\", \"evil.org\"]\n\
             require = [\"disk\", \"memory\"]\n",
        );
        let both = stricter(&default, &base);
        assert_eq!(
            both,
            parsed(
                "[gate]\napprovers = 3\nexpires = \"1h\"\n[limits.user]\nturns = 5\nwall = \"1h\"\n\
                 [sandbox]\nnetwork = [\"crates.io\"]\nrequire = [\"memory\", \"disk\"]\n"
            )
        );
    }

    #[test]
    fn the_commands_are_the_bases() {
        let default = parsed("[test]\ncommand = \"pytest\"\ninstall = \"pip install x\"\ntimeout = \"5m\"\n");
        let base = parsed("[test]\ncommand = \"nose\"\n");
        let both = stricter(&default, &base);
        assert_eq!(both, parsed("[test]\ncommand = \"nose\"\ntimeout = \"5m\"\n"));
        assert_eq!(stricter(&default, &RepoConfig::default()).test.command, None);
    }

    #[test]
    fn protected_paths_of_both_count_no_matter_how_many() {
        let many = |letter: char| {
            let paths: Vec<String> = (0..150).map(|number| format!("\"{letter}{number}\"")).collect();
            parsed(&format!("[protect]\npaths = [{}]\n", paths.join(", ")))
        };
        let both = stricter(&many('a'), &many('b'));
        for path in ["a7", "b149"] {
            assert!(both.protect.paths.covers(&path.parse().unwrap()), "{path}");
        }
    }
}
