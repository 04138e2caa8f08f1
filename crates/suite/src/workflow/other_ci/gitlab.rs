//! GitLab CI/CD: <https://docs.gitlab.com/ci/yaml/>

use std::collections::HashMap;

use super::super::files::WorkflowFiles;
use super::super::node::Node;
use super::job::{MAX_SCRIPTS, OtherJob, OtherScript, images, variables};

/// Maximum number of templates that a job extends, one after another, and of references that lead to others. GitLab
/// allows 11 levels: <https://docs.gitlab.com/ci/yaml/#extends>
const MAX_EXTENDS: usize = 11;
/// Maximum number of values of scripts that are read for one job.
const MAX_VALUES: usize = 2_000;
/// Maximum number of files that are included.
const MAX_INCLUDED: usize = 10;

/// The jobs of a file, together with the files of the repository that it includes.
pub(super) fn gitlab(document: &Node, files: &mut WorkflowFiles<'_, '_>) -> Vec<OtherJob> {
    /// The keys that are not jobs.
    const GLOBAL: [&str; 12] = [
        "default",
        "include",
        "stages",
        "variables",
        "workflow",
        "image",
        "services",
        "cache",
        "before_script",
        "after_script",
        "pages",
        "spec",
    ];
    let document = &with_included(document, files, &mut { MAX_INCLUDED });
    let default = |name: &str| {
        document
            .get("default")
            .and_then(|node| node.get(name))
            .or_else(|| document.get(name))
    };
    let is_job = |name: &str| !name.starts_with('.') && !GLOBAL.contains(&name);
    let jobs = document.entries().iter().filter(|(name, _)| is_job(name));
    jobs.map(|(name, job)| {
        let setting = |setting: &str| inherited(document, job, setting).or_else(|| default(setting));
        let mut env = variables(document.get("variables"));
        let own = variables(inherited(document, job, "variables"));
        let own_env = own.keys().cloned().collect();
        env.extend(own);
        let scripts = [setting("before_script"), inherited(document, job, "script")];
        OtherJob {
            name: name.clone(),
            scripts: vec![script(document, scripts)],
            env,
            own_env,
            services: images(setting("services")),
            may_fail: inherited(document, job, "allow_failure") == Some(&Node::Bool(true)),
        }
    })
    .collect()
}

/// A setting of a job, or of the templates that it extends.
fn inherited<'n>(document: &'n Node, job: &'n Node, setting: &str) -> Option<&'n Node> {
    let mut job = job;
    for _ in 0..MAX_EXTENDS {
        if let Some(own) = job.get(setting) {
            return Some(own);
        }
        let extends = job.get("extends")?;
        // The last one counts most.
        let name = extends.text().or_else(|| extends.items().last()?.text())?;
        job = document.get(name)?;
    }
    None
}

/// A document with the files of the repository that it includes. Its own keys count more, and maps are merged:
/// <https://docs.gitlab.com/ci/yaml/includes/>
fn with_included(document: &Node, files: &mut WorkflowFiles<'_, '_>, left: &mut usize) -> Node {
    let include = document.get("include");
    let entries = match include {
        Some(Node::List(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let paths = entries
        .iter()
        .filter_map(|entry| entry.get("local").unwrap_or(entry).text());
    let mut whole = Node::Map(Vec::new());
    for path in paths.filter(|path| !path.contains("://")) {
        let Some(rest) = left.checked_sub(1) else { break };
        *left = rest;
        if let Some(included) = files.document(path.trim_start_matches('/')) {
            whole = merged(whole, &with_included(&included, files, left));
        }
    }
    merged(whole, document)
}

fn merged(below: Node, above: &Node) -> Node {
    match (below, above) {
        (Node::Map(mut entries), Node::Map(more)) => {
            let mut places: HashMap<String, usize> = HashMap::new();
            for (at, (name, _)) in entries.iter().enumerate() {
                places.entry(name.clone()).or_insert(at);
            }
            for (name, value) in more {
                match places.get(name).and_then(|at| entries.get_mut(*at)) {
                    Some((_, own)) => *own = merged(std::mem::replace(own, Node::Null), value),
                    None => entries.push((name.clone(), value.clone())),
                }
            }
            Node::Map(entries)
        }
        _ => above.clone(),
    }
}

/// The lines of scripts: texts, lists of them, and references to those of other jobs.
fn script(document: &Node, nodes: [Option<&Node>; 2]) -> OtherScript {
    let mut lines = Vec::new();
    for node in nodes.into_iter().flatten() {
        let (mut own, mut left) = (Vec::new(), MAX_VALUES);
        add_lines(document, (node, MAX_EXTENDS), &mut left, &mut own);
        lines.extend(own);
    }
    OtherScript {
        text: lines.join("\n"),
        ..OtherScript::default()
    }
}

/// `left` counts values: references may name each other many times.
fn add_lines<'n>(document: &'n Node, (node, depth): (&'n Node, usize), left: &mut usize, lines: &mut Vec<&'n str>) {
    let (Some(depth), Some(rest)) = (depth.checked_sub(1), left.checked_sub(1)) else {
        return;
    };
    *left = rest;
    if let Some(referenced) = referenced(document, node) {
        add_lines(document, (referenced, depth), left, lines);
        return;
    }
    lines.extend(node.text().filter(|_| lines.len() < MAX_SCRIPTS));
    for item in node.items() {
        add_lines(document, (item, depth), left, lines);
    }
}

/// What `!reference [.setup, script]` leads to. The tag itself is lost, but no script is the name of a job.
/// <https://docs.gitlab.com/ci/yaml/yaml_optimization/#reference-tags>
fn referenced<'n>(document: &'n Node, node: &Node) -> Option<&'n Node> {
    let path: Vec<&str> = node.items().iter().map(Node::text).collect::<Option<_>>()?;
    let (job, keys) = path.split_first()?;
    if keys.is_empty() {
        return None;
    }
    keys.iter().try_fold(document.get(job)?, |node, key| node.get(key))
}
