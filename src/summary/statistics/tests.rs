//! Runs are folded from steps, and counted.

mod timelines;

use std::time::Duration;

use jiff::SignedDuration;

use super::*;
use crate::domain::gate::{Answer, Gate, GateKind, Terms};
use crate::domain::id::{Account, CommitSha, RunId};
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::Proposal;
use crate::domain::run::{Consent, End, Origin, Started, Step, Subject};
use crate::domain::spend::Spend;
use crate::domain::test_run::{Outcome, TestRun};
use crate::domain::triage::Triage;
use crate::summary::{Filter, RunSummary};

const START: &str = "2026-03-01T23:30:00Z";

fn at(minutes: i64) -> Timestamp {
    let start: Timestamp = START.parse().unwrap();
    start + SignedDuration::from_mins(minutes)
}

fn started(minutes: i64) -> Step {
    Step::Started(Box::new(Started {
        run: RunId(format!("r{minutes}")),
        subject: Subject::Checkout,
        installation: None,
        head: CommitSha::none(),
        base: CommitSha::none(),
        base_branch: None,
        origin: Origin::CommandLine,
        consent: Consent::CommandLine,
        asks_first: false,
        mode: Mode::Debug,
        asks_about_tests: false,
        asks_nobody: false,
        approvers: 1,
        gate_seconds: 60,
        writes_as: None,
        at: at(minutes),
    }))
}

fn proposed(author: Author) -> Step {
    Step::Proposed(Box::new(Proposal {
        head: CommitSha::none(),
        patch: Patch::default(),
        summary: "The <b>sum</b>\u{202e} was wrong.".into(),
        author,
        evidence: None,
        weakens: Vec::new(),
        tests_first: None,
        measures: None,
        found_by: None,
    }))
}

/// A run whose only request was opened five minutes after its start.
fn asked(minutes: i64, author: Author) -> (Vec<Step>, Gate) {
    let opened = at(minutes + 5);
    let terms = Terms {
        head: CommitSha::none(),
        approvers: 1,
        opened,
        expires: opened + Duration::from_secs(3_600),
    };
    let gate = Gate::open(
        &RunId(format!("r{minutes}")),
        0,
        GateKind::Land { files: 1 },
        "x",
        terms,
    );
    let spent = Spend {
        cost_micros: Some(3_000),
        wall_ms: 200_000,
        ..Spend::default()
    };
    let steps = vec![
        started(minutes),
        Step::Spent(spent),
        proposed(author),
        Step::GateOpened(gate.clone()),
    ];
    (steps, gate)
}

fn by() -> Account {
    Account::new("ada")
}

fn landed(minutes: i64, answered_after: i64, author: Author) -> Vec<Step> {
    let (mut steps, gate) = asked(minutes, author);
    steps.push(Step::Answered {
        gate: gate.id,
        answer: Answer::Approved { by: by() },
        comment: None,
        at: Some(at(minutes + answered_after)),
    });
    steps.push(Step::Ended(End::Landed {
        commit: CommitSha::none(),
    }));
    steps
}

fn flaky(minutes: i64) -> Vec<Step> {
    judged(minutes, Verdict::Flaky, "t::clock")
}

/// A run that judged one test.
fn judged(minutes: i64, verdict: Verdict, name: &str) -> Vec<Step> {
    let judged = Judged {
        name: name.into(),
        verdict,
        head: Rate { red: 2, runs: 9 },
        base: Rate { red: 0, runs: 1 },
        is_new: false,
        varies: false,
        cause: None,
        program: None,
        packages: Vec::new(),
    };
    let triage = Triage {
        verdict,
        tests: vec![judged],
        ..Triage::of_one_run(true)
    };
    let before = TestRun::without_result("pytest", Outcome::Failed, "");
    let end = End::NothingToFix { reason: "flaky".into() };
    vec![started(minutes), Step::Reproduced { before, triage }, Step::Ended(end)]
}

fn fold(steps: Vec<Step>) -> Run {
    Run::fold(steps).unwrap()
}

