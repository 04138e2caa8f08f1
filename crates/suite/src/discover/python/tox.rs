//! Reads the settings of tox, and never executes them.

mod ini;
mod installs;
mod named;
mod package;
mod placeholders;
mod plugins;
mod table;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

use self::ini::{Keys, Sections, expanded, sections};
use self::named::{environments, of_list};
pub(in crate::discover) use self::package::without_package;
pub(super) use self::placeholders::resolved;
use self::placeholders::{in_root, resolved_with, rooted, with_variables};
use self::table::of_table;
pub(super) use self::table::tox_table;
use crate::discover::directory::Directory;
use crate::shell::is_name;
use crate::text::pattern;

/// Maximum size of a file that is taken apart.
pub(super) const MAX_TEXT: usize = 200_000;
/// Maximum number of lines of an environment.
const MAX_LINES: usize = 200;
/// Maximum number of directories above the one in which commands run.
const MAX_DIRECTORIES: usize = 20;
/// The variables that name environments: <https://tox.wiki/en/latest/config.html#environment-variables>
pub(in crate::discover) const ENVIRONMENT: [&str; 2] = ["TOXENV", "TOX_ENV"];
/// How often a setting may name another one that names another one, and how many lines are read for one setting in all.
const MAX_REFERENCES: usize = 3;
const MAX_READ: usize = 2_000;

/// `py311: `, `!lint, py{39,310}-django: `
static FACTOR: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^[\w.!,{}-]+(?:, *[\w.!,{}-]+)*: +"));
/// `{[testenv]commands}`
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\{\[([^\]{}]+)\]([\w-]+)\}$"));

/// What a call of tox runs.
#[derive(Debug, Default)]
pub(in crate::discover) struct ToxCall {
    /// For each environment a script for a shell that sets its variables, installs what it needs, enters its directory and
    /// runs its commands.
    pub(in crate::discover) scripts: Vec<String>,
    /// The other environments of tox's list that may have tests.
    pub(in crate::discover) others: Vec<String>,
}

/// What `tox` or `tox -e NAME` runs. `None` for another command, and what is not in `tox.ini` or the like.
pub(in crate::discover) fn call(
    place: &Directory<'_>,
    arguments: &[String],
    variables: &BTreeMap<String, String>,
) -> Option<ToxCall> {
    let set = ENVIRONMENT.iter().find_map(|name| variables.get(*name));
    let names = environments(arguments, set.map(String::as_str))?;
    let text = |file: &str| place.text(file).filter(|text| text.len() <= MAX_TEXT);
    let table = |file: &str| text(file).and_then(|text| text.parse::<toml::Table>().ok());
    let in_pyproject = table("pyproject.toml");
    let in_pyproject = in_pyproject
        .as_ref()
        .and_then(|table| table.get("tool")?.get("tox")?.as_table());
    let legacy = in_pyproject.and_then(|table| table.get("legacy_tox_ini")?.as_str());
    // In the order in which tox looks: <https://tox.wiki/en/latest/config.html>
    let settings = ["tox.ini", "setup.cfg"].map(|file| text(file).map(|text| sections(&text)));
    let settings = settings.into_iter().flatten().chain(legacy.map(sections));
    let tables = in_pyproject
        .map(of_table)
        .into_iter()
        .chain(table("tox.toml").as_ref().map(of_table));
    let sections = settings
        .chain(tables)
        .find(|sections| sections.keys().any(|name| name.starts_with("testenv")))?;
    let own = sections.get("tox");
    let listed = own.and_then(|tox| tox.get("envlist").or_else(|| tox.get("env_list")));
    let listed = expanded(&listed.map_or("", String::as_str).replace('\n', ","));
    // The last one comes first.
    let listed: Vec<String> = listed
        .iter()
        .rev()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let listed = plugins::chosen(listed, &sections, variables);
    let (names, others) = match (names.is_empty(), of_list(&listed)) {
        (false, _) => (names, Vec::new()),
        (true, Some((first, others))) => (vec![first], others),
        (true, None) => (vec!["py"], Vec::new()),
    };
    let environments = names.into_iter().map(|name| Environment {
        sections: &sections,
        name,
        variables,
    });
    let scripts: Vec<String> = environments.filter_map(|environment| environment.script()).collect();
    let others = others.into_iter().map(str::to_owned).collect();
    (!scripts.is_empty()).then_some(ToxCall { scripts, others })
}

