//! Journals with unreadable steps.

use super::*;

fn begun() -> Run {
    run(Consent::Command { by: ada() }, Origin::Ci { workflow_run: None })
}

fn start() -> Option<Step> {
    Some(Step::Started(Box::new(begun().started)))
}

#[test]
fn an_unreadable_step_ends_the_run_and_closes_its_gates() {
    let gate = opened(&begun(), GateKind::Land { files: 1 });
    let run = Run::salvage([start(), Some(gate), None]).unwrap();
    assert_eq!((run.gates.len(), run.unreadable, run.length), (1, Some(2), 3));
    assert_eq!(run.open_gates(), []);
    let Next::End(End::GaveUp { reason }) = run.next(true) else {
        panic!("{:?}", run.next(true));
    };
    assert!(reason.contains("Step 2"), "{reason}");
}

#[test]
fn after_an_unreadable_step_only_the_end_counts() {
    let land = opened(&begun(), GateKind::Land { files: 1 });
    let end = Step::Ended(End::Expired);
    let run = Run::salvage([start(), None, Some(land), Some(end), Some(Step::Announced)]).unwrap();
    assert_eq!((run.gates.len(), run.length, run.is_over()), (0, 5, true));
    assert_eq!(run.next(true), Next::Done);
}

#[test]
fn without_its_start_nothing_is_known_of_a_run() {
    assert_eq!(Run::salvage([None, Some(Step::Announced)]), Err(Unreadable));
    assert_eq!(Run::salvage([]), Err(Unreadable));
}
