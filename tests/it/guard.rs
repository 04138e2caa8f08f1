//! Weakened tests are detected, and improved ones are accepted: before and after, case by case and language by
//! language.

mod compiled;
mod javascript;
mod python;
mod touches;
mod twins;
mod whole;

use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::domain::weakening::{Weakening, WeakeningKind};
use greenlight::guard::{Inputs, weakenings};

/// The original text, its replacement, and the expected findings.
type Case = (&'static str, &'static str, &'static [WeakeningKind]);

/// Checks every case against one file, and reports all differences at once.
#[track_caller]
fn check(path: &str, source: &str, cases: &[Case]) {
    let mut wrong = Vec::new();
    for (old, new, kinds) in cases {
        assert_eq!(source.matches(old).count(), 1, "{old:?} stands once in the source");
        let found = changed(path, Some(source), Some(&source.replacen(old, new, 1)));
        if named(&found) != *kinds {
            wrong.push(format!("{old:?} → {new:?}: {kinds:?} but {found:#?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

fn changed(path: &str, before: Option<&str>, after: Option<&str>) -> Vec<Weakening> {
    weakenings(&patch(&[(path, before, after)]), &Inputs::default())
}

fn patch(files: &[(&str, Option<&str>, Option<&str>)]) -> Patch {
    Patch::new(files.iter().map(|(path, before, after)| {
        let change = FileChange {
            before: before.map(Blob::regular),
            after: after.map(Blob::regular),
        };
        (path.parse().unwrap(), change)
    }))
}

/// The kinds, each once.
fn named(found: &[Weakening]) -> Vec<WeakeningKind> {
    let mut kinds: Vec<WeakeningKind> = found.iter().map(|weakening| weakening.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
