//! Finds the command of a CI step: the line of its script that runs tests or checks, without the preparation.
//!
//! Scripts are read, never run. A line that depends on what only a shell would know (substitutions, unset variables,
//! branches) yields no command; the manifests are tried next.

mod alias;
mod called;
mod entered;
pub(crate) mod tool;

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::{CiScript, CiStep};
use greenlight_tree::checkout::Checkout;

use self::alias::without_alias;
pub(crate) use self::called::called_scripts;
pub(super) use self::called::tree_script;
use self::called::{runs_the_tree, tests_in_script};
use self::entered::{Packages, entered, for_each_package};
use super::python;
use crate::ci_install::CiInstall;
use crate::ci_variables::is_taken;
use crate::discover::directory::{Directory, is_directory};
use crate::discover::words::framework_of;
use crate::framework::Framework;
use crate::shell::{
    self, SimpleCommand, assigned, for_people, line_directory, only_variable, quoted, split_line, with_workspace,
};
use crate::test_command::{DEFAULT_TIMEOUT, Source, TestCommand, is_unset};
use crate::workflow::WORKSPACE;

/// Whether a script has a line that runs tests or checks.
pub(crate) fn runs_tests(script: &str, env: &BTreeMap<String, String>) -> bool {
    let lines = lines(script, env);
    lines.is_some_and(|lines| lines.iter().any(|line| tool::of(&line.words).is_some()))
}

/// Whether all lines of a script that run tests or checks are checks, such as formatters.
pub(crate) fn only_checks(script: &str, env: &BTreeMap<String, String>) -> bool {
    let lines = lines(script, env).unwrap_or_default();
    let mut of_interest = lines.iter().filter(|line| tool::of(&line.words).is_some());
    of_interest.all(|line| tool::is_check(&line.words))
}

/// Whether a script says of all its lines with tests that their failure does not count.
pub(crate) fn tests_may_fail(script: &str, env: &BTreeMap<String, String>) -> bool {
    let lines = lines(script, env).unwrap_or_default();
    let mut of_interest = lines.iter().filter(|line| tool::of(&line.words).is_some()).peekable();
    of_interest.peek().is_some() && of_interest.all(|line| line.may_fail)
}

/// Whether all lines of a script that run tests are `node FILE`, which needs no more than the tree.
pub(crate) fn runs_plain_programs(script: &str, env: &BTreeMap<String, String>) -> bool {
    let lines = lines(script, env).unwrap_or_default();
    let mut of_interest = lines.iter().filter(|line| tool::of(&line.words).is_some());
    of_interest.all(|line| matches!(line.words.as_slice(), [node, file] if node == "node" && !file.starts_with('-')))
}

/// The simple commands of a script. `None` if it cannot be followed, or if tests may run in a branch.
pub(super) fn lines(script: &str, env: &BTreeMap<String, String>) -> Option<Vec<SimpleCommand>> {
    shell::lines(&python::tox::without_package(script), env, |words| {
        tool::of(words).is_some() && !tool::is_check(words)
    })
}

/// What a line of a script does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepLineKind {
    /// It runs tests.
    Tests,
    /// It only checks.
    Check,
    /// It runs a program of the tree, which may do anything.
    Other,
}

/// A line of a step's script that runs tests or checks, or a program of the tree.
pub(super) struct StepLine {
    pub(super) kind: StepLineKind,
    /// Its words, for people.
    pub(super) shown: String,
    /// The names of the variables that the line, or one before it, sets.
    pub(super) own_env: BTreeSet<String>,
    /// `None` if it cannot run alone.
    pub(super) command: Option<TestCommand>,
}

/// What a variable is that nothing is known about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unset {
    /// It may have any value.
    Unknown,
    /// It is empty, as it is if no earlier step has set it.
    Empty,
}

