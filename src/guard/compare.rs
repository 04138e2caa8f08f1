//! Compares the tests of a file before and after a patch. Tests may be added and made stricter. Any other change
//! makes an existing test a different test, and is reported.

use std::collections::HashSet;

use greenlight_syntax::{Language, Parsed};

use super::item_report::ItemReport;
use super::items::{Item, Mark, Role};
use super::pairs::pairs;
use super::statements::grows;
use super::{assertion, body};
use crate::domain::id::RepoPath;
use crate::domain::weakening::{Weakening, WeakeningKind};

/// One side of a file.
pub(super) struct Side<'t> {
    pub(super) file: &'t Parsed<'t>,
    pub(super) items: Vec<Item<'t>>,
}

/// A test in another file of the same patch, which a test of this file may have moved to.
pub(super) type Elsewhere<'t> = (&'t Parsed<'t>, &'t Item<'t>);

/// Compares both sides of a file. `None` is a missing file.
pub(super) fn compare<'t>(
    path: &RepoPath,
    old: Option<&'t Side<'t>>,
    new: Option<&'t Side<'t>>,
    elsewhere: &[Elsewhere<'t>],
    found: &mut Vec<Weakening>,
) {
    let nothing: Vec<Item<'t>> = Vec::new();
    let new_items = new.map_or(&nothing, |side| &side.items);
    let old_items = old.map_or(&nothing, |side| &side.items);
    let words: HashSet<&str> = old.map(|side| body::words(side.file.text)).unwrap_or_default();
    let partners = pairs(old_items, new_items);
    for (at, item) in old_items.iter().enumerate() {
        let Some(old) = old else { continue };
        let mut report = ItemReport {
            path,
            test: item.full_name(),
            found,
        };
        let same = partners[at].and_then(|partner| new_items.get(partner));
        // In Python the last definition of a name hides the others.
        let mut later = old_items[at + 1..].iter();
        if same.is_none() && old.file.language == Language::Python && later.any(|other| is_same(item, other)) {
            continue;
        }
        let counterpart = same.zip(new).map(|(other, side)| (side.file, other));
        let counterpart = counterpart.or_else(|| {
            let renamed = new?.items.iter().find(|other| is_renamed(item, other, old_items))?;
            Some((new?.file, renamed))
        });
        let moved = || {
            let is_here = |file: &Parsed<'_>| new.is_some_and(|side| std::ptr::eq(side.file, file));
            let is_it = |other: &Item<'_>| {
                other.name == item.name && !other.place.iter().any(|part| assertion::is_condition(part))
            };
            elsewhere
                .iter()
                .find(|(file, other)| !is_here(file) && is_it(other))
                .copied()
        };
        let counterpart = counterpart.or_else(|| (item.role == Role::Test).then(moved).flatten());
        match (counterpart, item.role) {
            (Some((file, other)), _) => items((old.file, item), (file, other), &words, &mut report),
            (None, Role::Test) => report.say(
                WeakeningKind::Removed,
                item.line,
                "the test is removed or no longer collected",
            ),
            (None, Role::Support) if !item.full_name().is_empty() => {
                report.say(
                    WeakeningKind::SetupChanged,
                    item.line,
                    "something that tests may rely on is removed",
                );
            }
            (None, _) => {}
        }
    }
    let paired: HashSet<usize> = partners.into_iter().flatten().collect();
    added(path, (old_items, &words), (new, &paired), found);
}

fn is_same(one: &Item<'_>, other: &Item<'_>) -> bool {
    one.role == other.role && one.name == other.name && one.place == other.place
}

