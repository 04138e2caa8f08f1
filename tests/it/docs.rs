//! Checks that the tables in README.md, docs/ and the fixtures' README are complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use greenlight::agent::all_tools;
use greenlight::domain::command::Command;
use greenlight::github::own_app::{EVENTS, PERMISSIONS};
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

/// A framework has a file, a folder of recorded outputs and a row. The last two are only for those that print
/// results.
#[test]
fn every_framework_has_a_file_and_recorded_outputs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let stems = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string());
        stems.collect()
    };
    let frameworks: BTreeSet<String> = Framework::ALL
        .iter()
        .map(|framework| serde_json::to_value(framework).unwrap().as_str().unwrap().to_string())
        .collect();
    let mut files = names("crates/suite/src/frameworks");
    for shared in ["mod", "spec", "javascript"] {
        assert!(files.remove(shared));
    }
    assert_eq!(files, frameworks);
    let mut folders = names("crates/suite/tests/fixtures/outputs");
    assert!(folders.remove("README"));
    // `other` stands for every unknown framework.
    folders.insert("other".into());
    assert_eq!(folders, frameworks);
}

#[test]
fn every_command_is_in_the_table_with_its_arguments() {
    let readme = text("README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| `/greenlight "));
    let cells: BTreeSet<&str> = rows.flat_map(|row| quoted(row.split('|').nth(1).unwrap())).collect();
    let shown: BTreeSet<&str> = cells
        .iter()
        .map(|cell| cell.trim_start_matches("/greenlight "))
        .collect();
    let commands = Command::HELP.map(|help| format!("{} {}", help.verb, help.argument));
    assert_eq!(shown, commands.iter().map(|command| command.trim()).collect());
}

/// The words in backquotes in a cell.
fn quoted(cell: &str) -> BTreeSet<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_tool_is_in_the_table_with_its_arguments() {
    let docs = text("docs/agent.md");
    let section = docs.split("## Tools").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<(&str, BTreeSet<&str>)> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            (cells[1].trim().trim_matches('`'), quoted(cells[2]))
        })
        .collect();
    let tools = all_tools();
    let there_are: Vec<(&str, BTreeSet<&str>)> = tools
        .iter()
        .map(|tool| {
            let fields = tool.parameters["properties"].as_object();
            (
                tool.name,
                fields.into_iter().flatten().map(|(name, _)| name.as_str()).collect(),
            )
        })
        .collect();
    assert_eq!(rows, there_are);
}

#[test]
fn every_recorded_output_has_its_version() {
    let list = text("crates/suite/tests/fixtures/outputs/README.md");
    let folders =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/suite/tests/fixtures/outputs")).unwrap();
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

/// Every field, as `section.field`, of a configuration that sets all of them.
fn fields() -> BTreeSet<String> {
    let example = text("greenlight.example.toml");
    let lines = example.lines().map(|line| line.trim_start_matches("#: "));
    let mut section = String::new();
    let mut fields = BTreeSet::new();
    for line in lines.filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = format!("{name}.");
        } else if let Some((field, _)) = line.split_once(" = ") {
            fields.insert(format!("{section}{field}"));
        }
    }
    fields
}

#[test]
fn the_table_of_what_counts_of_two_configurations_has_every_field() {
    let docs = text("docs/configuration.md");
    let rows = docs.lines().filter(|line| line.starts_with("| `"));
    let told: BTreeSet<&str> = rows.flat_map(|row| quoted(row.split('|').nth(1).unwrap())).collect();
    for field in fields() {
        let shared = field.rsplit_once('.').map_or("", |(section, _)| section);
        assert!(
            told.contains(field.as_str()) || told.contains(shared),
            "{field} is not in the table"
        );
    }
}

#[test]
fn every_permission_and_event_of_the_app_is_in_the_table() {
    let docs = text("docs/serve.md");
    let row = |head: &str| -> BTreeSet<String> {
        let start = format!("| {head} |");
        let row = docs.lines().find(|line| line.starts_with(&start)).unwrap();
        row.split('*').skip(1).step_by(2).map(str::to_string).collect()
    };
    let name = |name: &str| match name {
        "statuses" => "commit statuses".to_string(),
        name => name.replace('_', " "),
    };
    let with = |wanted: &str| -> BTreeSet<String> {
        let permissions = PERMISSIONS.iter().filter(|(_, level)| *level == wanted);
        permissions.map(|(permission, _)| name(permission)).collect()
    };
    assert_eq!(row("write permissions"), with("write"));
    assert_eq!(row("read permissions"), with("read"));
    assert_eq!(row("events"), EVENTS.iter().map(|event| name(event)).collect());
}

/// Every page of the manual is in the site's list of contents.
#[test]
fn the_site_has_every_page() {
    let contents = text("docs/SUMMARY.md");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = ignore::WalkBuilder::new(&docs).build().map(Result::unwrap);
    let pages = pages.map(|entry| entry.path().strip_prefix(&docs).unwrap().display().to_string());
    let pages = pages.filter(|path| path.ends_with(".md") && path != "SUMMARY.md");
    let missing: Vec<String> = pages.filter(|path| !contents.contains(&format!("]({path})"))).collect();
    assert_eq!(missing, [""; 0]);
}
