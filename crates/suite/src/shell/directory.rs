//! Fills in the variables of a line, and finds the directory in which it runs.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;

use super::word::DEFAULT;
use super::{VARIABLE, WORKSPACE};

/// A word with its variables replaced. `None` if one of them is unknown.
pub(crate) fn expanded(word: &str, env: &BTreeMap<String, String>) -> Option<String> {
    let mut whole = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once(VARIABLE) {
        whole.push_str(before);
        let (name, after) = after.split_once(VARIABLE)?;
        match name.split_once(DEFAULT) {
            None => whole.push_str(env.get(name)?),
            Some((name, default)) => {
                let set = env.get(name).filter(|value| !value.is_empty());
                whole.push_str(set.map_or(default, String::as_str));
            }
        }
        rest = after;
    }
    whole.push_str(rest);
    Some(whole)
}

/// The directory in which a line runs, after the `cd` commands before it. `None` if that is outside of the tree or
/// unknown.
pub(crate) fn line_directory(
    start: Option<&RepoPath>,
    changes: &[String],
    env: &BTreeMap<String, String>,
) -> Option<Option<RepoPath>> {
    let mut parts: Vec<String> = start.map_or(Vec::new(), |start| start.as_str().split('/').map(Into::into).collect());
    for change in changes {
        let below_root = WORKSPACE.iter().find_map(|root| change.strip_prefix(root));
        let path = match below_root {
            Some(path) if path.is_empty() || path.starts_with('/') => {
                parts.clear();
                expanded(path.trim_start_matches('/'), env)?
            }
            _ => expanded(change, env)?,
        };
        if path.starts_with(['/', '~', '-']) {
            return None;
        }
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part.to_string()),
            }
        }
    }
    if parts.is_empty() {
        return Some(None);
    }
    parts.join("/").parse().ok().map(Some)
}
