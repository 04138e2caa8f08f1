//! Recognises which framework printed a text, or which frameworks one after another.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use greenlight_readers::{Anomaly, ParsedRun, Printed};

use crate::framework::Framework;

/// The marks of all frameworks, so that one pass over megabytes of output finds those in it. With `None`, which takes
/// billions of marks, nothing is recognised.
static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(marks().map(|(mark, _)| mark)).ok());

/// Every mark, with the place of its framework among all.
fn marks() -> impl Iterator<Item = (&'static str, usize)> {
    let marks_of = |(nth, framework): (usize, &Framework)| framework.spec().marks.iter().map(move |mark| (*mark, nth));
    Framework::ALL.iter().enumerate().flat_map(marks_of)
}

/// The frameworks with a mark in a text, in the order of all.
fn marked(text: &str) -> impl Iterator<Item = Framework> {
    let of_mark: Vec<usize> = marks().map(|(_, nth)| nth).collect();
    let mut is_marked = vec![false; Framework::ALL.len()];
    for found in MARKS.iter().flat_map(|marks| marks.find_overlapping_iter(text)) {
        if let Some(nth) = of_mark.get(found.pattern().as_usize()) {
            is_marked[*nth] = true;
        }
    }
    let all = Framework::ALL.iter().zip(is_marked);
    all.filter_map(|(framework, is_marked)| is_marked.then_some(*framework))
}

/// Recognises the frameworks of a text by marks that only they print, and parses it as each of them. Their results
/// are added up. The first framework that shows a failure is returned, else the first that ran anything.
///
/// Results that CTest, Node and the like passed on are not counted again. Diagnostics are only considered if no test
/// failed.
pub(crate) fn recognise(text: &str) -> Option<(Framework, ParsedRun)> {
    let text = format!("\n{text}");
    let mut found: Vec<(Framework, ParsedRun)> = Vec::new();
    for framework in marked(&text) {
        let spec = framework.spec();
        if !(spec.may_be)(&text) || is_told(framework, &found) {
            continue;
        }
        let printed = Printed {
            text: &text,
            reports: &[],
        };
        let parsed = (spec.parse)(&printed);
        let says = parsed.ran() || parsed.shows_a_failure() || parsed.anomaly.is_some();
        // Biome and others end with the same summary as Ruff and mypy.
        let is_but_a_sum = parsed.diagnostics.is_empty() && parsed.anomaly.is_none();
        // A test framework without results ran nothing, which is a result too. A linter without findings reports
        // nothing.
        if !framework.is_linter() || (says && !is_but_a_sum) {
            found.push((framework, parsed));
        }
    }
    let first = found
        .iter()
        .position(|(_, parsed)| parsed.shows_a_failure())
        .or_else(|| found.iter().position(|(_, parsed)| parsed.ran()))
        .unwrap_or_default();
    let framework = found.get(first)?.0;
    let mut all = ParsedRun::default();
    // The failing framework comes first, and so do its failures if the list must be cut.
    let parsed = found.remove(first).1;
    all.add(parsed);
    found.into_iter().for_each(|(_, parsed)| all.add(parsed));
    Some((framework, all))
}

/// Whether another framework has already reported what this one would.
fn is_told(framework: Framework, found: &[(Framework, ParsedRun)]) -> bool {
    let spec = framework.spec();
    let is_there = |others: &[Framework]| {
        let mut found = found.iter();
        found.any(|(framework, parsed)| others.contains(framework) && (parsed.ran() || parsed.shows_a_failure()))
    };
    // If tests or their tools are missing, that explains the errors.
    let is_explained = |parsed: &ParsedRun| matches!(parsed.anomaly, Some(Anomaly::NotFound | Anomaly::Environment));
    let is_red = found
        .iter()
        .any(|(_, parsed)| parsed.failed > 0 || !parsed.diagnostics.is_empty() || is_explained(parsed));
    let runs_all = found
        .iter()
        .any(|(framework, parsed)| framework.spec().runs_others && parsed.ran());
    runs_all || is_there(spec.repeats) || framework.is_linter() && is_red
}
