//! An edit that makes a condition constantly false passes all tests whose results do not depend on the condition.

use greenlight::repair::End;

use super::patient::{BUDGET, Patient};

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
    match patient.search(BUDGET).await {
        End::NotFound(tried) | End::BudgetSpent(tried) => {
            let said: Vec<(&String, &Vec<String>)> = tried
                .findings
                .iter()
                .map(|finding| (&finding.explanation, &finding.risks))
                .collect();
            assert!(format!("{said:?}").contains("no test enters the branch"), "{said:#?}");
        }
        End::Found(found) => panic!("{}", found.explanation),
        End::Cancelled => panic!("nobody cancelled it"),
    }
}
