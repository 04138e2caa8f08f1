//! Compares the statements of two versions of a body.

use std::collections::HashSet;
use std::sync::LazyLock;

use greenlight_syntax::Parsed;
use regex::Regex;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::assertion::{self, fits};
use super::item_report::ItemReport;
use super::items::{Item, Role};
use super::statements::{Statement, StatementPart, grows};
use crate::domain::weakening::WeakeningKind;

/// If there are more pairs than this to compare, statements are paired in order.
const MAX_PAIRS: usize = 10_000;
/// How much of a statement is compared and quoted, in characters.
const MAX_COMPARED: usize = 300;
const MAX_QUOTED: usize = 100;

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x) ^(?:export\ )?(?:pub\ )?(?:static\ |final\ |private\ |public\ )*
        (?:let\ (?:mut\ )?|const\ |var\ |val\ )? (?:[A-Z][\w<>\[\],.]*\ |int\ |long\ |double\ |boolean\ )?
        (?P<names>\w+(?:,\s*\w+)*) (?::[^=]+)? (?::=|=(?:[^=>]|$))",
    )
    .ok()
});
static DEFINED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"^(?:export |pub |async |static |public |private |abstract )*(?:def|fn|func|function|class|struct|enum|type|interface|mod|trait) (?P<names>\w+)";
    Regex::new(text).ok()
});
static COLLECTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(pytestmark|collect_ignore\w*|__test__|pytest_plugins|load_tests|__unittest\w*|setup_file)\b").ok()
});

/// The differences between two versions.
struct Difference<'a, 't> {
    gone: Vec<&'a Statement<'t>>,
    /// The added statements, with their indices in the new version.
    came: Vec<(usize, &'a Statement<'t>)>,
    /// The indices of unchanged statements in the new version.
    kept: HashSet<usize>,
}

/// Reports how the new version of a body is weaker; `words` are those of the old file.
pub(super) fn compare(
    (old_file, old): (&Parsed<'_>, &Item<'_>),
    (new_file, new): (&Parsed<'_>, &Item<'_>),
    words: &HashSet<&str>,
    report: &mut ItemReport<'_>,
) {
    let Difference {
        gone,
        mut came,
        mut kept,
    } = difference(&old.body, &new.body);
    let mut unpaired = Vec::new();
    for statement in &gone {
        match partner(statement, &came, gone.len()) {
            Some(at) => {
                let (place, other) = came.remove(at);
                kept.insert(place);
                pair((old_file, statement), (new_file, other), report);
            }
            None => unpaired.push(*statement),
        }
    }
    for statement in unpaired {
        removed(statement, new_file, report);
    }
    let is_loose = old.role != Role::Test;
    let checks = old.body.iter().any(|statement| statement.asserts);
    let last_kept = (0..new.body.len())
        .rev()
        .find(|at| kept.contains(at) && (is_loose || new.body[*at].asserts));
    let own: HashSet<&str> = old.body.iter().flat_map(|statement| words_of(&statement.key)).collect();
    let known = if old.role == Role::Group { words } else { &own };
    for (at, statement) in came {
        let is_before = is_loose || !checks || last_kept.is_some_and(|last| at < last);
        added((at, statement), (&new.body, &kept), (is_before, known), report);
    }
}

fn difference<'a, 't>(old: &'a [Statement<'t>], new: &'a [Statement<'t>]) -> Difference<'a, 't> {
    let keys = |body: &'a [Statement<'t>]| body.iter().map(|statement| statement.key.as_str()).collect::<Vec<_>>();
    let mut difference = Difference {
        gone: Vec::new(),
        came: Vec::new(),
        kept: HashSet::new(),
    };
    for op in capture_diff_slices(Algorithm::Myers, &keys(old), &keys(new)) {
        if op.tag() == DiffTag::Equal {
            difference.kept.extend(op.new_range());
            continue;
        }
        difference.gone.extend(
            old[op.old_range()]
                .iter()
                .filter(|statement| statement.part != StatementPart::Close),
        );
        let came = op.new_range().filter(|at| new[*at].part != StatementPart::Close);
        difference.came.extend(came.map(|at| (at, &new[at])));
    }
    difference
}

