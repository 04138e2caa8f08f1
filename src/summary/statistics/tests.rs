//! Runs are folded from steps, and counted.

use std::time::Duration;

use jiff::SignedDuration;

use super::*;
use crate::domain::gate::{Answer, Gate, GateKind, Terms};
use crate::domain::id::{Account, CommitSha, PullRequestId, RunId};
use crate::domain::mode::Mode;
use crate::domain::patch::Patch;
use crate::domain::proposal::Proposal;
use crate::domain::run::{Consent, End, Origin, Started, Step, Subject};
use crate::domain::search::Search;
use crate::domain::spend::Spend;
use crate::domain::test_run::{Outcome, TestRun};
use crate::domain::triage::Triage;
use crate::summary::{Filter, RunSummary, timeline};

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
        "day,runs,accepted,cost_micros\r\n2026-03-01,3,3,9000\r\n2026-03-02,5,0,9000\r\n"
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
    let over = RunSummary::of(&fold(landed(0, 10, Author::BuiltIn)), at(900));
    assert_eq!((over.state.as_str(), over.elapsed_ms), ("landed", 10 * 60_000));
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

#[test]
fn a_timeline_has_the_durations_that_are_recorded() {
    let mut steps = landed(0, 10, Author::BuiltIn);
    let say = || Step::Said(serde_json::json!({ "reply": { "calls": [{ "name": "edit_file" }] } }));
    steps.splice(1..1, [say(), say()]);
    let entries = timeline(steps.iter().enumerate().map(|(place, step)| (place, step, None)));
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| {
            format!(
                "{} {} {}×{} {:?}",
                entry.place, entry.kind, entry.what, entry.steps, entry.ms
            )
        })
        .collect();
    let gate = entries[3].what.split(' ').next().unwrap();
    assert_eq!(
        shown,
        [
            "0 started debug on 0000000×1 None".to_string(),
            "1 model edit_file, edit_file×2 None".into(),
            "4 proposal The <b>sum</b> was wrong.×1 None".into(),
            format!("5 request {gate} waits for an approval: land×1 None"),
            format!("6 answer {gate} was approved by ada×1 Some(300000)"),
            "7 end landed×1 None".into(),
        ]
    );
    assert_eq!(
        (entries[2].at, entries[5].at),
        (at(0) + Duration::from_secs(200), at(10))
    );
}

#[test]
fn a_timeline_has_the_times_that_a_journal_records() {
    let steps = landed(0, 10, Author::BuiltIn);
    // Recorded are: the start, what was spent, the proposal, the request, its approval and the end.
    let recorded = [0, 3, 4, 5, 10, 12].map(|minute| Some(at(minute)));
    let placed = steps.iter().enumerate().zip(recorded);
    let entries = timeline(placed.map(|((place, step), at)| (place, step, at)));
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| (entry.kind.as_str(), entry.at, entry.ms, entry.since_ms))
        .collect();
    let minutes = |count: u64| Some(count * 60_000);
    assert_eq!(
        shown,
        [
            ("started", at(0), None, None),
            ("proposal", at(4), None, minutes(4)),
            ("request", at(5), None, minutes(1)),
            ("answer", at(10), minutes(5), None),
            ("end", at(12), None, minutes(2)),
        ]
    );
}

#[test]
fn what_came_before_the_work_has_entries_of_its_own() {
    let mut steps = landed(0, 10, Author::BuiltIn);
    let spent = |fetch_ms, install_ms| {
        Step::Spent(Spend {
            fetch_ms,
            install_ms,
            ..Spend::default()
        })
    };
    let searched = || {
        Step::Searched(Box::new(Search {
            wall_ms: 7,
            ..Search::default()
        }))
    };
    steps.splice(1.., [searched(), spent(5_000, 20_000), searched(), spent(0, 0)]);
    let shown = |steps: &[Step]| -> Vec<_> {
        let recorded = [0, 1, 1, 2, 2].map(|minute| Some(at(minute)));
        let placed = steps.iter().enumerate().zip(recorded);
        timeline(placed.map(|((place, step), at)| (place, step, at)))
            .into_iter()
            .map(|entry| {
                (
                    entry.kind,
                    entry.at.duration_since(at(0)).as_secs(),
                    entry.ms,
                    entry.since_ms,
                )
            })
            .collect()
    };
    let pull_request = PullRequestId {
        repository: "o/r".parse().unwrap(),
        number: 7,
    };
    let mut subjects = [Subject::PullRequest(pull_request), Subject::Checkout].into_iter();
    let mut with_next_subject = || {
        if let Step::Started(started) = &mut steps[0] {
            started.subject = subjects.next().unwrap();
        }
        shown(&steps)
    };
    assert_eq!(
        with_next_subject(),
        [
            ("started".to_string(), 0, None, None),
            ("clone".into(), 5, Some(5_000), None),
            ("install".into(), 25, Some(20_000), None),
            ("search".into(), 60, Some(14), Some(95_000)),
        ]
    );
    let kinds: Vec<String> = with_next_subject().into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["started", "install", "search"], "a checkout is not cloned");
}

#[test]
fn a_test_is_broken_on_the_base_until_it_is_seen_to_pass_there() {
    let runs = [
        judged(50, Verdict::Deterministic, "t::fixed"),
        judged(40, Verdict::BrokenOnBase, "t::broken"),
        judged(20, Verdict::BrokenOnBase, "t::fixed"),
        judged(10, Verdict::Deterministic, "t::broken"),
        judged(5, Verdict::BrokenOnBase, "t::broken"),
        flaky(60),
        flaky(70),
    ];
    let runs: Vec<Run> = runs.into_iter().map(fold).collect();
    let counted = Statistics::of(&runs, at(0));
    let (name, runs, last) = ("t::broken".into(), 2, at(40));
    assert_eq!(counted.broken_tests, [BrokenTest { name, runs, last }]);
    let measured = |minutes| Measured {
        at: at(minutes),
        red: 2,
        executions: 9,
    };
    assert_eq!(counted.flaky_tests[0].history, [measured(70), measured(60)]);
}

#[test]
fn names_of_tests_in_csv_are_text() {
    let hostile = "=HYPERLINK(\"https://evil.example\")\u{202e}\n,@x";
    let counted = Statistics::of(&[fold(judged(0, Verdict::BrokenOnBase, hostile))], at(0));
    assert_eq!(
        counted.tests_as_csv(),
        format!(
            "test,kind,red,executions,runs,last\r\n\"'=HYPERLINK(\"\"https://evil.example\"\") ,@x\",broken-on-base,,,1,{}\r\n",
            at(0)
        )
    );
    assert_eq!(counted.outcomes_as_csv(), "state,runs\r\nnothing-to-fix,1\r\n");
}
