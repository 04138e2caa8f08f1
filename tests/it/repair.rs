//! Repair without a model: real programs with one fault each, real tests in the real sandbox.

mod apart;
mod ended;
mod held_back;
mod hints;
mod patient;
mod reruns;
mod schemata;
mod tools;
mod warm_java;
mod warm_node;
mod warm_python;

use std::time::Duration;

use greenlight::checkout::Checkout;
use greenlight::domain::id::RepoPath;
use greenlight::domain::test_run::Outcome;
use greenlight::repair::{Budget, End, Tried};
use patient::{A_FEW, BUDGET, Patient, changed_lines, fixture, tree};
use tokio_util::sync::CancellationToken;

/// Checks that the search turns the tree `before` into the tree `after`.
async fn becomes_after(name: &str) {
    let mut patient = Patient::fixture(&format!("{name}/before")).await;
    if fixture(name).join("base").exists() {
        let [base, before] = ["base", "before"].map(|side| fixture(name).join(side));
        let all = patient.checkout.paths().into_iter().map(RepoPath::as_str);
        patient.changed = all.map(|path| changed_lines(&base, &before, path)).collect();
    }
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let found = patient.found().await;
    let mut repaired = patient.checkout.clone();
    repaired.apply(&found.patch);
    let after = Checkout::open(&fixture(&format!("{name}/after"))).unwrap();
    assert_eq!(tree(&repaired), tree(&after), "{}", found.explanation);
}

#[tokio::test]
async fn rail_has_its_bound_repaired() {
    becomes_after("rail").await;
}

#[tokio::test]
async fn postage_has_its_operator_repaired() {
    becomes_after("postage").await;
}

#[tokio::test]
async fn version_match_has_its_logic_repaired() {
    becomes_after("version_match").await;
}

#[tokio::test]
async fn rooms_has_its_negation_repaired() {
    becomes_after("rooms").await;
}

#[tokio::test]
async fn pages_has_its_range_repaired() {
    becomes_after("pages").await;
}

#[tokio::test]
async fn checkdigit_has_its_constant_repaired() {
    becomes_after("checkdigit").await;
}

#[tokio::test]
async fn retry_has_its_comparison_repaired() {
    becomes_after("retry").await;
}

#[tokio::test]
async fn access_log_has_its_condition_repaired() {
    becomes_after("access_log").await;
}

/// More than one edit makes the only test pass.
const TWO_WAYS: &[(&str, &str)] = &[
    ("total.py", "def total(net):\n    return net + 2\n"),
    (
        "test_total.py",
        "import unittest\nfrom total import total\n\n\nclass TotalTest(unittest.TestCase):\n    \
         def test_total(self):\n        self.assertEqual(total(1), 2)\n",
    ),
];

#[tokio::test]
async fn a_rejected_patch_is_not_found_again() {
    let mut patient = Patient::written(TWO_WAYS).await;
    let first = patient.found().await;
    assert_eq!(
        first.explanation,
        "`net + 2` became `net + 1` in `total.py:2` (`total`)"
    );
    patient.excluded.push(first.patch.digest());
    let second = patient.found().await;
    assert_eq!(
        second.explanation,
        "`net + 2` became `net * 2` in `total.py:2` (`total`)"
    );
}

/// On a busy machine, the likeliest edit may take longer than others of its kind do.
#[tokio::test]
async fn an_edit_that_took_too_long_once_is_tried_again_before_another_is_proposed() {
    let slow = "import os\nimport tempfile\nimport time\n\nSEEN = os.path.join(tempfile.gettempdir(), 'seen')\n\n\n\
                def slow_once():\n    if not os.path.exists(SEEN):\n        open(SEEN, 'w').close()\n        \
                end = time.monotonic() + 1.5\n        while time.monotonic() < end:\n            pass\n";
    let test = "import unittest\nfrom slow import slow_once\nfrom total import total\n\n\n\
                class TotalTest(unittest.TestCase):\n    def test_total(self):\n        \
                self.assertEqual(total(1), 2)\n        if total(5) == 6:\n            slow_once()\n";
    let files = [TWO_WAYS[0], ("slow.py", slow), ("test_total.py", test)];
    let found = Patient::written(&files).await.found().await;
    assert_eq!(
        found.explanation,
        "`net + 2` became `net + 1` in `total.py:2` (`total`)"
    );
}

