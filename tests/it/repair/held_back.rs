//! Edits that pass all tests and are not proposed, because of what else they do.

use greenlight::repair::{Budget, End};

use super::patient::{BUDGET, Patient};

/// An edit that makes a condition constantly false passes all tests whose results do not depend on the condition.
///
/// What two cost is wrong, in a way that no small edit repairs. With another comparison no test has a second one, and
/// all of them pass.
const SHOP: &str = "\
from dataclasses import dataclass


@dataclass
class Item:
    price: float
    count: int


def cost(item):
    if item.count > 1:
        return lowered(item.price)
    return item.price


def lowered(price):
    known = dict(enumerate([1.5, 2.5, 3.5]))
    for cents in known.values():
        if str(cents) == str(price):
            return cents
    raise ValueError(price)
";

const TESTS: &str = "\
import unittest
from shop import Item, cost


class CostTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(cost(Item(2.25, 1)), 2.25)

    def test_two_of_whole_price(self):
        self.assertEqual(cost(Item(3.5, 2)), 3.5)

    def test_two(self):
        self.assertEqual(cost(Item(2.75, 2)), 2.75)
";

#[tokio::test]
async fn an_edit_after_which_no_test_enters_a_branch_is_not_proposed() {
    let patient = Patient::written(&[("shop.py", SHOP), ("test_shop.py", TESTS)]).await;
    assert_held_back(&patient, "no test enters the branch").await;
}

/// Fails unless nothing is proposed, and a finding has this risk.
async fn assert_held_back(patient: &Patient, risk: &str) {
    match patient.search(BUDGET).await {
        End::NotFound(tried) | End::BudgetSpent(tried) => {
            let said: Vec<(&String, &Vec<String>)> = tried
                .findings
                .iter()
                .map(|finding| (&finding.explanation, &finding.risks))
                .collect();
            assert!(format!("{said:?}").contains(risk), "{said:#?}");
        }
        End::Found(found) => panic!("{}", found.explanation),
        End::Cancelled => panic!("nobody cancelled it"),
    }
}

/// A number is seldom off by two, but nothing else among hundreds of edits makes these tests pass.
#[tokio::test]
async fn the_only_edit_of_all_that_passes_is_proposed_even_if_its_kind_is_seldom_the_fix() {
    let cipher = "def encrypt(text):\n    shifted = ''\n    for letter in text:\n        \
        code = ord(letter) - 97 + 4\n        shifted += chr(code % 24 + 97)\n    return shifted\n";
    let tests = "from cipher import encrypt\n\n\ndef test_short():\n    assert encrypt('hi') == 'lm'\n\n\n\
        def test_end():\n    assert encrypt('xyz') == 'bcd'\n\n\n\
        def test_long():\n    assert encrypt('asdfghjkl') == 'ewhjklnop'\n\n\n\
        def test_middle():\n    assert encrypt('tuvw') == 'xyza'\n";
    let patient = Patient::written(&[("cipher.py", cipher), ("test_cipher.py", tests)]).await;
    let budget = Budget {
        candidates: 5_000,
        ..BUDGET
    };
    match patient.search(budget).await {
        End::Found(found) => assert!(found.explanation.contains("26"), "{}", found.explanation),
        End::NotFound(tried) | End::BudgetSpent(tried) => panic!("{:#?}", tried.findings),
        End::Cancelled => panic!("nobody cancelled it"),
    }
}

/// With another literal, both returns are the same; with the opposite condition, all that the tests see is right, too.
#[tokio::test]
async fn a_function_that_would_always_answer_the_same_is_no_rival() {
    let code = "def is_short(words):\n    if max(len(word) for word in words) < 4:\n        return False\n    \
        return True\n";
    let tests = "from words import is_short\n\n\ndef test_short():\n    assert is_short(['a', 'bc'])\n\n\n\
        def test_three():\n    assert is_short(['abc'])\n\n\ndef test_none():\n    assert is_short([''])\n";
    let patient = Patient::written(&[("words.py", code), ("test_words.py", tests)]).await;
    match patient.search(BUDGET).await {
        End::Found(found) => assert!(!found.explanation.contains("became `True`"), "{}", found.explanation),
        End::NotFound(tried) | End::BudgetSpent(tried) => {
            let risks: Vec<&String> = tried.findings.iter().flat_map(|finding| &finding.risks).collect();
            assert!(format!("{risks:?}").contains("the same value everywhere"), "{risks:#?}");
        }
        End::Cancelled => panic!("nobody cancelled it"),
    }
}

/// No test sorts an empty list, which `== 1` instead of `== 0` splits for ever.
#[tokio::test]
async fn an_edit_that_recurses_for_ever_where_the_code_returned_is_not_proposed() {
    let sort = "def merge(left, right):\n    merged = []\n    while left and right:\n        \
        merged.append((left if left[0] <= right[0] else right).pop(0))\n    return merged + left + right\n\n\n\
        def mergesort(items):\n    if len(items) == 0:\n        return items\n    middle = len(items) // 2\n    \
        return merge(mergesort(items[:middle]), mergesort(items[middle:]))\n";
    let tests = "from merge import mergesort\n\n\ndef test_three():\n    assert mergesort([3, 1, 2]) == [1, 2, 3]\n\n\n\
        def test_two():\n    assert mergesort([2, 1]) == [1, 2]\n";
    let patient = Patient::written(&[("merge.py", sort), ("test_merge.py", tests)]).await;
    assert_held_back(&patient, "recurses until the stack is full").await;
}
