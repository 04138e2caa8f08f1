//! A Makefile without the branches that do not count here, and with the files that it includes.
//!
//! Nothing is computed: a variable that no line sets is empty, and of a condition that cannot be evaluated the first
//! branch counts.

use std::collections::BTreeMap;

use super::{MAX_FILE, MAX_LINE, MAX_REPLACED, MAX_VARIABLES};
use crate::discover::directory::Directory;
use crate::shell::line_directory;

/// Maximum number of files that are included, how deep they include others, and depth of conditions.
const MAX_INCLUDED: usize = 20;
const MAX_INCLUDES: usize = 4;
const MAX_DEPTH: usize = 30;

/// The text of a Makefile in which each `include` of a file of the tree is replaced by that file.
pub(super) fn with_included(place: &Directory<'_>, text: &str) -> String {
    let mut whole = text.to_owned();
    let mut left = MAX_INCLUDED;
    for _ in 0..MAX_INCLUDES {
        let before = left;
        whole = included_once(place, &whole, &mut left);
        if left == before {
            break;
        }
    }
    whole
}

fn included_once(place: &Directory<'_>, text: &str, left: &mut usize) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let names = ["include ", "-include ", "sinclude "]
            .iter()
            .find_map(|word| line.strip_prefix(word));
        let Some(names) = names else {
            whole.push_str(line);
            whole.push('\n');
            continue;
        };
        for name in names.split_whitespace() {
            // Every file that is looked for counts, whether it is there or not.
            let Some(rest) = left.checked_sub(1) else { break };
            *left = rest;
            let path = line_directory(place.directory.as_ref(), &[name.to_owned()], &BTreeMap::new()).flatten();
            let included = path.and_then(|path| place.checkout.read_text(path.as_str()));
            if let Some(included) = included.filter(|text| whole.len() + text.len() <= MAX_FILE) {
                whole.push_str(&included);
                whole.push('\n');
            }
        }
    }
    whole
}

/// One `ifeq` and the like.
struct Conditional {
    /// Whether the lines of the branch count.
    counts: bool,
    /// Whether an earlier branch counted.
    has_counted: bool,
}

/// The lines that count. Indented lines that belong to no rule are not recipes, so they lose their indentation.
pub(super) fn without_branches(text: &str) -> String {
    let mut variables: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut open: Vec<Conditional> = Vec::new();
    let mut whole = String::new();
    let mut is_in_rule = false;
    for line in text.lines() {
        let plain = line.trim();
        let (word, rest) = plain.split_once([' ', '(']).unwrap_or((plain, ""));
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" if open.len() < MAX_DEPTH => {
                let counts = holds(word, plain, &variables).unwrap_or(true);
                open.push(Conditional {
                    counts,
                    has_counted: counts,
                });
                continue;
            }
            "else" => {
                if let Some(branch) = open.last_mut() {
                    let word = rest.split([' ', '(']).next().unwrap_or_default();
                    let counts = word.is_empty() || holds(word, rest, &variables).unwrap_or(true);
                    branch.counts = counts && !branch.has_counted;
                    branch.has_counted |= branch.counts;
                }
                continue;
            }
            "endif" => {
                open.pop();
                continue;
            }
            _ if open.iter().any(|branch| !branch.counts) => continue,
            _ => {}
        }
        let is_indented = line.starts_with(['\t', ' ']) && !plain.is_empty();
        if !is_indented || !is_in_rule {
            let is_set = set(plain, &mut variables);
            let is_blank = plain.is_empty() || plain.starts_with('#');
            is_in_rule = !is_set && (plain.contains(':') || is_blank && is_in_rule);
            whole.push_str(plain);
        } else {
            whole.push_str(line);
        }
        whole.push('\n');
    }
    whole
}

/// Records an assignment. `None` stands for a value that would have to be computed.
fn set(line: &str, variables: &mut BTreeMap<String, Option<String>>) -> bool {
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    let sign = name.chars().next_back().filter(|c| matches!(c, ':' | '?' | '+' | '!'));
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(is_name) {
        return false;
    }
    let value = match sign {
        Some('+' | '!') => None,
        Some('?') if variables.contains_key(name) => return true,
        _ => filled(value.trim(), variables, &mut MAX_REPLACED.clone()),
    };
    if variables.len() < MAX_VARIABLES || variables.contains_key(name) {
        variables.insert(name.to_owned(), value);
    }
    true
}

