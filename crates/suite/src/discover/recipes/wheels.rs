//! The tests that cibuildwheel runs for each wheel that it builds:
//! <https://cibuildwheel.pypa.io/en/stable/options/#testing>

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::listed::listed;
use crate::shell::quoted;

/// Maximum number of lines and requirements.
const MAX_LINES: usize = 50;

/// What its tests install and run on Linux, as a script for a shell. Variables count before the settings of the project.
/// `None` if there are no tests.
pub(super) fn script(pyproject: Option<&str>, env: &BTreeMap<String, String>) -> Option<String> {
    let document: Option<Table> = pyproject.and_then(|text| text.parse().ok());
    let settings = document
        .as_ref()
        .and_then(|table| table.get("tool")?.get("cibuildwheel")?.as_table());
    let option = |name: &str| -> Vec<String> {
        let variable = format!("CIBW_{}", name.replace('-', "_").to_ascii_uppercase());
        let set = [format!("{variable}_LINUX"), variable];
        if let Some(value) = set.iter().find_map(|name| env.get(name)) {
            return vec![value.clone()];
        }
        let of_linux = settings.and_then(|table| table.get("linux")?.get(name));
        let value = of_linux.or_else(|| settings.and_then(|table| table.get(name)));
        let texts = listed(value).iter().filter_map(Value::as_str);
        texts.take(MAX_LINES).map(String::from).collect()
    };
    let in_tree = |line: &String| line.replace("{project}", ".").replace("{package}", ".");
    let commands: Vec<String> = option("test-command").iter().map(in_tree).collect();
    if commands.is_empty() {
        return None;
    }
    let requirements = option("test-requires");
    // In a variable, spaces separate them.
    let requirements = requirements.iter().flat_map(|words| words.split_whitespace());
    let requirements: Vec<String> = requirements.map(|word| quoted(word).into_owned()).collect();
    let extras = option("test-extras").join(",").replace(' ', ",");
    let mut lines: Vec<String> = option("before-test").iter().map(in_tree).collect();
    if !requirements.is_empty() {
        lines.push(format!("pip install {}", requirements.join(" ")));
    }
    if !extras.is_empty() {
        lines.push(format!("pip install {}", quoted(&format!(".[{extras}]"))));
    }
    lines.extend(commands);
    Some(lines.join("\n") + "\n")
}

/// The variables of a command, with those of its step that are settings of cibuildwheel and nothing else.
pub(in crate::discover) fn with_wheels_settings(
    env: &BTreeMap<String, String>,
    of_step: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let settings = of_step.iter().filter(|(name, _)| name.starts_with("CIBW_"));
    env.iter()
        .chain(settings)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_wheels_are_those_of_linux() {
        let settings = "[tool.cibuildwheel]\ntest-command = 'pytest {project}/tests'\ntest-requires = ['pytest>=8', 'six']\n\
                        test-extras = 'cli'\nbefore-test = 'make {package}/data'\n";
        let of = |settings: &str, env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            script(Some(settings), &env.collect())
        };
        let expected = "make ./data\npip install 'pytest>=8' six\npip install '.[cli]'\npytest ./tests\n";
        assert_eq!(of(settings, &[]).as_deref(), Some(expected));
        let of_linux =
            "[tool.cibuildwheel.linux]\ntest-command = ['a', 'b']\n[tool.cibuildwheel]\ntest-command = 'c'\n";
        assert_eq!(of(of_linux, &[]).as_deref(), Some("a\nb\n"));
        assert_eq!(of(of_linux, &[("CIBW_TEST_COMMAND", "d")]).as_deref(), Some("d\n"));
        let both = [("CIBW_TEST_COMMAND", "d"), ("CIBW_TEST_COMMAND_LINUX", "e {project}")];
        assert_eq!(of("", &both).as_deref(), Some("e .\n"));
        for none in [
            "",
            "[tool]\ncibuildwheel = 1\n",
            "[tool.cibuildwheel]\ntest-requires = 'a'\n",
            "[",
        ] {
            assert_eq!(of(none, &[]), None, "{none}");
        }
    }
}
