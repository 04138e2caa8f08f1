//! What is counted of runs, lanes and requests, and that nobody else chooses a name.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::*;
use crate::domain::gate::{Answer, Circumstances, Gate, GateId, GateKind};
use crate::domain::id::{Account, CommitSha, PullRequestId, RunId};
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::{Author, Proposal};
use crate::domain::run::{Consent, End, Origin, Started, Step, Subject};
use crate::sandbox::Use;

/// What somebody would like to smuggle in: as the name of a model, a repository, a goal.
const HOSTILE: &str = "CANARY\"} 1\ngreenlight_owned{x=\"";

fn sha() -> CommitSha {
    "a".repeat(40).parse().unwrap()
}

fn run(mode: Mode) -> Run {
    Run::start(Started {
        run: RunId(HOSTILE.into()),
        subject: Subject::PullRequest(PullRequestId {
            repository: "canary/canary".parse().unwrap(),
            number: 1,
        }),
        asks_nobody: false,
        installation: None,
        head: sha(),
        base: sha(),
        base_branch: Some(HOSTILE.into()),
        origin: Origin::Ci { workflow_run: None },
        consent: Consent::None,
        asks_first: false,
        mode,
        asks_about_tests: false,
        approvers: 1,
        gate_seconds: 3600,
        writes_as: None,
        at: Timestamp::UNIX_EPOCH,
    })
}

fn gate(kind: GateKind, opened: &str) -> Gate {
    Gate {
        id: GateId::derive(&RunId("r".into()), 0, kind.name()),
        kind,
        head: sha(),
        digest: String::new(),
        approvers: 1,
        opened: opened.parse().unwrap(),
        expires: Timestamp::MAX,
        estimate: None,
        circumstances: Circumstances::default(),
    }
}

fn search() -> GateKind {
    GateKind::Search {
        command: HOSTILE.into(),
        minutes: 1,
    }
}

fn proposal(author: Author) -> Step {
    Step::Proposed(Box::new(Proposal {
        head: sha(),
        patch: Patch::default(),
        summary: HOSTILE.into(),
        author,
        evidence: None,
        weakens: Vec::new(),
        tests_first: None,
        measures: None,
        found_by: None,
    }))
}

fn take(metrics: &Metrics, run: &mut Run, step: Step) {
    let appended = Appended::of(run, &step);
    run.take(step);
    metrics.append(run, appended, Some(Duration::from_secs(2)));
}

fn text(metrics: &Metrics) -> String {
    metrics.render(Format::Prometheus).unwrap()
}

/// The names of all series, with their labels.
fn series(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| Some(line.rsplit_once(' ')?.0.to_string()))
        .collect()
}

#[track_caller]
fn has(metrics: &Metrics, line: &str) {
    let text = text(metrics);
    assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
}

/// Metrics with at least one value each.
fn everything() -> Metrics {
    let metrics = Metrics::default();
    let mut run = run(Mode::Debug);
    metrics.runs.begin(&run.started);
    take(
        &metrics,
        &mut run,
        Step::GateOpened(gate(search(), "2026-01-01T00:00:00Z")),
    );
    metrics.gates.look([("search".into(), 1, Some(Timestamp::UNIX_EPOCH))]);
    let answered = Step::Answered {
        gate: run.gates[0].gate.id.clone(),
        answer: Answer::Expired,
        comment: None,
        at: None,
    };
    take(&metrics, &mut run, answered);
    take(&metrics, &mut run, proposal(Author::BuiltIn));
    take(&metrics, &mut run, Step::Ended(End::Landed { commit: sha() }));
    drop(metrics.lanes.wait(LaneKind::Noting).begin());
    let budget = Budget {
        remaining: 1,
        limit: 2,
        reset: u64::MAX,
    };
    metrics
        .github
        .count(RequestClass::GraphQl, Answered::Not, Duration::ZERO);
    metrics.github.budget(1, RequestClass::GraphQl, budget);
    metrics.model.ask().answer(&ReplyCost {
        input: 1,
        cached_input: 0,
        output: 1,
        micros: None,
    });
    drop(metrics.sandbox.begin(Use::Command));
    metrics
}

