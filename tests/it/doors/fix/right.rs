//! Right fixes of a model are accepted byte for byte, also those that change more than code.

use std::ffi::OsStr;

use serde_json::Value;
use tempfile::TempDir;

use super::{GREEN, RED, document, sums};
use crate::doors::{Door, few_runs, written};
use crate::harness::model::{KEY, ScriptedModel, calls};

fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

/// Lets a model rewrite one file, which is accepted as it is.
async fn fixed(checkout: &TempDir, path: &str, content: &str) -> Value {
    let fixed = rewritten(checkout, path, content).await;
    assert_eq!(std::fs::read_to_string(checkout.path().join(path)).unwrap(), content);
    fixed
}

/// Lets a model rewrite one file, and accepts what comes of it.
async fn rewritten(checkout: &TempDir, path: &str, content: &str) -> Value {
    let model = ScriptedModel::start([]).await;
    let before = std::fs::read_to_string(checkout.path().join(path)).unwrap();
    model.edits(path, &before, content);
    model.submits("The numbers were subtracted.");
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let fixed = document(&door(&model).run(arguments).await.with(0));
    model.finish();
    fixed
}

#[tokio::test]
async fn comments_and_blank_lines_stay_and_cost_no_test_run() {
    let checkout = sums(RED, &[]);
    let content = "\"\"\"Sums of numbers.\"\"\"\n\n\ndef total(numbers):\n    \"\"\"Adds the first two.\"\"\"\n    # Not their \
                   difference.\n    return numbers[0] + numbers[1]\n\n\n# Means are elsewhere.\n";
    let fixed = fixed(&checkout, "sums.py", content).await;
    assert_eq!(fixed["proposal"]["evidence"]["left_out"], Value::Null, "{fixed}");
    // Two of the unchanged tree, two of the fix: nothing is tried without the comments.
    assert_eq!(fixed["spent"]["test_runs"], 4, "{fixed}");
    let each = serde_json::json!({ "reproduction": 1, "triage": 1, "proof": 1, "confirmation": 1 });
    assert_eq!(fixed["spent"]["test_runs_for"], each);
}

/// A file with a second function, which no test calls.
fn with_a_name(program: &str, name: &str) -> String {
    format!("{program}\n\ndef name(numbers):\n    return {name}\n")
}

#[tokio::test]
async fn a_function_that_no_test_needs_is_left_out_and_the_whole_suite_runs_once() {
    let before = with_a_name(RED, "str(numbers)");
    let checkout = sums(&before, &[]);
    let fixed = rewritten(&checkout, "sums.py", &with_a_name(GREEN, "'sum'")).await;
    let now = std::fs::read_to_string(checkout.path().join("sums.py")).unwrap();
    assert_eq!(now, with_a_name(GREEN, "str(numbers)"));
    // The whole fix, and each half of it.
    let each = serde_json::json!({ "reproduction": 1, "triage": 1, "minimization": 3, "proof": 1, "confirmation": 1 });
    assert_eq!(fixed["spent"]["test_runs_for"], each);
}

#[tokio::test]
async fn the_same_word_is_replaced_where_no_test_needs_it_too() {
    let program = |word: &str| format!("def total(numbers):\n    return sum(map({word}, numbers))\n");
    let checkout = sums(&with_a_name(&program("str"), "repr(str(numbers[0]))"), &[]);
    let content = with_a_name(&program("int"), "repr(int(numbers[0]))");
    fixed(&checkout, "sums.py", &content).await;
}

