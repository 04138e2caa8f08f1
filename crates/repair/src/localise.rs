//! Ranks code by how likely it contains the fault: what the failing tests mention and the passing ones do not, what
//! failures point at, and what the pull request changed. Nothing is executed.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

use super::evidence::Evidence;
use super::generated::is_generated;
use super::language;
use super::outline::{Definition, Outline};
use super::reach::Reach;
use super::suspect::{Suspect, sort};
use super::syntax::Source;

/// Limits on the files read from a large tree; files that the evidence names come first.
const MAX_FILES: usize = 3_000;
const MAX_TOTAL_BYTES: usize = 16 << 20;
/// How suspicious each kind of evidence makes code on its own.
const MENTIONED: f32 = 0.6;
const POINTED_AT: f32 = 0.7;
const CHANGED: f32 = 0.75;
/// The suspicion of code that is next to suspicious code in the same file.
const NEIGHBOUR: f32 = 0.03;
/// Limits on the functions that failures report as called with wrong arguments: how many of them are looked up, and
/// how many may share a name.
const MAX_CALLED: usize = 20;
const MAX_SAME: usize = 3;

/// Reads the tree and ranks its code. `None` when cancelled.
pub(super) fn suspects(
    checkout: &Checkout,
    editable: &BTreeSet<RepoPath>,
    evidence: &Evidence,
    cancel: &CancellationToken,
) -> Option<Vec<Suspect>> {
    let outlines = outlines(checkout, evidence, cancel)?;
    let reach = Reach::new(&outlines, evidence, cancel)?;
    let called: Vec<Vec<bool>> = called(&outlines, evidence);
    let scores = outlines
        .iter()
        .zip(reach.by_file(&outlines))
        .zip(&called)
        .map(|((outline, reached), called)| scores(outline, (&reached, called), evidence))
        .collect::<Vec<Vec<f32>>>();
    let is_open =
        |outline: &Outline, definition: &Definition| !definition.is_test_code && editable.contains(&outline.path);
    // Tests reach themselves, which says nothing about the code under test.
    let nothing_is_known = outlines.iter().zip(&scores).all(|(outline, scores)| {
        let mut definitions = outline.definitions.iter().zip(scores);
        definitions.all(|(definition, score)| *score <= 0.0 || !is_open(outline, definition))
    });
    let suspects = outlines.into_iter().zip(scores).zip(called);
    let suspects = suspects.map(|((outline, mut scores), called)| {
        let most = scores.iter().copied().fold(0.0, f32::max);
        if nothing_is_known || most > 0.0 {
            scores.iter_mut().for_each(|score| *score = score.max(NEIGHBOUR));
        }
        let definitions = outline.definitions.iter().zip(scores);
        let definitions = definitions
            .map(|(definition, score)| is_open(&outline, definition).then_some(score))
            .collect();
        let lines = evidence.changed.get(&outline.path).into_iter().flatten();
        let last = outline.definitions.iter().map(|d| *d.lines.end()).max().unwrap_or(0);
        Suspect {
            called,
            changed: lines
                .flat_map(|range| *range.start()..=(*range.end()).min(last))
                .collect(),
            frames: evidence.frames.get(&outline.path).cloned().unwrap_or_default(),
            definitions,
            executed: None,
            outline,
        }
    });
    let mut suspects: Vec<Suspect> = suspects.collect();
    sort(&mut suspects);
    Some(suspects)
}

fn outlines(checkout: &Checkout, evidence: &Evidence, cancel: &CancellationToken) -> Option<Vec<Outline>> {
    let first = evidence.files();
    let known = |path: &&RepoPath| language::of(path.as_str()).is_some();
    let mut paths: Vec<&RepoPath> = checkout.paths().into_iter().filter(known).collect();
    paths.sort_by_key(|path| !first.contains(*path));
    let (mut outlines, mut generated) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for path in paths.into_iter().take(MAX_FILES) {
        if cancel.is_cancelled() {
            return None;
        }
        let Some(text) = checkout.read_text(path.as_str()) else {
            continue;
        };
        bytes += text.len();
        if bytes > MAX_TOTAL_BYTES {
            tracing::info!(files = outlines.len(), "the tree is too large to be read whole");
            break;
        }
        let is_generated = evidence.generated.have(path) || is_generated(path.as_str(), &text);
        if let Some(source) = Source::parse(path.as_str(), text) {
            let outline = Outline::of(path, &source);
            if is_generated { &mut generated } else { &mut outlines }.push(outline);
        }
    }
    // Where there is nothing else, somebody has to have written it.
    if !outlines.iter().any(has_code) {
        outlines.extend(generated);
    }
    mark_test_modules(&mut outlines);
    outlines.sort_by(|a, b| a.path.cmp(&b.path));
    Some(outlines)
}

