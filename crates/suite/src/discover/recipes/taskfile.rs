//! Reads the tasks of Task, and never executes them: <https://taskfile.dev/docs/reference/schema>

use std::collections::{BTreeMap, BTreeSet};

use crate::shell::is_name;
use crate::workflow::{Node, parse};

/// The folder of the project, for a shell.
const ROOT: &str = "$GITHUB_WORKSPACE";
/// Maximum number of tasks that are followed from one, and of lines that are returned.
const MAX_TASKS: usize = 50;
const MAX_LINES: usize = 200;
/// Maximum number of variables of the file or of a task.
const MAX_VARIABLES: usize = 100;
/// Maximum number of tasks that are looked through for all names together.
const MAX_LOOKS: usize = 200_000;
/// Maximum number of placeholders in a line, and length of what they become.
const MAX_REPLACED: usize = 50;
const MAX_LINE: usize = 10_000;

/// What `task NAME` runs, as a script for a shell. `None` if it has other arguments, or there is no such task.
pub(super) fn script(text: &str, arguments: &[String]) -> Option<String> {
    let document = parse(text, true)?;
    let end = arguments
        .iter()
        .position(|word| word == "--")
        .unwrap_or(arguments.len());
    let names = match names(&arguments[..end])? {
        names if names.is_empty() => vec!["default"],
        names => names,
    };
    let mut script = Taskfile {
        document: &document,
        given: arguments.get(end + 1..).unwrap_or_default().join(" "),
        seen: BTreeSet::new(),
        lines: Vec::new(),
        looks: MAX_LOOKS,
    };
    script.variables(document.get("env"), &Variables::new());
    for name in names {
        script.task(name)?;
    }
    Some(script.lines.concat())
}

/// The tasks among the arguments. `None` if there are options that change what runs, or variables.
fn names(arguments: &[String]) -> Option<Vec<&str>> {
    // How much is printed, and how many tasks run at once: <https://taskfile.dev/docs/reference/cli>
    const FLAGS: [&str; 11] = [
        "-f",
        "-p",
        "-s",
        "-v",
        "-y",
        "--color",
        "--force",
        "--parallel",
        "--silent",
        "--verbose",
        "--yes",
    ];
    const WITH_VALUE: [&str; 6] = [
        "-C",
        "-o",
        "--concurrency",
        "--output",
        "--output-group-begin",
        "--output-group-end",
    ];
    let mut names = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        if WITH_VALUE.contains(&name) {
            if name == word {
                words.next();
            }
        } else if !FLAGS.contains(&name) {
            let is_task = !word.starts_with('-') && !word.contains('=');
            names.push(is_task.then_some(word)?);
        }
    }
    Some(names)
}

struct Taskfile<'d> {
    document: &'d Node,
    /// What the caller passes on to commands.
    given: String,
    seen: BTreeSet<&'d str>,
    lines: Vec<String>,
    /// How many more tasks may be looked at.
    looks: usize,
}

impl<'d> Taskfile<'d> {
    /// Adds the lines of a task after those that it depends on, each task once. `None` if there is none with this name.
    fn task(&mut self, name: &str) -> Option<()> {
        let tasks = self.document.get("tasks")?.entries();
        self.looks = self.looks.checked_sub(tasks.len())?;
        let (name, task) = tasks.iter().find(|(own, task)| {
            let aliases = task.get("aliases").map(Node::items).unwrap_or_default();
            own == name || aliases.iter().any(|alias| alias.text() == Some(name))
        })?;
        if self.seen.len() >= MAX_TASKS || !self.seen.insert(name) {
            return Some(());
        }
        for needed in task
            .get("deps")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .take(MAX_TASKS)
        {
            let needed = needed.text().or_else(|| needed.get("task")?.text());
            needed.and_then(|needed| self.task(needed));
        }
        let mut known = Variables::new();
        for vars in [self.document.get("vars"), task.get("vars")].into_iter().flatten() {
            for (name, value) in vars.entries().iter().take(MAX_VARIABLES) {
                let value = value.scalar().and_then(|value| filled(&value, &known, &self.given));
                known.insert(name.clone(), value);
            }
        }
        self.variables(task.get("env"), &known);
        let directory = task
            .get("dir")
            .and_then(Node::text)
            .map(|text| filled(text, &known, &self.given));
        let enters = match directory {
            None => String::new(),
            // Nobody knows where.
            Some(None) => return Some(()),
            Some(Some(directory)) => format!("cd {} && ", quoted(&directory)?),
        };
        let lines = match task {
            Node::Text(_) => std::slice::from_ref(task),
            Node::List(lines) => lines,
            _ => match task.get("cmds").or_else(|| task.get("cmd"))? {
                Node::List(lines) => lines,
                line => std::slice::from_ref(line),
            },
        };
        for line in lines.iter().take(MAX_LINES) {
            if let Some(called) = line.get("task").and_then(Node::text) {
                self.task(called);
                continue;
            }
            let text = line.text().or_else(|| line.get("cmd")?.text());
            if let Some(line) = text.and_then(|text| filled(text, &known, &self.given)) {
                let is_alone = enters.is_empty();
                self.push(match is_alone {
                    true => format!("{}\n", line.trim_end()),
                    false => format!("({enters}{})\n", line.trim_end()),
                });
            }
        }
        Some(())
    }

