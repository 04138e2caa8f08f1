//! Python: pytest and unittest.

use greenlight::domain::weakening::WeakeningKind::{
    CannotBeJudged, ErrorSwallowed, ExpectationChanged, FewerAssertions, Mocked, NotReached, Removed, Retried,
    SetupChanged, Skipped, ToleranceWidened, WeakerAssertion,
};

use super::{Case, check};

const SOURCE: &str = r#"
import pytest
from fare import change, fare

RATES = [1, 2, 3]


@pytest.fixture
def card():
    return {"paid": 500}


def settle(stops):
    assert stops > 0
    return fare(stops)


@pytest.mark.parametrize("stops, cost", [(1, 250), (2, 300)])
def test_cost(stops, cost):
    assert fare(stops) == cost


def test_change(card):
    """Gives change."""
    given = change(card["paid"], 2)
    # what is left
    assert given == 200
    assert given > 0, "positive"


def test_errors():
    with pytest.raises(ValueError):
        change(0, 2)


def test_ratio():
    assert fare(1) / fare(2) == pytest.approx(0.83, abs=0.01)
    for rate in RATES:
        assert rate in fare.rates


class TestFares:
    def test_list(self):
        result = fare.all()
        assert result == [250, 300]
"#;

const CASES: &[Case] = &[
    // Weaker.
    ("def test_errors():", "def errors():", &[Removed]),
    ("def test_change(card):", "def check_change(card):", &[Removed]),
    ("class TestFares:", "class Fares:", &[Removed]),
    (
        "def test_errors():\n    with pytest.raises(ValueError):\n        change(0, 2)\n",
        "",
        &[Removed],
    ),
    (
        "    with pytest.raises(ValueError):\n        change(0, 2)\n",
        "    pass\n",
        &[Removed],
    ),
    (
        "def test_errors():\n    with pytest.raises(ValueError):\n        change(0, 2)\n",
        "if False:\n    def test_errors():\n        with pytest.raises(ValueError):\n            change(0, 2)\n",
        &[Removed],
    ),
    (
        "def test_ratio():",
        "def test_errors():\n    pass\n\n\ndef test_ratio():",
        &[Removed],
    ),
    (
        "def test_errors():",
        "@pytest.mark.skip\ndef test_errors():",
        &[Skipped],
    ),
    (
        "def test_errors():",
        "@pytest.mark.xfail(reason=\"flaky\")\ndef test_errors():",
        &[Skipped],
    ),
    (
        "def test_errors():",
        "@pytest.mark.skipif(True, reason=\"x\")\ndef test_errors():",
        &[Skipped],
    ),
    (
        "def test_errors():",
        "@unittest.skip(\"x\")\ndef test_errors():",
        &[Skipped],
    ),
    (
        "class TestFares:",
        "@unittest.expectedFailure\nclass TestFares:",
        &[Skipped],
    ),
    (
        "    with pytest.raises(ValueError):",
        "    pytest.skip(\"later\")\n    with pytest.raises(ValueError):",
        &[Skipped],
    ),
    (
        "    given = change",
        "    raise SkipTest\n    given = change",
        &[Skipped],
    ),
    (
        "RATES = [1, 2, 3]",
        "RATES = [1, 2, 3]\npytestmark = pytest.mark.slow",
        &[Skipped],
    ),
    (
        "    def test_list(self):",
        "    __test__ = False\n\n    def test_list(self):",
        &[Skipped],
    ),
    (
        "    def test_list(self):",
        "    def __init__(self):\n        pass\n\n    def test_list(self):",
        &[SetupChanged],
    ),
    (
        "    given = change(card[\"paid\"], 2)\n",
        "    given = change(card[\"paid\"], 2)\n    return\n",
        &[NotReached],
    ),
    (
        "    given = change(card[\"paid\"], 2)\n    # what is left\n    assert given == 200\n",
        "    given = change(card[\"paid\"], 2)\n    if given:\n        assert given == 200\n",
        &[NotReached],
    ),
    ("        change(0, 2)\n", "        pass\n", &[SetupChanged]),
    ("    assert given == 200\n", "", &[FewerAssertions]),
    ("    assert given == 200\n", "    assert given\n", &[WeakerAssertion]),
    (
        "    assert given == 200\n",
        "    assert given is not None\n",
        &[WeakerAssertion],
    ),
    (
        "    assert given == 200\n",
        "    assert given >= 200\n",
        &[WeakerAssertion],
    ),
    (
        "    assert given == 200\n",
        "    assert given in (200, 800)\n",
        &[WeakerAssertion],
    ),
    (
        "    assert given == 200\n",
        "    assert given == 200 or True\n",
        &[WeakerAssertion],
    ),
    ("    assert given == 200\n", "    assert True\n", &[WeakerAssertion]),
    (
        "    assert given == 200\n",
        "    assert given == given\n",
        &[WeakerAssertion],
    ),
    (
        "    assert given == 200\n",
        "    assert isinstance(given, int)\n",
        &[WeakerAssertion],
    ),
    ("    assert given == 200\n", "    print(given)\n", &[FewerAssertions]),
    (
        "    assert given == 200\n",
        "    assert given == 800\n",
        &[ExpectationChanged],
    ),
    (
        "        assert result == [250, 300]",
        "        assert result == [250]",
        &[ExpectationChanged],
    ),
    (
        "    assert given == 200\n",
        "    assert given == pytest.approx(200)\n",
        &[ToleranceWidened],
    ),
    ("abs=0.01", "abs=1", &[ToleranceWidened]),
    (
        "    with pytest.raises(ValueError):",
        "    with pytest.raises(Exception):",
        &[ErrorSwallowed],
    ),
    (
        "    # what is left\n    assert given == 200\n",
        "    try:\n        assert given == 200\n    except AssertionError:\n        pass\n",
        &[ErrorSwallowed],
    ),
    (
        "    # what is left\n    assert given == 200\n",
        "    with contextlib.suppress(AssertionError):\n        assert given == 200\n",
        &[ErrorSwallowed],
    ),
    (
        "def test_errors():",
        "@pytest.mark.flaky(reruns=3)\ndef test_errors():",
        &[Retried],
    ),
    (
        "    given = change(card",
        "    monkeypatch.setattr(\"fare.fare\", lambda n: 300)\n    given = change(card",
        &[Mocked],
    ),
    (
        "def test_change(card):",
        "@mock.patch(\"fare.change\", return_value=200)\ndef test_change(card):",
        &[Mocked],
    ),
    (
        "    given = change(card[\"paid\"], 2)\n",
        "    given = change(card[\"paid\"], 2)\n    given = 200\n",
        &[SetupChanged],
    ),
    (
        "    given = change(card[\"paid\"], 2)\n",
        "    given = change(300, 2)\n",
        &[SetupChanged],
    ),
    ("[(1, 250), (2, 300)]", "[(1, 250)]", &[SetupChanged]),
    ("[(1, 250), (2, 300)]", "[]", &[SetupChanged]),
    (
        "[(1, 250), (2, 300)]",
        "[(1, 250), pytest.param(2, 300, marks=pytest.mark.skip)]",
        &[Skipped],
    ),
    ("RATES = [1, 2, 3]", "RATES = []", &[SetupChanged]),
    (
        "    return {\"paid\": 500}",
        "    return {\"paid\": 800}",
        &[SetupChanged],
    ),
    ("    assert stops > 0\n", "", &[FewerAssertions]),
    ("def settle(stops):", "def settle(stops=1):", &[SetupChanged]),
    (
        "@pytest.fixture\ndef card():",
        "@pytest.fixture(autouse=True)\ndef card():",
        &[SetupChanged],
    ),
    (
        "RATES = [1, 2, 3]",
        "RATES = [1, 2, 3]\n\n\ndef change(paid, stops):\n    return 200",
        &[SetupChanged],
    ),
    (
        "from fare import change, fare",
        "from fare import fare\nfrom stand_in import change",
        &[SetupChanged],
    ),
    (
        "def settle(stops):",
        "@pytest.fixture(autouse=True)\ndef calm(monkeypatch):\n    monkeypatch.setattr(fare, \"x\", 1)\n\n\ndef settle(stops):",
        &[SetupChanged],
    ),
    (
        "def test_errors():",
        "def test_errors(:",
        &[SetupChanged, CannotBeJudged],
    ),
    // Better, or the same.
    (
        "def test_errors():",
        "def test_more():\n    assert fare(3) == 350\n\n\ndef test_errors():",
        &[],
    ),
    (
        "    assert given > 0, \"positive\"\n",
        "    assert given > 0, \"positive\"\n    assert given < 500\n",
        &[],
    ),
    ("    assert given > 0, \"positive\"\n", "    assert given > 0\n", &[]),
    (
        "    assert given > 0, \"positive\"\n",
        "    assert given == 200, \"exact\"\n",
        &[],
    ),
    (
        "    assert given > 0, \"positive\"\n",
        "    assert given > 0, \"positive\"\n    other = change(600, 2)\n    assert other == 300\n",
        &[],
    ),
    ("[(1, 250), (2, 300)]", "[(1, 250), (2, 300), (3, 350)]", &[]),
    ("[(1, 250), (2, 300)]", "[\n    (1, 250),\n    (2, 300),\n]", &[]),
    ("RATES = [1, 2, 3]", "RATES = [1, 2, 3, 4]", &[]),
    (
        "from fare import change, fare",
        "from fare import change, fare, refund",
        &[],
    ),
    ("{\"paid\": 500}", "{'paid': 500}", &[]),
    ("    # what is left\n", "    # another remark\n", &[]),
    ("    \"\"\"Gives change.\"\"\"\n", "", &[]),
    ("abs=0.01", "abs=0.001", &[]),
    ("def test_errors():", "def test_errors_are_raised():", &[]),
    (
        "    assert given == 200\n",
        "    assert (\n        given == 200\n    )\n",
        &[],
    ),
    (
        "    assert given == 200\n",
        "    assert given == 200 and given < 300\n",
        &[],
    ),
    (
        "    given = change(card",
        "    print(\"x\")\n    given = change(card",
        &[],
    ),
    (
        "def settle(stops):",
        "def unused(x):\n    return x\n\n\ndef settle(stops):",
        &[],
    ),
];

