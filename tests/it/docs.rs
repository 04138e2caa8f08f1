//! What docs/test-suites.md and the fixtures' own list say is all there is.

use std::fs;
use std::path::Path;

use greenlight::suite::Framework;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_framework_is_in_the_table() {
    let docs = text("docs/test-suites.md");
    for framework in Framework::ALL {
        let name = framework.to_string();
        let rows = docs.lines().filter(|line| line.starts_with("| "));
        let cells: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
        assert!(
            cells.iter().any(|cell| cell.split(',').any(|word| word.trim() == name)),
            "{name} has no row"
        );
    }
}

#[test]
fn every_recorded_output_has_its_version() {
    let list = text("tests/fixtures/outputs/README.md");
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs")).unwrap();
    for entry in folders.map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            let name = entry.file_name().into_string().unwrap();
            assert!(
                list.lines().any(|line| line.starts_with(&format!("| {name}"))),
                "{name} has no row"
            );
        }
    }
}