/// The very beginning of a file can be edited, too.
#[tokio::test]
async fn a_first_line_that_was_taken_away_is_put_back() {
    let now = "from decimal import Decimal\n\n\ndef due(issued, days):\n    return issued + datetime.timedelta(days=days)\n\n\ndef vat(net):\n    return net * Decimal(\"0.19\")\n";
    let mut patient = Patient::written(&[
        ("invoice.py", now),
        (
            "test_invoice.py",
            "import datetime\nimport unittest\nfrom invoice import due, vat\n\n\nclass InvoiceTest(unittest.TestCase):\n    \
             def test_due(self):\n        \
             self.assertEqual(due(datetime.date(2024, 2, 20), 14), datetime.date(2024, 3, 5))\n\n    \
             def test_vat(self):\n        self.assertEqual(vat(100), 19)\n",
        ),
    ])
    .await;
    let original = format!("import datetime\n{now}");
    patient
        .originals
        .insert("invoice.py".parse().unwrap(), original.clone());
    let found = patient.found().await;
    assert_eq!(
        found.patch.files().next().unwrap().1.after.as_ref().unwrap().text(),
        Some(original.as_str())
    );
}

#[tokio::test]
async fn what_no_single_edit_repairs_is_said_to_be_not_found() {
    let patient = Patient::written(&[
        ("words.py", "def longest(words):\n    return words[0]\n\n\ndef count(words):\n    return len(words)\n"),
        (
            "test_words.py",
            "import unittest\nfrom words import longest, count\n\n\nclass WordsTest(unittest.TestCase):\n    \
             def test_longest(self):\n        for words in (['a', 'bb', 'c'], ['ccc', 'b'], ['a', 'b', 'dd']):\n            \
             self.assertEqual(longest(words), max(words, key=len))\n\n    \
             def test_count(self):\n        self.assertEqual(count(['a']), 1)\n",
        ),
    ])
    .await;
    let mut reports = Vec::new();
    let end = patient
        .watched(BUDGET, &mut |report| reports.push(report), &CancellationToken::new())
        .await;
    let End::NotFound(Tried {
        candidates: tried,
        suspects,
        ..
    }) = end
    else {
        panic!("{end:?}")
    };
    assert!(tried > 0);
    assert_eq!(reports.len(), usize::try_from(tried).unwrap());
    assert_eq!(
        reports.last().map(|last| (last.tried, last.total_estimate)),
        Some((tried, tried))
    );
    assert_eq!(
        suspects.first(),
        Some(&("words.py".parse().unwrap(), 1)),
        "{suspects:?}"
    );
}

/// Two faults of one function, of which the first alone makes one of the failing tests pass.
#[tokio::test]
async fn two_edits_are_made_where_one_of_them_makes_a_test_pass() {
    let fault = "def fee(days, rate):\n    if days >= 10:\n        return days * rate - 5\n    return days / rate\n";
    let patient = Patient::written(&[
        ("fee.py", fault),
        (
            "test_fee.py",
            "import unittest\nfrom fee import fee\n\n\nclass FeeTest(unittest.TestCase):\n    \
             def test_a_day(self):\n        self.assertEqual(fee(2, 3), 6)\n        self.assertEqual(fee(1, 7), 7)\n\n    \
             def test_b_bound(self):\n        self.assertEqual(fee(10, 2), 20)\n\n    \
             def test_c_long(self):\n        self.assertEqual(fee(11, 2), 17)\n",
        ),
    ])
    .await;
    let budget = Budget {
        candidates: 5_000,
        ..BUDGET
    };
    let end = patient.search(budget).await;
    let End::Found(found) = end else { panic!("{end:?}") };
    let fixed = fault.replace(">=", ">").replace("days / rate", "days * rate");
    let after = found.patch.files().next().unwrap().1.after.as_ref().unwrap();
    assert_eq!(after.text(), Some(fixed.as_str()), "{}", found.explanation);
}

