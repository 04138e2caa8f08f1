//! Finds the script that a step runs, in the workflow or in a local action.

use greenlight_anchor::RepoPath;

use super::action_commands::command_of_action;
use super::actions::{UNKNOWN_NAME, installed_by_action};
use super::composite::{composite, joined};
use super::exported::exported;
use super::expression::{interpolate_known, is_false, is_true, structure};
use super::files::in_tree;
use super::run_script::{Around, MAX_ENV, MAX_SCRIPT, MAX_VALUE, MAX_VARIABLES, Script};
use super::script_text::{builds_elsewhere, without_secrets, without_unknown_settings, without_unknown_words};
use super::{Node, Scope, WorkflowFiles, inputs, interpolate, local};
use crate::ci_install::installs;
use crate::discover::{only_checks, runs_tests};

/// A variable that nothing sets, in the place of what only the runner knows: the lines without it are known.
const UNKNOWN: &str = "${ONLY_THE_RUNNER_KNOWS}";
/// Maximum depth of local actions that use local actions.
const MAX_ACTIONS: usize = 4;
/// The shells whose scripts can be parsed.
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#defaultsrunshell>
const SHELLS: [&str; 2] = ["bash", "sh"];

/// What each of these steps runs, where that is known. A step can set variables for those after it.
pub(super) fn in_turn(
    steps: &[Node],
    around: &mut Around<'_>,
    depth: usize,
    files: &mut WorkflowFiles<'_, '_>,
) -> Vec<Option<Script>> {
    let mut scripts = Vec::new();
    for step in steps {
        let script = script(step, around, depth, files);
        let sets = script.as_ref().map(|script| script.sets.clone());
        set_variables(&mut around.scope, sets.unwrap_or_default());
        scripts.push(script);
    }
    scripts
}

/// What a step runs. `None` if the workflow does not say so, or says that the step is skipped.
pub(super) fn script(
    step: &Node,
    around: &Around<'_>,
    depth: usize,
    files: &mut WorkflowFiles<'_, '_>,
) -> Option<Script> {
    let mut script = certain(step, around, depth, files)?;
    // A step with an unknown condition may be skipped.
    if step
        .get("if")
        .is_some_and(|condition| !is_true(condition, &around.scope))
    {
        script.sets.iter_mut().for_each(|(_, value)| *value = None);
    }
    Some(script)
}

/// What a step runs if it is not skipped.
fn certain(step: &Node, around: &Around<'_>, depth: usize, files: &mut WorkflowFiles<'_, '_>) -> Option<Script> {
    if step
        .get("if")
        .is_some_and(|condition| is_false(condition, &around.scope))
    {
        return None;
    }
    let mut scope = around.scope.clone();
    if let Some(env) = step.get("env") {
        add_variables(&mut scope, env);
    }
    if let Some(uses) = step.get("uses").and_then(Node::text) {
        let command = command_of_action(step, uses, &scope);
        if let Some(text) = command.or_else(|| installed_by_action(step, uses, &scope)) {
            return Some(Script {
                text,
                env: scope.env,
                ..around.nothing()
            });
        }
        return in_action(&local(uses)?, (step, scope), (around, depth), files);
    }
    let run = step.get("run")?.text()?;
    let setting = |name: &str| {
        let own = step.get(name);
        own.or_else(|| around.defaults.iter().find_map(|defaults| defaults.get(name)))
    };
    let shell = match setting("shell") {
        Some(shell) => interpolate(shell.text()?, &scope)?,
        // The default shell on Windows is not a POSIX shell.
        None if scope.runner_os == Some("Windows") && !(scope.elsewhere == Some("Windows") && is_plain(run)) => {
            return None;
        }
        None => "bash".into(),
    };
    let program = shell.split_whitespace().next()?.rsplit('/').next()?;
    if !SHELLS.contains(&program) || run.len() > MAX_SCRIPT {
        return None;
    }
    let directory = match setting("working-directory") {
        // Above the checkout, which a build names by its path.
        Some(directory) if builds_elsewhere(&directory.scalar()?, run) => String::new(),
        // The checkout may be in a folder with the same unknown name.
        Some(directory) => interpolate_known(&directory.scalar()?, UNKNOWN_NAME, &scope)?,
        None => String::new(),
    };
    let directory = in_tree(&directory)?;
    let run = &without_secrets(run);
    let text = interpolate(run, &scope)
        .or_else(|| interpolate(&without_unknown_settings(run, &scope), &scope))
        .or_else(|| interpolate(&without_unknown_words(run, &scope), &scope).filter(|_| tests_all_without_words(run)))
        .or_else(|| interpolate_known(run, UNKNOWN, &scope).filter(|text| !starts_unknown(text)))?;
    Some(Script {
        sets: exported(&text, &scope.env),
        text,
        directory: in_checkout(directory, around.checkout.as_deref())?,
        env: scope.env,
        own_env: step
            .get("env")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .take(MAX_VARIABLES)
            .map(|(name, _)| name.clone())
            .collect(),
    })
}

