//! Tools that can fix what they check: how to recognise a check, and how to turn its command into a fix. There is one
//! file for each ecosystem; this one has what they share.

mod go;
mod javascript;
mod others;
mod python;
mod rust;
mod tool;

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::TestRun;
use greenlight_sandbox::Outcome;
use greenlight_suite::{CommandPart, Ran};

use self::tool::{FixedFiles, Tool};
use super::named;
use super::tool_fix::typed;
use crate::task::Task;

/// Wrappers that may precede a tool in a command and are kept.
const BEFORE: [&[&str]; 19] = [
    &["npx"],
    &["bunx"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["pnpm"],
    &["yarn", "exec"],
    &["yarn", "run"],
    &["yarn"],
    &["npm", "exec"],
    &["bundle", "exec"],
    &["composer", "exec"],
    &["python", "-m"],
    &["python3", "-m"],
    &["hatch", "run"],
    &["uvx"],
    &["uv", "tool", "run"],
    &["go", "tool"],
    &["mise", "exec"],
    &["env"],
];

/// A check, and the command that fixes what it finds.
#[derive(Debug, Clone)]
pub(super) struct Remedy {
    pub(super) part: CommandPart,
    pub(super) fix: CommandPart,
    /// Index of the first word of the fix that a person would type.
    from: usize,
    says: &'static [&'static str],
    files: FixedFiles,
}

/// The remedy for what this part of a command checks. `None` if there is none.
pub(super) fn remedy(part: &CommandPart) -> Option<Remedy> {
    let at = program(&part.argv)?;
    let all = [python::TOOLS, javascript::TOOLS, go::TOOLS, rust::TOOLS, others::TOOLS];
    let (tool, behind) = all
        .iter()
        .flat_map(|tools| tools.iter())
        .find_map(|tool| Some((tool, tool.behind_name(&part.argv, at)?)))?;
    let argv = tool.fixing(&part.argv, at, behind)?;
    Some(Remedy {
        fix: CommandPart { argv, ..part.clone() },
        part: part.clone(),
        from: at,
        says: tool.says,
        files: tool.files,
    })
}

/// The index of a tool in a command. `None` if the command runs another one.
pub(crate) fn tool_at(argv: &[String], name: &str) -> Option<usize> {
    program(argv).filter(|at| argv.get(*at).is_some_and(|word| base(word) == name))
}

/// The index of the tool in a command.
fn program(argv: &[String]) -> Option<usize> {
    let starts = |before: &&&[&str]| {
        argv.len() > before.len() && argv.iter().zip(**before).all(|(word, part)| base(word) == *part)
    };
    let Some(before) = BEFORE.iter().find(starts) else {
        return (!argv.is_empty()).then_some(0);
    };
    // Skip the wrapper's options, and variables for `env`.
    let is_tool = |word: &String| !word.starts_with('-') && !word.contains('=');
    let rest = argv.get(before.len()..)?;
    Some(before.len() + rest.iter().position(is_tool)?)
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Whether a word is this option, alone or with a value.
fn is(word: &str, option: &str) -> bool {
    word == option || (option.starts_with('-') && word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
}

/// Whether a word is this task, possibly of a Gradle project, or this goal of a Maven plugin.
fn is_task(word: &str, task: &str) -> bool {
    word == task || word.strip_suffix(task).is_some_and(|before| before.ends_with(':'))
}

impl Tool {
    /// The index of the first argument, if this tool starts here and the command is a check.
    fn behind_name(&self, argv: &[String], at: usize) -> Option<usize> {
        let (first, rest) = self.name.split_first()?;
        if base(argv.get(at)?) != *first {
            return None;
        }
        let mut behind = at + 1;
        for part in rest {
            let is_option = |word: &&String| word.starts_with(['-', '+']);
            behind += argv.get(behind..)?.iter().take_while(is_option).count();
            if argv.get(behind)? != part {
                return None;
            }
            behind += 1;
        }
        let rest = argv.get(behind..)?;
        let has = |option: &str| rest.iter().any(|word| is(word, option) || is_task(word, option));
        let is_check = self.checks.is_empty() || self.checks.iter().any(|option| has(option));
        let mends = self.adds.first().is_some_and(|option| has(option));
        (is_check && !mends).then_some(behind)
    }

    /// The command that fixes.
    fn fixing(&self, argv: &[String], at: usize, behind: usize) -> Option<Vec<String>> {
        if !self.instead.is_empty() {
            let instead = self.instead.iter().map(ToString::to_string);
            return Some(argv.get(..at)?.iter().cloned().chain(instead).collect());
        }
        let kept = |word: &&String| !self.drops.iter().any(|option| is(word, option));
        let swapped = |word: &String| {
            let found = self.swaps.iter().find(|(from, _)| is_task(word, from));
            found.map_or_else(
                || word.clone(),
                |(from, to)| format!("{}{to}", word.strip_suffix(from).unwrap_or_default()),
            )
        };
        let name = argv.get(at..behind)?.iter().map(swapped);
        let adds = self.adds.iter().map(ToString::to_string);
        let rest = argv.get(behind..)?.iter().filter(kept).map(swapped);
        Some(
            argv.get(..at)?
                .iter()
                .cloned()
                .chain(name)
                .chain(adds)
                .chain(rest)
                .collect(),
        )
    }
}

impl Remedy {
    /// Whether this may fix what failed.
    pub(super) fn fits(&self, before: &TestRun) -> bool {
        let mut texts = before
            .failures
            .iter()
            .map(|failure| failure.message.as_str())
            .chain([before.tail.as_str()]);
        self.says.is_empty() || texts.any(|text| self.says.iter().any(|mark| text.contains(mark)))
    }

    /// The files that may be changed, according to the output of the check. `None` if it found nothing, or did not
    /// run.
    pub(super) fn named(&self, task: &Task<'_>, check: &Ran) -> Option<BTreeSet<RepoPath>> {
        let lists = check.outcome == Outcome::Exited(0) && self.lists();
        if !lists && !matches!(check.outcome, Outcome::Exited(1..=125)) {
            return None;
        }
        let directory = self.part.directory.as_ref();
        let found = match self.files {
            FixedFiles::Own(names) => {
                let own = names
                    .iter()
                    .filter_map(|name| named::resolved(task.checkout, directory, name));
                own.collect()
            }
            FixedFiles::Named(kinds) => {
                let mut all = named::named(task.checkout, directory, &check.printed);
                all.retain(|path| kinds.is_empty() || kinds.iter().any(|kind| path.as_str().ends_with(kind)));
                all
            }
        };
        (!found.is_empty()).then_some(found)
    }

    /// Whether its check always succeeds, so that the shell around it must examine the list that it prints.
    fn lists(&self) -> bool {
        let name = self.part.argv.get(self.from).map(|word| base(word));
        matches!(name, Some("gofmt" | "goimports" | "gofumpt"))
    }

    /// The command as a person would type it.
    pub(super) fn display(&self) -> String {
        typed(self.fix.argv.get(self.from..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