/// The first fault hides the second: with the first edit alone, the only test fails later than before.
#[tokio::test]
async fn two_edits_are_made_where_one_of_them_lets_a_test_fail_later() {
    let python = "def words(text):\n    counts = {}\n    for word in text.splt():\n        \
                  counts[word] = counts.get(word, 0) - 1\n    return counts\n";
    let script = "function words(text) {\n  const counts = {};\n  for (const word of text.splt(' ')) {\n    \
                  counts[word] = (counts[word] || 0) - 1;\n  }\n  return counts;\n}\n\nmodule.exports = { words };\n";
    let unittest = "import unittest\nfrom words import words\n\n\nclass WordsTest(unittest.TestCase):\n    \
                    def test_words(self):\n        self.assertEqual(words('a b a'), {'a': 2, 'b': 1})\n";
    let node = "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { words } = require('./words');\n\n\
                test('words', () => assert.deepStrictEqual(words('a b a'), { a: 2, b: 1 }));\n";
    for (fault, files) in [
        (python, vec![("words.py", python), ("test_words.py", unittest)]),
        (
            script,
            vec![
                (
                    "package.json",
                    "{\"name\":\"words\",\"scripts\":{\"test\":\"node --test\"}}\n",
                ),
                ("words.js", script),
                ("words.test.js", node),
            ],
        ),
    ] {
        let patient = Patient::written(&files).await;
        let budget = Budget {
            candidates: 5_000,
            ..BUDGET
        };
        let end = patient.search(budget).await;
        let End::Found(found) = end else { panic!("{end:?}") };
        let fixed = fault.replace("splt", "split").replace(" - 1", " + 1");
        let after = found.patch.files().next().unwrap().1.after.as_ref().unwrap();
        assert_eq!(after.text(), Some(fixed.as_str()), "{}", found.explanation);
    }
}

#[tokio::test]
async fn a_spent_budget_is_named() {
    let mut patient = Patient::written(TWO_WAYS).await;
    patient.excluded.push(patient.found().await.patch.digest());
    let few = Budget {
        candidates: 2,
        ..BUDGET
    };
    let end = patient.search(few).await;
    assert!(matches!(end, End::BudgetSpent(Tried { candidates: 2, .. })), "{end:?}");
    let no_time = Budget {
        wall: Duration::ZERO,
        ..BUDGET
    };
    let end = patient.search(no_time).await;
    assert!(matches!(end, End::BudgetSpent(Tried { candidates: 0, .. })), "{end:?}");
}

#[tokio::test]
async fn a_search_can_be_cancelled_at_any_time() {
    let patient = Patient::written(TWO_WAYS).await;
    let cancel = CancellationToken::new();
    let end = patient.watched(BUDGET, &mut |_| cancel.cancel(), &cancel).await;
    assert_eq!(end, End::Cancelled);
    assert_eq!(patient.watched(BUDGET, &mut |_| {}, &cancel).await, End::Cancelled);
}

#[tokio::test]
async fn the_failing_test_is_never_edited() {
    // The test is wrong, and changing a constant in it would make it pass.
    let rust = Patient::written(&[
        ("Cargo.toml", "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n"),
        (
            "src/lib.rs",
            "pub fn same(n: u32) -> u32 {\n    n\n}\n\n#[cfg(test)]\nmod more;\n\n#[cfg(test)]\nmod tests {\n    \
             fn expected() -> u32 {\n        9\n    }\n\n    #[test]\n    fn numbers_stay_the_same() {\n        \
             assert_eq!(super::same(7), 7);\n        assert_eq!(super::same(8), expected());\n    }\n}\n",
        ),
        ("src/more.rs", "fn expected() -> u32 {\n    1\n}\n\n#[test]\nfn zero() {\n    assert_eq!(super::same(0), expected());\n}\n"),
    ])
    .await;
    assert_eq!(rust.before.failed, 2, "{:#?}", rust.before);
    let end = rust.search(BUDGET).await;
    assert!(matches!(end, End::NotFound(_)), "{end:?}");
    let python = Patient::written(&[
        ("sums.py", "def same(n):\n    return n\n"),
        ("helpers/__init__.py", ""),
        ("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef expected():\n    return 9\n"),
        (
            "test_sums.py",
            "from sums import same\n\nSEVEN = 7\n\n\ndef test_same(expected):\n    assert same(SEVEN) == 7\n    assert same(8) == expected\n",
        ),
    ])
    .await;
    assert_eq!(python.before.outcome, Outcome::Failed, "{:#?}", python.before);
    let end = python.search(BUDGET).await;
    assert!(matches!(end, End::NotFound(_)), "{end:?}");
}

