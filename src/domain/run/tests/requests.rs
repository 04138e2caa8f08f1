//! Requests of a model while it works: their gates end nothing, and each approval permits one thing once.

use super::*;
use crate::domain::execution::{Execution, MAX_SHOWN, Resolution, What};
use crate::domain::gate::Circumstances;

fn command(text: &str) -> Execution {
    Execution {
        what: What::Command(text.into()),
        network: Vec::new(),
        seconds: 60,
        why: "to see".into(),
        patch: Patch::default().digest(),
        files: 0,
    }
}

fn deferred(execution: &Execution) -> Step {
    Step::Deferred(Box::new(Deferred {
        call_id: "call".into(),
        execution: execution.clone(),
    }))
}

/// Makes the request and opens its gate.
fn asks(run: &mut Run, execution: &Execution) {
    run.take(deferred(execution));
    assert_eq!(run.next(true), Next::OpenGate(GateNeeded::Execute));
    let terms = run.terms(Timestamp::UNIX_EPOCH);
    let gate = Gate::open_request(run.id(), run.gates.len(), execution, Circumstances::default(), terms);
    run.take(Step::GateOpened(gate));
    assert_eq!(run.next(true), Next::Wait);
}

fn answers(run: &mut Run, answer: Answer) {
    let step = answered(run, answer);
    run.take(step);
}

fn resolved(run: &mut Run) {
    run.take(Step::Resolved("result".into()));
}

fn by_ci() -> Run {
    let mut run = run(Consent::None, Origin::Ci { workflow_run: None });
    run.take(Step::Read(JobReading::default()));
    run
}

fn by_command() -> Run {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    run.take(Step::Read(JobReading::default()));
    run.take(red());
    run
}

#[test]
fn an_approval_is_for_this_one_thing() {
    let mut run = by_ci();
    asks(&mut run, &command("make"));
    approve(&mut run);
    assert_eq!(run.next(true), Next::Resolve(Resolution::Approved));
    assert!(!run.may_execute());
    assert_eq!(run.granted(), None);
    assert_eq!(run.vouched_by(), [&ada()]);
    resolved(&mut run);
    assert_eq!(run.deferred, None);
    assert_eq!(run.next(true), Next::Work { may_execute: false });
    assert!(!run.may_execute() && run.vouched_by().is_empty());
    // Its result was still only read, so executing it needs a separate approval.
    run.take(proposed(None));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    assert_eq!(run.next(true), Next::OpenGate(GateNeeded::VerifyAndLand));
}

#[test]
fn a_rejection_ends_nothing_and_its_reason_goes_to_the_model() {
    for reason in [Some("not on my machine".to_string()), None] {
        let mut run = by_command();
        asks(&mut run, &command("make"));
        let by = ada();
        answers(
            &mut run,
            Answer::Rejected {
                by,
                reason: reason.clone(),
            },
        );
        assert_eq!(run.next(true), Next::Resolve(Resolution::Rejected { reason }));
        resolved(&mut run);
        assert_eq!(run.next(true), Next::Work { may_execute: true });
        assert!(run.turned_down.is_empty() && run.end.is_none());
    }
}

#[test]
fn nobody_answers_and_the_run_continues() {
    let mut run = by_command();
    asks(&mut run, &command("make"));
    answers(&mut run, Answer::Expired);
    assert_eq!(run.next(true), Next::Resolve(Resolution::NoAnswer));
    resolved(&mut run);
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    run.take(proposed(Some(evidence())));
    assert_eq!(run.next(true), Next::PostReview);
}

#[test]
fn the_same_thing_twice_is_asked_twice() {
    let mut run = by_command();
    asks(&mut run, &command("make"));
    approve(&mut run);
    resolved(&mut run);
    asks(&mut run, &command("make"));
    assert_ne!(run.gates[0].gate.id, run.gates[1].gate.id);
    // The approval of the first request does not cover the second.
    assert_eq!(run.next(true), Next::Wait);
    answers(&mut run, Answer::Expired);
    assert_eq!(run.next(true), Next::Resolve(Resolution::NoAnswer));
    resolved(&mut run);
    asks(&mut run, &command("make"));
    approve(&mut run);
    assert_eq!(run.next(true), Next::Resolve(Resolution::Approved));
}

#[test]
fn two_approvers_are_two_people_here_too() {
    let mut run = by_command();
    run.started.approvers = 2;
    asks(&mut run, &command("make"));
    approve(&mut run);
    approve(&mut run);
    assert_eq!(run.next(true), Next::Wait);
    answers(
        &mut run,
        Answer::Approved {
            by: Account::new("bob"),
        },
    );
    assert_eq!(run.next(true), Next::Resolve(Resolution::Approved));
    assert_eq!(run.vouched_by(), [&ada(), &ada(), &Account::new("bob")]);
}

#[test]
fn a_kill_before_the_gate_and_one_before_the_result_change_nothing() {
    let mut run = by_command();
    let execution = command("make");
    run.take(deferred(&execution));
    assert_eq!(run.clone().next(true), Next::OpenGate(GateNeeded::Execute));
    run.deferred = None;
    asks(&mut run, &execution);
    approve(&mut run);
    for _ in 0..2 {
        assert_eq!(run.clone().next(true), Next::Resolve(Resolution::Approved));
    }
}

