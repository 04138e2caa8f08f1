//! Reads the JUnit report that pytest writes with `junit_family=xunit1`.

use std::collections::HashMap;

use greenlight_readers::junit::{self, Case, CaseVerdict};
use greenlight_readers::test_run::Location;
use greenlight_readers::{Anomaly, ParsedRun, Report, assertion};

use super::last_place;
use crate::text::clean;

/// Reads the reports, as far as they can be read.
pub(super) fn read(reports: &[Report]) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let cases = junit::read_all(reports, &mut parsed);
    let ids: Vec<String> = cases.iter().map(node_id).collect();
    // A test that was retried has one case for each attempt, and a test that fails during teardown has two.
    let mut worst: HashMap<&str, bool> = HashMap::new();
    for (case, id) in cases.iter().zip(&ids) {
        *worst.entry(id).or_default() |= matches!(case.verdict, CaseVerdict::Failed | CaseVerdict::Error);
    }
    for (case, id) in cases.iter().zip(&ids) {
        let is_red = matches!(case.verdict, CaseVerdict::Failed | CaseVerdict::Error);
        if !is_red && worst.insert(id, true) == Some(true) {
            continue;
        }
        match case.verdict {
            CaseVerdict::Passed => parsed.pass(id),
            CaseVerdict::Skipped if case.kind == "pytest.xfail" => parsed.fail_as_expected(),
            CaseVerdict::Skipped => parsed.skip_named(id),
            CaseVerdict::Error if case.message == "collection failure" => {
                let (text, place) = explained(case);
                parsed.diagnose(id, place, &text);
            }
            CaseVerdict::Failed | CaseVerdict::Error => {
                let (text, place) = explained(case);
                parsed.fail(id, place, &text);
                // pytest-xdist reports a crashed worker and continues with a new process.
                if case.message.contains("worker '") && case.message.contains("' crashed while running '") {
                    parsed.anomaly = Some(Anomaly::Crash);
                }
                if let Some((expected, actual)) = assertion::compared(&clean(case.message.as_bytes())) {
                    parsed.compare(&expected, &actual);
                }
            }
        }
    }
    parsed
}

/// `tests/test_a.py::TestB::test_c[param]`, in the form that pytest accepts.
///
/// The report has the file that defines the function. A method inherited from another file belongs to the module in
/// its class name.
fn node_id(case: &Case) -> String {
    let module = case.file.trim_end_matches(".py").replace('/', ".");
    if case.class.is_empty() {
        return if case.name == module {
            case.file.clone()
        } else {
            case.name.clone()
        };
    }
    let (file, classes) = match case.class.strip_prefix(&module) {
        Some("") => (case.file.clone(), ""),
        Some(rest) if rest.starts_with('.') && !module.is_empty() => (case.file.clone(), &rest[1..]),
        _ => {
            // Modules are lower case and classes are not, by PEP 8 and by pytest's default collection rules.
            let class = case
                .class
                .split('.')
                .position(|part| part.starts_with(char::is_uppercase));
            let cut = class.map_or(case.class.len(), |index| {
                case.class
                    .split('.')
                    .take(index)
                    .map(|part| part.len() + 1)
                    .sum::<usize>()
            });
            let file = case.class[..cut].trim_end_matches('.').replace('.', "/") + ".py";
            (file, &case.class[cut..])
        }
    };
    let classes = classes.split('.').filter(|class| !class.is_empty());
    let parts: Vec<&str> = std::iter::once(file.as_str())
        .chain(classes)
        .chain([case.name.as_str()])
        .collect();
    parts.join("::")
}

/// What went wrong, and where: the last location in the traceback that belongs to the project.
fn explained(case: &Case) -> (String, Option<Location>) {
    let text = clean(case.text.as_bytes());
    let message = clean(case.message.as_bytes());
    let place = last_place(&text).or_else(|| {
        let line = case.line?.checked_add(1)?;
        (!case.file.is_empty()).then(|| Location {
            path: case.file.clone(),
            line,
        })
    });
    let headline = message.trim();
    if headline.is_empty() || headline == "collection failure" || text.starts_with(headline) {
        (text, place)
    } else {
        (format!("{headline}\n\n{text}"), place)
    }
}
