//! Several faults in one change.

use greenlight::repair::{Budget, End};

use super::patient::{BUDGET, Patient};

/// Enough to look at each test after one edit was not enough.
const ROOMY: Budget = Budget {
    candidates: 1_000,
    ..BUDGET
};

const SHOP: &str = "\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result


def discount(price, percent):
    return price * (100 + percent) / 100


def shipping(weight):
    if weight < 10:
        return 5
    return 9
";

const TESTS: &str = "\
import unittest
from shop import total, discount, shipping


class ShopTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
        self.assertEqual(total([]), 0)

    def test_discount(self):
        self.assertEqual(discount(200, 10), 180)

    def test_shipping(self):
        self.assertEqual(shipping(10), 5)
        self.assertEqual(shipping(11), 9)
";

#[tokio::test]
async fn each_of_three_faults_is_found_by_the_test_that_it_fails() {
    let mut patient = Patient::written(&[("shop.py", SHOP), ("test_shop.py", TESTS)]).await;
    let End::Found(found) = patient.search(ROOMY).await else {
        panic!("not repaired");
    };
    for part in [
        "`result -= price` became `result += price`",
        "`100 + percent` became `100 - percent`",
        "`weight < 10` became `weight <= 10`",
    ] {
        assert!(found.explanation.contains(part), "{}", found.explanation);
    }
    assert_eq!(found.patch.changed_lines(), 6);
    assert!(found.after.is_green());
    // What a person rejected is not offered again.
    patient.excluded.push(found.patch.digest());
    let again = patient.search(ROOMY).await;
    assert!(
        !matches!(&again, End::Found(other) if other.patch == found.patch),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_part_of_what_is_needed_is_a_finding() {
    let shop = SHOP.replace(
        "        return 5\n    return 9",
        "        return 5\n    return weight.cost",
    );
    let patient = Patient::written(&[("shop.py", &shop), ("test_shop.py", TESTS)]).await;
    let (End::NotFound(tried) | End::BudgetSpent(tried)) = patient.search(ROOMY).await else {
        panic!("no small edit repairs what heavy parcels cost");
    };
    let [finding] = tried.findings.as_slice() else {
        panic!("{tried:#?}");
    };
    assert_eq!(finding.still_failing, 1);
    assert_eq!(finding.patch.changed_lines(), 4, "{finding:#?}");
    assert!(finding.explanation.contains(" and "), "{}", finding.explanation);
}
