//! The life of a run, step by step.

mod approvals;
mod requests;
mod salvage;

use jiff::Timestamp;

use super::super::id::{Account, PullRequestId};
use super::super::patch::Patch;
use super::super::proposal::Author;
use super::super::search::{FoundBy, Rung};
use super::super::test_run::Outcome;
use super::*;
use crate::domain::mode::Mode;

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn run(consent: Consent, origin: Origin) -> Run {
    Run::start(Started {
        run: RunId("r1".into()),
        subject: Subject::PullRequest(PullRequestId {
            repository: "a/b".parse().unwrap(),
            number: 1,
        }),
        asks_nobody: false,
        installation: None,
        head: sha('a'),
        base: sha('b'),
        base_branch: None,
        origin,
        consent,
        asks_first: false,
        mode: Mode::Debug,
        asks_about_tests: false,
        approvers: 1,
        gate_seconds: 3600,
        writes_as: None,
        at: Timestamp::UNIX_EPOCH,
    })
}

fn ada() -> Account {
    Account::new("ada")
}

fn red() -> Step {
    let triage = Triage {
        verdict: Verdict::Deterministic,
        red_at_head: 2,
        runs_at_head: 2,
        tests: Vec::new(),
        base: None,
        weakened: Vec::new(),
        merged: None,
        setup: None,
        repeats_ms: 0,
        base_ms: 0,
    };
    Step::Reproduced {
        before: TestRun::without_result("t", Outcome::Failed, ""),
        triage,
    }
}

fn evidence() -> Evidence {
    let run = TestRun::without_result("t", Outcome::Passed, "");
    Evidence {
        before: run.clone(),
        after: run,
        digest: "d".into(),
        head: None,
        triage: None,
        install: None,
        left_out: None,
        own_tests: None,
        spent: None,
        confirmed: 0,
        merged: None,
    }
}

fn proposed(evidence: Option<Evidence>) -> Step {
    Step::Proposed(Box::new(Proposal {
        head: sha('a'),
        patch: Patch::default(),
        summary: "s".into(),
        author: Author::BuiltIn,
        evidence,
        weakens: Vec::new(),
        tests_first: None,
        measures: None,
        found_by: None,
    }))
}

fn opened(run: &Run, kind: GateKind) -> Step {
    let gate = Gate::open(run.id(), run.gates.len(), kind, "c", run.terms(Timestamp::UNIX_EPOCH));
    Step::GateOpened(gate)
}

fn answered(run: &Run, answer: Answer) -> Step {
    Step::Answered {
        gate: run.gates.last().unwrap().gate.id.clone(),
        answer,
        comment: None,
        at: None,
    }
}

fn approve(run: &mut Run) {
    let step = answered(run, Answer::Approved { by: ada() });
    run.take(step);
}

#[test]
fn a_command_reproduces_works_proposes_and_lands_after_one_approval() {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    assert_eq!(run.next(false), Next::ReadLog);
    run.take(Step::Read(JobReading::default()));
    assert_eq!(run.next(false), Next::Reproduce);
    run.take(red());
    assert_eq!(run.next(false), Next::Work { may_execute: true });
    run.take(proposed(Some(evidence())));
    assert_eq!(run.next(false), Next::PostReview);
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    assert_eq!(run.next(false), Next::OpenGate(GateNeeded::Land));
    let gate = opened(&run, GateKind::Land { files: 1 });
    run.take(gate);
    assert_eq!(run.next(false), Next::Wait);
    approve(&mut run);
    assert_eq!(run.next(false), Next::Land);
    run.take(Step::Ended(End::Landed { commit: sha('c') }));
    assert_eq!(run.next(false), Next::Announce);
    run.take(Step::Announced);
    assert_eq!(run.next(false), Next::Done);
}

#[test]
fn red_ci_executes_nothing_before_an_approval() {
    let mut run = run(Consent::None, Origin::Ci { workflow_run: Some(5) });
    assert_eq!(run.next(false), Next::ReadLog);
    run.take(Step::Read(JobReading::default()));
    assert_eq!(run.next(false), Next::OpenGate(GateNeeded::Search));
    assert_eq!(run.next(true), Next::Work { may_execute: false });
    let gate = opened(
        &run,
        GateKind::Search {
            command: "t".into(),
            minutes: 10,
        },
    );
    run.take(gate);
    assert!(!run.may_execute());
    approve(&mut run);
    assert_eq!(run.next(false), Next::Reproduce);
}

#[test]
fn a_proposal_from_reading_is_verified_after_the_approval() {
    let mut run = run(Consent::None, Origin::Ci { workflow_run: None });
    run.take(proposed(None));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    assert_eq!(run.next(true), Next::OpenGate(GateNeeded::VerifyAndLand));
    let gate = opened(
        &run,
        GateKind::VerifyAndLand {
            command: "t".into(),
            minutes: 10,
            files: 1,
        },
    );
    run.take(gate);
    approve(&mut run);
    assert_eq!(run.next(true), Next::Verify);
    run.take(Step::Verified(Box::new(evidence())));
    assert_eq!(run.next(true), Next::Land);
}

