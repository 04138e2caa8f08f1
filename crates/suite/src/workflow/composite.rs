//! Local composite actions: what they run, install and set up.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#runs-for-composite-actions>

use std::collections::BTreeMap;
use std::rc::Rc;

use greenlight_anchor::RepoPath;

use super::actions::{runtime, set_up};
use super::run_script::{MAX_SCRIPT, Script};
use super::{Node, Scope, WORKSPACE, WorkflowFiles, inputs, local};

/// The description of an action at this path, if it is a composite one.
pub(super) fn composite(path: &str, files: &mut WorkflowFiles<'_, '_>) -> Option<Rc<Node>> {
    let action = match files.document(&format!("{path}/action.yml")) {
        Some(action) => action,
        None => files.document(&format!("{path}/action.yaml"))?,
    };
    let using = action.get("runs")?.get("using").and_then(Node::text);
    (using == Some("composite")).then_some(action)
}

/// Scripts up to this one, as one that runs where it does.
pub(super) fn joined(mut scripts: Vec<Script>, last: usize) -> Option<Script> {
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
