//! Expands the scripts of a `package.json` into the commands that they run.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use super::globstar;
use super::runner::{looks_by_name, only_looks, only_prepares_the_machine, runner};
use crate::ci_build::MANAGERS;
use crate::discover::directory::Directory;
use crate::discover::step::tool::is_for_packages;
use crate::shell::{Word, commands};

/// Maximum depth of scripts that call each other.
pub(super) const MAX_DEPTH: usize = 8;
/// Maximum number of commands that one script expands to.
const MAX_COMMANDS: usize = 60;

/// The parts of a `package.json` that concern scripts.
#[derive(Debug, Deserialize, Default)]
pub(super) struct Package {
    #[serde(default)]
    scripts: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    nyc: serde_json::Value,
    #[serde(default, rename = "packageManager")]
    manager: serde_json::Value,
    #[serde(skip)]
    counter_settings: String,
}

impl Package {
    pub(super) fn of(place: &Directory<'_>) -> Option<Self> {
        let mut package: Self =
            serde_json::from_str(place.text("package.json")?.trim_start_matches('\u{feff}')).ok()?;
        let files = [".nycrc", ".nycrc.json", ".c8rc.json"];
        package.counter_settings = files.iter().filter_map(|file| place.text(file)).collect();
        if globstar::is_expanded(place, package.manager.as_str()) {
            let mut left = globstar::MAX_PATTERNS;
            for script in package.scripts.values_mut() {
                if let Some(text) = script.as_str().filter(|text| text.contains("**/")) {
                    *script = globstar::spelled_out(place, text, &mut left).into();
                }
            }
        }
        Some(package)
    }

    pub(super) fn script(&self, name: &str) -> Option<&str> {
        let script = self.scripts.get(name)?.as_str()?;
        (!script.trim().is_empty()).then_some(script)
    }

    /// Whether the coverage tool also loads what the tests need, such as a compiler.
    pub(super) fn counter_loads(&self) -> bool {
        self.nyc.get("require").is_some() || self.counter_settings.contains("\"require\"")
    }

    /// The commands that build the package after an installation, as far as they can be determined.
    pub(super) fn prepare(&self) -> Vec<Vec<Word>> {
        let Some(script) = self.script("prepare") else {
            return Vec::new();
        };
        let all = commands(script).unwrap_or_default();
        let mut builds = Vec::new();
        for command in all {
            let expanded = self.expand(&command, MAX_DEPTH).unwrap_or_else(|| vec![command]);
            builds.extend(
                expanded
                    .into_iter()
                    .filter(|command| !only_prepares_the_machine(command) && !only_looks(command)),
            );
        }
        builds
    }