/// The added statement that most likely replaces an old one.
fn partner(old: &Statement<'_>, came: &[(usize, &Statement<'_>)], gone: usize) -> Option<usize> {
    if let Some(at) = came.iter().position(|(_, new)| new.key == old.key) {
        return Some(at);
    }
    let fits_together = |new: &Statement<'_>| new.asserts == old.asserts && is_import(&new.key) == is_import(&old.key);
    if came.len().saturating_mul(gone) > MAX_PAIRS {
        return came.iter().position(|(_, new)| fits_together(new));
    }
    let cut = |text: &str| text.chars().take(MAX_COMPARED).collect::<String>();
    let key = cut(&old.key);
    let scored = came.iter().enumerate().filter(|(_, (_, new))| fits_together(new));
    let scored = scored.map(|(at, (_, new))| (strsim::normalized_levenshtein(&key, &cut(&new.key)), at));
    let enough = if old.asserts { 0.2 } else { 0.4 };
    let best = scored.filter(|(score, _)| *score > enough);
    best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        .map(|(_, at)| at)
}

/// Reports how a statement is weaker than the one it replaces.
fn pair(
    (old_file, old): (&Parsed<'_>, &Statement<'_>),
    (new_file, new): (&Parsed<'_>, &Statement<'_>),
    report: &mut ItemReport<'_>,
) {
    let line = new.line;
    if old.key == new.key {
        if !is_import(&old.key) {
            report.say(
                WeakeningKind::SetupChanged,
                line,
                format!("{} has moved", quoted(&new.key)),
            );
        }
        return;
    }
    if old.part == new.part && old.part == StatementPart::Whole && grows((old_file, old.node), (new_file, new.node)) {
        return;
    }
    if is_import(&old.key) {
        let (before, after) = (words_of(&old.key), words_of(&new.key));
        let strings = |key: &str| {
            key.split('"')
                .skip(1)
                .step_by(2)
                .map(str::to_string)
                .collect::<HashSet<_>>()
        };
        let is_there = strings(&old.key).is_subset(&strings(&new.key));
        if !is_there || !before.iter().all(|word| after.contains(word)) {
            report.say(
                WeakeningKind::SetupChanged,
                line,
                format!("{} is now {}", quoted(&old.key), quoted(&new.key)),
            );
        }
        return;
    }
    let kind = if old.asserts {
        assertion::compare(&old.key, &new.key)
    } else {
        match (
            assertion::known_for(&old.key, &new.key),
            assertion::widens(&old.key, &new.key),
        ) {
            (Some(kind), _) => Some(kind),
            (None, Some(false)) => None,
            (None, Some(true)) => Some(WeakeningKind::ToleranceWidened),
            (None, None) => Some(WeakeningKind::SetupChanged),
        }
    };
    if let Some(kind) = kind {
        report.say(kind, line, format!("{} is now {}", quoted(&old.key), quoted(&new.key)));
    }
}

fn removed(old: &Statement<'_>, new_file: &Parsed<'_>, report: &mut ItemReport<'_>) {
    let what = format!("{} is gone", quoted(&old.key));
    if old.key.starts_with("mod ") {
        report.say(
            WeakeningKind::Removed,
            old.line,
            format!("{what}, with the tests in it"),
        );
    } else if is_import(&old.key) {
        let left = words(new_file.text);
        let used = words_of(&old.key)
            .into_iter()
            .next_back()
            .is_some_and(|name| left.contains(name));
        if used {
            report.say(WeakeningKind::SetupChanged, old.line, what);
        }
    } else if old.asserts {
        report.say(WeakeningKind::FewerAssertions, old.line, what);
    } else {
        let skips = fits(&COLLECTS, &old.key) && assertion::is_skip_mark(&old.key);
        let is_known = assertion::known_for("", &old.key) == Some(WeakeningKind::Skipped);
        let handles = old.part == StatementPart::Open && assertion::is_handler(&old.key);
        if !(skips || is_known || handles) {
            report.say(WeakeningKind::SetupChanged, old.line, what);
        }
    }
}

