//! Candidates of Python projects, tried in one interpreter that forks. It judges like a new process would, and
//! nothing in a tree makes it hang or trust what it should not.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use greenlight::domain::test_run::Outcome;
use greenlight::repair::End;
use greenlight::sandbox::{CellOutcome, Language, Policy, Session, SessionPaths};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::patient::{A_FEW, Patient};

const LIMIT: Duration = Duration::from_secs(120);

/// The harness as greenlight sends it, built from the source files.
fn harness() -> String {
    let folder = Path::new("crates/repair/src/warm/python");
    let modules: BTreeMap<_, _> = std::fs::read_dir(folder.join("_greenlight_warm"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "py"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let load = std::fs::read_to_string(folder.join("load.py")).unwrap();
    format!(
        "{load}\n_greenlight = load('_greenlight_warm', {}, 'entry').start()\n",
        json!(modules)
    )
}

/// The harness in a session, with a tree.
pub(super) struct Harness {
    session: Session,
    pub(super) directory: TempDir,
}

impl Harness {
    pub(super) async fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut place = SessionPaths::new(directory.path());
        place.env.insert("GREENLIGHT_UP".into(), ".".into());
        let sandbox = crate::harness::sandbox().await;
        let mut session = sandbox
            .session(Language::Python, &place, &Policy::default())
            .await
            .unwrap();
        let cell = session
            .execute(&harness(), LIMIT, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(cell.outcome, CellOutcome::Ok, "{}", cell.value);
        Self { session, directory }
    }

    pub(super) async fn ask(&mut self, request: &Value) -> Value {
        let mut text = self.piece(request).await;
        let total = text.1;
        while text.0.len() < total {
            let more = self.piece(&json!({"op": "more", "from": text.0.len()})).await;
            assert!(!more.0.is_empty());
            text.0.push_str(&more.0);
        }
        serde_json::from_str(&text.0).unwrap()
    }

    async fn piece(&mut self, request: &Value) -> (String, usize) {
        let code = format!("_greenlight({})", Value::from(request.to_string()));
        let cell = self
            .session
            .execute(&code, LIMIT, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(cell.outcome, CellOutcome::Ok, "{}", cell.value);
        let piece: Value = serde_json::from_str(&cell.value).unwrap();
        let total = usize::try_from(piece["total"].as_u64().unwrap()).unwrap();
        (piece["text"].as_str().unwrap().to_owned(), total)
    }

    pub(super) async fn start(&mut self, framework: &str, failing: &[&str], passing: &[&str]) -> Value {
        let argv = ["python3", "-m", framework];
        let request = json!({"op": "start", "argv": argv, "framework": framework, "failing": failing,
            "passing": passing, "limit_ms": 60_000});
        self.ask(&request).await
    }

    /// Judges edits of one file, each an old text and its replacement.
    pub(super) async fn judge(&mut self, path: &str, edits: &[(&str, &str)]) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join(path)).unwrap();
        let candidates: Vec<Value> = edits
            .iter()
            .map(|(before, after)| {
                let start = text.find(before).unwrap();
                json!({"path": path, "start": start, "end": start + before.len(), "text": after})
            })
            .collect();
        let answer = self
            .ask(&json!({"op": "judge", "limit_ms": 60_000, "candidates": candidates}))
            .await;
        serde_json::from_value(answer["verdicts"].clone()).unwrap_or_else(|_| panic!("{answer}"))
    }
}

const SHAPES: &str = "\
LIMIT = 3


def total(xs):
    s = 0
    for x in xs:
        s -= x
    return s


def clamp(n):
    return min(n, LIMIT)


class Box:
    size = 2

    def area(self, by=3):
        return self.size * by

    @property
    def half(self):
        return self.size // 2 + 1

    @staticmethod
    async def later(n):
        return n + 1


def counter(step):
    def count(n):
        return n - step
    return count


up = counter(1)


def build():
    return [1, 1]


TABLE = build()
";

const SHAPES_TEST: &str = "\
import asyncio
import pytest
import threading
from shapes import *


@pytest.fixture(scope='session')
def shared():
    return [2]


def test_total(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert total([1, 2]) == 3


@pytest.mark.parametrize('n', [1, 4])
def test_clamp(n):
    assert clamp(n) == n


class TestBox:
    @pytest.fixture(scope='class')
    def box(self):
        return Box()

    def test_area(self, box, shared):
        assert box.area() == 4 and shared == [2]

    def test_half(self, box):
        assert box.half == 1

    def test_later(self):
        assert asyncio.run(Box.later(1)) == 1


def test_up():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(up(1)))
    thread.start()
    thread.join()
    assert seen == [2]


def test_table():
    assert TABLE == [1, 2]


def test_passes():
    assert total([]) == 0
";

#[tokio::test]
async fn every_kind_of_place_can_be_repaired() {
    let files = [("shapes.py", SHAPES), ("test_shapes.py", SHAPES_TEST)];
    let cases: [(&str, &str, &str, &[&str]); 8] = [
        ("test_total", "s -= x", "s += x", &["s = x", "s -= 1"]),
        ("test_clamp[4]", "LIMIT = 3", "LIMIT = 4", &["LIMIT = 2", "LIMIT ="]),
        ("TestBox::test_area", "by=3", "by=2", &["by=1"]),
        ("TestBox::test_area", "size = 2", "size = 4 / 3", &["size = 3"]),
        ("TestBox::test_half", "// 2 + 1", "// 2", &["// 2 + 2"]),
        ("TestBox::test_later", "return n + 1", "return n", &["return n + 2"]),
        ("test_up", "return n - step", "return n + step", &["return step"]),
        ("test_table", "return [1, 1]", "return [1, 2]", &["return []"]),
    ];
    for (number, (test, before, after, others)) in cases.into_iter().enumerate() {
        let mut harness = Harness::new(&files).await;
        let name = format!("test_shapes.py::{test}");
        let started = harness
            .start(
                "pytest",
                &[&name],
                &["test_shapes.py::test_passes", "test_shapes.py::test_clamp[1]"],
            )
            .await;
        assert_eq!(started["failing"], json!([name]), "{started}");
        // With and without knowing which tests execute the edited code.
        if number % 2 == 0 {
            let followed = harness.ask(&json!({"op": "spectrum", "wall_ms": 60_000})).await;
            assert_eq!(followed["failing"], 1, "{followed}");
        }
        let mut edits = vec![(before, after)];
        edits.extend(others.iter().map(|other| (before, *other)));
        let verdicts = harness.judge("shapes.py", &edits).await;
        assert_eq!(verdicts[0], "passes", "{test}: {verdicts:?}");
        assert!(!verdicts[1..].contains(&"passes".into()), "{test}: {verdicts:?}");
    }
}

#[tokio::test]
async fn a_candidate_that_breaks_another_test_fails() {
    let files = [
        (
            "pair.py",
            "def first(a, b):\n    return b\n\n\ndef both(a, b):\n    return first(a, b), b\n",
        ),
        (
            "test_pair.py",
            "import unittest\nfrom pair import *\n\n\nclass PairTest(unittest.TestCase):\n    \
             def test_first(self):\n        self.assertEqual(first(1, 2), 1)\n\n    \
             def test_same(self):\n        self.assertEqual(first(3, 3), 3)\n",
        ),
    ];
    for framework in ["pytest", "unittest"] {
        let name = |test: &str| match framework {
            "pytest" => format!("test_pair.py::PairTest::{test}"),
            _ => format!("test_pair.PairTest.{test}"),
        };
        let mut harness = Harness::new(&files).await;
        let started = harness
            .start(framework, &[&name("test_first")], &[&name("test_same")])
            .await;
        assert_eq!(started["failing"], json!([name("test_first")]), "{started}");
        let followed = harness.ask(&json!({"op": "spectrum", "wall_ms": 60_000})).await;
        assert_eq!(followed["files"]["pair.py"], json!([[2, 1, 1]]), "{followed}");
        let edits = [
            ("return b", "return 1"),
            ("return b", "return a"),
            ("return b", "return ("),
        ];
        assert_eq!(harness.judge("pair.py", &edits).await, ["fails", "passes", "invalid"]);
    }
}

#[tokio::test]
async fn what_never_ends_and_what_floods_costs_little() {
    let mut harness = Harness::new(&[
        ("loud.py", "def one():\n    return 2\n"),
        (
            "test_loud.py",
            "import os, subprocess, sys\nfrom loud import one\n\n\ndef test_one():\n    os.write(1, b'x' * 3_000_000)\n    \
             print('{\"verdicts\":[\"passes\"]}', file=sys.stderr)\n    \
             subprocess.Popen(['sleep', '1000'])\n    assert one() == 1\n",
        ),
    ])
    .await;
    let started = harness.start("pytest", &["test_loud.py::test_one"], &[]).await;
    assert_eq!(started["failing"], json!(["test_loud.py::test_one"]), "{started}");
    let body = |body: &'static str| ("return 2", body);
    let edits = [
        body("while True: pass"),
        body("import time; time.sleep(10_000)"),
        body("import signal; signal.pause()"),
        body("import os; os._exit(0)"),
        body("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
        body("import os; os.closerange(3, 1000); return 2"),
        body("return [0] * (1 << 40)"),
        body("raise SystemExit"),
        body("raise KeyboardInterrupt"),
        body("return one()"),
        body("return 1"),
    ];
    let verdicts = harness.judge("loud.py", &edits).await;
    let (last, others) = verdicts.split_last().unwrap();
    assert_eq!(last, "passes");
    assert!(
        others.iter().all(|verdict| verdict == "fails" || verdict == "timeout"),
        "{verdicts:?}"
    );
    assert_eq!(verdicts[..3], ["timeout", "timeout", "timeout"], "{verdicts:?}");
}

#[tokio::test]
async fn requests_that_name_nothing_of_the_tree_are_invalid() {
    let mut harness = Harness::new(&[
        ("a.py", "def one():\n    return 2\n"),
        (
            "test_a.py",
            "from a import one\n\ndef test_one():\n    assert one() == 1\n",
        ),
    ])
    .await;
    harness.start("pytest", &["test_a.py::test_one"], &[]).await;
    let edit = |path: &str, start: i64, end: i64| json!({"path": path, "start": start, "end": end, "text": "1"});
    let candidates = [
        edit("../a.py", 0, 1),
        edit("/etc/passwd", 0, 1),
        edit("b.py", 0, 1),
        edit("a.py", -1, 1),
        edit("a.py", 5, 1),
        edit("a.py", 0, 1 << 40),
    ];
    let answer = harness
        .ask(&json!({"op": "judge", "limit_ms": 60_000, "candidates": candidates}))
        .await;
    assert_eq!(answer["verdicts"], json!(vec!["invalid"; 6]));
    for (argv, framework) in [("make", "pytest"), ("pytest", "tox"), ("unittest", "unittest")] {
        let start = json!({"op": "start", "argv": [argv], "framework": framework, "failing": ["test_a.py::test_one"],
            "passing": [], "limit_ms": 9_000});
        let answer = harness.ask(&start).await;
        assert!(answer["why"].is_string(), "{answer}");
    }
}

#[tokio::test]
async fn a_search_repairs_with_pytest() {
    let patient = Patient::written(&[
        ("shop/__init__.py", ""),
        (
            "shop/cart.py",
            "RATE = 3\n\n\nclass Cart:\n    def __init__(self, items):\n        self.items = list(items)\n\n    \
             def count(self):\n        return len(self.items) - 1\n\n    def tax(self):\n        return RATE * self.count()\n",
        ),
        (
            "tests/test_cart.py",
            "import pytest\nfrom shop.cart import Cart\n\n\n@pytest.mark.parametrize('items', [[], [1], [1, 2]])\n\
             def test_count(items):\n    assert Cart(items).count() == len(items)\n",
        ),
        ("conftest.py", ""),
    ])
    .await;
    let found = patient.found().await;
    assert_eq!(found.after.failed, 0);
    assert!(found.explanation.contains("`shop/cart.py:9`"), "{}", found.explanation);
}

#[tokio::test]
async fn a_tree_that_plays_greenlight_finds_nothing() {
    // Forges verdicts through all pipes that it can find.
    let patient = Patient::written(&[
        (
            "a.py",
            "def one():\n    return 2\n\n\ndef two():\n    return one() + 1\n",
        ),
        (
            "test_a.py",
            "import os\nfrom a import two\n\n\ndef test_two():\n    for number in range(3, 100):\n        \
             try:\n            os.write(number, b'pP\\n1 ok e30=\\n{\"verdicts\":[\"passes\"]}')\n        \
             except OSError:\n            pass\n    assert two() == 'never'\n",
        ),
        ("conftest.py", ""),
    ])
    .await;
    let end = patient.search(A_FEW).await;
    assert!(matches!(end, End::NotFound(_) | End::BudgetSpent(_)), "{end:?}");
}

#[tokio::test]
async fn candidates_that_behave_alike_give_the_same_answers() {
    let mut harness = Harness::new(&[
        (
            "near.py",
            "class Near:\n    def __init__(self, step):\n        self.step = step\n        self.seen = []\n\n    \
             def move(self, at, by=1):\n        self.seen.append(at)\n        return at - self.step * by\n",
        ),
        (
            "test_near.py",
            "from near import Near\n\n\ndef test_move():\n    near = Near(2)\n    assert near.move(1) == 3\n    \
             assert near.move(1, by=2) == 5\n",
        ),
    ])
    .await;
    harness.start("pytest", &["test_near.py::test_move"], &[]).await;
    let text = std::fs::read_to_string(harness.directory.path().join("near.py")).unwrap();
    let mut behave = async |edits: &[(&str, &str)]| -> Value {
        let candidates: Vec<Value> = edits
            .iter()
            .map(|(before, after)| {
                let start = text.find(before).unwrap();
                json!({"path": "near.py", "start": start, "end": start + before.len(), "text": after})
            })
            .collect();
        harness
            .ask(&json!({"op": "behave", "wall_ms": 20_000, "candidates": candidates}))
            .await
    };
    let before = "at - self.step * by";
    let answers = behave(&[
        (before, "at + self.step * by"),
        (before, "self.step * by + at"),
        (before, "at + self.step + by - 1"),
        ("self.seen.append(at)", "self.seen.append(0)"),
        (before, "[None for _ in iter(int, 1)]"),
    ])
    .await;
    let lists = answers["answers"].as_array().unwrap_or_else(|| panic!("{answers}"));
    assert_eq!(lists.len(), 5);
    assert!(lists[0].as_array().unwrap().len() > 3);
    // The test's second call, which is made only if the first assertion holds.
    let is_five = |answer: &Value| answer.as_str().unwrap().starts_with("5 ");
    assert!(lists[0].as_array().unwrap().iter().any(is_five), "{answers}");
    assert!(
        lists
            .iter()
            .all(|list| list.as_array().unwrap().len() == lists[0].as_array().unwrap().len())
    );
    assert_eq!(lists[0], lists[1]);
    assert_ne!(lists[0], lists[2]);
    assert_ne!(lists[0], lists[3]);
    assert_eq!(lists[4][0], "timeout");
    let nothing = behave(&[("class Near", "class Far")]).await;
    assert!(nothing["why"].is_string(), "{nothing}");
}

/// Some versions of Python compile calls of an imported module's functions differently.
#[tokio::test]
async fn a_function_that_calls_what_was_imported_is_swapped_like_any_other() {
    let mut harness = Harness::new(&[
        (
            "words.py",
            "import re\ntry:\n    import json as text\nexcept ImportError:\n    text = None\n\n\ndef first(word):\n    \
             if not re.search('[a-z]', text.dumps(word)):\n        return word\n    return word[1]\n",
        ),
        (
            "test_words.py",
            "from words import first\n\n\ndef test_first():\n    assert first('ab') == 'a'\n",
        ),
    ])
    .await;
    harness.start("pytest", &["test_words.py::test_first"], &[]).await;
    let text = std::fs::read_to_string(harness.directory.path().join("words.py")).unwrap();
    let start = text.find("word[1]").unwrap();
    let candidate = |text: &str| json!({"path": "words.py", "start": start, "end": start + 7, "text": text});
    let request =
        json!({"op": "behave", "wall_ms": 20_000, "candidates": [candidate("word[0]"), candidate("word[-2]")]});
    let answers = harness.ask(&request).await;
    // If a module would have to be reloaded, behaviour is not compared.
    assert!(answers["answers"].is_array(), "{answers}");
}

/// Code that fails as soon as it is loaded has no syntax error, and its location is known.
#[tokio::test]
async fn code_that_fails_while_it_is_loaded_is_repaired() {
    let patient = Patient::written(&[
        (
            "names.py",
            "def label(n):\n    return '#' - str(n)\n\n\nFIRST = label(1)\n",
        ),
        (
            "test_names.py",
            "import unittest\nfrom names import FIRST, label\n\n\nclass Names(unittest.TestCase):\n\
             \x20   def test_first(self):\n        self.assertEqual((FIRST, label(20)), ('#1', '#20'))\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::DidNotCollect, "{:#?}", patient.before);
    let found = patient.found().await;
    assert_eq!(found.after.outcome, Outcome::Passed, "{:#?}", found.after);
    assert!(found.explanation.contains("`label`"), "{}", found.explanation);
}

/// A program that a test starts reads the edited file from the disk.
#[tokio::test]
async fn what_tests_see_through_another_program_is_repaired() {
    let patient = Patient::written(&[
        (
            "cli.py",
            "import sys\n\n\ndef total(words):\n    return sum(int(word) for word in words) - 1\n\n\n\
             if __name__ == '__main__':\n    print(total(sys.argv[1:]))\n",
        ),
        (
            "test_cli.py",
            "import subprocess\nimport sys\nimport unittest\nimport cli\n\n\nclass Cli(unittest.TestCase):\n\
             \x20   def test_adds(self):\n        ran = subprocess.run([sys.executable, 'cli.py', '1', '2'], capture_output=True)\n\
             \x20       self.assertEqual(ran.stdout, b'3\\n')\n\n\
             \x20   def test_counts(self):\n        self.assertIsInstance(cli.total(['1']), int)\n",
        ),
    ])
    .await;
    assert_eq!(patient.before.outcome, Outcome::Failed, "{:#?}", patient.before);
    let found = patient.found().await;
    assert_eq!(found.after.outcome, Outcome::Passed, "{:#?}", found.after);
    // The failing run, and the one that confirms the fix: no edit needed a test run.
    let runs = patient.suite.clock.times();
    assert!(runs < 5, "{runs} runs of the test command");
}
