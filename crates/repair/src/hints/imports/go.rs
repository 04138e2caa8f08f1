//! Imports of Go, where gofmt would put them.

use super::known::GO;
use super::{Hint, HintPlace, MAX_OFFERED, each_file};

/// Imports of a package with this name.
pub(super) fn missing(place: &HintPlace<'_>, name: &str) -> Vec<Hint> {
    let paths = GO
        .split_whitespace()
        .filter(|path| path.rsplit('/').next() == Some(name));
    let mut hints: Vec<Hint> = paths.filter_map(|path| import(place, path)).collect();
    hints.extend(elsewhere(place, name).iter().filter_map(|path| import(place, path)));
    hints.truncate(MAX_OFFERED);
    hints
}

/// Packages with this name that other files import.
fn elsewhere(place: &HintPlace<'_>, name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_file(place, |_, text| {
        for line in text.lines().take(200) {
            let path = line.trim().trim_start_matches("import ").trim().trim_matches('"');
            if line.contains('"')
                && path.rsplit('/').next() == Some(name)
                && !path.contains([' ', '"'])
                && !found.contains(&path.to_string())
            {
                found.push(path.to_string());
            }
        }
    });
    found
}

/// Adds a package to a Go file's imports, where gofmt would put it.
fn import(place: &HintPlace<'_>, path: &str) -> Option<Hint> {
    let (mut block, mut single, mut package, mut entries) = (false, None, None, Vec::new());
    for (line, text) in (1_u32..).zip(place.text.lines()) {
        if text.starts_with("package ") {
            package = Some(line);
        } else if text.starts_with("import (") {
            block = true;
        } else if block && text.starts_with(')') {
            entries.push((line, String::new()));
            break;
        } else if block {
            entries.push((line, text.trim().trim_matches('"').to_string()));
        } else if let Some(rest) = text.strip_prefix("import ") {
            single = Some((line, rest.trim().trim_matches('"').to_string()));
        }
    }
    if entries.iter().any(|(_, entry)| entry == path) || single.as_ref().is_some_and(|(_, entry)| entry == path) {
        return None;
    }
    if !entries.is_empty() {
        let behind = entries
            .iter()
            .find(|(_, entry)| entry.is_empty() || entry.as_str() > path)?;
        return place.insert_before(behind.0, &format!("\t\"{path}\"\n"), 1.0);
    }
    if let Some((line, other)) = single {
        let mut both = [path, other.as_str()];
        both.sort_unstable();
        let block = format!("import (\n\t\"{}\"\n\t\"{}\"\n)", both[0], both[1]);
        return Some(place.replace(place.range_of(line)?, block, 1.0));
    }
    place.insert_before(package? + 1, &format!("\nimport \"{path}\"\n"), 1.0)
}
