//! Cuts a patch into the suggestions that GitHub accepts on a diff.

use greenlight_anchor::patch::{Blob, FileChange, Patch};
use greenlight_anchor::{DiffFile, RepoPath, cut, parse_hunks};

const BASE: &str = "def fare(age):\n    return 4\n";
const HEAD: &str = "def fare(age):\n    return 2 if age < 12 else 4\n";
const FIXED: &str = "def fare(age):\n    return 2 if age <= 12 else 4\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path: RepoPath = "fares.py".parse()?;
    let diff = [DiffFile {
        path: path.clone(),
        hunks: parse_hunks(&greenlight_anchor::hunks(BASE, HEAD))?,
    }];
    let change = FileChange {
        before: Some(Blob::regular(HEAD)),
        after: Some(Blob::regular(FIXED)),
    };
    let patch = Patch::new([(path, change)]);
    show(&patch.unified());
    for suggestion in cut(&patch, &diff).suggestions {
        show(&format!("line {}: {}", suggestion.line, suggestion.replacement));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}
