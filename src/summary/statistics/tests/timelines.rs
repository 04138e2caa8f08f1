//! Timelines of the same runs.

use super::*;
use crate::domain::id::PullRequestId;
use crate::domain::search::Search;
use crate::summary::{ended_at, timeline};

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
    let gate = entries[4].what.split(' ').next().unwrap();
    assert_eq!(
        shown,
        [
            "0 started debug on 0000000×1 None".to_string(),
            "1 model edit_file×1 None".into(),
            "2 model edit_file×1 None".into(),
            "4 proposal The <b>sum</b> was wrong.×1 None".into(),
            format!("5 request {gate} waits for an approval: land×1 None"),
            format!("6 answer {gate} was approved by ada×1 Some(300000)"),
            "7 landing Committed as 0000000×1 None".into(),
            "7 end landed×1 None".into(),
        ]
    );
    assert_eq!(
        (entries[3].at, entries[7].at),
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
            ("landing", at(12), None, minutes(2)),
            ("end", at(12), None, None),
        ]
    );
}

#[test]
fn a_turn_of_the_model_has_its_time_and_that_of_its_calls() {
    let said = |item: serde_json::Value| Step::Said(item);
    let reply = || said(serde_json::json!({ "reply": { "calls": [{ "name": "run_tests" }] } }));
    let result = || said(serde_json::json!({ "result": { "text": "1 failed" } }));
    let mut steps = landed(0, 10, Author::BuiltIn);
    let task = said(serde_json::json!({ "task": { "task": "Fix it." } }));
    steps.splice(1.., [task, reply(), result(), result(), reply(), Step::NeedsExecution]);
    let recorded = [0, 0, 2, 3, 4, 9, 9].map(|minute| Some(at(minute)));
    let placed = steps.iter().enumerate().zip(recorded);
    let entries = timeline(placed.map(|((place, step), at)| (place, step, at)));
    let turns: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind == "model")
        .map(|entry| (entry.place, entry.what.as_str(), entry.ms, entry.since_ms))
        .collect();
    let minutes = |count: u64| Some(count * 60_000);
    assert_eq!(
        turns,
        [
            (1, "run_tests", minutes(2), minutes(4)),
            (5, "run_tests", minutes(5), minutes(5)),
        ]
    );
}

#[test]
fn what_repeated_runs_showed_follows_the_first_run() {
    let mut run = judged(0, Verdict::BrokenOnBase, "t::a");
    run.truncate(2);
    if let Step::Reproduced { before, .. } = &mut run[1] {
        before.duration_ms = 60_000;
    }
    let recorded = [Some(at(0)), Some(at(3))];
    let placed = run.iter().enumerate().zip(recorded);
    let entries = timeline(placed.map(|((place, step), at)| (place, step, at)));
    let [_, tests, triage] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!((tests.kind.as_str(), triage.kind.as_str()), ("tests", "triage"));
    assert_eq!((tests.at, tests.since_ms), (at(1), Some(60_000)));
    assert_eq!((triage.at, triage.since_ms), (at(3), Some(120_000)));
    assert_eq!(
        triage.what,
        "Broken on the base branch: 1 of 1 run failed at the head, 0 of 1 run on the base"
    );
}

#[test]
fn recorded_times_contain_the_work() {
    let steps = landed(0, 10, Author::BuiltIn);
    // The 200 s that were spent ended when they were recorded, together with the proposal.
    let recorded = [0, 1, 1, 2, 3, 4].map(|minute| Some(at(minute)));
    let placed = steps.iter().enumerate().zip(recorded);
    let entries = timeline(placed.map(|((place, step), at)| (place, step, at)));
    let times: Vec<_> = entries.iter().map(|entry| (entry.kind.as_str(), entry.at)).collect();
    assert_eq!(times[1], ("proposal", at(1)), "{times:?}");
    assert_eq!(
        ended_at(&entries),
        times.iter().find(|(kind, _)| *kind == "end").map(|(_, at)| *at)
    );
    assert_eq!(ended_at(&entries[..2]), None);
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
