//! The sections of an INI file of tox: <https://tox.wiki/en/latest/config.html#tox-ini>

use std::collections::BTreeMap;
use std::rc::Rc;

/// Maximum number of names that the conditions of one line expand to.
pub(super) const MAX_NAMES: usize = 64;
/// Maximum number of sections that conditions in names expand to.
pub(super) const MAX_SECTIONS: usize = 2_000;

/// Sections by name. Those of `[testenv:a{1,2}]` share their keys.
pub(super) type Sections = BTreeMap<String, Rc<Keys>>;
pub(super) type Keys = BTreeMap<String, String>;

/// A line of a value without its comment: <https://tox.wiki/en/latest/config.html#comments>
fn without_comment(line: &str) -> String {
    let is_comment = |(at, _): &(usize, &str)| !line[..*at].ends_with('\\');
    let end = line
        .match_indices('#')
        .find(is_comment)
        .map_or(line.len(), |(at, _)| at);
    line[..end].trim().replace("\\#", "#")
}

/// Parses an INI file as Python does: an indented line continues the value above.
pub(super) fn sections(text: &str) -> Sections {
    let mut sections: BTreeMap<String, Keys> = BTreeMap::new();
    let (mut section, mut key) = (String::new(), String::new());
    for line in text.replace("\\\n", " ").lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            section = name.split(']').next().unwrap_or_default().trim().to_string();
            key.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some(value) = sections.get_mut(&section).and_then(|keys| keys.get_mut(&key)) {
                value.push('\n');
                value.push_str(&without_comment(trimmed));
            }
        } else if let Some((name, value)) = line.split_once('=') {
            key = name.trim().to_string();
            let keys = sections.entry(section.clone()).or_default();
            keys.insert(key.clone(), without_comment(value));
        }
    }
    for_each_name(sections)
}

/// `[testenv:py{39,310}]` is a section for each of its environments.
fn for_each_name(sections: BTreeMap<String, Keys>) -> Sections {
    let mut each = Sections::new();
    let sections = sections.into_iter().map(|(name, keys)| (name, Rc::new(keys)));
    let (several, plain): (Sections, Sections) = sections.partition(|(name, _)| name.contains('{'));
    for (name, keys) in several {
        let names = expanded(&name).into_iter().map(|name| (name, Rc::clone(&keys)));
        each.extend(names.take(MAX_SECTIONS.saturating_sub(each.len())));
    }
    each.extend(plain);
    each
}

/// `py{39,310}-a,b` is `py39-a`, `py310-a` and `b`.
pub(super) fn expanded(names: &str) -> Vec<String> {
    let mut left: Vec<String> = apart(names).into_iter().map(String::from).collect();
    let mut done = Vec::new();
    while let Some(name) = left.pop().filter(|_| done.len() + left.len() < MAX_NAMES) {
        let braces = name
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
        match braces {
            Some((before, (choices, after))) => {
                let filled = choices
                    .split(',')
                    .map(|choice| format!("{before}{}{after}", choice.trim()));
                left.extend(filled.take(MAX_NAMES));
            }
            None => done.push(name),
        }
    }
    done
}

/// The names between commas outside of braces.
fn apart(names: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, byte) in names.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(&names[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&names[start..]);
    found
}
