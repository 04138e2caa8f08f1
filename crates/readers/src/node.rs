//! Parses the tree that `node --test` prints for people.

use std::sync::LazyLock;

use regex::Regex;

use super::{MAX_MESSAGE, ParsedRun, location};
use crate::Location;
use crate::text::pattern;

static TREE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^( *)([✔✖﹣▶⚠]) (.+?)(?: \([\d.]+ms\)(?: # (.*))?)?$"));

pub(crate) fn read(text: &str) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    let mut parents: Vec<String> = Vec::new();
    let mut failing: Option<(String, String)> = None;
    let (tree, details) = text.split_once("\n✖ failing tests:").unwrap_or((text, ""));
    for line in tree.lines() {
        let Some(found) = TREE.as_ref().and_then(|tree| tree.captures(line)) else {
            if let Some((_, message)) = failing.as_mut().filter(|(_, message)| message.len() < 2 * MAX_MESSAGE) {
                message.push_str(line);
                message.push('\n');
            }
            continue;
        };
        if let Some((name, message)) = failing.take() {
            parsed.fail(&name, tree_place(details, &name), message.trim_end());
        }
        let depth = found[1].len() / 2;
        let closes = parents.len() > depth && parents.get(depth).is_some_and(|parent| *parent == found[3]);
        parents.truncate(depth);
        let name = parents
            .iter()
            .map(String::as_str)
            .chain([&found[3]])
            .collect::<Vec<_>>()
            .join(" > ");
        let directive = found.get(4).is_some();
        match &found[2] {
            "▶" => parents.push(found[3].to_string()),
            _ if closes => {}
            "﹣" => parsed.skip_named(&name),
            _ if directive => parsed.skip_named(&name),
            "✔" => parsed.pass(&name),
            _ => failing = Some((name, String::new())),
        }
    }
    if let Some((name, message)) = failing {
        parsed.fail(&name, tree_place(details, &name), message.trim_end());
    }
    parsed
}

/// `test at test/shop.test.js:5:1`, the line above the repeated failure.
fn tree_place(details: &str, name: &str) -> Option<Location> {
    let leaf = name.rsplit(" > ").next().unwrap_or(name);
    let mut lines = details.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some(at) = line.strip_prefix("test at ")
            && next.strip_prefix("✖ ").is_some_and(|next| next.starts_with(leaf))
        {
            return place(at);
        }
    }
    None
}

static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:.* \(|at )?(?:file://)?([^\s()]+?):(\d+):\d+\)?$"));

/// A location from a stack trace. Locations in the runtime and in packages are ignored.
pub(crate) fn place(value: &str) -> Option<Location> {
    let place = PLACE.as_ref()?.captures(value)?;
    let path = &place[1];
    let is_foreign = path.starts_with("node:") || path.contains("node_modules/") || path.starts_with("internal/");
    (!is_foreign).then(|| location(path, &place[2]))?
}