#[test]
fn a_push_voids_it() {
    let mut run = by_command();
    asks(&mut run, &command("make"));
    run.take(Step::Ended(End::Superseded { head: sha('c') }));
    assert!(run.open_gates().is_empty());
    approve(&mut run);
    assert_eq!(run.next(true), Next::Announce);
}

#[test]
fn no_more_is_asked_than_a_run_may_ask() {
    let mut run = by_command();
    for _ in 0..MAX_REQUESTS {
        asks(&mut run, &command("make"));
        approve(&mut run);
        resolved(&mut run);
    }
    assert_eq!(run.may_ask(), 0);
    run.take(deferred(&command("make")));
    assert_eq!(run.next(true), Next::Resolve(Resolution::NoAnswer));
}

#[test]
fn what_cannot_be_shown_is_never_offered() {
    let mut run = by_command();
    for text in ["x".repeat(MAX_SHOWN + 1), "make\u{202e}".into()] {
        run.take(deferred(&command(&text)));
        let next = run.next(true);
        assert!(
            matches!(&next, Next::Resolve(Resolution::Rejected { reason: Some(why) }) if why.contains("nobody was asked")),
            "{next:?}"
        );
        resolved(&mut run);
    }
    assert!(run.gates.is_empty());
}

#[test]
fn a_request_beside_a_rejected_proposal_leaves_both_as_they_are() {
    let mut run = by_command();
    run.take(proposed(Some(evidence())));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    let gate = opened(&run, GateKind::Land { files: 1 });
    run.take(gate);
    let reason = Some("too broad".to_string());
    answers(&mut run, Answer::Rejected { by: ada(), reason });
    asks(&mut run, &command("make"));
    answers(
        &mut run,
        Answer::Rejected {
            by: ada(),
            reason: None,
        },
    );
    resolved(&mut run);
    // The rejection without a reason was for the request; the one of the proposal had a reason.
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    assert_eq!(run.turned_down.len(), 1);
    run.take(proposed(Some(evidence())));
    run.take(Step::ReviewPosted {
        review: 8,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    assert_eq!(run.next(true), Next::OpenGate(GateNeeded::Land));
}

#[test]
fn a_search_approved_before_stays_approved_and_grants_its_command_only() {
    let mut run = by_ci();
    let command_line = "t".to_string();
    let gate = opened(
        &run,
        GateKind::Search {
            command: command_line,
            minutes: 10,
        },
    );
    run.take(gate);
    approve(&mut run);
    run.take(red());
    asks(&mut run, &command("make"));
    answers(&mut run, Answer::Expired);
    resolved(&mut run);
    assert!(run.may_execute());
    let (_, command, minutes) = run.granted().unwrap();
    assert_eq!((command, minutes), ("t", 10));
    assert_eq!(run.next(true), Next::Work { may_execute: true });
}

#[test]
fn the_tests_of_a_specification_wait_for_their_own_word() {
    let mut run = by_command();
    run.started.mode = Mode::Tdd {
        specification: "change is given".into(),
    };
    run.started.asks_about_tests = true;
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    let written = |run: &mut Run| {
        run.take(Step::TestsWritten(Box::new(TestsFirst {
            patch: Patch::default(),
            red: TestRun::without_result("t", Outcome::Failed, ""),
            names: vec!["one".into()],
            summary: "s".into(),
        })));
        assert_eq!(run.next(true), Next::OpenGate(GateNeeded::Tests));
        let gate = opened(run, GateKind::Tests { files: 1, tests: 1 });
        run.take(gate);
    };
    written(&mut run);
    let reason = Some("they test nothing".to_string());
    answers(&mut run, Answer::Rejected { by: ada(), reason });
    assert_eq!(run.turned_down_tests, ["they test nothing"]);
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    written(&mut run);
    approve(&mut run);
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    // A request while the code is written does not revoke that approval.
    asks(&mut run, &command("make"));
    answers(&mut run, Answer::Expired);
    resolved(&mut run);
    assert_eq!(run.next(true), Next::Work { may_execute: true });
    run.take(proposed(Some(evidence())));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    assert_eq!(run.next(true), Next::OpenGate(GateNeeded::Land));
}

#[test]
fn the_tests_nobody_answered_for_end_the_run() {
    let mut run = by_command();
    run.started.mode = Mode::Tdd {
        specification: "s".into(),
    };
    let gate = opened(&run, GateKind::Tests { files: 1, tests: 1 });
    run.take(gate);
    answers(&mut run, Answer::Expired);
    assert_eq!(run.next(true), Next::End(End::Expired));
}

#[test]
fn the_journal_keeps_requests() {
    let mut run = by_ci();
    let execution = command("make");
    let circumstances = Circumstances {
        command: Some("pytest".into()),
        edits: None,
    };
    let gate = Gate::open_request(run.id(), 0, &execution, circumstances, run.terms(Timestamp::UNIX_EPOCH));
    let steps = [deferred(&execution), Step::GateOpened(gate), Step::Resolved("r".into())];
    let json = serde_json::to_string(&steps).unwrap();
    let read: Vec<Step> = serde_json::from_str(&json).unwrap();
    assert_eq!(read, steps);
    for step in read {
        run.take(step);
    }
    assert_eq!(run.said, ["r"]);
}