/// The lines of a step's script that run tests, checks or programs of the tree, in order. `None` if the script cannot
/// be followed.
pub(super) fn commands(checkout: &Checkout, step: &CiStep, unset: Unset) -> Option<Vec<StepLine>> {
    let mut found = Vec::new();
    let mut all = lines(&step.script, &step.env)?;
    // What may fail decides nothing, unless there is nothing else.
    let runs_tests = |line: &SimpleCommand| tool::of(&line.words).is_some() && !tool::is_check(&line.words);
    if all.iter().any(|line| runs_tests(line) && !line.may_fail) {
        all.retain(|line| !line.may_fail);
    }
    let mut looked_at = BTreeMap::new();
    let packages = Packages::new(checkout);
    let all = all.into_iter().map(|line| without_alias(checkout, line));
    let all = all.flat_map(|line| for_each_package(&packages, line));
    for line in all {
        // An argument may say what a script of the project does.
        let env = assigned(&with_workspace(&step.env, WORKSPACE, None), &line.env);
        let env = env.as_ref().unwrap_or(&step.env);
        let known = split_line(&line.words, env, |word| Some(vec![word.to_string()]))?;
        let shown = for_people(&known);
        let tool = tool::of(&known)
            .or_else(|| tests_in_script(checkout, step, (&line, &known), &mut looked_at).then_some(None));
        let Some(tool) = tool else {
            found.extend(runs_the_tree(checkout, step, &known).then_some(StepLine {
                kind: StepLineKind::Other,
                shown,
                own_env: BTreeSet::new(),
                command: None,
            }));
            continue;
        };
        let kind = match tool::is_check(&known) {
            true => StepLineKind::Check,
            false => StepLineKind::Tests,
        };
        let reaches_it = |name: &&String| !line.local.contains(*name);
        let own_env = line.env.iter().map(|(name, _)| name).filter(reaches_it);
        let own_env = own_env.cloned().collect();
        let command = of_line(&packages, step, line, unset).map(|command| {
            let framework = match command.framework {
                Framework::Other => tool.unwrap_or(Framework::Other),
                known => known,
            };
            // Words after `sh` are the shell's arguments: nothing can be appended to them.
            let in_shell = command.argv.first().is_some_and(|program| program == "sh");
            TestCommand {
                framework: if in_shell { Framework::Other } else { framework },
                ..command
            }
        });
        found.push(StepLine {
            kind,
            shown,
            own_env,
            command,
        });
    }
    Some(found)
}

/// The part of a step's script that runs tests.
pub(super) fn command(checkout: &Checkout, step: &CiStep) -> Option<TestCommand> {
    let found = commands(checkout, step, Unset::Unknown)?.into_iter();
    let found = found.filter(|line| line.kind != StepLineKind::Other);
    let found: Vec<TestCommand> = found
        .map(|line| line.command.map(with_own_paths))
        .collect::<Option<_>>()?;
    // What the log shows comes first, then tests before checks, then earlier commands.
    let rank = |command: &TestCommand| {
        let shown = step.shows.as_ref() == Some(&command.framework.to_string());
        (!shown, command.framework.is_linter())
    };
    found.into_iter().min_by_key(rank)
}

/// The command with paths of this checkout instead of those of the runner. Programs that search for modules, and Bundler,
/// also take relative ones. What others do with a path is unknown.
pub(super) fn with_own_paths(mut command: TestCommand) -> TestCommand {
    let is_kept = |name: &str, value: &str| {
        let searches = matches!(
            name,
            "BUNDLE_GEMFILE" | "PYTHONPATH" | "NODE_PATH" | "PERL5LIB" | "RUBYLIB"
        );
        searches || !value.contains(WORKSPACE)
    };
    command.env.retain(|name, value| is_kept(name, value));
    for value in command.env.values_mut() {
        *value = seen_from(command.directory.as_ref(), value);
    }
    command
}

