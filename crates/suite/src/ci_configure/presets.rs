//! The options in `CMakePresets.json`: <https://cmake.org/cmake/help/latest/manual/cmake-presets.7.html>

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::{MAX_OPTIONS, is_taken};

/// Maximum number of files, of presets that one inherits, and of bytes of a file.
const MAX_FILES: usize = 10;
const MAX_INHERITED: usize = 50;
const MAX_FILE: usize = 256 << 10;

/// One file, as far as it configures builds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PresetsFile {
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    configure_presets: Vec<Preset>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Preset {
    name: String,
    #[serde(default)]
    inherits: Value,
    #[serde(default)]
    cache_variables: BTreeMap<String, Value>,
}

/// The options of a preset, as they are given to CMake. `read` reads a file below the directory of the sources.
pub(crate) fn preset_options(preset: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let presets = configure_presets(read);
    // A preset's own variables come first, and then those of the first one that it inherits from.
    let mut set: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut open = vec![preset];
    for _ in 0..MAX_INHERITED {
        let Some(name) = open.pop() else {
            break;
        };
        let Some(found) = presets.get(name) else {
            continue;
        };
        for (name, value) in &found.cache_variables {
            set.entry(name).or_insert(value);
        }
        let inherited: Vec<&str> = match &found.inherits {
            Value::String(one) => vec![one],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        open.extend(inherited.into_iter().rev().take(MAX_INHERITED));
    }
    let options = set.into_iter().filter_map(|(name, value)| {
        let value = value_of(value)?.replace("${presetName}", preset);
        let option = format!("{name}={value}");
        (is_taken(&option) && !value.contains('$')).then(|| format!("-D{option}"))
    });
    options.take(MAX_OPTIONS).collect()
}

/// The presets of a project's files by name.
fn configure_presets(read: &dyn Fn(&str) -> Option<String>) -> HashMap<String, Preset> {
    let mut presets: HashMap<String, Preset> = HashMap::new();
    let mut paths = vec!["CMakePresets.json".to_owned()];
    let mut at = 0;
    while let Some(path) = paths.get(at).filter(|_| at < MAX_FILES).cloned() {
        at += 1;
        let text = read(&path).filter(|text| text.len() <= MAX_FILE);
        let Some(file) = text.and_then(|text| serde_json::from_str::<PresetsFile>(&text).ok()) else {
            continue;
        };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let included = file.include.into_iter().take(MAX_FILES);
        paths.extend(included.map(|other| format!("{folder}/{other}").trim_start_matches('/').to_owned()));
        for preset in file.configure_presets {
            presets.entry(preset.name.clone()).or_insert(preset);
        }
    }
    presets
}

/// The value of a variable: <https://cmake.org/cmake/help/latest/manual/cmake-presets.7.html#configure-preset>
fn value_of(variable: &Value) -> Option<String> {
    match variable {
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("TRUE".into()),
        Value::Bool(false) => Some("FALSE".into()),
        Value::Object(typed) => value_of(typed.get("value").filter(|value| !value.is_object())?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_has_the_options_that_it_inherits() {
        let files = HashMap::from([
            (
                "CMakePresets.json",
                r#"{"version": 4, "include": ["cmake/more.json", "../outside.json"], "configurePresets": [
                    {"name": "ci", "inherits": ["tests", "base"], "cacheVariables": {
                        "STRICT": {"type": "BOOL", "value": "ON"}, "FAST": false, "GONE": null,
                        "NAME": "x-${presetName}", "PLACE": "${sourceDir}/x", "CMAKE_C_COMPILER": "icc"}},
                    {"name": "loop", "inherits": "loop", "cacheVariables": {"A": true}}]}"#,
            ),
            (
                "cmake/more.json",
                r#"{"version": 4, "configurePresets": [
                    {"name": "base", "hidden": true, "cacheVariables": {"STRICT": "OFF", "TESTS": "OFF", "STD": "17"}},
                    {"name": "tests", "inherits": "absent", "cacheVariables": {"TESTS": "ON"}}]}"#,
            ),
        ]);
        let options = |preset: &str| {
            let read = |path: &str| files.get(path).map(ToString::to_string);
            preset_options(preset, &read).join(" ")
        };
        assert_eq!(
            options("ci"),
            "-DFAST=FALSE -DNAME=x-ci -DSTD=17 -DSTRICT=ON -DTESTS=ON"
        );
        assert_eq!(options("loop"), "-DA=TRUE");
        assert_eq!(options("absent"), "");
        assert_eq!(preset_options("ci", &|_| Some("{".into())), Vec::<String>::new());
    }
}