/// Whether a condition holds. `None` if that would have to be computed.
fn holds(word: &str, line: &str, variables: &BTreeMap<String, Option<String>>) -> Option<bool> {
    let line = line.trim().strip_prefix(word)?.trim();
    match word {
        "ifdef" | "ifndef" => {
            let is_set = variables.get(line).is_some_and(|value| value.as_deref() != Some(""));
            Some(is_set == (word == "ifdef"))
        }
        "ifeq" | "ifneq" => {
            let (one, other) = compared(line)?;
            let value = |text: &str| filled(text.trim(), variables, &mut MAX_REPLACED.clone());
            Some((value(one)? == value(other)?) == (word == "ifeq"))
        }
        _ => None,
    }
}

/// The two sides of `(a,b)`, `"a" "b"` or `'a' 'b'`.
fn compared(text: &str) -> Option<(&str, &str)> {
    if let Some(inside) = text.strip_prefix('(') {
        let inside = inside.trim_end().strip_suffix(')')?;
        let mut depth = 0_i32;
        let comma = inside.char_indices().find(|(_, c)| {
            depth += i32::from(matches!(c, '(' | '{')) - i32::from(matches!(c, ')' | '}'));
            depth == 0 && *c == ','
        })?;
        return Some((&inside[..comma.0], &inside[comma.0 + 1..]));
    }
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (one, rest) = text.get(1..)?.split_once(quote)?;
    let (_, rest) = rest.split_once(quote)?;
    let (other, _) = rest.split_once(quote)?;
    Some((one, other))
}

/// A text with its variables replaced. `None` if a function would have to be computed, other than a question about
/// this machine.
fn filled(text: &str, variables: &BTreeMap<String, Option<String>>, left: &mut usize) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        whole.push_str(before);
        *left = left.checked_sub(1)?;
        let open = after.chars().next()?;
        let close = match open {
            '(' => ')',
            '{' => '}',
            _ => return None,
        };
        let mut depth = 0_i32;
        let (end, _) = after.char_indices().find(|(_, c)| {
            depth += i32::from(*c == open) - i32::from(*c == close);
            depth == 0
        })?;
        let name = after.get(1..end)?.trim();
        match name.strip_prefix("shell ") {
            Some(command) => whole.push_str(answer(&filled(command, variables, left)?)?),
            None if name.contains([' ', '$', ',']) => return None,
            None => {
                if let Some(value) = variables.get(name) {
                    whole.push_str(value.as_deref()?);
                }
            }
        }
        if whole.len() > MAX_LINE {
            return None;
        }
        rest = after.get(end + 1..)?;
    }
    whole.push_str(rest);
    Some(whole)
}

/// What a command says about the machine on which tests run.
fn answer(command: &str) -> Option<&'static str> {
    let of_go = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    match command.split_whitespace().collect::<Vec<_>>().join(" ").as_str() {
        "uname" | "uname -s" => Some("Linux"),
        "uname -m" | "uname -p" => Some(std::env::consts::ARCH),
        "go env GOOS" | "go env GOHOSTOS" => Some("linux"),
        "go env GOARCH" | "go env GOHOSTARCH" => Some(of_go),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_branches(text), expected, "{text}");
    }

    #[test]
    fn branches_for_another_machine_or_for_what_nobody_sets_do_not_count() {
        check(
            "GO ?= go\nOS := $(shell $(GO) env GOHOSTOS)\nifeq ($(OS),linux)\n\tifneq ($(OTHER),)\n\t\tA := b\n\telse\n\t\tA := c\n\tendif\nelse ifeq ($(OS),darwin)\nA := d\nelse\nA := e\nendif\n",
            "GO ?= go\nOS := $(shell $(GO) env GOHOSTOS)\nA := c\n",
        );
        check("ifdef V\na\nelse\nb\nendif\nifndef V\nc\nendif\n", "b\nc\n");
        check(
            "V = $(filter a,b)\nifeq \"$(V)\" \"a\"\na\nelse\nb\nendif\n",
            "V = $(filter a,b)\na\n",
        );
        check(
            "test: a\nifeq (,$(NONE))\n\tgo test ./...\nendif\n",
            "test: a\n\tgo test ./...\n",
        );
    }

    #[test]
    fn hostile_files_stay_within_bounds() {
        let nested = "ifeq (a,b)\n".repeat(10_000);
        assert!(without_branches(&nested).len() <= nested.len());
        let doubling: String = (0..60).map(|n| format!("A{} := $(A{n})$(A{n})\n", n + 1)).collect();
        assert!(without_branches(&format!("A0 := a\n{doubling}")).len() <= doubling.len() + 9);
        check("A := $(\nB := $(A\nifeq (\nendif\nendif\nelse\n", "A := $(\nB := $(A\n");
    }
}
