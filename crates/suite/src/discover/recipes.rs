//! Lists the shell commands of a make target, a just recipe, an environment of tox, or a script in the repository.
//!
//! Lines with functions of make are left out: their values would have to be computed.

mod conditions;
mod justfile;
mod listed;
mod mise;
mod pixi;
mod poe;
mod script_file;
mod taskfile;
mod wheels;

use std::collections::{BTreeMap, BTreeSet};

use self::conditions::{with_included, without_branches};
pub(super) use self::wheels::with_wheels_settings;
use super::step::tool::is_task;
use super::{others, python};
use crate::ci_variables::is_taken;
use crate::discover::directory::Directory;
use crate::shell::{is_name, python_module};

/// Maximum size of a file that is read.
const MAX_FILE: usize = 200_000;
/// Maximum number of targets, variables, and names in one line that are read from a file.
const MAX_RULES: usize = 2_000;
const MAX_VARIABLES: usize = 500;
const MAX_NAMES: usize = 50;
/// Maximum number of lines that are returned, and of targets that are followed from one.
const MAX_LINES: usize = 200;
const MAX_TARGETS: usize = 50;
/// Maximum number of variables replaced in one line, and maximum length of the result.
const MAX_REPLACED: usize = 200;
const MAX_LINE: usize = 10_000;

/// The scripts that a task runner or a script of the tree passes to shells, one for each shell. `None` for other
/// commands.
pub(super) fn scripts(place: &Directory<'_>, argv: &[String], env: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let (program, rest) = argv.split_first()?;
    let name = program.rsplit('/').next()?;
    let file = |path: &str| place.text(path).filter(|text| text.len() <= MAX_FILE);
    let read = |names: &[&str]| {
        let text = names.iter().find_map(|name| place.text(name));
        text.filter(|text| text.len() <= MAX_FILE)
    };
    match name {
        "make" | "gmake" => {
            let text = read(&others::MAKEFILES)?;
            let text = without_branches(&with_included(place, &text).replace("\\\n", " "));
            let (targets, given) = targets(rest)?;
            Some(of_targets(&text, &targets, &Given { given, env }))
        }
        "just" => {
            let text = read(&["justfile", "Justfile", ".justfile"])?;
            justfile::scripts(&text, rest, env)
        }
        "mise" => {
            let text = read(&mise::FILES)?;
            Some(vec![mise::script(&text, rest, &file)?])
        }
        "pixi" => Some(vec![pixi::script(rest, &file)?]),
        "poe" => Some(vec![poe::script(rest, &file)?]),
        "cibuildwheel" => Some(vec![wheels::script(read(&["pyproject.toml"]).as_deref(), env)?]),
        "task" => Some(vec![taskfile::script(&read(&others::TASKFILES)?, rest)?]),
        "tox" => Some(python::tox::call(place, rest, env)?.scripts),
        "nox" => python::nox::scripts(place, rest),
        "hatch" => Some(vec![python::hatch::script(place, rest)?]),
        "python" | "python3" => {
            let (module, rest) = rest.get(python_module(rest)?..)?.split_first()?;
            match module.as_str() {
                "tox" | "nox" | "hatch" | "cibuildwheel" => {
                    let argv = [std::slice::from_ref(module), rest].concat();
                    scripts(place, &argv, env)
                }
                _ => None,
            }
        }
        "composer" => {
            let mut plain = rest.iter().filter(|word| !word.starts_with('-'));
            let name = plain.find(|word| !matches!(word.as_str(), "run" | "run-script"))?;
            others::php::script_lines(place, name)
        }
        "sh" | "bash" | "dash" => {
            let path = rest.first()?.trim_start_matches("./");
            Some(vec![script_file::with_its_folder(&read(&[path])?, place, path)])
        }
        _ if name.ends_with(".sh") => {
            let path = program.trim_start_matches("./");
            Some(vec![script_file::with_its_folder(&read(&[path])?, place, path)])
        }
        // Another program of the tree may be a tool that people install there.
        _ if program.contains('/') && is_task(name) => {
            let path = program.trim_start_matches("./");
            let text = read(&[path])?;
            let shell = text.lines().next().filter(|line| line.starts_with("#!"))?;
            let is_shell = shell.trim_end().ends_with("sh");
            is_shell.then(|| vec![script_file::with_its_folder(&text, place, path)])
        }
        _ => None,
    }
}

/// The variables that make does not read in its file.
#[derive(Debug)]
struct Given<'a> {
    /// Those of the command line, which count most.
    given: BTreeMap<&'a str, &'a str>,
    env: &'a BTreeMap<String, String>,
}