/// The name and the help text of every metric that has a value.
fn described(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
    lines.map(|line| line.split_once(' ').unwrap()).collect()
}

#[test]
fn names_and_help_texts_follow_the_conventions() {
    let metrics = everything();
    let text = text(&metrics);
    for (name, help) in described(&text) {
        assert!(name.starts_with("greenlight_"), "{name}");
        let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(is_plain && help.ends_with('.') && help.len() > 10, "{name} {help}");
    }
    let is_counter = |line: &&str| line.starts_with("# TYPE ") && line.ends_with(" counter");
    for counter in text.lines().filter(is_counter) {
        assert!(counter.ends_with("_total counter"), "{counter}");
    }
    let open = metrics.render(Format::OpenMetrics).unwrap();
    assert!(open.ends_with("# EOF\n"), "{open}");
    assert!(
        open.contains("# UNIT greenlight_step_duration_seconds seconds"),
        "{open}"
    );
}

#[test]
fn the_manual_lists_every_metric() {
    let (metrics, manual) = (everything(), include_str!("../../docs/metrics.md"));
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `greenlight_"));
    let listed: BTreeSet<String> = rows
        .map(|row| format!("greenlight_{}", row.split('`').next().unwrap()))
        .collect();
    let text = text(&metrics);
    let there: BTreeSet<String> = described(&text).into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(there, listed);
}

#[test]
fn no_text_of_others_makes_a_series() {
    let metrics = Metrics::default();
    let played = |name: &str| {
        let mode = Mode::Refactor {
            goal: name.into(),
            path: None,
        };
        let mut run = run(mode);
        metrics.runs.begin(&run.started);
        take(
            &metrics,
            &mut run,
            Step::GateOpened(gate(search(), "2026-01-01T00:00:00Z")),
        );
        let answer = Answer::Rejected {
            by: Account::new(name),
            reason: Some(name.into()),
        };
        let id = run.gates[0].gate.id.clone();
        let answered = Step::Answered {
            gate: id,
            answer,
            comment: None,
            at: None,
        };
        take(&metrics, &mut run, answered);
        take(&metrics, &mut run, proposal(Author::Model(name.into())));
        take(&metrics, &mut run, Step::Ended(End::GaveUp { reason: name.into() }));
        series(&text(&metrics))
    };
    let before = played("m1");
    for nth in 0..50 {
        assert_eq!(played(&format!("{HOSTILE}{nth}")), before);
    }
    let text = text(&metrics);
    assert!(
        !text.to_lowercase().contains("canary") && !text.contains("owned"),
        "{text}"
    );
    has(
        &metrics,
        r#"greenlight_runs_ended_total{mode="refactor",engine="model",rung="none",end="gave-up"} 51"#,
    );
    has(
        &metrics,
        r#"greenlight_gates_answered_total{kind="search",answer="rejected"} 51"#,
    );
    has(
        &metrics,
        r#"greenlight_step_duration_seconds_sum{step="proposed"} 102.0"#,
    );
}