/// The folders of tox itself, at the beginning of a path: <https://tox.wiki/en/latest/config.html#substitutions>
const OUTSIDE: [&str; 10] = [
    "{toxworkdir}",
    "{work_dir}",
    "{envdir}",
    "{env_dir}",
    "{envtmpdir}",
    "{env_tmp_dir}",
    "{envlogdir}",
    "{env_log_dir}",
    "{temp_dir}",
    "{distdir}",
];

/// One environment of the settings.
struct Environment<'s> {
    sections: &'s Sections,
    name: &'s str,
    /// Those that the call of tox has.
    variables: &'s BTreeMap<String, String>,
}

impl Environment<'_> {
    fn script(&self) -> Option<String> {
        let mut script = String::new();
        if !self.passes("CI") {
            script += "export CI=''\n";
        }
        let directory = self
            .value("changedir")
            .or_else(|| self.value("change_dir"))
            // Outside of the tree, so that the package is imported as it is installed.
            .filter(|directory| !OUTSIDE.iter().any(|place| directory.trim().starts_with(place)))
            .map(in_root);
        // Where the commands run, the project's folder has another relative path.
        let parts = directory.iter().flat_map(|directory| directory.trim().split('/'));
        let parts = parts.filter(|part| !matches!(*part, "" | ".")).take(MAX_DIRECTORIES);
        let above = vec![".."; parts.count()].join("/");
        let root = if above.is_empty() { "." } else { above.as_str() };
        let variables = self.lines("setenv").into_iter().chain(self.lines("set_env"));
        let mut known = self.variables.clone();
        for line in variables {
            let (name, value) = line.split_once('=').unwrap_or_default();
            let (name, value) = (name.trim(), rooted(value.trim(), root));
            let value = with_variables(&value, &known)?;
            // A value with other placeholders would have to be computed.
            if let Ok(quoted) = shlex::try_quote(&value)
                && !value.contains('{')
                && is_name(name)
            {
                script += &format!("export {name}={quoted}\n");
                known.insert(name.to_owned(), value.clone());
            }
        }
        for line in self.installs(&known) {
            script += &shlex::try_join(line.iter().map(String::as_str)).ok()?;
            script.push('\n');
        }
        if let Some(directory) = directory {
            if directory.contains(['{', '\n']) || directory.split('/').any(|part| part == "..") {
                return None;
            }
            script += &format!("cd {}\n", shlex::try_quote(directory.trim()).ok()?);
        }
        for line in self.commands("commands", &known) {
            script += &shlex::try_join(line.iter().map(String::as_str)).ok()?;
            script.push('\n');
        }
        (!self.lines("commands").is_empty()).then_some(script)
    }

    /// Whether a variable that is set reaches the commands. It does where that has to be computed:
    /// <https://tox.wiki/en/latest/config.html#pass_env>
    fn passes(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let lines = self.lines("passenv").into_iter().chain(self.lines("pass_env"));
        let matches = |pattern: &str| {
            let pattern = pattern.to_ascii_lowercase();
            let mut parts = pattern.split('*');
            let start = parts.next().unwrap_or_default();
            pattern.contains(['{', '[', '?'])
                || pattern == name
                || pattern.contains('*') && name.starts_with(start) && parts.all(|part| name.contains(part))
        };
        lines
            .into_iter()
            .any(|line| line.split([',', ' ', '\t']).any(|pattern| matches(pattern.trim())))
    }

    /// The commands of a setting, as far as their placeholders can be filled in.
    fn commands(&self, key: &str, variables: &BTreeMap<String, String>) -> Vec<Vec<String>> {
        let lines = self.lines(key);
        let resolved = |line: &String| resolved_with(without_marks(line), variables);
        lines.iter().filter_map(resolved).collect()
    }

    /// A setting of the environment, or else of the one that all are based on.
    fn value(&self, key: &str) -> Option<&str> {
        let own = self.sections.get(&format!("testenv:{}", self.name));
        let keys = [own, self.sections.get("testenv")];
        keys.into_iter()
            .flatten()
            .find_map(|keys| keys.get(key))
            .map(String::as_str)
    }

    /// The lines of a setting that apply to the environment, without their conditions.
    fn lines(&self, key: &str) -> Vec<String> {
        let (mut lines, mut left) = (Vec::new(), MAX_READ);
        let value = self.value(key).unwrap_or_default();
        self.collect(value, MAX_REFERENCES, &mut left, &mut lines);
        lines
    }

    /// Adds the lines of a value. Decrements `left` for each line that is read, and stops at zero.
    fn collect(&self, value: &str, depth: usize, left: &mut usize, lines: &mut Vec<String>) {
        for line in value.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if lines.len() >= MAX_LINES || *left == 0 {
                return;
            }
            *left -= 1;
            let condition = FACTOR.as_ref().and_then(|factor| factor.find(line));
            let condition = condition.map_or("", |found| found.as_str().trim_end().trim_end_matches(':'));
            if !condition.is_empty() && !applies(condition, self.name) {
                continue;
            }
            let line = unconditional(line).to_string();
            let reference = REFERENCE.as_ref().and_then(|reference| reference.captures(&line));
            match reference.and_then(|found| self.sections.get(&found[1])?.get(&found[2])) {
                Some(value) if depth > 0 => self.collect(value, depth - 1, left, lines),
                _ => lines.push(line),
            }
        }
    }
}