    /// Adds lines that set variables, as far as their values are plain.
    fn variables(&mut self, env: Option<&Node>, known: &Variables) {
        for (name, value) in env.map(Node::entries).unwrap_or_default().iter().take(MAX_VARIABLES) {
            let value = value.scalar().and_then(|value| filled(&value, known, &self.given));
            if let Some(value) = value.as_deref().and_then(quoted)
                && is_name(name)
            {
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

/// A value as a word of a shell; only the folder of the project is a variable in it.
fn quoted(value: &str) -> Option<String> {
    let (root, rest) = match value.strip_prefix(ROOT) {
        Some(rest) => (format!("\"{ROOT}\""), rest),
        None => (String::new(), value),
    };
    let is_empty = rest.is_empty() && !root.is_empty();
    let rest = if is_empty {
        "".into()
    } else {
        shlex::try_quote(rest).ok()?
    };
    (!rest.contains(ROOT)).then(|| format!("{root}{rest}"))
}

/// Variables by name. `None` for one whose value would have to be computed.
type Variables = BTreeMap<String, Option<String>>;

/// A text with the values of its variables. A variable that nothing sets is empty. `None` if something would have to be
/// computed: <https://taskfile.dev/docs/reference/templating>
fn filled(text: &str, known: &Variables, given: &str) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text);
    for _ in 0..MAX_REPLACED {
        let Some((before, after)) = rest.split_once("{{") else {
            whole.push_str(rest);
            return (whole.len() <= MAX_LINE).then_some(whole);
        };
        let (inner, after) = after.split_once("}}")?;
        whole.push_str(before);
        if whole.len() > MAX_LINE {
            return None;
        }
        let (name, default) = variable(inner)?;
        match (name, known.get(name)) {
            ("CLI_ARGS", _) => whole.push_str(given),
            ("ROOT_DIR" | "TASKFILE_DIR" | "USER_WORKING_DIR", _) => whole.push_str(ROOT),
            (_, Some(None)) => return None,
            (_, Some(Some(value))) if !value.is_empty() => whole.push_str(value),
            _ => whole.push_str(default),
        }
        rest = after;
    }
    None
}

/// The name in a placeholder, and what it becomes if nothing sets it: `.A`, `default "b" .A` and `.A | default "b"`.
fn variable(inner: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = inner.split_whitespace().collect();
    let (name, default) = match words.as_slice() {
        [name] => (*name, "\"\""),
        ["default", default, name] | [name, "|", "default", default] => (*name, *default),
        _ => return None,
    };
    let default = default.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    let name = name.strip_prefix('.').filter(|name| is_name(name))?;
    Some((name, default))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
version: '3'
env: {LC_ALL: C, X: '{{.UNKNOWN | upper}}'}
vars: {OPTIONS: -race, COMPUTED: {sh: date}}
tasks:
  test:
    deps: [generate, {task: tools}]
    vars: {PATTERN: '{{default \"./...\" .PATTERN}}', TAGS: '{{.TAGS | default \"e2e\"}}'}
    env: {LEVEL: 2}
    cmds:
      - go test {{.OPTIONS}} {{.PATTERN}} {{.MORE}}
      - cmd: go test -tags {{.TAGS}} {{.CLI_ARGS}} ./e2e
      - task: lint
      - echo {{now | date}}
      - echo {{.COMPUTED}}
      - task: test
  generate: go generate ./...
  tools:
    dir: tools
    cmd: go install ./...
  lint: [golangci-lint run]
  unit: {aliases: [u], cmds: [go test .]}
";

    #[test]
    fn a_task_is_its_lines_after_those_that_it_needs() {
        let lines = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            script(FILE, &words)
        };
        let expected = "export LC_ALL=C\ngo generate ./...\n(cd tools && go install ./...)\nexport LEVEL=2\n\
                        go test -race ./... \ngo test -tags e2e -v ./e2e\ngolangci-lint run\n";
        assert_eq!(
            lines("test -- -v").as_deref(),
            Some(expected).map(|text| text.replace("... \n", "...\n")).as_deref()
        );
        for one in [
            "u",
            "u --output group --output-group-begin='::group::a' -v",
            "-o=group -C 2 u --color=false",
        ] {
            assert_eq!(lines(one).as_deref(), Some("export LC_ALL=C\ngo test .\n"), "{one}");
        }
        for other in ["none", "--list", "test A=b", ""] {
            assert_eq!(lines(other), None, "{other}");
        }
    }

    #[test]
    fn the_folder_of_the_project_is_no_text() {
        let file = "tasks: {a: {dir: '{{.ROOT_DIR}}/sub dir', env: {X: '{{.ROOT_DIR}}'}, cmds: [go test]}}\n";
        let expected = "export X=\"$GITHUB_WORKSPACE\"\n(cd \"$GITHUB_WORKSPACE\"'/sub dir' && go test)\n";
        assert_eq!(script(file, &["a".into()]).as_deref(), Some(expected));
    }

    #[test]
    fn tasks_that_need_each_other_end() {
        let many: String = (0..500)
            .map(|n| format!("  t{n}: {{deps: [t{}, t0], cmds: [echo]}}\n", n + 1))
            .collect();
        let text = format!("tasks:\n{many}");
        assert!(script(&text, &["t0".into()]).is_some_and(|script| script.lines().count() <= MAX_TASKS));
    }

    #[test]
    fn a_hostile_file_is_bounded() {
        let many: String = (0..5_000)
            .map(|n| format!("  t{n}: {{deps: *d, cmds: [echo]}}\n"))
            .collect();
        let deps = (0..5_000).map(|n| format!("t{n}")).collect::<Vec<_>>().join(", ");
        let text = format!("x: &d [{deps}]\ntasks:\n  a: {{deps: *d, cmds: [echo]}}\n{many}");
        let _ends = script(&text, &["a".into()]);
        let long = "{{.A}}".repeat(50);
        let text = format!(
            "vars: {{A: {}}}\ntasks: {{a: {{cmds: ['{long}', go test]}}}}\n",
            "x".repeat(9_000)
        );
        assert_eq!(script(&text, &["a".into()]).as_deref(), Some("go test\n"));
    }
}