#[test]
fn a_rejection_with_a_reason_makes_room_for_another_proposal() {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    run.take(red());
    for attempt in 1..=MAX_PROPOSALS {
        run.take(proposed(Some(evidence())));
        run.take(Step::ReviewPosted {
            review: 7,
            parts: 1,
            carried: Vec::new(),
            suggested: Vec::new(),
        });
        let gate = opened(&run, GateKind::Land { files: 1 });
        run.take(gate);
        let step = answered(
            &run,
            Answer::Rejected {
                by: ada(),
                reason: Some("too broad".into()),
            },
        );
        run.take(step);
        assert_eq!(run.turned_down.len(), attempt);
        if attempt < MAX_PROPOSALS {
            assert_eq!(run.next(false), Next::Work { may_execute: true });
        }
    }
    assert!(matches!(run.next(false), Next::End(End::Rejected { .. })));
}

#[test]
fn two_approvers_are_two_people() {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    run.started.approvers = 2;
    run.take(proposed(Some(evidence())));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 1,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    let gate = opened(&run, GateKind::Land { files: 1 });
    run.take(gate);
    approve(&mut run);
    approve(&mut run);
    assert_eq!(run.next(false), Next::Wait);
    let step = answered(
        &run,
        Answer::Approved {
            by: Account::new("bob"),
        },
    );
    run.take(step);
    assert_eq!(run.next(false), Next::Land);
}

#[test]
fn an_expired_gate_ends_the_run() {
    let mut run = run(Consent::None, Origin::Ci { workflow_run: None });
    let gate = opened(
        &run,
        GateKind::Search {
            command: "t".into(),
            minutes: 10,
        },
    );
    run.take(gate);
    let step = answered(&run, Answer::Expired);
    run.take(step);
    assert_eq!(run.next(false), Next::End(End::Expired));
    assert!(!run.may_execute());
}

#[test]
fn a_journal_survives_its_own_format() {
    let started = run(Consent::None, Origin::Ci { workflow_run: None }).started;
    let steps = [
        Step::Started(Box::new(started)),
        red(),
        proposed(Some(evidence())),
        Step::Ended(End::Expired),
    ];
    let json = serde_json::to_string(&steps).unwrap();
    let read: Vec<Step> = serde_json::from_str(&json).unwrap();
    assert_eq!(read, steps);
    assert_eq!(Run::fold(read).unwrap().length, 4);
    assert_eq!(Run::fold([]), Err(Unreadable));
}

#[test]
fn a_journal_without_suggestion_states_is_read() {
    let step: Step = serde_json::from_str(r#"{"review_posted":{"review":7}}"#).unwrap();
    let (parts, carried) = (0, Vec::new());
    assert_eq!(
        step,
        Step::ReviewPosted {
            review: 7,
            parts,
            carried,
            suggested: Vec::new(),
        }
    );
}

#[test]
fn a_settled_step_that_does_not_say_who_could_push_counts_for_nobody() {
    let step: Step = serde_json::from_str(r#"{"settled":{"suggestions":[]}}"#).unwrap();
    let (suggestions, by_writers) = (Vec::new(), false);
    assert_eq!(
        step,
        Step::Settled {
            suggestions,
            by_writers
        }
    );
}

#[test]
fn all_is_accepted_only_when_nothing_of_the_proposal_is_left() {
    let settled = |comment, fate| Step::Settled {
        suggestions: vec![Settled { comment, fate }],
        by_writers: comment == 1,
    };
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    run.take(proposed(Some(evidence())));
    run.take(Step::ReviewPosted {
        review: 7,
        parts: 2,
        carried: Vec::new(),
        suggested: Vec::new(),
    });
    run.take(settled(1, SuggestionState::Applied));
    run.take(settled(2, SuggestionState::Stale));
    assert!(!run.is_all_accepted());
    run.take(settled(2, SuggestionState::Applied));
    assert!(run.is_all_accepted());
    assert!(
        !run.is_accepted_by_writers(),
        "who may push to a fork says nothing of what the repository accepts"
    );
    assert_eq!(
        (run.count(SuggestionState::Applied), run.count(SuggestionState::Stale)),
        (2, 0)
    );
}

fn searched(tried: u32, digest: &str) -> Step {
    Step::Searched(Box::new(Search {
        tried,
        digests: vec![digest.into()],
        ..Search::default()
    }))
}

#[test]
fn a_search_resumes_and_starts_anew_after_its_proposal() {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    for step in [red(), searched(2, "x"), searched(3, "y")] {
        // As the journal stores it.
        run.take(serde_json::from_str(&serde_json::to_string(&step).unwrap()).unwrap());
    }
    assert_eq!((run.search.tried, run.search.digests.len()), (5, 2));
    assert_eq!(run.next(false), Next::Work { may_execute: true });
    let by_a_model = proposed(Some(evidence()));
    run.take(by_a_model.clone());
    assert_eq!(run.search.tried, 5, "it found nothing, and is not made again");
    let Step::Proposed(mut proposal) = by_a_model else {
        unreachable!()
    };
    proposal.found_by = Some(FoundBy {
        rung: Rung::Search,
        tried: 5,
        wall_ms: 7,
    });
    run.take(Step::Proposed(proposal));
    assert_eq!((run.search.tried, run.search.digests.len()), (0, 2));
}

#[test]
fn a_proposal_of_an_earlier_version_is_still_read() {
    let step = serde_json::to_value(proposed(None)).unwrap();
    assert!(!step.to_string().contains("found_by"), "{step}");
    assert_eq!(serde_json::from_value::<Step>(step).unwrap(), proposed(None));
}
