//! Asks the tool that complained what it complains about, with the fixes that it suggests. Where there
//! is no such tool, the test command itself is run, and its output is read.

mod eslint;
mod ruff;
mod rustc;
mod typescript;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::Outcome;
use greenlight_suite as suite;
use greenlight_suite::CommandPart;
use greenlight_tree::checkout::Checkout;
use tokio_util::sync::CancellationToken;

use super::problems::{at, of_run};
use super::renames::Renames;
use super::{Hint, HintEdit, Problem, is_editable};
use crate::task::Task;
use crate::tools::{ToolRunner, as_json, resolved, tool_at};

/// Maximum number of complaints of a tool that are worked on at once.
const MAX_PROBLEMS: usize = 40;
/// Maximum number of suggestions for one complaint, and maximum length of one replacement.
const MAX_HINTS: usize = 12;
const MAX_TEXT: usize = 16 << 10;

/// How the tree is examined.
enum Way {
    Cargo(CommandPart, Vec<String>),
    TypeScript(CommandPart, Vec<String>),
    Eslint(CommandPart, Vec<String>),
    Ruff(CommandPart, Vec<String>),
    /// By the test command, with these tests only.
    Run(Vec<String>),
}

/// What a tool says about one line.
struct ToolComplaint {
    file: String,
    line: u32,
    message: String,
    hints: Vec<ToolHint>,
}

/// A fix that a tool suggests: replacements of text, by file, and how likely it is right.
struct ToolHint {
    changes: Vec<ToolChange>,
    weight: f32,
}

/// A replacement: the file as the tool names it, the first byte, the replaced text, if the tool says it, and its end.
struct ToolChange {
    file: String,
    start: usize,
    end: usize,
    before: Option<String>,
    after: String,
}

/// Examines trees for what is wrong with them.
pub(super) struct Examiner<'a> {
    task: &'a Task<'a>,
    way: Way,
    renames: Renames,
    bench: Option<ToolRunner<'a>>,
}

impl<'a> Examiner<'a> {
    pub(super) fn new(task: &'a Task<'a>) -> Self {
        Self {
            way: way(task),
            renames: Renames::of(task),
            task,
            bench: None,
        }
    }

    /// What is wrong with the task's tree.
    pub(super) async fn first(&mut self, stop: &CancellationToken) -> Result<Vec<Problem>, suite::Error> {
        match self.way {
            Way::Run(_) => Ok(of_run(self.task, (self.task.checkout, &self.renames), self.task.before)),
            _ => {
                let found = self.examine(self.task.checkout, stop).await?;
                if found.iter().any(|problem| !problem.hints.is_empty()) || stop.is_cancelled() {
                    return Ok(found);
                }
                // The tool may be missing, or may not be what failed.
                self.way = Way::Run(Vec::new());
                Ok(of_run(self.task, (self.task.checkout, &self.renames), self.task.before))
            }
        }
    }

    /// What is wrong with a tree, as far as it can be said.
    pub(super) async fn examine(
        &mut self,
        tree: &Checkout,
        stop: &CancellationToken,
    ) -> Result<Vec<Problem>, suite::Error> {
        let bench = match &mut self.bench {
            Some(bench) => bench,
            empty => empty.insert(ToolRunner::new(self.task).await?),
        };
        bench.show(tree);
        let (part, argv) = match &self.way {
            Way::Run(only) => {
                let searching = self.task.suite.for_purpose(suite::Purpose::Search);
                let run = suite::run(&searching, bench.workspace(), only, stop).await?;
                return Ok(of_run(self.task, (tree, &self.renames), &run));
            }
            Way::Cargo(part, argv) | Way::TypeScript(part, argv) | Way::Eslint(part, argv) | Way::Ruff(part, argv) => {
                (part, argv)
            }
        };
        let ran = bench.run(part, argv, stop).await?;
        let complaints = match &self.way {
            Way::Cargo(..) => rustc::complaints(&ran.printed),
            Way::TypeScript(..) => typescript::complaints(&ran.printed),
            Way::Eslint(..) => eslint::complaints(&ran.printed, |file| self.text(tree, part, file)),
            Way::Ruff(..) => ruff::complaints(&ran.printed, |file| self.text(tree, part, file)),
            Way::Run(_) => Vec::new(),
        };
        let problems = complaints
            .into_iter()
            .take(MAX_PROBLEMS)
            .map(|complaint| self.problem(tree, part, complaint));
        Ok(problems.collect())
    }