fn has_code(outline: &Outline) -> bool {
    outline
        .definitions
        .iter()
        .any(|definition| !definition.is_test_code && !definition.is_module)
}

/// In Rust, another file declares that a file is a test module.
fn mark_test_modules(outlines: &mut [Outline]) {
    let modules: Vec<String> = outlines
        .iter()
        .flat_map(|outline| outline.test_modules.clone())
        .collect();
    for outline in outlines {
        let path = outline.path.as_str();
        let is_inside =
            |module: &String| path == module || (module.ends_with('/') && path.starts_with(module.as_str()));
        if modules.iter().any(is_inside) {
            outline.definitions.iter_mut().for_each(|d| d.is_test_code = true);
        }
    }
}

/// Whether a definition contains one of these lines.
fn touches(outline: &Outline, definition: &Definition, lines: &RangeInclusive<u32>) -> bool {
    let from = *lines.start().max(definition.lines.start());
    let to = *lines.end().min(definition.lines.end());
    from <= to && (!definition.is_module || (from..=to).any(|line| outline.has_line(definition, line)))
}

/// For each definition, whether a failure says that it was called with wrong arguments. A common name says nothing.
fn called(outlines: &[Outline], evidence: &Evidence) -> Vec<Vec<bool>> {
    let is_meant = |definition: &Definition, (owner, name): &(Option<String>, String)| {
        let is_own = !definition.is_module && !definition.is_test_code && definition.name == *name;
        is_own && (owner.is_none() || definition.owner.is_none() || definition.owner == *owner)
    };
    let all = || outlines.iter().flat_map(|outline| &outline.definitions);
    let telling = |named: &&(Option<String>, String)| all().filter(|one| is_meant(one, named)).count() <= MAX_SAME;
    let named: Vec<_> = evidence.called.iter().take(MAX_CALLED).filter(telling).collect();
    let is_called = |definition: &Definition| named.iter().any(|named| is_meant(definition, named));
    let of = |outline: &Outline| outline.definitions.iter().map(is_called).collect();
    outlines.iter().map(of).collect()
}

