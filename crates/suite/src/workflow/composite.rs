//! Local composite actions: what they run, install and set up.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#runs-for-composite-actions>

use std::collections::BTreeMap;
use std::rc::Rc;

use greenlight_anchor::RepoPath;

use super::actions::{runtime, set_up};
use super::steps::{Around, MAX_SCRIPT, Script, script};
use super::{Node, Scope, WORKSPACE, WorkflowFiles, inputs, local};
use crate::ci_install::installs;
use crate::discover::{only_checks, runs_tests};

/// Maximum depth of local actions that use local actions.
const MAX_ACTIONS: usize = 4;

/// The description of an action at this path, if it is a composite one.
fn composite(path: &str, files: &mut WorkflowFiles<'_, '_>) -> Option<Rc<Node>> {
    let action = match files.document(&format!("{path}/action.yml")) {
        Some(action) => action,
        None => files.document(&format!("{path}/action.yaml"))?,
    };
    let using = action.get("runs")?.get("using").and_then(Node::text);
    (using == Some("composite")).then_some(action)
}

/// What a local composite action runs, as one script: its tests after what it installs and builds for them, or only the
/// latter. `None` if it does neither.
pub(super) fn in_action(
    path: &str,
    (step, scope): (&Node, Scope),
    (outer, depth): (&Around<'_>, usize),
    files: &mut WorkflowFiles<'_, '_>,
) -> Option<Script> {
    if depth >= MAX_ACTIONS {
        return None;
    }
    let action = composite(path, files)?;
    let around = Around {
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
    let all: Vec<Script> = steps
        .iter()
        .filter_map(|step| script(step, &around, depth + 1, files))
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
    let last = wanted.iter().rposition(is_wanted).or(wanted.len().checked_sub(1))?;
    joined(wanted, last)
}

/// Scripts up to this one, as one that runs where it does.
fn joined(mut scripts: Vec<Script>, last: usize) -> Option<Script> {
    scripts.truncate(last + 1);
    let main = scripts.pop()?;
    let place = |directory: Option<&RepoPath>| match directory {
        Some(directory) => format!("{WORKSPACE}/{directory}"),
        None => WORKSPACE.to_owned(),
    };
    let before = scripts.iter().map(|script| match script.directory == main.directory {
        true => format!("{}\n", script.text.trim_end()),
        false => format!(
            "(cd \"{}\"\n{}\n)\n",
            place(script.directory.as_ref()),
            script.text.trim_end()
        ),
    });
    let text = before.collect::<String>() + &main.text;
    (text.len() <= MAX_SCRIPT).then_some(Script { text, ..main })
}

/// The versions of languages that a local composite action sets up.
pub(super) fn set_up_by_action(
    step: &Node,
    scope: &Scope,
    files: &mut WorkflowFiles<'_, '_>,
) -> BTreeMap<String, String> {
    let path = step.get("uses").and_then(Node::text).and_then(local);
    let Some(action) = path.and_then(|path| composite(&path, files)) else {
        return BTreeMap::new();
    };
    let inner = Scope {
        inputs: inputs(action.get("inputs"), step.get("with"), scope),
        ..scope.clone()
    };
    let steps = action
        .get("runs")
        .and_then(|runs| runs.get("steps"))
        .map(Node::items)
        .unwrap_or_default();
    if files.look_at(steps.len()).is_none() {
        return BTreeMap::new();
    }
    let each = steps
        .iter()
        .flat_map(|step| [set_up(step, &inner, files), runtime(step, &inner)]);
    each.flatten().collect()
}
