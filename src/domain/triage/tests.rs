//! Trials with scripted tests, and the exact error rates of the defaults.

mod fewer_runs;
mod lacking;

use std::collections::BTreeMap;

use super::super::test_run::{Failure, Location, Outcome, TestRun};
use super::sequential::{Tree, error_rates};
use super::*;

/// A run in which these tests fail, each with a message, and those pass.
fn run(red: &[(&str, &str)], green: &[&str]) -> TestRun {
    let failure = |(name, message): &(&str, &str)| Failure {
        name: (*name).into(),
        message: (*message).into(),
        ..Failure::default()
    };
    let outcome = if red.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    TestRun {
        passed: u32::try_from(green.len()).unwrap(),
        failed: u32::try_from(red.len()).unwrap(),
        failures: red.iter().map(failure).collect(),
        passed_names: green.iter().map(ToString::to_string).collect(),
        ..TestRun::without_result("t", outcome, "")
    }
}

fn ended(outcome: Outcome, tail: &str) -> TestRun {
    TestRun::without_result("t", outcome, tail)
}

/// Plays a trial: the result of each test in its n-th run, as letters for head and base; `-` means that the base does
/// not have it. Returns verdicts with rates, and what was run.
fn play(tests: &[(&str, &str, &str, &str)]) -> (Triage, String) {
    let mut at: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    let mut result = |is_base: bool, only: &[String]| {
        let (mut red, mut green) = (Vec::new(), Vec::new());
        for (name, message, head, base) in tests {
            if !only.is_empty() && !only.iter().any(|asked| asked == name) {
                continue;
            }
            let course = if is_base { base } else { head };
            let turn = at.entry((is_base, *name)).or_default();
            let letter = course.chars().nth(*turn).or(course.chars().last()).unwrap();
            *turn += 1;
            match letter {
                'r' => red.push((*name, *message)),
                'g' => green.push(*name),
                _ => {}
            }
        }
        run(&red, &green)
    };
    let first = result(false, &[]);
    let mut trial = Trial::new(&first, StoppingRules::default());
    let mut course = String::from("h");
    while let Some(asked) = trial.next() {
        assert!(course.len() < 20, "no end: {course}");
        let ran = result(asked.tree == Tree::Base, &asked.tests);
        if asked.tree == Tree::Base {
            trial.did_not_run_on_base(&unseen(&ran, &asked.tests), true);
        }
        trial.learn(asked.tree, &ran);
        course.push(if asked.tree == Tree::Head { 'h' } else { 'b' });
    }
    (trial.verdict(None), course)
}

#[track_caller]
fn check(message: &str, (head, base): (&str, &str), expected: &str) {
    let (triage, course) = play(&[("a", message, head, base)]);
    let [test] = triage.tests.as_slice() else {
        panic!("{triage:?}")
    };
    assert_eq!(format!("{course}: {}", test.numbers()), expected);
}

#[test]
fn a_test_is_run_until_its_verdict_is_clear() {
    check(
        "x",
        ("r", "g"),
        "hhbhbh: red in 4 of 4 runs and green in 2 runs on the merge base: broken by these changes",
    );
    check(
        "x",
        ("rg", "g"),
        "hhb: red in 1 of 2 runs and green in 1 run on the merge base: flaky",
    );
    check(
        "x",
        ("rrrg", "g"),
        "hhbhbh: red in 3 of 4 runs and green in 2 runs on the merge base: flaky",
    );
    check(
        "x",
        ("r", "gr"),
        "hhbhb: red in 3 of 3 runs and in 1 of 2 on the merge base: flaky",
    );
    check(
        "x",
        ("r", "r"),
        "hhbhbh: red in 4 of 4 runs and in 2 of 2 on the merge base: broken before these changes",
    );
    check(
        "x",
        ("r", "-"),
        "hhbhhh: red in 5 of 5 runs, and absent on the merge base: red every time",
    );
    check(
        "x",
        ("rrrrg", "-"),
        "hhbhhh: red in 4 of 5 runs, and absent on the merge base: flaky",
    );
}

