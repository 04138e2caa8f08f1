//! Reads the tasks of pixi, and never executes them: <https://pixi.sh/latest/workspace/advanced_tasks/>

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::listed::listed;
use crate::shell::{is_name, quoted};

/// Options of `pixi run` without a value, and with one: <https://pixi.sh/latest/reference/cli/pixi/run/>
const FLAGS: [&str; 9] = [
    "--as-is",
    "--clean-env",
    "--frozen",
    "--locked",
    "--no-install",
    "--no-progress",
    "-q",
    "-v",
    "-x",
];
const WITH_VALUE: [&str; 5] = ["--environment", "--manifest-path", "-e", "-m", "--color"];
/// Maximum number of tasks that are followed from one.
const MAX_TASKS: usize = 50;

/// What `pixi run …` runs, as a script for a shell: a task, or a program. `read` reads a file of the project. `None` for
/// other subcommands.
pub(super) fn script(arguments: &[String], read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let rest = arguments.split_first().filter(|(first, _)| *first == "run")?.1;
    let mut at = 0;
    while let Some(option) = rest.get(at).filter(|word| word.starts_with('-')) {
        let name = option.split('=').next().unwrap_or(option);
        at += match (FLAGS.contains(&name), WITH_VALUE.contains(&name)) {
            (true, _) => 1,
            (_, true) => 1 + usize::from(!option.contains('=')),
            _ => return None,
        };
    }
    let (name, more) = rest.get(at..)?.split_first()?;
    let parsed = |text: String| toml::from_str::<Table>(&text).ok();
    let of_python = || {
        let manifest = parsed(read("pyproject.toml")?)?;
        manifest.get("tool")?.get("pixi")?.as_table().cloned()
    };
    let manifest = read("pixi.toml")
        .and_then(parsed)
        .or_else(of_python)
        .unwrap_or_default();
    let more: String = more.iter().map(|word| format!(" {}", quoted(word))).collect();
    let mut scripts = Vec::new();
    match task(&manifest, name) {
        Some(_) => add(&manifest, (name, &more), &mut BTreeSet::new(), &mut scripts)?,
        None => scripts.push(format!("{}{more}\n", quoted(name))),
    }
    Some(scripts.concat())
}

/// The task of this name: of the project, or of one of its features.
fn task<'m>(manifest: &'m Table, name: &str) -> Option<&'m Value> {
    let of = |table: &'m Value| table.get("tasks")?.get(name);
    let own = manifest.get("tasks").and_then(|tasks| tasks.get(name));
    let features = manifest.get("feature").and_then(Value::as_table);
    own.or_else(|| features?.values().find_map(of))
}

/// Adds the scripts of a task after those that it depends on, each task once and in its own shell. `more` follows its own.
fn add(
    manifest: &Table,
    (name, more): (&str, &str),
    seen: &mut BTreeSet<String>,
    scripts: &mut Vec<String>,
) -> Option<()> {
    if seen.len() >= MAX_TASKS || !seen.insert(name.to_owned()) {
        return Some(());
    }
    let task = task(manifest, name)?;
    let needed = task.get("depends-on").or_else(|| task.get("depends_on"));
    for other in texts(needed) {
        add(manifest, (other, ""), seen, scripts);
    }
    let command = match task {
        Value::Table(table) => table.get("cmd"),
        line => Some(line),
    };
    let words: Vec<&str> = texts(command).collect();
    // A template needs arguments that are not read.
    if words.is_empty() || words.iter().any(|word| word.contains("{{")) {
        return Some(());
    }
    let mut line = match command {
        Some(Value::Array(_)) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        _ => words.concat(),
    };
    line.push_str(more);
    for (name, value) in task.get("env").and_then(Value::as_table).into_iter().flatten() {
        if let Some(value) = value.as_str().filter(|value| is_name(name) && !value.contains('$')) {
            line = format!("export {name}={}\n{line}", quoted(value));
        }
    }
    if let Some(directory) = task.get("cwd").and_then(Value::as_str) {
        line = format!("cd {}\n{line}", quoted(directory));
    }
    scripts.push(format!("(\n{line}\n)\n"));
    Some(())
}

/// A text, or the texts of a list, whose members may be tables that name a task.
fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    listed(value)
        .iter()
        .filter_map(|value| value.as_str().or_else(|| value.get("task")?.as_str()))
        .take(MAX_TASKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_and_programs_run_in_the_environment() {
        let manifest = "[tool.pixi.tasks]\nlint = 'ruff check'\n[tool.pixi.feature.test.tasks]\n\
                        test = { cmd = 'pytest -q --pyargs x', env = { KIND = 'a b' }, depends-on = ['lint', {task = 'gen'}] }\n\
                        gen = { cmd = ['python', 'a b.py'], cwd = 'tools' }\nloop = { cmd = 'a', depends-on = 'loop' }\n";
        let read = |path: &str| (path == "pyproject.toml").then(|| manifest.to_owned());
        let run = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            script(&words, &read)
        };
        for (line, expected) in [
            (
                "run -e py313 --frozen test -x",
                Some(
                    "(\nruff check\n)\n(\ncd tools\npython 'a b.py'\n)\n(\nexport KIND='a b'\npytest -q --pyargs x -x\n)\n",
                ),
            ),
            ("run --environment=test pytest tests", Some("pytest tests\n")),
            ("run loop", Some("(\na\n)\n")),
            ("run --unknown test", None),
            ("install", None),
            ("run", None),
        ] {
            assert_eq!(run(line).as_deref(), expected, "{line}");
        }
    }
}
