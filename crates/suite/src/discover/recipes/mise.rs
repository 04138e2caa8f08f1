//! Reads the tasks of mise, and never executes them: <https://mise.jdx.dev/tasks/toml-tasks.html>

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::shell::is_name;

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
/// Maximum number of tasks that are followed from one, and of lines that are returned.
const MAX_TASKS: usize = 50;
const MAX_LINES: usize = 200;

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
        lines: Vec::new(),
    };
    tasks.variables(document.get("env"));
    tasks.task(name)?;
    let more = rest.get(1..).unwrap_or_default().join(" ");
    if let Some(last) = tasks.lines.last_mut().filter(|_| !more.is_empty()) {
        *last = format!("{} {more}\n", last.trim_end());
    }
    Some(tasks.lines.concat())
}

struct MiseTasks<'d> {
    document: &'d Table,
    read: &'d dyn Fn(&str) -> Option<String>,
    seen: BTreeSet<String>,
    lines: Vec<String>,
}

impl MiseTasks<'_> {
    /// Adds the lines of a task after those that it depends on, each task once. `None` if there is none with this name.
    fn task(&mut self, name: &str) -> Option<()> {
        if self.seen.len() >= MAX_TASKS || !self.seen.insert(name.to_owned()) {
            return Some(());
        }
        let tasks = self.document.get("tasks").and_then(Value::as_table);
        let Some(task) = tasks.and_then(|tasks| tasks.get(name)) else {
            return self.file(name);
        };
        for needed in texts(task.get("depends")) {
            self.task(needed.split_whitespace().next()?);
        }
        self.variables(task.get("env"));
        let enters = match task.get("dir").map(Value::as_str) {
            None => None,
            Some(directory) => Some(directory.filter(|directory| !directory.contains("{{"))?),
        };
        let run = match task {
            Value::Table(task) => task.get("run"),
            line => Some(line),
        };
        for script in texts(run) {
            let lines = script.trim().lines().filter(|line| !line.starts_with("#!"));
            for line in lines.filter(|line| !line.contains("{{")) {
                self.push(match enters {
                    None => format!("{line}\n"),
                    Some(directory) => format!("(cd {} && {line})\n", shlex::try_quote(directory).ok()?),
                });
            }
        }
        Some(())
    }

    /// Adds a task that is a script of a shell.
    fn file(&mut self, name: &str) -> Option<()> {
        let path = name.replace(':', "/");
        let mut paths = FOLDERS
            .iter()
            .flat_map(|folder| [format!("{folder}/{path}"), format!("{folder}/{path}.sh")]);
        let text = paths.find_map(|path| (self.read)(&path))?;
        let is_shell = text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("#!") && line.trim_end().ends_with("sh"));
        for line in text.lines().skip(1).filter(|_| is_shell) {
            self.push(format!("{line}\n"));
        }
        is_shell.then_some(())
    }

    /// Adds lines that set variables, as far as their values are plain.
    fn variables(&mut self, env: Option<&Value>) {
        for (name, value) in env.and_then(Value::as_table).into_iter().flatten() {
            let value = match value {
                Value::String(text) => Some(text.clone()).filter(|text| !text.contains("{{")),
                Value::Integer(number) => Some(number.to_string()),
                _ => None,
            };
            let value = value.and_then(|value| Some(shlex::try_quote(&value).ok()?.into_owned()));
            if let Some(value) = value.filter(|_| is_name(name) && name != "_") {
                self.push(format!("export {name}={value}\n"));
            }
        }
    }

    fn push(&mut self, line: String) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
    }
}

/// A text, or the texts of a list.
fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = match value {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    list.iter().filter_map(Value::as_str).take(MAX_TASKS)
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
        let all = "export A='b c'\ncargo fmt --check\nexport LEVEL=2\ncargo test\n";
        assert_eq!(run("run test").as_deref(), Some(all));
        assert_eq!(run("r test -- -q"), Some(all.replace("cargo test", "cargo test -q")));
        assert_eq!(run("web").as_deref(), Some("export A='b c'\n(cd web && npm test)\n"));
        assert_eq!(run("test:unit").as_deref(), Some("export A='b c'\npytest\n"));
        for other in ["install", "run --force test", "", "run"] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