#[test]
fn runs_are_counted_by_what_people_did_with_them() {
    let model = || Author::Model("m".into());
    let (mut rejected, gate) = asked(60, model());
    let answer = Answer::Rejected { by: by(), reason: None };
    rejected.push(Step::Answered {
        gate: gate.id,
        answer,
        comment: None,
        at: Some(at(70)),
    });
    rejected.push(Step::Ended(End::Rejected { by: by(), reason: None }));
    let mut undone = landed(30, 9, model());
    undone.push(Step::Undone {
        commit: CommitSha::none(),
    });
    let runs = [
        landed(0, 10, Author::BuiltIn),
        landed(1, 20, model()),
        landed(2, 90, model()),
        undone,
        rejected,
        asked(80, model()).0,
        flaky(100),
        flaky(110),
        landed(-9_000, 9, model()),
    ];
    let runs: Vec<Run> = runs.into_iter().map(fold).collect();
    let counted = Statistics::of(&runs, at(-10));
    assert_eq!((counted.runs, counted.proposed, counted.accepted), (8, 5, 3));
    assert_eq!(counted.acceptance_rate, Some(0.6));
    assert_eq!(counted.time_to_green.median_ms, Some(20 * 60_000));
    assert_eq!(counted.time_to_green.p90_ms, Some(90 * 60_000));
    assert_eq!(counted.cost_micros, Some(18_000));
    assert_eq!(counted.cost_per_accepted_micros, Some(6_000));
    assert_eq!(counted.accepted_without_model, 1);
    let states: Vec<_> = counted
        .by_state
        .iter()
        .map(|(state, runs)| (state.as_str(), *runs))
        .collect();
    assert_eq!(
        states,
        [("landed", 4), ("nothing-to-fix", 2), ("rejected", 1), ("waiting", 1)]
    );
    let test = &counted.flaky_tests[0];
    assert_eq!(
        (test.name.as_str(), test.red, test.executions, test.runs),
        ("t::clock", 4, 18, 2)
    );
    // The first runs are before midnight.
    let days: Vec<_> = counted.days.iter().map(|day| (day.day.to_string(), day.runs)).collect();
    assert_eq!(days, [("2026-03-01".into(), 3), ("2026-03-02".into(), 5)]);
    assert_eq!(
        counted.days_as_csv(),
        "day,runs,accepted,cost_micros,proposed,accepted_without_model,time_to_green_ms\r\n\
         2026-03-01,3,3,9000,3,1,1200000\r\n2026-03-02,5,0,9000,2,0,\r\n"
    );
}

#[test]
fn nothing_is_divided_by_zero() {
    let counted = Statistics::of(&[], at(0));
    assert_eq!(counted, Statistics::default());
    let counted = Statistics::of(&[fold(flaky(0))], at(0));
    assert_eq!(
        (counted.acceptance_rate, counted.cost_per_accepted_micros),
        (None, None)
    );
}

#[test]
fn days_of_a_wrong_clock_are_bounded() {
    let runs = [fold(flaky(0)), fold(flaky(60 * 24 * 100_000))];
    assert!(Statistics::of(&runs, Timestamp::MIN).days.len() <= MAX_DAYS + 1);
}

#[test]
fn a_list_says_what_a_run_waits_for_and_for_how_long() {
    let run = fold(asked(0, Author::BuiltIn).0);
    let line = RunSummary::of(&run, at(12));
    assert_eq!((line.state.as_str(), line.elapsed_ms), ("waiting", 12 * 60_000));
    assert!(line.outcome.starts_with(char::is_alphanumeric), "{}", line.outcome);
    assert_eq!((line.waiting[0].kind.as_str(), line.waiting[0].opened), ("land", at(5)));
    assert_eq!(line.doing, None, "it waits");
    let started = RunSummary::of(&fold(asked(0, Author::BuiltIn).0[..1].to_vec()), at(1));
    assert!(started.is_working() && started.doing.is_some(), "{started:?}");
    let over = RunSummary::of(&fold(landed(0, 10, Author::BuiltIn)), at(900));
    assert_eq!((over.state.as_str(), over.elapsed_ms), ("landed", 10 * 60_000));
    assert_eq!(over.doing, None);
    assert_eq!(over.clone().ended(None), over);
    // A recorded end is later than what the steps themselves say.
    assert_eq!(over.clone().ended(Some(at(11))).elapsed_ms, 11 * 60_000);
    assert_eq!(over.clone().ended(Some(at(1))).elapsed_ms, 10 * 60_000);
    let search = |text: &str| Filter {
        text: Some(text.into()),
        ..Filter::default()
    };
    assert!(search("R0").takes(&line) && !search("r1").takes(&line));
    let of = |person: &str| Filter {
        person: Some(person.into()),
        ..Filter::default()
    };
    assert!(!over.people.is_empty(), "somebody approved it");
    let somebody = over.people[0].to_uppercase();
    assert!(of(&somebody).takes(&over) && of(&format!("@{somebody}")).takes(&over) && !of("nobody").takes(&over));
    let json = serde_json::to_value(&line).unwrap();
    assert_eq!(serde_json::from_value::<RunSummary>(json).unwrap(), line);
}
