//! A job of any of these systems, and how its parts are read.

use std::collections::{BTreeMap, BTreeSet};

use super::super::node::Node;
use super::super::run_script;

/// Maximum number of jobs of one file.
pub(super) const MAX_JOBS: usize = 200;
/// Maximum number of scripts of one job.
pub(super) const MAX_SCRIPTS: usize = 100;

/// A job, as far as it can be read.
#[derive(Default)]
pub(super) struct OtherJob {
    pub(super) name: String,
    /// Its scripts, in the order in which they run.
    pub(super) scripts: Vec<OtherScript>,
    pub(super) env: BTreeMap<String, String>,
    /// The names of those variables that are this job's, and not all jobs'.
    pub(super) own_env: BTreeSet<String>,
    pub(super) services: Vec<String>,
    /// Whether its failure does not count.
    pub(super) may_fail: bool,
}

#[derive(Clone, Default)]
pub(super) struct OtherScript {
    pub(super) text: String,
    pub(super) directory: String,
    pub(super) env: BTreeMap<String, String>,
}

/// The lines of a script, which is one text or a list of texts, possibly nested.
pub(super) fn lines(node: &Node) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = vec![node];
    while let Some(node) = rest.pop() {
        lines.extend(node.text());
        rest.extend(node.items().iter().rev());
    }
    lines.truncate(MAX_SCRIPTS);
    lines
}

pub(super) fn script(nodes: &[Option<&Node>]) -> OtherScript {
    let lines: Vec<&str> = nodes.iter().flatten().flat_map(|node| lines(node)).collect();
    OtherScript {
        text: lines.join("\n"),
        ..OtherScript::default()
    }
}

/// Variables with plain values: a map, or a list of names and values. A value of a map may have a description.
pub(super) fn variables(node: Option<&Node>) -> BTreeMap<String, String> {
    let entries = node.map(Node::entries).unwrap_or_default();
    let items = node.map(Node::items).unwrap_or_default();
    let value = |node: &Node| node.get("value").unwrap_or(node).scalar();
    let all = entries
        .iter()
        .filter_map(|(name, node)| Some((name.clone(), value(node)?)));
    let listed = items
        .iter()
        .filter_map(|node| Some((node.get("name")?.scalar()?, node.get("value")?.scalar()?)));
    taken(all.chain(listed))
}

/// Variables with plain values in texts such as `A=1 B="2 3"`.
pub(super) fn assignments<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let words = texts.filter_map(shlex::split).flatten();
    taken(words.filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_string(), value.to_string()))
    }))
}

/// Those whose values are short and need no shell.
fn taken(found: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    found
        .filter(|(_, value)| value.len() <= run_script::MAX_VALUE && !value.contains('$'))
        .take(run_script::MAX_VARIABLES)
        .collect()
}

/// The names of service images: texts, or maps with a name.
pub(super) fn images(node: Option<&Node>) -> Vec<String> {
    let items = node.map(Node::items).unwrap_or_default();
    let image = |node: &Node| {
        let name = node.get("name").or_else(|| node.get("image"));
        name.unwrap_or(node).text().map(str::to_string)
    };
    items.iter().filter_map(image).collect()
}
