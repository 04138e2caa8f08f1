//! Why an edit that passes the tests is uncertain, as far as its own text shows.

use greenlight_readers::test_run::Failure;
use greenlight_tree::checkout::Checkout;

use super::candidates::Candidate;
use super::exit_code::changes_exit_code;
use super::nonsense::{nonsense, removes_an_undefined_name};
use super::same_answer::answers_the_same;
use super::same_argument::passes_a_variable_twice;
use super::unbound::unbinds_a_name;
use crate::template::{EditKind, Template};

/// Edits with a lower weight are seldom the fix.
const MIN_WEIGHT: f32 = 0.3;
/// The risk of an edit with a low weight.
pub(super) const SELDOM: &str = "edits of its kind are seldom the fix";

/// Why an edit of a file of the checkout is uncertain. `failures` are those before it.
pub(super) fn risks_of_edit(
    candidate: &Candidate,
    original: &str,
    (failures, checkout): (&[Failure], &Checkout),
) -> Vec<&'static str> {
    let mut risks = Vec::new();
    let kind = candidate.template.kind();
    let is_needless = kind == EditKind::Removal && removes_an_undefined_name(candidate, original, (failures, checkout));
    match kind {
        EditKind::Removal if !is_needless => risks.push("it only removes code"),
        EditKind::Insertion => risks.push("it only works around the failing code"),
        _ => {}
    }
    if candidate.template == Template::TakeBack {
        risks.push("it takes back what the pull request is for");
    }
    if unbinds_a_name(candidate.path.as_str(), original, &candidate.text) {
        risks.push("it removes an import whose name the code still uses");
    }
    if answers_the_same(candidate, original) {
        risks.push("with it, the function returns the same value everywhere");
    }
    if changes_exit_code(candidate, original) {
        risks.push("it only changes the exit code of the program");
    }
    if passes_a_variable_twice(candidate, original) {
        risks.push("with it, a call gets the same variable twice");
    }
    risks.extend(nonsense(candidate, original, failures));
    if candidate.weight < MIN_WEIGHT && !is_needless {
        risks.push(SELDOM);
    }
    risks
}