/// A text with paths of the checkout, as seen from one of its directories.
fn seen_from(directory: Option<&RepoPath>, text: &str) -> String {
    let here = directory.map_or_else(
        || format!("{WORKSPACE}/"),
        |directory| format!("{WORKSPACE}/{directory}/"),
    );
    let depth = directory.map_or(0, |directory| directory.as_str().split('/').count());
    let root = if depth == 0 {
        ".".to_string()
    } else {
        vec![".."; depth].join("/")
    };
    text.replace(&here, "./").replace(WORKSPACE, &root)
}

/// A line as a separate command. `None` if it cannot run alone.
fn of_line(packages: &Packages<'_>, step: &CiStep, mut line: SimpleCommand, unset: Unset) -> Option<TestCommand> {
    let checkout = packages.checkout;
    // What this machine has for such a variable stays, no matter what it would be set to.
    line.env.retain(|(name, _)| name != "PATH");
    let known = assigned(&with_workspace(&step.env, WORKSPACE, None), &line.env)?;
    let directory = line_directory(step.directory.as_ref(), &line.directory, &known)?;
    let mut env = assigned(&with_workspace(&step.env, WORKSPACE, directory.as_ref()), &line.env)?;
    let empty = |word: &str| match (unset, only_variable(word)?) {
        (Unset::Unknown, _) => None,
        (Unset::Empty, true) => Some(vec![String::new()]),
        (Unset::Empty, false) => Some(Vec::new()),
    };
    let words = split_line(&line.words, &env, empty)?;
    env.retain(|name, _| step.env.contains_key(name) || !line.local.contains(name));
    let (directory, words) = entered(packages, directory, words);
    if !directory.as_ref().is_none_or(|path| is_directory(checkout, path)) {
        return None;
    }
    let seen_from_here = words.iter().map(|word| seen_from(directory.as_ref(), word));
    let argv = tool::unwrapped(seen_from_here.collect());
    let place = Directory { checkout, directory };
    let framework = framework_of(&place, &argv);
    let argv = if line.has_pattern {
        // Quotes the words, except for patterns that the shell must expand.
        vec!["sh".into(), "-c".into(), patterned(&argv)]
    } else {
        argv
    };
    Some(TestCommand {
        argv,
        import_root: python::import_root(&place),
        directory: place.directory,
        framework,
        source: Source::Step {
            workflow: step.workflow.clone(),
            job: step.job.clone(),
            step: step.name.clone(),
        },
        timeout: DEFAULT_TIMEOUT,
        ci_install: installed_by(checkout, step),
        left_out: Vec::new(),
        env: env
            .into_iter()
            .filter(|(name, value)| is_taken(name) || is_unset(name, value))
            .collect(),
    })
}

/// The step's own script, as those before it are described.
pub(super) fn own_script(step: &CiStep) -> CiScript {
    CiScript {
        script: step.script.clone(),
        directory: step.directory.clone(),
        env: BTreeMap::new(),
    }
}

/// What the job installs before this step, and in it.
pub(super) fn installed_by(checkout: &Checkout, step: &CiStep) -> CiInstall {
    let mut install = CiInstall {
        versions: step.versions.clone(),
        ..CiInstall::default()
    };
    install.add_services(&step.services);
    for script in step.before.iter().chain([&own_script(step)]) {
        install.add(script, &step.env);
    }
    install.leave_out_useless_builds(|path| checkout.contains(path), |path| is_directory(checkout, path));
    install
}

/// Words in shell syntax, with their patterns unquoted.
pub(super) fn patterned(words: &[String]) -> String {
    let quoted = |word: &String| {
        let mut text = String::new();
        for part in word.split_inclusive(['*', '?']) {
            let (plain, pattern) = match part.strip_suffix(['*', '?']) {
                Some(plain) => (plain, &part[plain.len()..]),
                None => (part, ""),
            };
            if !plain.is_empty() {
                text.push_str(&quoted(plain));
            }
            text.push_str(pattern);
        }
        text
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