    /// The commands that one command expands to: itself, unless it runs a script.
    pub(super) fn expand(&self, command: &[Word], depth: usize) -> Option<Vec<Vec<Word>>> {
        let depth = depth.checked_sub(1)?;
        let set = command.iter().take_while(|word| word.is_assignment()).count();
        let (set, rest) = command.split_at(set);
        let mut set = set.to_vec();
        let mut call = self.call(rest);
        // `cross-env A=b npm run x` sets a variable for what `x` runs.
        if let Some((tool, more)) = rest.split_first()
            && tool.plain == "cross-env"
        {
            let (more, rest) = more.split_at(more.iter().take_while(|word| word.is_assignment()).count());
            call = self.call(rest).filter(|call| matches!(call, Call::Scripts(..)));
            set.extend_from_slice(more);
        }
        // `c8 --check-coverage npm run x` counts lines in what `x` runs.
        let call = call.or_else(|| self.call(self.counted(rest)?));
        let Some(call) = call else {
            return Some(vec![command.to_vec()]);
        };
        let (names, more) = match call {
            Call::Program(words) => {
                // `npx x` runs `x`.
                return Some(vec![set.iter().chain(&words).cloned().collect()]);
            }
            Call::Scripts(names, more) => (names, more),
        };
        let mut all: Vec<Vec<Word>> = Vec::new();
        for name in &names {
            for part in [format!("pre{name}"), name.clone(), format!("post{name}")] {
                let Some(script) = self.script(&part) else { continue };
                // What runs after the tests says nothing about them.
                let is_after = part.starts_with("post") && part != *name;
                let mut inner = match commands(script) {
                    Some(inner) => inner,
                    None if part == *name && depth + 1 == MAX_DEPTH => return None,
                    None if is_after || looks_by_name(name) => continue,
                    None => {
                        all.push(["npm", "run", &part].map(Word::new).into());
                        continue;
                    }
                };
                if is_after && depth + 1 == MAX_DEPTH {
                    continue;
                }
                end_at_exit(&mut inner);
                if self.leaves_the_package(&inner) || changes_its_shell(&inner) {
                    // What follows are scripts of another package, or would run in the same shell.
                    all.push(["npm", "run", &part].map(Word::new).into());
                    continue;
                }
                if part == *name
                    && let Some(last) = inner.last_mut()
                {
                    last.extend(more.iter().cloned());
                }
                let mut expanded = Vec::new();
                for command in inner {
                    let command: Vec<Word> = set.iter().cloned().chain(command).collect();
                    expanded.extend(self.expand(&command, depth)?);
                    if all.len() + expanded.len() > MAX_COMMANDS {
                        return None;
                    }
                }
                let changes_directory = expanded
                    .iter()
                    .any(|command| command.first().is_some_and(|word| word.plain == "cd"));
                if changes_directory && !expanded.iter().any(|command| starts_tests(command)) {
                    // Another script does not start there.
                    all.push(["npm", "run", &part].map(Word::new).into());
                } else {
                    all.extend(expanded);
                }
            }
        }
        Some(all)
    }

    /// Whether commands change the directory, and call scripts there.
    fn leaves_the_package(&self, commands: &[Vec<Word>]) -> bool {
        let is_cd = |command: &Vec<Word>| command.first().is_some_and(|word| word.plain == "cd");
        let after = commands.iter().skip_while(|command| !is_cd(command)).skip(1);
        after
            .into_iter()
            .any(|command| matches!(self.call(command), Some(Call::Scripts(..))))
    }