/// Whether a script runs a tool that tests everything if it is told nothing. Others may do anything else.
fn tests_all_without_words(script: &str) -> bool {
    ["gradle", "mvn", "pytest"].iter().any(|tool| script.contains(tool))
}

/// Whether nothing of a script is known.
fn starts_unknown(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.contains(UNKNOWN))
}

/// Whether a script is one line that any shell reads in the same way.
fn is_plain(script: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || " -_./:=".contains(c);
    script.trim().chars().all(is_usual)
}

/// A directory below the workspace as one of the tree, where the inner `None` is the root. `None` if it is outside of
/// the checkout.
fn in_checkout(directory: Option<RepoPath>, checkout: Option<&str>) -> Option<Option<RepoPath>> {
    let Some(path) = &directory else {
        return Some(None);
    };
    let inside = match checkout.map(|checkout| path.as_str().strip_prefix(checkout)) {
        None => Some(directory),
        Some(Some("")) => Some(None),
        Some(Some(rest)) if rest.starts_with('/') => rest[1..].parse().ok().map(Some),
        Some(_) => None,
    };
    inside.filter(|inside| !inside.as_ref().is_some_and(|path| path.as_str().contains(UNKNOWN_NAME)))
}

/// Adds the variables of one `env`, which may be an expression. An unknown value leaves its variable unset and hides an
/// earlier value.
pub(super) fn add_variables(scope: &mut Scope, env: &Node) {
    let computed = env.text().and_then(|text| structure(text, scope));
    let env = computed.as_ref().unwrap_or(env);
    let values: Vec<(String, Option<String>)> = env
        .entries()
        .iter()
        .take(MAX_VARIABLES)
        .map(|(name, value)| {
            let value = value.scalar().and_then(|text| interpolate(&text, scope));
            (name.clone(), value.filter(|value| value.len() <= MAX_VALUE))
        })
        .collect();
    set_variables(scope, values);
}

/// Sets variables. An unknown value unsets its variable, and so does one for which there is no room: each step of a job
/// keeps all of them.
pub(super) fn set_variables(scope: &mut Scope, values: Vec<(String, Option<String>)>) {
    let mut size: usize = scope.env.iter().map(|(name, value)| name.len() + value.len()).sum();
    for (name, value) in values {
        let old = scope.env.remove(&name);
        size -= old.map_or(0, |old| name.len() + old.len());
        if let Some(value) = value.filter(|value| size + name.len() + value.len() <= MAX_ENV) {
            size += name.len() + value.len();
            scope.env.insert(name, value);
        }
    }
}

/// What a local composite action runs, as one script: its tests after what it installs and builds for them, or only the
/// latter. `None` if it does neither, and sets no variable.
fn in_action(
    path: &str,
    (step, scope): (&Node, Scope),
    (outer, depth): (&Around<'_>, usize),
    files: &mut WorkflowFiles<'_, '_>,
) -> Option<Script> {
    if depth >= MAX_ACTIONS {
        return None;
    }
    let action = composite(path, files)?;
    let mut around = Around {
        scope: Scope {
            inputs: inputs(action.get("inputs"), step.get("with"), &scope),
            ..scope
        },
        // The workflow's defaults do not apply inside an action.
        defaults: Vec::new(),
        checkout: outer.checkout.clone(),
    };
    let steps = action.get("runs")?.get("steps")?.items();
    files.look_at(steps.len())?;
    // An unknown script might run tests too, but scripts with tests are usually plain.
    let all = in_turn(steps, &mut around, depth + 1, files).into_iter().flatten();
    let all: Vec<Script> = all.collect();
    let sets: Vec<_> = all
        .iter()
        .flat_map(|script| script.sets.clone())
        .take(MAX_VARIABLES)
        .collect();
    let runs_tests = |script: &Script| runs_tests(&script.text, &script.env);
    let is_test = |script: &Script| runs_tests(script) && !only_checks(&script.text, &script.env);
    let has_tests = all.iter().any(is_test);
    let is_wanted = |script: &Script| match has_tests {
        true => is_test(script),
        false => runs_tests(script),
    };
    let wanted: Vec<Script> = all
        .into_iter()
        .filter(|script| is_wanted(script) || installs(&script.text, &script.env))
        .collect();
    let last = wanted.iter().rposition(is_wanted).or(wanted.len().checked_sub(1));
    let main = last.and_then(|last| joined(wanted, last));
    let main = main.or_else(|| (!sets.is_empty()).then(|| around.nothing()));
    main.map(|script| Script { sets, ..script })
}