/// Whether this is the same test under a different name, or in a different group of the same file, where it is still
/// collected.
fn is_renamed(old: &Item<'_>, new: &Item<'_>, old_items: &[Item<'_>]) -> bool {
    let is_new = !old_items.iter().any(|other| is_same(other, new));
    let keys = |item: &Item<'_>| {
        item.body
            .iter()
            .map(|statement| statement.key.clone())
            .collect::<Vec<_>>()
    };
    let conditions = |item: &Item<'_>| item.place.iter().filter(|part| assertion::is_condition(part)).count();
    old.role == Role::Test
        && new.role == Role::Test
        && is_new
        && conditions(new) <= conditions(old)
        && (new.name == old.name || (!old.body.is_empty() && keys(old) == keys(new)))
}

/// Compares two versions of one item.
fn items(
    (old_file, old): (&Parsed<'_>, &Item<'_>),
    (new_file, new): (&Parsed<'_>, &Item<'_>),
    words: &HashSet<&str>,
    report: &mut ItemReport<'_>,
) {
    marks((old_file, old), (new_file, new), report);
    if old.head != new.head {
        let parts = |head: &str| head.split([',', '(', ')']).map(str::to_string).collect::<Vec<_>>();
        let (before, after) = (parts(&old.head), parts(&new.head));
        let has_more = old.role == Role::Test && before.iter().all(|part| after.contains(part));
        match old.role {
            Role::Group => report.say(
                WeakeningKind::SetupChanged,
                new.line,
                "the test class has a different base class",
            ),
            _ if has_more => {}
            _ => report.say(WeakeningKind::SetupChanged, new.line, "it takes different parameters"),
        }
    }
    let is_empty = |item: &Item<'_>| item.body.is_empty();
    if old.role == Role::Test && !is_empty(old) && is_empty(new) {
        report.say(WeakeningKind::Removed, new.line, "the test is emptied");
        return;
    }
    body::compare((old_file, old), (new_file, new), words, report);
}

fn marks(
    (old_file, old): (&Parsed<'_>, &Item<'_>),
    (new_file, new): (&Parsed<'_>, &Item<'_>),
    report: &mut ItemReport<'_>,
) {
    let missing = |from: &[Mark<'_>], of: &[Mark<'_>]| -> Vec<usize> {
        let mut left: Vec<&str> = of.iter().map(|mark| mark.text.as_str()).collect();
        let is_missing = |mark: &Mark<'_>| match left.iter().position(|other| *other == mark.text) {
            Some(at) => {
                left.swap_remove(at);
                false
            }
            None => true,
        };
        let flags: Vec<bool> = from.iter().map(is_missing).collect();
        flags
            .iter()
            .enumerate()
            .filter(|(_, missing)| **missing)
            .map(|(at, _)| at)
            .collect()
    };
    let mut gone = missing(&old.marks, &new.marks);
    for at in missing(&new.marks, &old.marks) {
        let mark = &new.marks[at];
        let line = Parsed::line(mark.node);
        let name = |text: &str| text.split(['(', '[', ' ', '=']).next().unwrap_or_default().to_string();
        let partner = gone
            .iter()
            .position(|other| name(&old.marks[*other].text) == name(&mark.text));
        let before = partner.map(|at| &old.marks[gone.swap_remove(at)]);
        let quoted = body::quoted(&mark.text);
        let text = before.map_or("", |before| before.text.as_str());
        if before.is_some_and(|before| grows((old_file, before.node), (new_file, mark.node))) {
            continue;
        }
        if assertion::is_skip_mark(&mark.text) {
            report.say(WeakeningKind::Skipped, line, format!("it is marked {quoted}"));
        } else if let Some(kind) = assertion::known_for(text, &mark.text) {
            report.say(kind, line, format!("it is marked {quoted}"));
        } else if let Some(widened) = assertion::widens(text, &mark.text) {
            if widened && !mark.text.starts_with("@Timeout") {
                report.say(
                    WeakeningKind::ToleranceWidened,
                    line,
                    format!("it is more tolerant: {quoted}"),
                );
            }
        } else if !is_neutral(&mark.text) {
            report.say(WeakeningKind::SetupChanged, line, format!("it is marked {quoted}"));
        }
    }
    for at in gone {
        let mark = &old.marks[at];
        let quoted = body::quoted(&mark.text);
        if mark.text.contains("should_panic") {
            report.say(
                WeakeningKind::ExpectationChanged,
                new.line,
                format!("{quoted} is removed"),
            );
        } else if !assertion::is_skip_mark(&mark.text) && !is_neutral(&mark.text) {
            report.say(WeakeningKind::SetupChanged, new.line, format!("{quoted} is removed"));
        }
    }
}