#[tokio::test]
async fn protected_files_are_never_edited() {
    let mut patient = Patient::written(TWO_WAYS).await;
    patient.protected.push("total.py");
    let end = patient.search(BUDGET).await;
    assert!(matches!(end, End::NotFound(Tried { candidates: 0, .. })), "{end:?}");
}

#[tokio::test]
async fn code_that_does_not_build_is_not_searched() {
    let patient = Patient::written(&[
        (
            "Cargo.toml",
            "[package]\nname = \"broken\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
        ),
        (
            "src/lib.rs",
            "pub fn one() -> u32 {\n    \"1\"\n}\n\n#[test]\nfn one_is_one() {\n    assert_eq!(one(), 1);\n}\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::DidNotBuild, "{:#?}", patient.before);
    let end = patient.search(BUDGET).await;
    let End::NotFound(Tried {
        candidates: 0,
        suspects,
        ..
    }) = end
    else {
        panic!("{end:?}")
    };
    assert_eq!(
        suspects.first(),
        Some(&("src/lib.rs".parse().unwrap(), 2)),
        "{suspects:?}"
    );
}

#[tokio::test]
async fn a_test_that_passes_the_second_time_fools_nobody() {
    let patient = Patient::written(&[
        ("once.py", "def once(n):\n    return n + 1\n"),
        (
            "test_once.py",
            "import os\nimport unittest\nfrom once import once\n\n\nclass OnceTest(unittest.TestCase):\n    \
             def test_once(self):\n        seen = os.path.exists('seen')\n        open('seen', 'w').close()\n        \
             self.assertTrue(seen)\n        once(1)\n",
        ),
    ])
    .await;
    let end = patient.search(A_FEW).await;
    assert!(matches!(end, End::NotFound(_) | End::BudgetSpent(_)), "{end:?}");
}

#[tokio::test]
async fn edits_that_never_end_cost_little() {
    // The test command itself may take ten minutes; several edits before the right one loop for ever.
    let patient = Patient::written(&[
        (
            "sums.py",
            "def sum_to(n):\n    i = 0\n    total = 0\n    while i < n:\n        i += 1\n        total += n\n    return total\n",
        ),
        (
            "test_sums.py",
            "import unittest\nfrom sums import sum_to\n\n\nclass SumTest(unittest.TestCase):\n    \
             def test_sums(self):\n        self.assertEqual([sum_to(n) for n in range(5)], [0, 1, 3, 6, 10])\n",
        ),
    ])
    .await;
    let found = patient.found().await;
    assert_eq!(
        found.explanation,
        "`total += n` became `total += i` in `sums.py:6` (`sum_to`)"
    );
}

#[tokio::test]
async fn a_link_left_by_the_tests_is_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let test = format!(
        "import os\nimport shutil\nimport unittest\nfrom pkg.sums import add\n\n\nclass LinkTest(unittest.TestCase):\n    \
         def test_link(self):\n        result = add(1, 1)\n        shutil.rmtree('pkg')\n        \
         os.symlink({:?}, 'pkg')\n        self.assertEqual(result, 5)\n",
        outside.path()
    );
    let patient = Patient::written(&[
        ("pkg/__init__.py", ""),
        ("pkg/sums.py", "def add(a, b):\n    return a - b\n"),
        ("test_link.py", &test),
    ])
    .await;
    let end = patient.search(BUDGET).await;
    assert!(matches!(end, End::NotFound(_)), "{end:?}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}