const UNITTEST: &str = "\
import unittest

from fare import change


class Fares(unittest.TestCase):
    def setUp(self):
        self.paid = 500

    def test_change(self):
        self.assertEqual(change(self.paid, 2), 200)
        self.assertAlmostEqual(change(self.paid, 1), 250.0, places=3)
";

const UNITTEST_CASES: &[Case] = &[
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "self.assertTrue(change(self.paid, 2))",
        &[WeakerAssertion],
    ),
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "self.assertIsNotNone(change(self.paid, 2))",
        &[WeakerAssertion],
    ),
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "self.assertEqual(change(self.paid, 2), 800)",
        &[ExpectationChanged],
    ),
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "self.assertEqual(200, 200)",
        &[WeakerAssertion],
    ),
    ("places=3", "places=1", &[ToleranceWidened]),
    ("places=3", "places=5", &[]),
    ("self.paid = 500", "self.paid = 800", &[SetupChanged]),
    (
        "        self.assertEqual",
        "        self.skipTest(\"x\")\n        self.assertEqual",
        &[Skipped],
    ),
    ("(unittest.TestCase)", "", &[Removed, SetupChanged]),
    (
        "    def test_change(self):",
        "    def tearDown(self):\n        pass\n\n    def test_change(self):",
        &[SetupChanged],
    ),
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "self.assertEqual(change(self.paid, 2), 200, \"left\")",
        &[],
    ),
    (
        "self.assertEqual(change(self.paid, 2), 200)",
        "with self.subTest(\"left\"):\n            self.assertEqual(change(self.paid, 2), 200)",
        &[],
    ),
];

#[test]
fn pytest() {
    check("tests/test_fare.py", SOURCE, CASES);
}

#[test]
fn unittest() {
    check("test_fare.py", UNITTEST, UNITTEST_CASES);
}

#[test]
fn examples() {
    let source = "def add(a, b):\n    \"\"\"Adds.\n\n    >>> add(1, 1)\n    2\n    \"\"\"\n    return a - b\n";
    check(
        "src/add.py",
        source,
        &[
            ("a - b", "a + b", &[]),
            ("Adds.", "Adds two.", &[]),
            ("    2\n", "    0\n", &[ExpectationChanged]),
            ("    2\n", "    2\n    >>> add(2, 2)\n    4\n", &[]),
        ],
    );
}