/// Combines the kinds of evidence as if they were independent.
fn scores(outline: &Outline, (reached, called): (&[f32], &[bool]), evidence: &Evidence) -> Vec<f32> {
    let changed = evidence.changed.get(&outline.path);
    let frames = evidence.frames.get(&outline.path);
    let definitions = outline.definitions.iter().zip(reached).zip(called);
    definitions
        .map(|((definition, reached), called)| {
            let is_changed = changed
                .into_iter()
                .flatten()
                .any(|range| touches(outline, definition, range));
            let named = if *called { 1.0 } else { 0.0 };
            let pointed = frames.into_iter().flatten();
            let pointed = pointed
                .filter(|(line, _)| outline.has_line(definition, **line))
                .fold(named, |most: f32, (_, weight)| most.max(*weight));
            let innocent = (1.0 - MENTIONED * reached)
                * (1.0 - POINTED_AT * pointed)
                * (1.0 - if is_changed { CHANGED } else { 0.0 });
            1.0 - innocent
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use greenlight_readers::test_run::{Failure, Location, Outcome, TestRun};

    use super::*;

    const CODE: &str = "\
def add(a, b):
    return helper(a, b)


def helper(a, b):
    return a - b


def count(a):
    return len(a)


def unused(a):
    return a
";
    const TESTS: &str = "\
from pkg.code import add, count


def test_add():
    assert add(1, 1) == 2


def test_count():
    assert count([]) == 0
";

    /// The names of the suspects, the worst first, without those that are merely next to a suspect.
    fn ranked(before: &TestRun, changed: &[(&str, std::ops::RangeInclusive<u32>)]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("pkg/code.py", CODE),
            ("tests/test_code.py", TESTS),
            ("pkg/other.py", CODE),
        ] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(directory.path()).unwrap();
        let paths: BTreeSet<RepoPath> = checkout.paths().into_iter().cloned().collect();
        let mut lines: BTreeMap<RepoPath, Vec<_>> = BTreeMap::new();
        for (path, range) in changed {
            lines.entry(path.parse().unwrap()).or_default().push(range.clone());
        }
        let evidence = Evidence::new(before, &lines, &paths);
        let mut editable = paths.clone();
        editable.remove(&"pkg/other.py".parse::<RepoPath>().unwrap());
        let suspects = suspects(&checkout, &editable, &evidence, &CancellationToken::new()).unwrap();
        let mut ranked: Vec<(f32, String)> = Vec::new();
        for suspect in suspects.iter().filter(|suspect| suspect.most() > 0.0) {
            assert_eq!(suspect.path().as_str(), "pkg/code.py");
            let names = suspect.outline.definitions.iter().map(|d| d.name.clone());
            ranked.extend(
                suspect
                    .definitions
                    .iter()
                    .map(|score| score.unwrap_or(0.0))
                    .zip(names)
                    .filter(|(score, _)| *score > NEIGHBOUR),
            );
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().map(|(_, name)| name).collect()
    }

    fn red(failing: &[&str], passed: &[&str]) -> TestRun {
        let failure = |name: &&str| Failure {
            name: name.to_string(),
            location: None,
            message: String::new(),
            ..Failure::default()
        };
        TestRun {
            failures: failing.iter().map(failure).collect(),
            passed_names: passed.iter().map(ToString::to_string).collect(),
            ..TestRun::without_result("", Outcome::Failed, "")
        }
    }

    #[test]
    fn names_lead_from_the_failing_test_to_the_code() {
        assert_eq!(ranked(&red(&["test_add"], &["test_count"]), &[]), ["add", "helper"]);
        assert_eq!(ranked(&red(&["test_count"], &["test_add"]), &[]), ["count"]);
    }

    #[test]
    fn operators_lead_to_the_methods_behind_them() {
        let directory = tempfile::tempdir().unwrap();
        let class = |name: &str| {
            format!(
                "class {name}:\n    def __getitem__(self, i):\n        return i\n\n    def __len__(self):\n        return 1\n\n\n"
            )
        };
        let code = class("Base") + &class("Other") + "class Row(Base):\n    pass\n";
        let test = "from row import Row\n\n\ndef test_first():\n    assert Row()[0] == 1\n";
        std::fs::write(directory.path().join("row.py"), code).unwrap();
        std::fs::write(directory.path().join("test_row.py"), test).unwrap();
        let checkout = Checkout::open(directory.path()).unwrap();
        let paths: BTreeSet<RepoPath> = checkout.paths().into_iter().cloned().collect();
        let evidence = Evidence::new(&red(&["test_first"], &[]), &BTreeMap::new(), &paths);
        let suspects = suspects(&checkout, &paths, &evidence, &CancellationToken::new()).unwrap();
        let certain: Vec<bool> = suspects[0]
            .definitions
            .iter()
            .map(|score| score.unwrap_or(0.0) > 0.5)
            .collect();
        assert_eq!(
            certain,
            [true, false, false, false, false],
            "{:?}",
            suspects[0].definitions
        );
    }

    #[test]
    fn where_a_failure_points_counts_more_than_a_mention() {
        let mut before = red(&["test_add"], &[]);
        before.failures[0].location = Some(Location {
            path: "pkg/code.py".into(),
            line: 6,
        });
        assert_eq!(ranked(&before, &[]), ["helper", "add"]);
    }

    #[test]
    fn changed_code_counts_even_when_no_test_mentions_it() {
        let ranked = ranked(
            &red(&["test_add"], &[]),
            &[("pkg/code.py", 13..=13), ("tests/test_code.py", 1..=9)],
        );
        assert_eq!(ranked, ["unused", "add", "helper"]);
    }

    #[test]
    fn without_any_evidence_all_code_is_equal_but_never_tests() {
        assert!(ranked(&red(&[], &[]), &[]).is_empty());
        assert!(ranked(&red(&["no_such_test"], &[]), &[]).is_empty());
    }

    #[test]
    fn bundles_are_no_suspects_but_their_sources_are() {
        let directory = tempfile::tempdir().unwrap();
        let source = "function add(a, b) {\n  return a - b;\n}\nmodule.exports = { add };\n";
        let test = "const { add } = require('../dist/all.js');\ntest('adds', () => { expect(add(1, 1)).toBe(2); });\n";
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("dist/all.js", &source.replace('\n', ""));
        write("test/add.test.js", test);
        let found = || {
            let checkout = Checkout::open(directory.path()).unwrap();
            let paths: BTreeSet<RepoPath> = checkout.paths().into_iter().cloned().collect();
            let mut before = red(&["adds"], &[]);
            before.failures[0].location = Some(Location {
                path: "dist/all.js".into(),
                line: 1,
            });
            let evidence = Evidence::new(&before, &BTreeMap::new(), &paths);
            let suspects = suspects(&checkout, &paths, &evidence, &CancellationToken::new()).unwrap();
            let first = suspects.iter().find(|suspect| suspect.most() > NEIGHBOUR);
            first.map(|suspect| suspect.path().to_string())
        };
        assert_eq!(found().as_deref(), Some("dist/all.js"));
        write("src/add.js", source);
        assert_eq!(found().as_deref(), Some("src/add.js"));
    }

    #[test]
    fn reading_stops_when_cancelled() {
        let checkout = Checkout::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path());
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let none = suspects(&checkout.unwrap(), &BTreeSet::new(), &Evidence::default(), &cancelled);
        assert!(none.is_none());
    }
}
