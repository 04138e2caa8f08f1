//! Checks whose own tools could fix what they find: on every library of their language, after the tool has fixed all of
//! it but one hunk, and on tiny projects where no library is red.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::case::{Case, Set, read as faults};

/// One check of the list.
#[derive(Deserialize)]
struct Check {
    name: String,
    language: String,
    /// `SOURCES` is what the library's list of sources says.
    command: String,
    /// The tool's own fix of a library.
    #[serde(default)]
    fix: Option<String>,
    /// What has to be installed for it.
    #[serde(default)]
    package: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The tests of a tiny project; a check without them is run on libraries.
    #[serde(default)]
    tests: Option<String>,
}

#[derive(Deserialize)]
struct Library {
    name: String,
    language: String,
    sources: Vec<String>,
}

/// Every check on every library that the other cases are made of.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let checks: Vec<Check> = serde_json::from_slice(&fs::read(folder.join("checks.json"))?)?;
    let libraries = folder.parent().unwrap_or(folder).join("libraries.json");
    let libraries: Vec<Library> = serde_json::from_slice(&fs::read(libraries)?)?;
    let tests: BTreeMap<String, String> = faults(folder)?
        .into_iter()
        .map(|case| (case.library, case.all_command))
        .collect();
    let mut cases = Vec::new();
    for check in &checks {
        if let Some(tests) = &check.tests {
            cases.push(case(check, (&check.name, &[]), (tests, Vec::new())));
            continue;
        }
        // One tree serves all checks of a language.
        let same = checks.iter().filter(|other| other.language == check.language);
        let also: Vec<String> = same.filter_map(|other| other.package.clone()).collect();
        for library in libraries.iter().filter(|library| library.language == check.language) {
            if let Some(tests) = tests.get(&library.name) {
                let of = (&*library.name, &*library.sources);
                cases.push(case(check, of, (tests, also.clone())));
            }
        }
    }
    Ok(cases)
}

fn case(check: &Check, (library, sources): (&str, &[String]), (tests, also): (&str, Vec<String>)) -> Case {
    let id = match check.tests {
        Some(_) => check.name.clone(),
        None => format!("{library}-{}", check.name),
    };
    Case {
        set: Set::Checks,
        id,
        language: check.language.clone(),
        library: library.to_owned(),
        path: String::new(),
        line: 0,
        function: None,
        operator: check.name.clone(),
        kind: "edit".into(),
        fault: String::new(),
        seen_by: Vec::new(),
        hidden: Vec::new(),
        visible_command: check.command.replace("SOURCES", &sources.join(" ")),
        all_command: tests.to_owned(),
        files: check.files.clone(),
        fix: check.fix.as_ref().map(|fix| fix.replace("SOURCES", &sources.join(" "))),
        also,
    }
}
