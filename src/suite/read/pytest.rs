//! Reads pytest: its JUnit report where there is one, else the text of its terminal reporter.

use std::sync::LazyLock;

use regex::Regex;

use super::junit::{self, Case, Verdict};
use super::{Printed, Reading, Trouble, location};
use crate::domain::test_run::Location;
use crate::suite::text::{clean, pattern};

static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^([^\s:<>]+\.pyx?):(\d+): "));
static FRAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"^E?\s*File "([^"<>]+)", line (\d+)"#));
static SUM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^=* ?(\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|warnings?|errors?)\b.*|no tests ran.*) in [\d.:]+",
    )
});
static COUNT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)\b"));
static SHORT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(FAILED|ERROR|PASSED) (\S+?\.py(?:::.*?)?)(?: - (.*))?$"));
static TITLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^_{3,} (?:ERROR at (?:setup|teardown) of |ERROR collecting )?(.+?) _{3,}$"));

/// Reads the report that pytest wrote, or else what it printed.
pub(super) fn read(printed: &Printed<'_>) -> Reading {
    let text = read_text(printed.text);
    let report = printed.reports.iter().find_map(|report| read_report(&report.bytes));
    let Some(mut reading) = report else { return text };
    reading.trouble = reading.trouble.or(text.trouble);
    if reading.failed == 0 && reading.diagnostics.is_empty() {
        reading.diagnostics = text.diagnostics;
    }
    reading
}

/// Reads a JUnit report that pytest wrote with `junit_family=xunit1`; none if it is not one.
fn read_report(report: &[u8]) -> Option<Reading> {
    let mut reading = Reading::default();
    for case in junit::cases(report)? {
        let name = node_id(&case);
        match case.verdict {
            Verdict::Passed => reading.pass(&name),
            Verdict::Skipped => reading.skip(),
            Verdict::Error if case.message == "collection failure" => {
                let (text, place) = explained(&case);
                reading.diagnose(&name, place, &text);
            }
            Verdict::Failed | Verdict::Error => {
                let (text, place) = explained(&case);
                reading.fail(&name, place, &text);
            }
        }
    }
    Some(reading)
}

/// `tests/test_a.py::TestB::test_c[param]`, as pytest takes it back.
///
/// The report has the file in which the function was written; a method that is inherited from another file belongs
/// to the module that its class name says.
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
            // Modules are lower case and classes are not, by PEP 8 and by what pytest collects as a default.
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

/// What went wrong, and where: the last place in the traceback that belongs to the project.
fn explained(case: &Case) -> (String, Option<Location>) {
    let text = clean(case.text.as_bytes());
    let message = clean(case.message.as_bytes());
    let place = last_place(&text).or_else(|| {
        let line = case.line.unwrap_or(0).checked_add(1)?;
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

/// The last place of a traceback that lies in the project.
fn last_place(text: &str) -> Option<Location> {
    let mut places = text.lines().filter_map(|line| {
        let place = PLACE
            .as_ref()?
            .captures(line)
            .or_else(|| FRAME.as_ref()?.captures(line))?;
        location(&place[1], &place[2])
    });
    places.rfind(|place| !is_foreign(&place.path))
}

/// Whether a path is one of Python's own or of an installed package.
pub(super) fn is_foreign(path: &str) -> bool {
    path.contains("site-packages/") || path.contains("/lib/python") || path.starts_with('<')
}

/// Reads the terminal text: sums, the short summary, and the sections of the failures.
fn read_text(text: &str) -> Reading {
    let says = |mark: &str| text.contains(mark);
    let mut reading = Reading::default();
    if says("ERROR: not found: ") || says("ERROR: file or directory not found: ") {
        reading.trouble = Some(Trouble::NotFound);
    } else if says("No module named pytest") {
        reading.trouble = Some(Trouble::Environment);
    }
    let sections = sections(text);
    let collecting = text.contains("ERROR collecting ") || text.contains(" during collection ");
    for line in text.lines() {
        let Some(short) = SHORT.as_ref().and_then(|short| short.captures(line)) else {
            continue;
        };
        let (name, message) = (&short[2], short.get(3).map_or("", |message| message.as_str()));
        let section = sections
            .iter()
            .find(|(title, _)| is_title_of(title, name))
            .map_or(message, |(_, section)| section.as_str());
        let section = if section.trim().is_empty() { message } else { section };
        match &short[1] {
            "PASSED" => reading.pass(name),
            "ERROR" if collecting && !name.contains("::") => reading.diagnose(name, last_place(section), section),
            _ => reading.fail(name, last_place(section), section),
        }
    }
    if let Some(conftest) = text.find("ImportError while loading conftest") {
        reading.diagnose("conftest.py", last_place(&text[conftest..]), &text[conftest..]);
    }
    if let Some((passed, failed, skipped)) = text.lines().rev().find_map(sums) {
        let collection = u32::try_from(reading.diagnostics.len()).unwrap_or(0);
        reading.settle(
            passed.max(reading.passed),
            failed.saturating_sub(collection).max(reading.failed),
            skipped,
        );
    }
    reading
}

/// `3 failed, 7 passed, 1 skipped, 1 xfailed, 1 error in 0.04s` as passed, failed, skipped.
fn sums(line: &str) -> Option<(u32, u32, u32)> {
    SUM.as_ref()?.captures(line)?;
    let mut sums = (0u32, 0u32, 0u32);
    for count in COUNT.as_ref()?.captures_iter(line) {
        let number: u32 = count[1].parse().ok()?;
        let sum = match &count[2] {
            "passed" | "xpassed" => &mut sums.0,
            "failed" | "error" | "errors" => &mut sums.1,
            _ => &mut sums.2,
        };
        *sum = sum.saturating_add(number);
    }
    Some(sums)
}

/// The parts below `____ title ____`.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(title) = TITLE.as_ref().and_then(|title| title.captures(line)) {
            open = sections.len() < 1_000;
            if open {
                sections.push((title[1].to_string(), String::new()));
            }
        } else if line.starts_with("====") {
            open = false;
        } else if let Some((_, section)) = sections.last_mut().filter(|_| open)
            && section.len() < 2 * super::MAX_MESSAGE
        {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections
}

/// Titles have the test without its file and with dots: `TestBasket.test_empty`.
fn is_title_of(title: &str, name: &str) -> bool {
    match name.split_once("::") {
        Some((_, test)) => test.replace("::", ".") == title,
        None => name == title,
    }
}
