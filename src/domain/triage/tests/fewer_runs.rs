//! Runs that are spared, and runs that happen at the same time.

use super::super::sequential::passes_wanted;
use super::*;

/// How often a fixed test has to pass again, by its runs at the head and on the base.
#[test]
fn runs_at_the_head_and_on_the_base_spare_runs_with_a_fix() {
    let all = |red, runs| Rate { red, runs };
    for (head, base, passes) in [
        (all(4, 4), all(0, 2), 1),
        // It is new, so nothing was seen to pass.
        (all(5, 5), all(0, 0), 2),
        (all(3, 3), all(3, 3), 2),
        (all(5, 5), all(5, 5), 1),
        // Never more often than it was seen to fail again.
        (all(2, 2), all(0, 1), 1),
        (all(3, 3), all(0, 0), 2),
        (all(1, 1), all(0, 0), 0),
        (all(0, 0), all(0, 0), 0),
    ] {
        assert_eq!(passes_wanted(head, base, 0.95), passes, "{head:?} {base:?}");
    }
    assert!(passes_wanted(all(20, 20), all(0, 0), 0.99) > passes_wanted(all(20, 20), all(0, 0), 0.9));
}

#[test]
fn a_test_that_fails_differently_has_to_pass_as_often_as_it_failed() {
    let judged = |varies| Judged {
        name: "a".into(),
        verdict: Verdict::Deterministic,
        head: Rate { red: 5, runs: 5 },
        base: Rate { red: 0, runs: 4 },
        is_new: false,
        varies,
        cause: None,
        program: None,
        packages: Vec::new(),
    };
    let wanted = |varies| {
        let triage = Triage {
            runs_at_head: 5,
            tests: vec![judged(varies)],
            ..Triage::of_one_run(true)
        };
        triage.passes_wanted(0.95)
    };
    assert_eq!((wanted(false), wanted(true)), (1, 4));
    assert_eq!(Triage::of_one_run(true).passes_wanted(0.95), 0);
}

#[test]
fn what_a_deterministic_failure_needs_can_run_at_once() {
    let at_once = |trial: &Trial, most| {
        let asked = trial.next_at_once(most).into_iter();
        let letters = asked.map(|asked| match asked.tree {
            Tree::Head => format!("h{}", asked.tests.len()),
            Tree::Base => format!("b{}", asked.tests.len()),
        });
        letters.collect::<Vec<_>>().join(" ")
    };
    let mut trial = Trial::new(&run(&[("a", "x"), ("b", "y")], &[]), StoppingRules::default());
    assert_eq!(at_once(&trial, 1), "h2");
    assert_eq!(at_once(&trial, 2), "h2 b2");
    assert_eq!(at_once(&trial, 9), "h2 b2 h2 b2 h2");
    // One of them is flaky, so less is left to run than was expected.
    trial.learn(Tree::Head, &run(&[("a", "x")], &["b"]));
    assert_eq!(at_once(&trial, 9), "b2 h1 b1 h1");
    // Nobody has to run what has no other tree to run on.
    trial.has_no_base();
    assert_eq!(at_once(&trial, 9), "h1 h1 h1");
    let whole = Trial::new(&ended(Outcome::Crashed, "x"), StoppingRules::default());
    assert_eq!(at_once(&whole, 2), "h0 b0");
    assert!(
        Trial::new(&run(&[], &["a"]), StoppingRules::default())
            .next_at_once(4)
            .is_empty()
    );
}
