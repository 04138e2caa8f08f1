//! Faults in JavaScript, searched for in a thread that has the tests loaded.

use greenlight::domain::test_run::Outcome;
use greenlight::repair::End;

use super::patient::{BUDGET, Patient};

const MANIFEST: (&str, &str) = (
    "package.json",
    "{\"name\":\"sums\",\"scripts\":{\"test\":\"node --test\"}}\n",
);

#[tokio::test]
async fn a_module_has_its_bound_repaired() {
    let patient = Patient::written(&[
        MANIFEST,
        (
            "sums.js",
            "function sumTo(n) {\n  let total = 0;\n  for (let i = 0; i < n; i++) {\n    total += i;\n  }\n  return total;\n}\n\nmodule.exports = { sumTo };\n",
        ),
        (
            "sums.test.js",
            "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { sumTo } = require('./sums');\n\n\
             test('sums', () => assert.strictEqual(sumTo(3), 6));\ntest('sums nothing', () => assert.strictEqual(sumTo(0), 0));\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let found = patient.found().await;
    assert_eq!(found.after.outcome, Outcome::Passed, "{:#?}", found.after);
}

#[tokio::test]
async fn tests_that_leave_the_process_forge_nothing() {
    // No matter what the thread reports, only a fresh run counts, and it does not hang.
    let patient = Patient::written(&[
        MANIFEST,
        ("one.js", "exports.one = () => 1;\n"),
        (
            "one.test.js",
            "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { one } = require('./one');\n\n\
             try {\n  require('node:worker_threads').parentPort.postMessage({ answer: 'passes' });\n} catch {}\n\
             test('one', () => {\n  if (one() === 0) for (;;);\n  if (one() !== 1) process.exit(0);\n  assert.fail();\n});\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let end = patient.search(BUDGET).await;
    assert!(!matches!(end, End::Cancelled), "{end:?}");
}

/// The thread sees shared packages like a run of the tests does; otherwise every edit would need a process.
#[tokio::test]
async fn lent_packages_are_seen_without_a_process_for_each_edit() {
    let patient = Patient::lent(
        &[
            (
                "package.json",
                "{\"scripts\":{\"test\":\"node --test\"},\"dependencies\":{\"two\":\"1\"}}\n",
            ),
            (
                "sums.js",
                "const two = require('two');\n\nfunction scale(a, b, c) {\n  const most = Math.max(a, b, c);\n  \
                 return (a + b - c) * two + most;\n}\n\nmodule.exports = { scale };\n",
            ),
            (
                "sums.test.js",
                "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { scale } = require('./sums');\n\n\
                 test('scales', () => assert.strictEqual(scale(1, 2, 5), 1000));\n",
            ),
        ],
        &[("node_modules/two/index.js", "module.exports = 2;\n")],
    )
    .await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let (End::NotFound(tried) | End::BudgetSpent(tried)) = patient.search(BUDGET).await else {
        panic!("nothing makes that right");
    };
    assert!(tried.candidates > 20, "{tried:?}");
    // The failing run was one.
    assert!(patient.suite.clock.times() < 5, "{} runs", patient.suite.clock.times());
}

/// Two equally likely edits make the only test pass, and differ in behaviour that no test checks.
#[tokio::test]
async fn edits_that_behave_differently_are_told_apart_by_other_inputs() {
    let manifest = "{\"name\":\"gate\",\"type\":\"module\",\"scripts\":{\"test\":\"node --test\"}}\n";
    let gate = "export default class Gate {\n  constructor(most) {\n    this.most = most;\n  }\n\n  opens(day, hour) {\n    \
                return day < this.most && hour > 5;\n  }\n}\n";
    let test = "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport Gate from './gate.js';\n\n\
                test('opens', () => assert.ok(new Gate(3).opens(1, 5)));\n";
    let patient = Patient::written(&[("package.json", manifest), ("gate.js", gate), ("gate.test.js", test)]).await;
    let (End::NotFound(tried) | End::BudgetSpent(tried)) = patient.search(BUDGET).await else {
        panic!("one of two that differ was proposed");
    };
    let risks: Vec<&str> = tried
        .findings
        .iter()
        .flat_map(|one| &one.risks)
        .map(String::as_str)
        .collect();
    assert!(
        risks.iter().any(|risk| risk.contains("behaves differently")),
        "{tried:#?}"
    );
}

/// `<` and `!==` are equivalent here.
#[tokio::test]
async fn edits_that_behave_alike_are_no_matter() {
    let sums = "function sum(list) {\n  let total = 0;\n  for (let i = 0; i <= list.length; i++) {\n    total += list[i];\n  }\n  \
                return total;\n}\n\nmodule.exports = { sum };\n";
    let test = "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { sum } = require('./sums');\n\n\
                test('sums', () => assert.strictEqual(sum([1, 2, 3]), 6));\n\
                test('sums one', () => assert.strictEqual(sum([1]), 1));\n";
    let patient = Patient::written(&[MANIFEST, ("sums.js", sums), ("sums.test.js", test)]).await;
    assert_eq!(patient.found().await.after.outcome, Outcome::Passed);
}

/// A program that a test starts reads its code from the disk.
#[tokio::test]
async fn what_tests_see_through_another_program_is_repaired() {
    let patient = Patient::written(&[
        MANIFEST,
        (
            "cli.js",
            "function total(words) {\n  return words.reduce((sum, word) => sum + Number(word), 0) - 1;\n}\n\n\
             module.exports = { total };\nif (require.main === module) console.log(total(process.argv.slice(2)));\n",
        ),
        (
            "cli.test.js",
            "const { test } = require('node:test');\nconst assert = require('node:assert');\n\
             const { spawnSync } = require('node:child_process');\nconst { total } = require('./cli');\n\n\
             test('adds', () => {\n  const ran = spawnSync(process.execPath, ['cli.js', '1', '2'], { encoding: 'utf8' });\n  \
             assert.strictEqual(ran.stdout, '3\\n');\n});\n\ntest('counts', () => assert.strictEqual(typeof total(['1']), 'number'));\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    assert_eq!(patient.found().await.after.outcome, Outcome::Passed);
    // The failing run, and the one that confirms the fix: no edit needed a test run.
    let runs = patient.suite.clock.times();
    assert!(runs < 5, "{runs} runs of the test command");
}

/// A test file that reaches the edited function indirectly is run for the edit; one that does not cannot interfere.
#[tokio::test]
async fn files_that_see_an_edit_are_run_for_it() {
    let sums = "function add(a, b) {\n  return a - b;\n}\n\nclass Box {\n  get sum() {\n    return add(2, 0);\n  }\n}\n\nmodule.exports = { add, Box };\n";
    let head = "const { test } = require('node:test');\nconst assert = require('node:assert');\n";
    let near = format!(
        "{head}const {{ add }} = require('./sums');\n\ntest('adds', () => assert.strictEqual(add(1, 2), 3));\n"
    );
    let round = format!(
        "{head}const {{ Box }} = require('./sums');\n\ntest('sums', () => assert.strictEqual(new Box().sum, 2));\n"
    );
    let far = format!("{head}test('is far', () => assert.ok(true));\n");
    let patient = Patient::written(&[
        MANIFEST,
        ("sums.js", sums),
        ("add.test.js", &near),
        ("box.test.js", &round),
        ("far.test.js", &far),
    ])
    .await;
    let found = patient.found().await;
    assert!(found.explanation.contains("`a + b`"), "{}", found.explanation);
    // The failing run, and the one that confirms the fix.
    assert!(patient.suite.clock.times() < 5, "{} runs", patient.suite.clock.times());
}
