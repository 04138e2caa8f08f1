//! Settings of tox in TOML: `tox.toml`, and a table of `pyproject.toml`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::ini::Sections;

/// The settings of TOML files as sections of an INI file.
pub(super) fn of_table(table: &toml::Table) -> Sections {
    let named = table.get("env").and_then(toml::Value::as_table);
    let named = named
        .into_iter()
        .flatten()
        .map(|(name, keys)| (format!("testenv:{name}"), keys));
    let base = table.get("env_run_base").map(|keys| ("testenv".to_string(), keys));
    let sections = base.into_iter().chain(named);
    sections
        .filter_map(|(name, keys)| Some((name, Rc::new(lines_of_table(keys.as_table()?)))))
        .collect()
}

fn lines_of_table(keys: &toml::Table) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    for key in ["commands", "commands_pre"] {
        if let Some(commands) = keys.get(key).and_then(toml::Value::as_array) {
            let commands = commands.iter().filter_map(|words| joined(words.as_array()?));
            lines.insert(key.into(), commands.collect::<Vec<_>>().join("\n"));
        }
    }
    for key in ["deps", "extras", "dependency_groups"] {
        if let Some(listed) = keys.get(key).and_then(toml::Value::as_array) {
            let listed = listed.iter().filter_map(toml::Value::as_str);
            lines.insert(key.into(), listed.collect::<Vec<_>>().join("\n"));
        }
    }
    if let Some(passed) = keys.get("pass_env") {
        // What is not a plain list has to be computed, and may pass anything.
        let names = passed
            .as_array()
            .map_or_else(Vec::new, |names| names.iter().map(toml::Value::as_str).collect());
        let is_known = passed.is_array() && names.iter().all(Option::is_some);
        let names = names.into_iter().flatten().collect::<Vec<_>>().join("\n");
        lines.insert("pass_env".into(), if is_known { names } else { "*".into() });
    }
    if let Some(variables) = keys.get("set_env").and_then(toml::Value::as_table) {
        let set = variables
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
        lines.insert("set_env".into(), set.collect::<Vec<_>>().join("\n"));
    }
    if let Some(directory) = keys.get("change_dir").and_then(toml::Value::as_str) {
        lines.insert("change_dir".into(), directory.into());
    }
    lines
}

/// Lists of words in tox 4, in which tables are placeholders:
/// <https://tox.wiki/en/latest/config.html#pyproject-toml-native>
pub(in crate::discover::python) fn tox_table(table: &toml::Table) -> Vec<String> {
    let base = table.get("env_run_base");
    let named = table
        .get("env")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::values);
    let commands = base
        .into_iter()
        .chain(named)
        .filter_map(|environment| environment.get("commands")?.as_array());
    commands
        .flatten()
        .filter_map(|words| joined(words.as_array()?))
        .collect()
}

fn joined(words: &[toml::Value]) -> Option<String> {
    let strings = |value: &toml::Value| -> Vec<String> {
        match value {
            toml::Value::String(word) => vec![word.clone()],
            toml::Value::Table(table) => {
                let default = table
                    .get("default")
                    .and_then(toml::Value::as_array)
                    .into_iter()
                    .flatten();
                default.filter_map(|word| word.as_str().map(str::to_string)).collect()
            }
            _ => Vec::new(),
        }
    };
    let words: Vec<String> = words.iter().flat_map(strings).collect();
    shlex::try_join(words.iter().map(String::as_str)).ok()
}
