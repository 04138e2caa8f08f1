//! Reads the tasks of Poe the Poet, and never executes them: <https://poethepoet.natn.io/tasks/task_types/index.html>

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::listed::listed;
use crate::shell::{is_name, quoted};

/// Maximum depth of tasks that name others, and how many are followed in all.
const MAX_DEPTH: usize = 10;
const MAX_TASKS: usize = 100;
/// Maximum number of variables of a task.
const MAX_VARIABLES: usize = 50;
/// Maximum size of what one call runs, in bytes; no shell script is read beyond it.
const MAX_SCRIPT: usize = 100_000;

/// What `poe NAME ARGUMENTS` runs, as a script for a shell. `read` reads a file of the project. `None` if it has other
/// options, or there is no such task.
pub(super) fn script(arguments: &[String], read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let words = arguments.iter().map(String::as_str);
    let mut words = words.skip_while(|word| matches!(*word, "-q" | "-v" | "--quiet" | "--verbose"));
    let name = words.next().filter(|name| !name.starts_with('-'))?;
    let more: String = words.map(|word| format!(" {}", quoted(word))).collect();
    let table = |file: &str| read(file).and_then(|text| text.parse::<Table>().ok());
    let table_of_poe = |table: &Table| table.get("tool")?.get("poe").cloned();
    let settings = match table("poe_tasks.toml") {
        Some(own) => table_of_poe(&own).unwrap_or(Value::Table(own)),
        None => table_of_poe(&table("pyproject.toml")?)?,
    };
    let mut script = PoeScript {
        tasks: settings.get("tasks")?.as_table()?,
        lines: Vec::new(),
        left: MAX_TASKS,
    };
    let env = with_variables(&BTreeMap::new(), settings.get("env"));
    script.named(name, (&more, &env), MAX_DEPTH)?;
    Some(script.lines.concat())
}

struct PoeScript<'t> {
    tasks: &'t Table,
    /// One for each command, in a shell with its variables.
    lines: Vec<String>,
    /// How many more tasks are followed.
    left: usize,
}

impl PoeScript<'_> {
    fn named(&mut self, name: &str, around: (&str, &BTreeMap<String, String>), depth: usize) -> Option<()> {
        self.task(self.tasks.get(name)?, around, depth.checked_sub(1)?)
    }

    /// Adds what a task runs. `None` if that is not known.
    fn task(&mut self, task: &Value, (more, env): (&str, &BTreeMap<String, String>), depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.left = self.left.checked_sub(1)?;
        let table = match task {
            Value::String(command) => {
                self.push(&one_line(command), (more, env), None)?;
                return Some(());
            }
            Value::Array(tasks) => return self.sequence(tasks, env, depth),
            Value::Table(table) => table,
            _ => return None,
        };
        let env = &with_variables(env, table.get("env"));
        for needed in listed(table.get("deps")).iter().filter_map(Value::as_str) {
            self.named(needed.split_whitespace().next()?, ("", env), depth)?;
        }
        let text = |key: &str| table.get(key).and_then(Value::as_str);
        if let Some(command) = text("cmd").map(one_line).or_else(|| text("shell").map(String::from)) {
            // A task that declares options takes them as their values.
            let arguments = if table.contains_key("args") { "" } else { more };
            return self.push(&command, (arguments, env), text("cwd"));
        }
        if let Some(other) = text("ref") {
            let (name, own) = other.trim().split_once(' ').unwrap_or((other.trim(), ""));
            let own = if own.is_empty() {
                String::new()
            } else {
                format!(" {own}")
            };
            return self.named(name, (&format!("{own}{more}"), env), depth);
        }
        self.sequence(table.get("sequence")?.as_array()?, env, depth)
    }

    /// Texts in a sequence name tasks.
    fn sequence(&mut self, tasks: &[Value], env: &BTreeMap<String, String>, depth: usize) -> Option<()> {
        for task in tasks {
            match task {
                Value::String(name) => self.named(name, ("", env), depth)?,
                task => self.task(task, ("", env), depth)?,
            }
        }
        Some(())
    }

    fn push(
        &mut self,
        command: &str,
        (more, env): (&str, &BTreeMap<String, String>),
        directory: Option<&str>,
    ) -> Option<()> {
        let mut text = String::from("(\n");
        for (name, value) in env {
            text += &format!("export {name}={}\n", quoted(value));
        }
        if let Some(directory) = directory {
            text += &format!("cd {}\n", quoted(directory));
        }
        text += &format!("{}{more}\n)\n", command.trim());
        // Each command repeats all variables.
        let size: usize = self.lines.iter().map(String::len).sum();
        (size + text.len() <= MAX_SCRIPT).then(|| self.lines.push(text))
    }
}