/// The targets that are requested, and the variables that are set. `None` if the command has other arguments.
fn targets(words: &[String]) -> Option<(Vec<&str>, BTreeMap<&str, &str>)> {
    const HARMLESS: [&str; 6] = [
        "-s",
        "--silent",
        "--quiet",
        "-k",
        "--keep-going",
        "--no-print-directory",
    ];
    let (mut targets, mut given) = (Vec::new(), BTreeMap::new());
    for word in words.iter().map(String::as_str) {
        if HARMLESS.contains(&word) || word.starts_with("-j") {
            continue;
        }
        if word.starts_with('-') {
            return None;
        }
        match word.split_once('=') {
            Some((name, value)) => _ = given.insert(name.trim_end_matches(':'), value),
            None => targets.push(word),
        }
    }
    Some((targets, given))
}

/// A target or recipe: its dependencies and its lines.
#[derive(Debug, Default)]
struct Rule<'t> {
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

/// The parsed file of a task runner.
#[derive(Debug, Default)]
struct Read<'t> {
    rules: BTreeMap<&'t str, Rule<'t>>,
    variables: BTreeMap<&'t str, &'t str>,
    /// Variables whose values would have to be computed.
    computed: BTreeSet<&'t str>,
    /// The target that is built if none is named.
    first: Option<&'t str>,
}

fn of_targets(text: &str, wanted: &[&str], given: &Given<'_>) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let read = Read::of(&text, given);
    let wanted: Vec<&str> = match wanted {
        [] => read.first.into_iter().collect(),
        wanted => wanted.to_vec(),
    };
    let (mut done, mut order) = (BTreeSet::new(), Vec::new());
    for name in wanted {
        read.visit(name, &mut done, &mut order);
    }
    let lines = order.into_iter().flat_map(|rule| &rule.lines);
    lines
        .filter_map(|line| plain(line, &read, given))
        .take(MAX_LINES)
        .collect()
}

impl<'t> Read<'t> {
    fn of(text: &'t str, given: &Given<'_>) -> Self {
        let mut read = Self::default();
        let mut current: Vec<&str> = Vec::new();
        for line in text.lines() {
            if line.starts_with('\t') {
                for name in &current {
                    let lines = &mut read.rules.entry(name).or_default().lines;
                    lines.extend(Some(line.trim()).filter(|_| lines.len() < MAX_LINES));
                }
                continue;
            }
            let line = line.split(" #").next().unwrap_or(line).trim_end();
            if line.is_empty() || line.starts_with(['#', ' ', '[']) {
                continue;
            }
            let line = read.without_keywords(line);
            current = match (read.assign(line, given), line.split_once(':')) {
                (false, Some((names, rest))) if !rest.starts_with('=') => read.rule(names, rest),
                _ => Vec::new(),
            };
        }
        read
    }

    /// A line of a Makefile without `export` and the like before an assignment. Variables whose values depend on the
    /// target, or span several lines, are unknown:
    /// <https://www.gnu.org/software/make/manual/html_node/Target_002dspecific.html>
    fn without_keywords(&mut self, mut line: &'t str) -> &'t str {
        if let Some(name) = line.strip_prefix("define ") {
            self.is_computed(name.trim().trim_end_matches(['=', ':', '?', '+']).trim());
        }
        let keywords = ["export ", "override ", "private "];
        while let Some(rest) = keywords.iter().find_map(|keyword| line.strip_prefix(keyword)) {
            line = rest.trim_start();
        }
        if let Some((_, rest)) = line.split_once(':')
            && let Some((name, _)) = rest.split_once('=')
        {
            let name = name.trim().trim_end_matches([':', '?', '+', '!']);
            let name = keywords
                .iter()
                .fold(name, |name, keyword| name.trim_start_matches(keyword));
            self.is_computed(name.trim());
        }
        line
    }

    fn is_computed(&mut self, name: &'t str) {
        if is_name(name) && self.computed.len() < MAX_VARIABLES {
            self.computed.insert(name);
        }
    }

    /// Records a variable if the line assigns one.
    fn assign(&mut self, line: &'t str, given: &Given<'_>) -> bool {
        let Some((name, value)) = line.split_once('=') else {
            return false;
        };
        let sign = name.chars().next_back();
        let name = name.trim_end_matches([':', '?', '+', '!']).trim();
        let value = value.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            return false;
        }
        let value = Some(value).filter(|_| !matches!(sign, Some('+' | '!')));
        match value.filter(|_| self.variables.len() < MAX_VARIABLES) {
            Some(value) if sign == Some('?') => {
                if !given.env.contains_key(name) {
                    self.variables.entry(name).or_insert(value);
                }
            }
            Some(value) => {
                self.variables.insert(name, value);
            }
            // A value that would have to be computed is unknown.
            None => {
                self.variables.remove(name);
                self.is_computed(name);
            }
        }
        true
    }