/// Whether a condition holds for an environment: one of its names, separated by commas, has only parts that the
/// environment has, or after `!` not. <https://tox.wiki/en/latest/config.html#conditional-settings>
fn applies(condition: &str, name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    // `py` is the Python that is there.
    let has = |part: &str| {
        let is_version = |version: &str| version.bytes().all(|byte| byte.is_ascii_digit());
        parts.contains(&part) || (parts.contains(&"py") && part.strip_prefix("py").is_some_and(is_version))
    };
    let holds = |part: &str| match part.strip_prefix('!') {
        Some(part) => !has(part),
        None => has(part),
    };
    expanded(condition).iter().any(|name| name.trim().split('-').all(holds))
}

/// The commands of tox's environments, those of the default environment first.
pub(super) fn tox(text: &str) -> Vec<String> {
    let sections = sections(text);
    let names = sections
        .keys()
        .filter(|name| *name == "testenv" || name.starts_with("testenv:"));
    let elsewhere = |keys: &&Rc<Keys>| {
        let directory = ["changedir", "change_dir"].iter().find_map(|key| keys.get(*key));
        directory
            .is_some_and(|directory| !matches!(directory.trim_end_matches('/'), "{toxinidir}" | "{tox_root}" | "."))
    };
    let commands = names
        .filter_map(|name| sections.get(name))
        .filter(|keys| !elsewhere(keys))
        .filter_map(|keys| keys.get("commands"));
    commands
        .flat_map(|commands| commands.lines().map(str::to_string).collect::<Vec<_>>())
        .map(|line| plain(&line))
        .collect()
}

/// What tox installs for the default environment.
pub(crate) fn tox_requirements(text: &str) -> Vec<String> {
    let sections = sections(text);
    let listed = sections
        .get("testenv")
        .and_then(|keys| keys.get("deps"))
        .map_or("", String::as_str);
    let is_plain = |line: &&str| !line.is_empty() && !line.contains(['{', '}']) && !is_conditional(line);
    listed
        .lines()
        .map(str::trim)
        .filter(is_plain)
        .map(str::to_string)
        .collect()
}

fn is_conditional(line: &str) -> bool {
    FACTOR.as_ref().is_some_and(|factor| factor.is_match(line))
}

/// Removes the conditions that tox allows before a line.
fn unconditional(line: &str) -> &str {
    let line = line.trim();
    let factor = FACTOR.as_ref().and_then(|factor| factor.find(line));
    factor.map_or(line, |factor| &line[factor.end()..])
}

/// Removes the marks that tox allows before a command.
fn without_marks(line: &str) -> &str {
    line.trim_start_matches(['-', '!', '@', ' '])
}

/// Removes both.
fn plain(line: &str) -> String {
    without_marks(unconditional(line)).to_string()
}

#[cfg(test)]
mod tests;