/// The content of a `cmd` task as one line: line breaks separate words, and end comments.
/// <https://github.com/nat-n/poethepoet/blob/main/poethepoet/helpers/parse/__init__.py>
fn one_line(command: &str) -> String {
    let lines = command.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let lines = lines.map(|line| match line.split_once(" #") {
        Some((code, _)) if !line.contains(['"', '\'']) => code.trim_end(),
        _ => line,
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Variables with those of a task. A default counts where there is no other value.
fn with_variables(env: &BTreeMap<String, String>, own: Option<&Value>) -> BTreeMap<String, String> {
    let mut all = env.clone();
    for (name, value) in own.and_then(Value::as_table).into_iter().flatten().take(MAX_VARIABLES) {
        let default = value.get("default").and_then(Value::as_str);
        if let Some(value) = value.as_str().or(default)
            && is_name(name)
            && (default.is_none() || !all.contains_key(name))
        {
            all.insert(name.clone(), value.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_what_it_names() {
        let file = "[tool.poe.env]\nA = '1'\n[tool.poe.tasks]\nunit = 'pytest'\nall = ['unit', {cmd = 'mypy', cwd = 'src'}]\n\
                    [tool.poe.tasks.test]\ncmd = '''\npytest $OPTS\n'''\nenv.OPTS.default = '-p no:cov'\n\
                    [tool.poe.tasks.cov]\nref = 'test -x'\nenv.OPTS = '''\n--cov\n-q\n'''\n\
                    [tool.poe.tasks.loop]\nref = 'loop'\n[tool.poe.tasks.wide]\nsequence = ['wide2', 'wide2']\n\
                    [tool.poe.tasks.wide2]\nsequence = ['unit', 'unit']\n[tool.poe.tasks.code]\nscript = 'a:b'\n\
                    [tool.poe.tasks.needs]\nshell = 'ls'\ndeps = ['unit']\n\
                    [tool.poe.tasks.long]\ncmd = \"\"\"\n  pytest # all\n  # of\n  --cov=a  '-k b # c'\n\n\"\"\"\n\
                    [tool.poe.tasks.lines]\nshell = \"\"\"\na\nb\n\"\"\"\n";
        let read = |path: &str| (path == "pyproject.toml").then(|| file.to_owned());
        let run = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            script(&words, &read)
        };
        let one = |text: &str| format!("(\nexport A=1\n{text}\n)\n");
        assert_eq!(run("unit -k a"), Some(one("pytest -k a")));
        assert_eq!(run("-q all"), Some(one("pytest") + &one("cd src\nmypy")));
        assert_eq!(run("test"), Some(one("export OPTS='-p no:cov'\npytest $OPTS")));
        assert_eq!(run("cov -v"), Some(one("export OPTS='--cov -q'\npytest $OPTS -x -v")));
        assert_eq!(run("long -x"), Some(one("pytest --cov=a  '-k b # c' -x")));
        assert_eq!(run("lines"), Some(one("a\nb")));
        assert_eq!(run("needs"), Some(one("pytest") + &one("ls")));
        let wide = format!(
            "[tool.poe.tasks]\na = {0:?}\nb = {1:?}\nc = []\n",
            vec!["b"; 5_000],
            vec!["c"; 5_000]
        );
        assert_eq!(script(&["a".into()], &|_| Some(wide.clone())), None);
        let long = format!(
            "[tool.poe]\nenv.A = '{}'\n[tool.poe.tasks]\na = {:?}\nb = 'ls'\n",
            "x".repeat(3_000),
            vec!["b"; 50]
        );
        assert_eq!(script(&["a".into()], &|_| Some(long.clone())), None);
        for other in ["loop", "code", "missing", "", "-C a unit"] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