#[test]
fn the_machine_is_blamed_only_where_the_base_is_not_green() {
    let network = "curl: (6) Could not resolve host: example.org";
    let it_needs = "it needs the network, which tests do not have";
    check(
        network,
        ("r", "r"),
        &format!("hhb: red in 2 of 2 runs and in 1 of 1 on the merge base: {it_needs}"),
    );
    check(
        network,
        ("r", "-"),
        &format!("hhb: red in 2 of 2 runs, and absent on the merge base: {it_needs}"),
    );
    check(
        network,
        ("r", "g"),
        "hhbhbh: red in 4 of 4 runs and green in 2 runs on the merge base: broken by these changes",
    );
    for (text, cause) in [
        ("getaddrinfo EAI_AGAIN db.local", Cause::Network),
        ("getaddrinfo ENOTFOUND registry.npmjs.org", Cause::Registry),
        (
            "npm error request to https://registry.npmjs.org/six failed, reason: socket hang up",
            Cause::Registry,
        ),
        ("HTTP/1.1 429 Too Many Requests", Cause::Registry),
        ("OSError: [Errno 28] No space left on device", Cause::Disk),
        ("fork: Cannot allocate memory", Cause::Memory),
        ("sh: 1: protoc: not found", Cause::MissingTool),
        ("bash: protoc: command not found", Cause::MissingTool),
    ] {
        assert_eq!(environment::claimed(text), Some(cause), "{text}");
    }
    for text in [
        "AssertionError: 404 not found != 200",
        "ModuleNotFoundError: No module named 'six'",
        "class SessionNotFoundException",
        "\"resolved\": \"https://registry.npmjs.org/six/-/six-1.0.0.tgz\"",
        "npm config get registry\nhttps://registry.npmjs.org/\n1 failed",
        "E   AssertionError: assert '503 Service Unavailable' == '200 OK'",
        "expected: \"no such host\"\nactual  : \"\"",
        "    Expected: \"ENOTFOUND\"\n    Received: \"EAI_AGAIN\"",
        "  left: \"429 Too Many Requests\"\n right: \"200 OK\"",
    ] {
        assert_eq!(environment::claimed(text), None, "{text}");
    }
    let text = "Received unexpected error:\n\tdial tcp: lookup a.test: no such host";
    assert_eq!(environment::claimed(text), Some(Cause::Network));
    let text = "unexpected error: dial tcp: lookup a.test: no such host";
    assert_eq!(environment::claimed(text), Some(Cause::Network));
}

#[test]
fn the_tests_of_one_run_may_differ() {
    let (triage, _) = play(&[("bug", "x", "r", "g"), ("coin", "x", "rg", "g"), ("old", "x", "r", "r")]);
    let verdicts: Vec<Verdict> = triage.tests.iter().map(|test| test.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Deterministic, Verdict::Flaky, Verdict::BrokenOnBase]
    );
    assert_eq!((triage.verdict, triage.has_regression()), (Verdict::Mixed, true));
    let excused: Vec<&str> = triage.excused().map(|test| test.name.as_str()).collect();
    assert_eq!(excused, ["coin", "old"]);
    assert_eq!((triage.red_at_head, triage.runs_at_head), (4, 4), "those of the bug");
    let all = triage.with_broken_on_base();
    assert_eq!(all.excused().count(), 1);
    let (triage, _) = play(&[("coin", "x", "rg", "g"), ("old", "x", "r", "r")]);
    assert_eq!((triage.verdict, triage.has_regression()), (Verdict::Mixed, false));
    assert_eq!(
        triage.why_not(&run(&[], &[])),
        "None of 2 failing tests is red every time because of these changes: 1 flaky, 1 broken before it"
    );
    let first = TestRun {
        failed: 900,
        ..run(&[("a", "x")], &[])
    };
    let said = triage.why_not(&first);
    assert!(
        said.ends_with("1 broken before it. 899 more failed and were not examined"),
        "{said}"
    );
}

/// A whole run: the first one, the following ones at the head, and those on the base.
#[track_caller]
fn whole(first: &TestRun, head: &TestRun, base: &TestRun) -> (Verdict, String) {
    let mut trial = Trial::new(first, StoppingRules::default());
    let mut course = String::from("h");
    while let Some(asked) = trial.next() {
        assert!(asked.tests.is_empty() && course.len() < 20, "{asked:?}");
        let is_head = asked.tree == Tree::Head;
        trial.learn(asked.tree, if is_head { head } else { base });
        course.push(if is_head { 'h' } else { 'b' });
    }
    (trial.verdict(None).verdict, course)
}

#[test]
fn a_compiler_repeats_its_errors() {
    let finds = |outcome, message: &str, line| {
        let mut run = ended(outcome, "");
        run.failures.push(Failure {
            name: "error".into(),
            location: Some(Location {
                path: "a.rs".into(),
                line,
            }),
            message: message.into(),
            ..Failure::default()
        });
        run
    };
    let broken = finds(Outcome::DidNotBuild, "no `x` in scope", 7);
    let green = run(&[], &["a"]);
    assert_eq!(whole(&broken, &broken, &green), (Verdict::Deterministic, "hhb".into()));
    let same = finds(Outcome::DidNotBuild, "no `x` in scope", 3);
    assert_eq!(whole(&broken, &broken, &same), (Verdict::BrokenOnBase, "hhb".into()));
    let other = finds(Outcome::DidNotBuild, "no `y` in scope", 3);
    assert_eq!(whole(&broken, &broken, &other).0, Verdict::Deterministic);

    let missing = finds(Outcome::MissingModule, "No module named 'numpy'", 1);
    assert_eq!(
        whole(&missing, &missing, &missing),
        (Verdict::Environment, "hhb".into())
    );
    assert_eq!(whole(&missing, &missing, &green).0, Verdict::Deterministic);
    let other = finds(Outcome::MissingModule, "No module named 'yaml'", 1);
    assert_eq!(whole(&missing, &missing, &other).0, Verdict::Deterministic);
}