    fn path(&self, tree: &Checkout, part: &CommandPart, file: &str) -> Option<RepoPath> {
        if let Some(path) = resolved(tree, part.directory.as_ref(), file) {
            return Some(path);
        }
        // Cargo names files from the workspace, which may be above.
        let mut directory = part.directory.clone();
        while let Some(below) = directory {
            directory = below
                .as_str()
                .rsplit_once('/')
                .and_then(|(above, _)| above.parse().ok());
            if let Some(path) = resolved(tree, directory.as_ref(), file) {
                return Some(path);
            }
        }
        None
    }

    fn text(&self, tree: &Checkout, part: &CommandPart, file: &str) -> Option<String> {
        tree.read_text(self.path(tree, part, file)?.as_str())
    }

    /// A complaint with the hints that fit the tree. Its file need not exist; then there are none.
    fn problem(&self, tree: &Checkout, part: &CommandPart, complaint: ToolComplaint) -> Problem {
        let place = self.path(tree, part, &complaint.file);
        let is_open = place.as_ref().is_some_and(|path| is_editable(self.task, path));
        let mut hints: Vec<Hint> = Vec::new();
        for hint in complaint.hints.into_iter().take(MAX_HINTS).filter(|_| is_open) {
            let changes: Option<Vec<HintEdit>> = hint
                .changes
                .into_iter()
                .map(|change| self.change(tree, part, change))
                .collect();
            hints.extend(changes.filter(|changes| !changes.is_empty()).map(|changes| Hint {
                changes,
                weight: hint.weight,
                is_of_a_tool: true,
            }));
        }
        let own = place
            .as_ref()
            .filter(|_| is_open)
            .and_then(|path| at((tree, &self.renames), (path, complaint.line), &complaint.message));
        for hint in own.into_iter().flat_map(|problem| problem.hints) {
            let is_known = hints.iter().any(|other| other.changes == hint.changes);
            if !is_known {
                // What the tool suggests is likelier.
                let weight = if hints.iter().any(|hint| hint.is_of_a_tool) {
                    hint.weight * 0.85
                } else {
                    hint.weight
                };
                hints.push(Hint { weight, ..hint });
            }
        }
        hints.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Problem {
            file: place.map_or(complaint.file, |path| path.to_string()),
            says: complaint.message,
            hints,
        }
    }

    fn change(&self, tree: &Checkout, part: &CommandPart, change: ToolChange) -> Option<HintEdit> {
        let path = self.path(tree, part, &change.file)?;
        let text = tree.read_text(path.as_str())?;
        let range = change.start..change.end;
        let before = text.get(range.clone())?;
        let fits = change.before.is_none_or(|seen| seen == before) && change.after.len() <= MAX_TEXT;
        fits.then_some(HintEdit {
            path,
            range,
            text: change.after,
        })
    }
}

/// The way in which this failure's complaints can be read best.
fn way(task: &Task<'_>) -> Way {
    let before = task.before;
    let is_of_the_build = matches!(before.outcome, Outcome::DidNotBuild | Outcome::Flagged);
    let parts = suite::parts(task.checkout, &task.suite.command);
    let cargo = parts
        .iter()
        .filter(|_| is_of_the_build)
        .find_map(|part| Some((part, as_json(&part.argv)?)));
    if let Some((part, argv)) = cargo {
        return Way::Cargo(part.clone(), argv);
    }
    let says = |text: &str| text.contains("error TS") || text.contains(" TS2") || text.starts_with("TS");
    let is_typed = before
        .failures
        .iter()
        .any(|failure| says(&failure.name) || says(&failure.message))
        || says(&before.tail);
    if is_typed {
        let part = parts
            .iter()
            .find(|part| tool_at(&part.argv, "tsc").is_some())
            .or(parts.first());
        if let Some(part) = part {
            return Way::TypeScript(part.clone(), typescript::command(&part.argv));
        }
    }
    if before.outcome == Outcome::Flagged {
        for part in &parts {
            if tool_at(&part.argv, "eslint").is_some() {
                return Way::Eslint(part.clone(), eslint::command(part));
            }
            if tool_at(&part.argv, "ruff").is_some() && part.argv.iter().any(|word| word == "check") {
                return Way::Ruff(part.clone(), ruff::command(part));
            }
        }
    }
    let names = before.failing_names().filter(|name| !name.is_empty()).map(String::from);
    Way::Run(match before.outcome {
        Outcome::Failed => names.collect(),
        _ => Vec::new(),
    })
}

/// The byte at a column in UTF-16 units of a whole text.
fn byte_of_utf16(text: &str, units: usize) -> Option<usize> {
    let mut left = units;
    for (at, c) in text.char_indices() {
        if left == 0 {
            return Some(at);
        }
        left = left.checked_sub(c.len_utf16())?;
    }
    (left == 0).then_some(text.len())
}