#[test]
fn lanes_wait_run_and_leave() {
    let metrics = Metrics::default();
    let first = metrics.lanes.wait(LaneKind::Worker);
    let second = metrics.lanes.wait(LaneKind::Worker);
    has(&metrics, r#"greenlight_lanes_waiting{kind="worker"} 2"#);
    let running = first.begin();
    has(&metrics, r#"greenlight_lanes_waiting{kind="worker"} 1"#);
    has(&metrics, r#"greenlight_lanes_running{kind="worker"} 1"#);
    has(&metrics, r#"greenlight_lane_wait_seconds_count{kind="worker"} 1"#);
    drop((second, running));
    has(&metrics, r#"greenlight_lanes_waiting{kind="worker"} 0"#);
    has(&metrics, r#"greenlight_lane_oldest_wait_seconds{kind="worker"} 0.0"#);
    has(&metrics, r#"greenlight_lanes_running{kind="worker"} 0"#);
}

#[test]
fn claimed_lanes_run_and_lost_ones_are_counted() {
    let metrics = Metrics::default();
    let claimed = metrics.lanes.claim(LaneKind::Worker);
    metrics.lanes.due(7);
    metrics.lanes.lose();
    has(&metrics, r#"greenlight_lanes_running{kind="worker"} 1"#);
    has(&metrics, "greenlight_lanes_due 7");
    has(&metrics, "greenlight_leases_lost_total 1");
    drop(claimed);
    has(&metrics, r#"greenlight_lanes_running{kind="worker"} 0"#);
}

#[test]
fn open_gates_are_those_of_the_journal() {
    let metrics = Metrics::default();
    let open = |kind: &str, number| (kind.to_string(), number, Some(Timestamp::UNIX_EPOCH));
    metrics.gates.look([open("search", 2), open("land", 1)]);
    has(&metrics, r#"greenlight_gates_open{kind="search"} 2"#);
    has(&metrics, r#"greenlight_gates_open{kind="land"} 1"#);
    let age = text(&metrics);
    let age = age
        .lines()
        .find(|line| line.starts_with(r#"greenlight_gate_oldest_wait_seconds{kind="land"}"#));
    let age: f64 = age.unwrap().rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(age > 0.0, "{age}");
    metrics.gates.look([]);
    has(&metrics, r#"greenlight_gates_open{kind="search"} 0"#);
    has(&metrics, r#"greenlight_gate_oldest_wait_seconds{kind="land"} 0.0"#);
}

#[test]
fn the_budget_is_that_of_the_installation_with_the_least() {
    let metrics = Metrics::default();
    let hour = |hours: u64| Timestamp::now().as_second().unsigned_abs() + 3_600 * hours;
    let says = |installation, remaining, limit, reset| {
        let budget = Budget {
            remaining,
            limit,
            reset,
        };
        metrics.github.budget(installation, RequestClass::Write, budget);
    };
    let (this, next) = (hour(1), hour(2));
    says(1, 4_000, 5_000, this);
    says(2, 3_000, 12_000, this);
    // An answer that was sent before the last one arrives late.
    says(1, 4_001, 5_000, this);
    has(
        &metrics,
        r#"greenlight_github_rate_limit_remaining{resource="rest"} 3000"#,
    );
    has(
        &metrics,
        r#"greenlight_github_rate_limit_remaining_ratio{resource="rest"} 0.25"#,
    );
    says(2, 12_000, 12_000, next);
    says(2, 2_000, 12_000, this);
    has(
        &metrics,
        r#"greenlight_github_rate_limit_remaining{resource="rest"} 4000"#,
    );
    // What an installation had left in an hour that is over says nothing.
    says(3, 1, 5_000, 1);
    has(
        &metrics,
        r#"greenlight_github_rate_limit_remaining{resource="rest"} 4000"#,
    );
    assert!(!text(&metrics).contains(r#"resource="graphql""#));
}

#[test]
fn statuses_have_few_words() {
    let metrics = Metrics::default();
    for status in 0..=u16::MAX {
        metrics
            .github
            .count(RequestClass::Read, Answered::Status(status), Duration::ZERO);
    }
    let counted = series(&text(&metrics));
    let counted = counted
        .iter()
        .filter(|line| line.contains("greenlight_github_requests_total"));
    assert_eq!(counted.count(), 7);
}

#[test]
fn a_request_without_an_end_was_cancelled() {
    let metrics = Metrics::default();
    drop(metrics.model.ask());
    metrics.model.ask().fail("limited");
    metrics.model.ask().answer(&ReplyCost {
        input: 10,
        cached_input: 12,
        output: 3,
        micros: Some(1_500_000),
    });
    has(&metrics, r#"greenlight_model_requests_total{outcome="cancelled"} 1"#);
    has(&metrics, r#"greenlight_model_requests_total{outcome="limited"} 1"#);
    has(&metrics, r#"greenlight_model_tokens_total{kind="cached_input"} 10"#);
    has(&metrics, r#"greenlight_model_tokens_total{kind="input"} 0"#);
    has(&metrics, "greenlight_model_cost_dollars_total 1.5");
}
