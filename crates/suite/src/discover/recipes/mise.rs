//! Reads the tasks of mise, and never executes them: <https://mise.jdx.dev/tasks/toml-tasks.html>

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::listed::listed;
use crate::shell::{is_name, quoted};

/// The files with tasks: <https://mise.jdx.dev/configuration.html>
pub(super) const FILES: [&str; 5] = [
    "mise.toml",
    ".mise.toml",
    "mise/config.toml",
    ".config/mise.toml",
    ".config/mise/config.toml",
];
/// The folders with tasks that are scripts: <https://mise.jdx.dev/tasks/file-tasks.html>
const FOLDERS: [&str; 4] = ["mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks"];
/// Maximum number of tasks that are followed from one, and of shells that they start.
const MAX_TASKS: usize = 50;
const MAX_SCRIPTS: usize = 100;

/// What `mise run NAME` runs, as a script for a shell. `read` reads a file of the project. `None` if it has options, or
/// there is no such task.
pub(super) fn script(text: &str, arguments: &[String], read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (["run" | "r", name, rest @ ..] | [name, rest @ ..]) = words.as_slice() else {
        return None;
    };
    if name.starts_with('-') || !rest.is_empty() && rest.first() != Some(&"--") {
        return None;
    }
    let document: Table = toml::from_str(text).ok()?;
    let mut tasks = MiseTasks {
        document: &document,
        read,
        seen: BTreeSet::new(),
        scripts: Vec::new(),
    };
    let more: String = rest.iter().skip(1).map(|word| format!(" {}", quoted(word))).collect();
    tasks.task(name, &more)?;
    Some(tasks.scripts.concat())
}

struct MiseTasks<'d> {
    document: &'d Table,
    read: &'d dyn Fn(&str) -> Option<String>,
    seen: BTreeSet<String>,
    /// One for each shell.
    scripts: Vec<String>,
}

impl MiseTasks<'_> {
    /// Adds the scripts of a task after those that it depends on, each task once; `more` follows the last of them. `None` if
    /// there is none with this name.
    fn task(&mut self, name: &str, more: &str) -> Option<()> {
        if self.seen.len() >= MAX_TASKS || !self.seen.insert(name.to_owned()) {
            return Some(());
        }
        let tasks = self.document.get("tasks").and_then(Value::as_table);
        let Some(task) = tasks.and_then(|tasks| tasks.get(name)) else {
            let text = self.file(name)?;
            self.push(&[], None, &text, more);
            return Some(());
        };
        for needed in texts(task.get("depends")) {
            self.task(needed.split_whitespace().next()?, "");
        }
        let directory = match task.get("dir").map(Value::as_str) {
            None => None,
            Some(directory) => Some(directory.filter(|directory| !directory.contains("{{"))?),
        };
        let run = match task {
            Value::Table(task) => task.get("run"),
            line => Some(line),
        };
        let scripts: Vec<&str> = texts(run).filter(|script| !script.contains("{{")).collect();
        let env = variables(task.get("env"));
        for (at, script) in scripts.iter().enumerate() {
            let is_last = at + 1 == scripts.len();
            self.push(&env, directory, script, if is_last { more } else { "" });
        }
        Some(())
    }

    /// A task that is a script of a shell.
    fn file(&self, name: &str) -> Option<String> {
        let path = name.replace(':', "/");
        let mut paths = FOLDERS
            .iter()
            .flat_map(|folder| [format!("{folder}/{path}"), format!("{folder}/{path}.sh")]);
        let text = paths.find_map(|path| (self.read)(&path))?;
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        first.trim_end().ends_with("sh").then_some(text)
    }

    /// Adds what runs in one shell.
    fn push(&mut self, env: &[String], directory: Option<&str>, script: &str, more: &str) {
        if self.scripts.len() >= MAX_SCRIPTS {
            return;
        }
        let own = variables(self.document.get("env"));
        let enters = directory.map(|directory| format!("cd {}\n", quoted(directory)));
        let lines = script.trim().lines().filter(|line| !line.starts_with("#!"));
        let lines: Vec<&str> = lines.collect();
        let before = own
            .iter()
            .chain(env)
            .map(String::as_str)
            .chain(enters.as_deref())
            .collect::<String>();
        self.scripts.push(format!("(\n{before}{}{more}\n)\n", lines.join("\n")));
    }
}

/// Lines that set variables, as far as their values are plain.
fn variables(env: Option<&Value>) -> Vec<String> {
    let plain = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => Some(text.clone()).filter(|text| !text.contains("{{")),
            Value::Integer(number) => Some(number.to_string()),
            _ => None,
        };
        let is_known = is_name(name) && name != "_";
        Some(format!("export {name}={}\n", quoted(&value.filter(|_| is_known)?)))
    };
    let all = env.and_then(Value::as_table).into_iter().flatten();
    all.filter_map(plain).take(MAX_TASKS).collect()
}

/// A text, or the texts of a list.
fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    listed(value).iter().filter_map(Value::as_str).take(MAX_TASKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_its_lines_after_those_that_it_needs() {
        let file = "[env]\nA = 'b c'\n_.path = 'x'\n[tasks]\nfmt = 'cargo fmt --check'\n[tasks.test]\ndepends = ['fmt', 'test']\n\
                    env = {LEVEL = 2, X = '{{exec()}}'}\nrun = ['cargo test', 'echo {{arg(name=\"x\")}}']\n\
                    [tasks.web]\ndir = 'web'\nrun = '''\n#!/bin/sh\nnpm test\n'''\n";
        let read = |path: &str| (path == "mise-tasks/test/unit").then(|| "#!/usr/bin/env bash\npytest\n".to_owned());
        let run = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            script(file, &words, &read)
        };
        let all = "(\nexport A='b c'\ncargo fmt --check\n)\n(\nexport A='b c'\nexport LEVEL=2\ncargo test\n)\n";
        assert_eq!(run("run test").as_deref(), Some(all));
        assert_eq!(
            run("r test -- -q -m 'x"),
            Some(all.replace("cargo test", "cargo test -q -m \"'x\""))
        );
        assert_eq!(run("web").as_deref(), Some("(\nexport A='b c'\ncd web\nnpm test\n)\n"));
        assert_eq!(run("test:unit").as_deref(), Some("(\nexport A='b c'\npytest\n)\n"));
        for other in ["install", "run --force test", "", "run"] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
