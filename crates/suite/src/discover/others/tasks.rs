//! Targets and tasks named after tests: make, just, Task.
//!
//! Results are read from their output.

use std::sync::LazyLock;

use regex::Regex;

use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::test_command::TestCommand;
use crate::text::pattern;

/// The files that make reads, in this order: <https://www.gnu.org/software/make/manual/html_node/Makefile-Names.html>
pub(crate) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// The files that Task reads: <https://taskfile.dev/docs/guide#supported-file-names>
pub(crate) const TASKFILES: [&str; 4] = ["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"];

/// `test: all`, but not `test := …`.
static TARGET: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^(?:[\w-]+ +)*(test|check|tests)(?: +[\w-]+)* *::?(?:[^:=\n][^=\n]*|[ \t].*)?$"));
static RECIPE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^@?(test|tests|check)(?: +[^:\n]+)? *:(?:[^=\n].*)?$"));
static TASK: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"(?m)^(?: {1,4}|\t)['"]?(test|tests|check)['"]?:(?: .*)?$"#));
/// The programs that run them.
pub(super) const RUNNERS: [&str; 3] = ["make", "just", "task"];
/// Names of targets, preferred ones first.
const NAMES: [&str; 3] = ["test", "check", "tests"];

pub(super) fn find(place: &Directory<'_>) -> Option<TestCommand> {
    let runners = [
        (&MAKEFILES[..], "make", &TARGET),
        (&["justfile", "Justfile", ".justfile"][..], "just", &RECIPE),
        (&TASKFILES[..], "task", &TASK),
    ];
    runners.into_iter().find_map(|(files, program, names)| {
        let file = files.iter().find(|file| place.has(file))?;
        let text = place.text(file)?;
        let names = names.as_ref()?;
        let targets: Vec<&str> = names
            .captures_iter(&text)
            .filter_map(|found| found.get(1))
            .map(|name| name.as_str())
            .collect();
        let name = NAMES.into_iter().find(|name| targets.contains(name))?;
        place.command(&[program, name], Framework::Other, file)
    })
}