    /// Adds rules for the lines that follow, and returns their names.
    fn rule(&mut self, names: &'t str, rest: &'t str) -> Vec<&'t str> {
        let mut names: Vec<&str> = names.split_whitespace().take(MAX_NAMES).collect();
        let is_one = |name: &&&str| !name.starts_with('.') && !name.contains('%');
        self.first = self.first.or_else(|| names.iter().find(is_one).copied());
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.rules.len() < MAX_RULES || self.rules.contains_key(name));
        let (needs, line) = rest.trim_start_matches(':').split_once(';').unwrap_or((rest, ""));
        let needs = needs.split_whitespace().take_while(|word| !matches!(*word, "|" | "&&"));
        let needs: Vec<&str> = needs.take(MAX_NAMES).collect();
        for name in &names {
            let rule = self.rules.entry(name).or_default();
            rule.needs
                .extend(needs.iter().take(MAX_NAMES.saturating_sub(rule.needs.len())));
            rule.lines
                .extend(Some(line.trim()).filter(|line| !line.is_empty() && rule.lines.len() < MAX_LINES));
        }
        names
    }

    /// Adds a target after its dependencies, each once.
    fn visit<'r>(&'r self, name: &'r str, done: &mut BTreeSet<&'r str>, order: &mut Vec<&'r Rule<'t>>) {
        let Some(rule) = self.rules.get(name).filter(|_| done.len() < MAX_TARGETS) else {
            return;
        };
        if done.insert(name) {
            rule.needs.iter().for_each(|needed| self.visit(needed, done, order));
            order.push(rule);
        }
    }
}

/// A line as its shell receives it. `None` if it would have to be computed.
fn plain(line: &str, read: &Read<'_>, given: &Given<'_>) -> Option<String> {
    let line = line.trim_start_matches(['@', '-', '+', ' ']);
    let mut left = MAX_REPLACED;
    let filled = of_make(line, (read, given), &mut left)?;
    (!filled.starts_with('#') && filled.len() <= MAX_LINE).then_some(filled)
}

/// Replaces `$(NAME)`, `${NAME}` and `$$`. A variable that nothing sets is empty:
/// <https://www.gnu.org/software/make/manual/html_node/Reference.html>
fn of_make(text: &str, known: (&Read<'_>, &Given<'_>), left: &mut usize) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            filled.push('$');
            rest = after;
            continue;
        }
        let close = match after.chars().next()? {
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let (name, after) = after.get(1..)?.split_once(close)?;
        *left = left.checked_sub(1)?;
        let (read, given) = known;
        let name = name.trim();
        let of_file = || read.variables.get(name).copied();
        let of_env = || given.env.get(name).map(String::as_str);
        match given.given.get(name).copied() {
            None if read.computed.contains(name) => return None,
            value => match value.or_else(of_file).or_else(of_env) {
                Some(value) => filled.push_str(&of_make(value, known, left)?),
                None => filled.push_str(default_of(name)?),
            },
        }
        if filled.len() > MAX_LINE {
            return None;
        }
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

/// The value of a variable that nothing sets: make's own, or none. `None` if it is a function, one that only make knows, or
/// one that machines have.
/// <https://www.gnu.org/software/make/manual/html_node/Implicit-Variables.html>
fn default_of(name: &str) -> Option<&'static str> {
    const DEFAULTS: [(&str, &str); 4] = [("CC", "cc"), ("CXX", "g++"), ("MAKE", "make"), ("RM", "rm -f")];
    const OWN: [&str; 14] = [
        "CARGO_HOME",
        "GOBIN",
        "GOPATH",
        "GOROOT",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "AR",
        "AS",
        "CURDIR",
        "FC",
        "LD",
        "MAKEFILE_LIST",
        "MAKEFLAGS",
        "SHELL",
    ];
    let own = DEFAULTS.iter().find(|(own, _)| *own == name);
    own.map(|(_, value)| *value)
        .or_else(|| (is_taken(name) && !OWN.contains(&name)).then_some(""))
}

#[cfg(test)]
mod tests;
