//! What an environment of tox installs before its commands, as the lines of a shell that would do the same.
//! <https://tox.wiki/en/latest/reference/config.html#python-options>

use std::collections::BTreeMap;

use super::Environment;
use super::placeholders::in_root;

impl Environment<'_> {
    /// Lines with `pip install`, and the commands that come before those of the tests. What cannot be followed is left
    /// out: another tool may still find it.
    pub(super) fn installs(&self, variables: &BTreeMap<String, String>) -> Vec<Vec<String>> {
        let mut installs: Vec<Vec<String>> = self.lines("deps").iter().filter_map(|line| requirement(line)).collect();
        let names = |key: &str| {
            let lines = self.lines(key).join(",");
            let names = lines.split([',', ' ']).filter(|name| !name.is_empty());
            names.map(String::from).collect::<Vec<_>>()
        };
        let extras = names("extras").join(",");
        if !extras.is_empty() && !extras.contains('{') {
            installs.push(pip(&["-e", &format!(".[{extras}]")]));
        }
        let groups = names("dependency_groups");
        installs.extend(groups.iter().map(|group| pip(&["--group", group])));
        installs.extend(self.commands("commands_pre", variables));
        installs
    }
}

/// A line of `deps`: a requirement, or an option of pip with a file.
fn requirement(line: &str) -> Option<Vec<String>> {
    let line = in_root(line);
    // It depends on a variable, or on another setting that is not there.
    if line.contains(['{', '}']) {
        return None;
    }
    let option = ["--requirement", "--constraint", "--editable", "-r", "-c", "-e"]
        .into_iter()
        .find_map(|option| Some((option, line.strip_prefix(option)?)));
    match option {
        Some((option, file)) => Some(pip(&[option, file.trim_start_matches([' ', '=']).trim()])),
        None if line.starts_with('-') => None,
        None => Some(pip(&[line.split(" #").next().unwrap_or(&line).trim()])),
    }
}

fn pip(words: &[&str]) -> Vec<String> {
    ["pip", "install"]
        .iter()
        .chain(words)
        .map(|word| (*word).into())
        .collect()
}
