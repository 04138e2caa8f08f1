//! Local composite actions: what they run, install and set up.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#runs-for-composite-actions>

use std::collections::BTreeMap;
use std::rc::Rc;

use super::actions::{runtime, set_up};
use super::run_script::{MAX_SCRIPT, Script};
use super::{Node, Scope, WORKSPACE, WorkflowFiles, inputs, local};
use crate::discover::runs_tests;
use crate::shell::quoted;

/// The description of an action at this path, if it is a composite one.
pub(super) fn composite(path: &str, files: &mut WorkflowFiles<'_, '_>) -> Option<Rc<Node>> {
    let action = match files.document(&format!("{path}/action.yml")) {
        Some(action) => action,
        None => files.document(&format!("{path}/action.yaml"))?,
    };
    let using = action.get("runs")?.get("using").and_then(Node::text);
    (using == Some("composite")).then_some(action)
}

/// Scripts up to this one, as one that runs where it does. Each of the others runs in its own shell, with its variables.
pub(super) fn joined(mut scripts: Vec<Script>, last: usize) -> Option<Script> {
    scripts.truncate(last + 1);
    let main = scripts.pop()?;
    let before = scripts.iter().map(|script| {
        let enters = match &script.directory {
            directory if *directory == main.directory => String::new(),
            Some(directory) => format!("cd \"{WORKSPACE}/{directory}\"\n"),
            None => format!("cd \"{WORKSPACE}\"\n"),
        };
        let own = script.own_variables();
        let exports: String = own
            .iter()
            .map(|(name, value)| format!("export {name}={}\n", quoted(value)))
            .collect();
        format!("(\n{exports}{enters}{}\n)\n", script.text.trim_end())
    });
    let text = before.collect::<String>() + &main.text;
    // What comes before the tests must not hide them.
    let hides = runs_tests(&main.text, &main.env) && !runs_tests(&text, &main.env);
    match hides || text.len() > MAX_SCRIPT {
        true => Some(main),
        false => Some(Script { text, ..main }),
    }
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