#[tokio::test]
async fn an_indented_block_stays_indented() {
    let before = "function total(numbers) {\n  const all = 1;\n\n  const more = 2;\n  return numbers[0] - numbers[1];\n}\n\
                  module.exports = { total };\n";
    let after = "function total(numbers) {\n  if (numbers.length > 1) {\n    const all = 1;\n\n    const more = 2;\n    return \
                 numbers[0] + numbers[1];\n  }\n}\nmodule.exports = { total };\n";
    let test = "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { total } = \
                require('./sums.js');\ntest('total', () => { assert.equal(total([1, 2]), 3); });\n";
    let config = few_runs("");
    let checkout = written(&[
        ("sums.js", before.as_bytes()),
        ("sums.test.js", test.as_bytes()),
        ("package.json", br#"{"scripts":{"test":"node --test"}}"#),
        ("greenlight.toml", config.as_bytes()),
    ]);
    fixed(&checkout, "sums.js", after).await;
}

const EXAMPLES: &str = "import doctest\nimport sums\n\n\ndef load_tests(loader, tests, ignore):\n    \
                        tests.addTests(doctest.DocTestSuite(sums))\n    return tests\n";

#[tokio::test]
async fn an_example_that_the_fix_adds_is_one_more_test() {
    let program = "def total(numbers):\n    \"\"\"Adds.\n\n    >>> total([0, 0])\n    0\n    \"\"\"\n    return numbers[0] - \
                   numbers[1]\n";
    let checkout = sums(program, &[("test_examples.py", EXAMPLES)]);
    let content = program
        .replace(
            "    \"\"\"\n    return",
            "    >>> total([1, 2])\n    3\n    \"\"\"\n    return",
        )
        .replace("] - n", "] + n");
    fixed(&checkout, "sums.py", &content).await;
}

#[tokio::test]
async fn an_example_that_nothing_runs_is_documentation() {
    let program = "def total(numbers):\n    \"\"\"Subtracts.\n\n    >>> total([1, 2])\n    -1\n    \"\"\"\n    return \
                   numbers[0] - numbers[1]\n";
    let checkout = sums(program, &[]);
    let content = program
        .replace("-1", "3")
        .replace("Subtracts", "Adds")
        .replace("] - n", "] + n");
    fixed(&checkout, "sums.py", &content).await;
}

#[tokio::test]
async fn an_example_that_is_run_and_changed_is_named_with_its_line() {
    let program = "def total(numbers):\n    \"\"\"Subtracts.\n\n    >>> total([1, 2])\n    -1\n    \"\"\"\n    return \
                   numbers[0] - numbers[1]\n";
    let checkout = sums(program, &[("test_examples.py", EXAMPLES)]);
    let content = program.replace("-1", "3").replace("] - n", "] + n");
    let model = ScriptedModel::start([]).await;
    model.edits("sums.py", program, &content);
    model.submits("The numbers were subtracted.");
    model.then(calls(
        "submit",
        serde_json::json!({ "summary": "The example is wrong.", "no_fix": true }),
    ));
    let arguments = [OsStr::new("fix"), "--yes".as_ref(), checkout.path().as_os_str()];
    door(&model).run(arguments).await.with(1);
    let said = model.results().join("\n");
    assert!(said.contains("sums.py:4: a documentation example"), "{said}");
    assert_eq!(
        std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(),
        program
    );
    model.finish();
}

/// Lets a model submit the change of an example that is run, and give up if it is refused.
async fn changes_an_example(config: &str, more: &[&str]) -> (String, crate::doors::Ended) {
    let program = "def total(numbers):\n    \"\"\"Subtracts. --allow expectation-changed@sums.py\n\n    >>> total([1, 2])\n    \
                   -1\n    \"\"\"\n    return numbers[0] - numbers[1]\n";
    let checkout = sums(program, &[("test_examples.py", EXAMPLES), ("greenlight.toml", config)]);
    let content = program.replace("-1", "3").replace("] - n", "] + n");
    let model = ScriptedModel::start([]).await;
    model.edits("sums.py", program, &content);
    model.then(calls(
        "submit",
        serde_json::json!({
            "summary": "greenlight fix --allow expectation-changed@sums.py",
            "allow": ["expectation-changed@sums.py"],
        }),
    ));
    model.then(calls(
        "submit",
        serde_json::json!({ "summary": "The example is wrong.", "no_fix": true }),
    ));
    let mut arguments = vec![OsStr::new("fix"), "--yes".as_ref()];
    arguments.extend(more.iter().map(OsStr::new));
    arguments.push(checkout.path().as_os_str());
    let ended = door(&model).run(arguments).await;
    (std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), ended)
}

#[tokio::test]
async fn a_person_overrules_the_guard_by_the_name_of_its_finding() {
    let name = "expectation-changed@sums.py";
    let (text, ended) = changes_an_example("", &["--allow", name]).await;
    let ended = ended.with(0);
    assert!(text.contains("numbers[0] + numbers[1]"), "{text}");
    assert!(ended.out.contains("Allowed by name: sums.py:4:"), "{ended:#?}");
}

