//! Trials of tests that lack a package or claim that the machine lacks something.

use super::*;

fn without_humanize() -> TestRun {
    TestRun {
        failures: vec![Failure {
            message: "ModuleNotFoundError: No module named 'humanize'".into(),
            ..Failure::default()
        }],
        ..ended(Outcome::MissingModule, "")
    }
}

/// Plays a trial of a command that lacks a package. `differ` is whether the head lists packages that the base does not.
fn lacking(base: Option<&TestRun>, differ: bool) -> (Triage, String) {
    let first = without_humanize();
    let mut trial = Trial::new(&first, StoppingRules::default());
    trial.lacks("", vec!["humanize".into()]);
    let mut course = String::from("h");
    while let Some(asked) = trial.next() {
        match (asked.tree, base) {
            (Tree::Head, _) => trial.learn(Tree::Head, &first),
            (Tree::Base, None) => trial.has_no_base(),
            (Tree::Base, Some(base)) => {
                if differ {
                    trial.lists_other_packages();
                }
                trial.learn(Tree::Base, base);
            }
        }
        course.push(if asked.tree == Tree::Head { 'h' } else { 'b' });
    }
    (trial.verdict(None), course)
}

#[test]
fn a_missing_package_is_the_environment_unless_the_base_shows_that_it_is_not() {
    let green = run(&[], &["a"]);
    let (alone, course) = lacking(None, false);
    assert_eq!((alone.verdict, course.as_str()), (Verdict::Environment, "hhb"));
    assert!(alone.is_not_judged());
    let why = alone.on("before").why_not(&green);
    assert!(why.contains("needs `humanize`, which is not installed here"), "{why}");
    assert_eq!(
        lacking(Some(&green), false).0.verdict,
        Verdict::Deterministic,
        "the same packages"
    );
    assert_eq!(
        lacking(Some(&green), true).0.verdict,
        Verdict::Environment,
        "a new package"
    );
    assert_eq!(
        lacking(Some(&without_humanize()), false).0.verdict,
        Verdict::Environment
    );
}

/// Nothing that a test prints makes its failure somebody else's, or a run that cannot be judged one with nothing to fix.
#[test]
fn a_claim_about_the_environment_hides_no_regression() {
    let (triage, _) = play(&[
        ("real", "assert 1 == 2", "r", "g"),
        ("claims", "sh: 1: protoc: not found", "r", "g"),
        ("lacks", "Could not resolve host", "r", "-"),
    ]);
    assert!(triage.has_regression() && !triage.is_not_judged());
    let verdict = |name: &str| triage.tests.iter().find(|test| test.name == name).unwrap().verdict;
    assert_eq!(verdict("claims"), Verdict::Deterministic, "green on the base");
    let (only, _) = play(&[("lacks", "Could not resolve host", "r", "-")]);
    assert!(only.is_not_judged());
}

/// Connections are refused because CI's database is missing, not because of the code, unless the base shows otherwise.
#[test]
fn a_service_that_only_ci_has_is_the_environment() {
    let failing = |message: &str| TestRun {
        failures: vec![Failure {
            name: "test_saves".into(),
            message: message.into(),
            ..Failure::default()
        }],
        failed: 1,
        ..run(&[], &["test_adds"])
    };
    let judged = |message: &str, has_services: bool, base: &TestRun| {
        let mut first = failing(message);
        first.outcome = Outcome::Failed;
        let mut trial = Trial::new(&first, StoppingRules::default());
        if has_services {
            trial.lacks_services();
        }
        while let Some(asked) = trial.next() {
            match asked.tree {
                Tree::Head => trial.learn(Tree::Head, &first),
                Tree::Base => trial.learn(Tree::Base, base),
            }
        }
        trial.verdict(None)
    };
    let refused = "psycopg.OperationalError: connection failed: connection to server at \"127.0.0.1\", port 5432 failed: \
                   Connection refused";
    let mut red = failing(refused);
    red.outcome = Outcome::Failed;
    let green = run(&[], &["test_adds", "test_saves"]);
    let lacking = judged(refused, true, &red);
    assert_eq!(lacking.verdict, Verdict::Environment);
    assert_eq!(lacking.tests[0].cause, Some(Cause::Service));
    assert_eq!(judged(refused, true, &green).verdict, Verdict::Deterministic);
    assert_eq!(judged(refused, false, &red).verdict, Verdict::BrokenOnBase);
    let wrong = "AssertionError: expected 'Connection refused', got 3";
    assert_eq!(judged(wrong, true, &red).verdict, Verdict::BrokenOnBase);
}