    /// What a command of a package manager runs. `None` if it is not such a command.
    /// What a coverage tool runs, if that is a script. Coverage is not measured here.
    pub(super) fn counted<'w>(&self, command: &'w [Word]) -> Option<&'w [Word]> {
        let is_counter = matches!(command.first()?.plain.as_str(), "c8" | "nyc");
        let at = command
            .iter()
            .position(|word| MANAGERS.contains(&word.plain.as_str()))?;
        (is_counter && !self.counter_loads()).then_some(&command[at..])
    }

    fn call(&self, command: &[Word]) -> Option<Call> {
        let plain: Vec<&str> = command.iter().map(|word| word.plain.as_str()).collect();
        let quiet = |word: &&&str| {
            matches!(
                **word,
                "-s" | "--silent" | "--if-present" | "--yes" | "-y" | "--no-install"
            )
        };
        let skip = |from: usize| from + plain.iter().skip(from).take_while(quiet).count();
        let tool = *plain.first()?;
        let program = |at: usize| {
            Some(Call::Program(
                command.get(at..).filter(|rest| !rest.is_empty())?.to_vec(),
            ))
        };
        match tool {
            "npx" | "bunx" => return program(skip(1)),
            "npm-run-all" | "npm-run-all2" | "run-s" | "run-p" => {
                let names = plain.iter().skip(1).filter(|word| !word.starts_with('-'));
                let names: Vec<String> = names.flat_map(|name| self.named(name)).collect();
                return (!names.is_empty()).then_some(Call::Scripts(names, Vec::new()));
            }
            "npm" | "pnpm" | "yarn" | "bun" => {}
            _ => return None,
        }
        if is_for_packages(&plain) {
            return None;
        }
        let mut at = skip(1);
        let verb = *plain.get(at)?;
        match verb {
            "exec" | "x" | "dlx" => {
                let at = skip(at + 1);
                return program(at + usize::from(plain.get(at) == Some(&"--")));
            }
            "run" | "run-script" => at = skip(at + 1),
            "t" | "tst" if tool != "bun" => {
                return Some(Call::Scripts(vec!["test".into()], self.more(tool, command, at + 1)));
            }
            "test" if tool == "bun" => return None,
            _ => {}
        }
        let name = *plain.get(at)?;
        let names = self.named(name);
        if names.is_empty() {
            let runs_programs = matches!(tool, "pnpm" | "yarn") && !name.starts_with('-');
            let own = [
                "install",
                "add",
                "workspace",
                "workspaces",
                "recursive",
                "audit",
                "pack",
                "publish",
                "build",
            ];
            return if runs_programs && !own.contains(&name) {
                program(at)
            } else {
                None
            };
        }
        if names.iter().any(|name| self.script(name).is_none()) {
            return None;
        }
        Some(Call::Scripts(names, self.more(tool, command, at + 1)))
    }

    /// The arguments after the name of a script. npm passes on those after `--`, and before its options.
    fn more(&self, tool: &str, command: &[Word], from: usize) -> Vec<Word> {
        let rest = command.get(from..).unwrap_or_default();
        let dashes = rest.iter().position(|word| word.plain == "--");
        let (own, passed) = match dashes {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, &rest[rest.len()..]),
        };
        let is_passed = |word: &&Word| tool != "npm" || !word.plain.starts_with('-');
        own.iter().take_while(is_passed).chain(passed).cloned().collect()
    }

    /// The scripts that a name selects: one, those that match `a:*`, or, with pnpm, those that match `/a/`.
    fn named(&self, name: &str) -> Vec<String> {
        let all = || self.scripts.keys().filter(|other| self.script(other).is_some());
        if let Some(pattern) = name.strip_prefix('/').and_then(|name| name.strip_suffix('/')) {
            let Ok(pattern) = Regex::new(pattern) else {
                return Vec::new();
            };
            return all().filter(|other| pattern.is_match(other)).cloned().collect();
        }
        if let Some(start) = name.strip_suffix("**").or_else(|| name.strip_suffix('*')) {
            return all()
                .filter(|other| other.starts_with(start) && *other != start)
                .cloned()
                .collect();
        }
        self.script(name).map(|_| name.to_string()).into_iter().collect()
    }
}

/// Leaves out what a script has after `exit 0`, and that: commands of other scripts follow in the same shell.
fn end_at_exit(commands: &mut Vec<Vec<Word>>) {
    let is_exit = |command: &Vec<Word>| {
        let words: Vec<&str> = command.iter().map(|word| word.plain.as_str()).collect();
        matches!(words.as_slice(), ["exit", "0"])
    };
    if let Some(at) = commands.iter().position(is_exit) {
        commands.truncate(at);
    }
}

/// Whether commands change more than their own process: the commands after them would run differently, or not at all.
fn changes_its_shell(commands: &[Vec<Word>]) -> bool {
    let first = |command: &Vec<Word>| command.first().map(|word| word.plain.clone());
    let mut names = commands.iter().filter_map(first);
    names.any(|name| {
        matches!(
            name.as_str(),
            "exit" | "exec" | "return" | "trap" | "eval" | "." | "source"
        )
    })
}

fn starts_tests(command: &[Word]) -> bool {
    let plain: Vec<&str> = command.iter().map(|word| word.plain.as_str()).collect();
    runner(&plain).is_some_and(|runner| !runner.framework.is_linter())
}

enum Call {
    /// Scripts that run one after the other, and arguments for each.
    Scripts(Vec<String>, Vec<Word>),
    /// A program of a package.
    Program(Vec<Word>),
}