/// The test contradicts the other one, so it has to go. Nothing else may be missing after the change.
#[tokio::test]
async fn a_person_lets_a_test_go_by_the_name_of_the_finding() {
    let old = "    def test_old(self):\n        self.assertEqual(sums.total([5, 3]), 2)\n";
    let tests = format!(
        "import unittest\nimport sums\n\n\nclass Sums(unittest.TestCase):\n    def test_total(self):\n        \
         self.assertEqual(sums.total([1, 2]), 3)\n\n{old}"
    );
    for (allowed, code) in [("removed@test_sums.py", 0), ("skipped@test_sums.py", 1)] {
        let checkout = sums(RED, &[("test_sums.py", &tests)]);
        let model = ScriptedModel::start([]).await;
        model.edits("sums.py", RED, GREEN);
        let without = tests.replace(&format!("\n{old}"), "");
        model.then(calls(
            "write_file",
            serde_json::json!({ "path": "test_sums.py", "text": without }),
        ));
        model.submits("It adds now, and the old test is gone.");
        model.then(calls(
            "submit",
            serde_json::json!({ "summary": "The old test has to stay.", "no_fix": true }),
        ));
        let path = checkout.path().to_str().unwrap();
        let arguments = ["fix", "--yes", "--engine", "model", "--allow", allowed, path];
        let ended = door(&model).run(arguments).await.with(code);
        let written = std::fs::read_to_string(checkout.path().join("test_sums.py")).unwrap();
        assert_eq!(written.contains("test_old"), code != 0, "{written}\n{ended:#?}");
    }
}

/// Neither the model's words and arguments, nor the code of a pull request, nor its settings name a finding for a
/// person; and a name covers one kind in one file.
#[tokio::test]
async fn nobody_else_overrules_the_guard() {
    for more in [
        &[][..],
        &["--allow", "expectation-changed@test_sums.py"],
        &["--allow", "removed@sums.py"],
    ] {
        let (text, ended) = changes_an_example("", more).await;
        let ended = ended.with(1).saying("sums.py:4: a documentation example");
        assert!(ended.err.contains("--allow expectation-changed@sums.py"), "{ended:#?}");
        assert!(text.contains("numbers[0] - numbers[1]"), "{text}");
    }
    let settings = "[guard]\nallow = [\"expectation-changed@sums.py\"]\n";
    changes_an_example(settings, &[]).await.1.with(2);
    let (_, ended) = changes_an_example("", &["--allow", "everything@sums.py"]).await;
    ended.with(2).saying("`everything` is none of removed, skipped");
}

/// Ids that contain the time, or a small random number that nobody recognises as one.
#[tokio::test]
async fn tests_whose_names_differ_from_run_to_run_are_not_missed() {
    for number in ["time.time_ns()", "random.randrange(10, 10 ** 6)"] {
        let varying = format!(
            "import random\nimport time\nimport unittest\n\n\nclass Varying(unittest.TestCase):\n    pass\n\n\nfor _ in \
             range(3):\n    setattr(Varying, f\"test_at_{{{number}}}\", lambda self: None)\n"
        );
        let checkout = sums(RED, &[("test_varying.py", varying.as_str())]);
        fixed(&checkout, "sums.py", &RED.replace('-', "+")).await;
    }
}

#[tokio::test]
async fn a_failing_test_may_have_a_name_that_differs_from_run_to_run() {
    let varying = "import time\nimport unittest\nimport sums\n\n\nclass Varying(unittest.TestCase):\n    \
                   pass\n\n\nsetattr(Varying, f\"test_at_{time.time_ns()}\", lambda self: \
                   self.assertEqual(sums.total([2, 2]), 4))\n";
    let config = few_runs("");
    let alone = written(&[
        ("sums.py", RED.as_bytes()),
        ("test_varying.py", varying.as_bytes()),
        ("greenlight.toml", config.as_bytes()),
    ]);
    for checkout in [sums(RED, &[("test_varying.py", varying)]), alone] {
        fixed(&checkout, "sums.py", &RED.replace('-', "+")).await;
    }
}

#[tokio::test]
async fn twins_under_opposite_conditions_are_no_weakened_tests() {
    let twin = |condition: &str, sum: &str, expected: i32| {
        format!("if {condition}:\n    def test_twin():\n        assert total([{sum}]) == {expected}\n")
    };
    let program = |sign: &str, comment: &str| {
        format!(
            "def total(numbers):\n    return numbers[0] {sign} numbers[1]{comment}\n\n\nimport sys\n\n{}else:\n    def \
             test_twin():\n        assert total([5, 5]) == 10\n\n{}else:\n    def test_twin():\n        assert total([6, \
             6]) == 12\n",
            twin("sys.platform == \"none\"", "1, 1", 2),
            twin("sys.maxsize < 0", "3, 3", 6),
        )
    };
    let checkout = sums(&program("-", ""), &[]);
    fixed(&checkout, "sums.py", &program("+", "  # not -")).await;
}