/// Reports how an added statement weakens the test.
fn added(
    (at, new): (usize, &Statement<'_>),
    (body, kept): (&[Statement<'_>], &HashSet<usize>),
    (is_before, words): (bool, &HashSet<&str>),
    report: &mut ItemReport<'_>,
) {
    let key = new.key.as_str();
    let line = new.line;
    let quoted = quoted(key);
    if fits(&COLLECTS, key) {
        report.say(
            WeakeningKind::Skipped,
            line,
            format!("{quoted} decides which tests are collected"),
        );
        return;
    }
    if new.part == StatementPart::Open {
        let end = format!("end of {key}");
        let close = (at..body.len()).find(|at| body[*at].key == end).unwrap_or(body.len());
        let wraps = (at + 1..close).any(|inside| kept.contains(&inside) && body[inside].part != StatementPart::Close);
        if wraps {
            let kind = if assertion::is_handler(key)
                && (key.contains("except") || key.contains("catch") || !key.starts_with("try"))
            {
                WeakeningKind::ErrorSwallowed
            } else if key.starts_with("try") || key.contains("subTest") {
                return;
            } else {
                assertion::known_for("", key).unwrap_or(WeakeningKind::NotReached)
            };
            report.say(kind, line, format!("it moved into {quoted}"));
            return;
        }
    }
    if !is_before {
        return;
    }
    let in_function = || {
        (0..at).rev().any(|open| {
            let end = format!("end of {}", body[open].key);
            let is_function = ["def ", "=>", "function", "func(", "fn ", "||{}", "->"]
                .iter()
                .any(|word| body[open].key.contains(word));
            body[open].part == StatementPart::Open
                && is_function
                && !kept.contains(&open)
                && (at..body.len()).any(|at| body[at].key == end)
        })
    };
    // The body of a new function does not matter until it is called.
    if in_function() {
        return;
    }
    match assertion::known_for("", key) {
        Some(WeakeningKind::ErrorSwallowed) if new.part == StatementPart::Open => {}
        Some(
            kind @ (WeakeningKind::Skipped
            | WeakeningKind::NotReached
            | WeakeningKind::ErrorSwallowed
            | WeakeningKind::Mocked
            | WeakeningKind::Retried),
        ) if !new.asserts || kind == WeakeningKind::Skipped => {
            report.say(kind, line, format!("{quoted} is new"));
        }
        _ if new.asserts || new.part == StatementPart::Open && names(key).is_empty() => {}
        _ if key.contains("import*") || key.contains("import *") => {
            report.say(WeakeningKind::SetupChanged, line, format!("{quoted} is new"));
        }
        _ => {
            let names = names(key);
            let is_fresh = !names.is_empty() && names.iter().all(|name| !words.contains(name));
            if !is_fresh {
                let kind =
                    assertion::widens("", key).map_or(WeakeningKind::SetupChanged, |_| WeakeningKind::ToleranceWidened);
                report.say(kind, line, format!("{quoted} is new"));
            }
        }
    }
}

fn is_import(key: &str) -> bool {
    ["import", "from ", "use ", "mod ", "extern crate"]
        .iter()
        .any(|start| key.starts_with(start))
        || key.contains("=require(")
}

/// The names that a statement binds. Empty if it does anything else.
fn names(key: &str) -> Vec<&str> {
    if is_import(key) {
        let bound = key.rsplit_once("import").map_or(key, |(_, rest)| rest);
        let bound = if bound.trim_start().starts_with('"') {
            key
        } else {
            bound
        };
        let parts = bound
            .split([',', '{', '}', '(', ')'])
            .filter(|part| !part.trim().is_empty());
        let last = |part: &'_ str| -> Option<usize> { part.rfind(|c: char| !(c.is_alphanumeric() || c == '_')) };
        return parts
            .map(|part| last(part).map_or(part, |at| &part[at + 1..]))
            .filter(|name| !name.is_empty())
            .collect();
    }
    let found = [&NAMED, &DEFINED]
        .into_iter()
        .find_map(|pattern| pattern.as_ref()?.captures(key)?.name("names"));
    found
        .map(|names| names.as_str().split(',').map(str::trim).collect())
        .unwrap_or_default()
}

/// The names in a text, without those of attributes.
pub(super) fn words(text: &str) -> HashSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut at) = (HashSet::new(), 0);
    for word in text.split(|c: char| !is_word(c)) {
        if !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) && !text[..at].ends_with('.') {
            found.insert(word);
        }
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

fn words_of(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
        .collect()
}

/// A statement as reports show it: short, on one line.
pub(super) fn quoted(key: &str) -> String {
    let text: String = key
        .chars()
        .take(MAX_QUOTED)
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    let more = if text.len() < key.len() { "…" } else { "" };
    format!("`{}{more}`", text.replace('`', "'").replace("{}", "…"))
}