#[test]
fn a_command_without_results_is_judged_as_a_whole() {
    let green = run(&[], &["a"]);
    let hangs = ended(Outcome::TimedOut, "");
    assert_eq!(whole(&hangs, &hangs, &green), (Verdict::Deterministic, "hhb".into()));
    assert_eq!(whole(&hangs, &hangs, &hangs), (Verdict::BrokenOnBase, "hhb".into()));
    let crash = ended(Outcome::Crashed, "");
    assert_eq!(whole(&crash, &green, &green).0, Verdict::Flaky);
    assert_eq!(whole(&crash, &crash, &green), (Verdict::Deterministic, "hhbhbh".into()));
    let full = ended(Outcome::Crashed, "write error: No space left on device");
    assert_eq!(whole(&full, &full, &full), (Verdict::Environment, "hhb".into()));
    let greedy = ended(Outcome::OutOfMemory, "");
    assert_eq!(whole(&greedy, &greedy, &green).0, Verdict::Deterministic);
    assert_eq!(whole(&greedy, &greedy, &greedy).0, Verdict::Environment);
    for nothing in [ended(Outcome::DidNotStart, ""), ended(Outcome::NothingRan, "")] {
        assert_eq!(whole(&nothing, &nothing, &nothing).0, Verdict::Environment);
    }
    assert_eq!(whole(&green, &green, &green), (Verdict::Green, "h".into()));
}

#[test]
fn a_test_that_fails_differently_each_time_gets_all_runs() {
    let fails_at = |line| {
        let mut run = run(&[("a", "boom")], &[]);
        run.failures[0].location = Some(Location {
            path: "a.py".into(),
            line,
        });
        run
    };
    let mut trial = Trial::new(&fails_at(1), StoppingRules::default());
    let mut line = 1;
    while let Some(asked) = trial.next() {
        line += 1;
        let is_head = asked.tree == Tree::Head;
        trial.learn(asked.tree, &if is_head { fails_at(line) } else { run(&[], &["a"]) });
    }
    let triage = trial.verdict(None);
    assert_eq!((triage.runs_at_head, triage.tests[0].varies), (5, true));
    // Numbers do not make failures differ: addresses and times always change.
    let mut trial = Trial::new(&run(&[("a", "at 0x7f3a after 12 ms")], &[]), StoppingRules::default());
    trial.learn(Tree::Head, &run(&[("a", "at 0x55c1 after 9 ms")], &[]));
    assert!(!trial.verdict(None).tests[0].varies);
}

#[test]
fn a_triage_of_the_first_version_is_still_read() {
    let old = serde_json::json!({ "verdict": "deterministic", "red_at_head": 2, "runs_at_head": 2 });
    let triage: Triage = serde_json::from_value(old).unwrap();
    assert!(triage.has_regression() && triage.tests.is_empty());
}

/// How often the defaults err, in per cent: the chance that a flaky test that failed once is called deterministic, if
/// it is equally flaky on the base, and if it is new; and the mean number of runs of each. `cargo bench --bench
/// triage` prints the same table.
#[test]
fn the_error_rates_of_the_defaults() {
    let rules = StoppingRules::default();
    let mut table = String::new();
    for rate in [1, 5, 10, 30, 50, 90, 99, 100] {
        let red = f64::from(rate) / 100.0;
        let (known, new) = (error_rates(&rules, red, Some(red)), error_rates(&rules, red, None));
        for rates in [known, new] {
            let sum = rates.deterministic + rates.flaky + rates.broken_on_base;
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            assert!(rates.mean_runs <= f64::from(rules.runs * 2));
        }
        table += &format!(
            "{rate:>3} %: {:>8.4} {:>8.4} {:>5.2} | {:>8.4} {:>5.2}\n",
            100.0 * known.deterministic,
            100.0 * known.broken_on_base,
            known.mean_runs,
            100.0 * new.deterministic,
            new.mean_runs
        );
    }
    insta::assert_snapshot!(table, @"
      1 %:   0.0001   0.0000  3.01 |   0.0000  2.01
      5 %:   0.0113   0.0000  3.05 |   0.0006  2.05
     10 %:   0.0810   0.0010  3.12 |   0.0100  2.11
     30 %:   1.3230   0.2430  3.44 |   0.8100  2.42
     50 %:   3.1250   3.1250  3.88 |   6.2500  2.88
     90 %:   0.7290  59.0490  5.37 |  65.6100  4.44
     99 %:   0.0097  95.0990  5.93 |  96.0596  4.94
    100 %:   0.0000 100.0000  6.00 | 100.0000  5.00
    ");
    // A deterministic failure is never called anything else.
    let bug = error_rates(&rules, 1.0, Some(0.0));
    assert_eq!((bug.deterministic, bug.mean_runs), (1.0, 6.0));
    // More runs and a higher confidence make fewer mistakes.
    let careful = StoppingRules {
        runs: 12,
        confidence: 0.99,
    };
    assert!(error_rates(&careful, 0.9, Some(0.9)).deterministic < error_rates(&rules, 0.9, Some(0.9)).deterministic);
}
