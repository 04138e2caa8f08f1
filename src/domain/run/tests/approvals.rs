//! The conditions of an approval, and the error for each one that is missing.

use super::*;
use crate::domain::permission::Permission;

const HOUR: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// A run whose tested proposal waits for people to approve it.
fn proposed_to(approvers: u32) -> Run {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    run.started.approvers = approvers;
    run.take(red());
    run.take(proposed(Some(evidence())));
    let content = Patch::default().digest();
    let terms = run.terms(Timestamp::UNIX_EPOCH);
    run.take(Step::GateOpened(Gate::open(
        run.id(),
        0,
        GateKind::Land { files: 0 },
        &content,
        terms,
    )));
    run
}

fn approves(run: &mut Run, by: &str, at: Timestamp) {
    let answer = Answer::Approved { by: Account::new(by) };
    run.take(Step::Answered {
        gate: run.gates[0].gate.id.clone(),
        answer,
        comment: None,
        at: Some(at),
    });
}

fn writers(of: &[&str]) -> Vec<(Account, Permission)> {
    of.iter()
        .map(|&login| (Account::new(login), Permission::Write))
        .collect()
}

fn approved() -> Run {
    let mut run = proposed_to(1);
    approves(&mut run, "ada", Timestamp::UNIX_EPOCH);
    run
}

#[test]
fn what_was_approved_in_time_by_enough_people_with_write_access_may_land() {
    let run = approved();
    let approved = run.approved(&writers(&["ada"])).unwrap();
    assert_eq!(approved.by(), [ada()]);
    assert_eq!(approved.head(), &sha('a'));
    assert_eq!(run.landing_approvers(), [ada()]);
}

#[test]
fn without_a_request_there_is_no_approval() {
    let mut run = run(Consent::Command { by: ada() }, Origin::Comment { id: 1, by: ada() });
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NoApproval);
    run.take(proposed(Some(evidence())));
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NoApproval);
    let run = proposed_to(1);
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NoApproval);
}

#[test]
fn a_request_of_another_kind_lands_nothing() {
    let mut run = run(Consent::None, Origin::Ci { workflow_run: None });
    run.take(proposed(Some(evidence())));
    let kind = GateKind::Search {
        command: "t".into(),
        minutes: 1,
    };
    let gate = Gate::open(run.id(), 0, kind, "t", run.terms(Timestamp::UNIX_EPOCH));
    run.take(Step::GateOpened(gate));
    approves(&mut run, "ada", Timestamp::UNIX_EPOCH);
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NoApproval);
}

#[test]
fn nobody_approves_for_somebody_else_or_without_write_access() {
    let run = approved();
    let refused = NotApproved::NoWriteAccess { by: ada() };
    assert_eq!(run.approved(&[]).unwrap_err(), refused);
    assert_eq!(run.approved(&writers(&["eve"])).unwrap_err(), refused);
    assert_eq!(run.approved(&[(ada(), Permission::Read)]).unwrap_err(), refused);
}

#[test]
fn one_of_two_is_too_few_and_everybody_counts_once() {
    let mut run = proposed_to(2);
    for _ in 0..2 {
        approves(&mut run, "ada", Timestamp::UNIX_EPOCH);
        let refused = run.approved(&writers(&["ada"])).unwrap_err();
        assert_eq!(refused, NotApproved::TooFew { needed: 2, approved: 1 });
    }
    approves(&mut run, "mia", Timestamp::UNIX_EPOCH);
    assert!(run.approved(&writers(&["ada", "mia"])).is_ok());
    // Both must still have permission.
    let refused = run.approved(&writers(&["mia"])).unwrap_err();
    assert_eq!(refused, NotApproved::NoWriteAccess { by: ada() });
}

#[test]
fn a_request_for_no_approvers_still_needs_one() {
    let mut run = proposed_to(0);
    assert_eq!(run.approved(&[]).unwrap_err(), NotApproved::NoApproval);
    approves(&mut run, "ada", Timestamp::UNIX_EPOCH);
    assert!(run.approved(&writers(&["ada"])).is_ok());
}

#[test]
fn an_approval_after_the_expiry_does_not_count() {
    let mut run = proposed_to(1);
    approves(&mut run, "ada", Timestamp::UNIX_EPOCH + HOUR);
    assert_eq!(
        run.approved(&writers(&["ada"])).unwrap_err(),
        NotApproved::TooLate { by: ada() }
    );
}

#[test]
fn what_was_rejected_or_expired_after_an_approval_does_not_land() {
    for answer in [
        Answer::Expired,
        Answer::Rejected {
            by: Account::new("mia"),
            reason: None,
        },
    ] {
        let mut run = approved();
        let step = answered(&run, answer);
        run.take(step);
        assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NoApproval);
    }
}

#[test]
fn another_patch_or_another_head_than_the_approved_one_does_not_land() {
    let mut run = approved();
    let added = crate::domain::patch::FileChange {
        before: None,
        after: Some(crate::domain::patch::Blob::regular("x")),
    };
    run.proposal.as_mut().unwrap().patch = Patch::new([("a".parse().unwrap(), added)]);
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::OtherContent);
    let mut run = approved();
    run.started.head = sha('c');
    let refused = run.approved(&writers(&["ada"])).unwrap_err();
    assert!(matches!(refused, NotApproved::OtherHead { .. }), "{refused}");
    // The digest does not cover a head that was changed in both places.
    run.gates[0].gate.head = sha('c');
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::OtherContent);
}

#[test]
fn what_was_not_tested_does_not_land() {
    let mut run = approved();
    run.evidence = None;
    assert_eq!(run.approved(&writers(&["ada"])).unwrap_err(), NotApproved::NotTested);
}