/// Marks that only matter to readers and linters.
fn is_neutral(mark: &str) -> bool {
    const NEUTRAL: [&str; 12] = [
        "allow(",
        "expect(",
        "doc",
        "inline",
        "derive(",
        "@Override",
        "@SuppressWarnings",
        "@DisplayName",
        "@Nested",
        "concurrent",
        "#[test]",
        "@staticmethod",
    ];
    NEUTRAL.iter().any(|neutral| {
        mark.trim_start_matches("#[")
            .trim_start_matches("#![")
            .starts_with(neutral)
    })
}

/// Reports additions that change how existing tests run.
fn added<'t>(
    path: &RepoPath,
    (old_items, words): (&[Item<'_>], &HashSet<&str>),
    (new, paired): (Option<&'t Side<'t>>, &HashSet<usize>),
    found: &mut Vec<Weakening>,
) {
    let Some(new) = new else { return };
    let language = new.file.language;
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let reaches_others = name == "conftest.py" || language == Language::Go || !old_items.is_empty();
    let was_there = |item: &Item<'_>| {
        old_items
            .iter()
            .any(|other| other.name == item.name && other.place == item.place)
    };
    for (at, item) in new.items.iter().enumerate() {
        if paired.contains(&at) {
            continue;
        }
        let mut report = ItemReport {
            path,
            test: item.full_name(),
            found,
        };
        if item.marks.iter().any(|mark| mark.text == "only") {
            report.say(
                WeakeningKind::Skipped,
                item.line,
                "only it runs, and no other test of the file",
            );
        }
        // Items in a new class or block only affect other new items in it.
        let group = old_items.iter().any(|other| {
            let mut place = other.place.clone();
            place.extend((!other.name.is_empty()).then(|| other.name.clone()));
            other.role == Role::Group && place == item.place
        });
        let is_conftest = name == "conftest.py" && item.role == Role::Support;
        if item.role == Role::Support && reaches_others && (group || old_items.is_empty()) {
            if item.is_hook() || is_conftest {
                report.say(
                    WeakeningKind::SetupChanged,
                    item.line,
                    "it runs around existing tests, or replaces something in them",
                );
            } else if words.contains(item.name.as_str()) && !was_there(item) {
                report.say(
                    WeakeningKind::SetupChanged,
                    item.line,
                    "it replaces something that tests use by this name",
                );
            }
        }
        if item.role == Role::Group && group && words.contains(item.name.as_str()) && language == Language::Python {
            report.say(
                WeakeningKind::SetupChanged,
                item.line,
                "it replaces something that tests use by this name",
            );
        }
        if item.role == Role::Group && name == "conftest.py" && !item.body.is_empty() {
            report.say(WeakeningKind::SetupChanged, item.line, "it runs before every test");
        }
    }
    if language == Language::Python {
        twice(path, old_items, &new.items, found);
    }
}

/// In Python the second definition of a name hides the first.
fn twice(path: &RepoPath, old_items: &[Item<'_>], new_items: &[Item<'_>], found: &mut Vec<Weakening>) {
    let count = |items: &[Item<'_>], of: &Item<'_>| items.iter().filter(|item| is_same(item, of)).count();
    for item in new_items.iter().filter(|item| item.role != Role::Group) {
        if count(new_items, item) > count(old_items, item).max(1) {
            let mut report = ItemReport {
                path,
                test: item.full_name(),
                found,
            };
            report.say(
                WeakeningKind::Removed,
                item.line,
                "it is defined twice, so that only one of them runs",
            );
        }
    }
}
