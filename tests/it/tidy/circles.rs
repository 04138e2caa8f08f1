//! Imports inside a room or crate are acyclic, so that each file can be read after the ones it needs.
//!
//! A folder and the files in it may name each other: one is part of the other.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Tree, code, first_names, is_shipped};

type Module = Vec<String>;

pub(super) fn imports_form_no_circles(tree: &Tree) -> Vec<String> {
    let files = tree.shipped().map(|(path, text)| (module(path), text));
    let files: BTreeMap<Module, &str> = files.filter(|(module, _)| !module.is_empty()).collect();
    let arrows: BTreeMap<&Module, BTreeSet<&Module>> = files
        .iter()
        .map(|(module, text)| {
            let named = named(module, &code(text)).into_iter();
            let named = named.filter_map(|path| nearest(&files, &path));
            let others = named.filter(|other| !other.starts_with(module) && !module.starts_with(other));
            (module, others.collect())
        })
        .collect();
    let reach = reachable(&arrows);
    let in_circle = |module: &&Module| reach[*module].contains(module);
    files
        .keys()
        .filter(in_circle)
        .map(|module| {
            let others = arrows[module].iter().filter(|other| reach[**other].contains(module));
            let others: Vec<String> = others.map(|other| other[1..].join("::")).collect();
            format!("{} is in a circle with {}", module.join("::"), others.join(", "))
        })
        .collect()
}

/// `src/git/tree.rs` as `src`, `git`, `tree`; `crates/sandbox/src/wire.rs` as `sandbox`, `wire`.
fn module(path: &str) -> Module {
    let (root, rest) = match path.strip_prefix("crates/") {
        Some(path) => path.split_once("/src/").unwrap_or_default(),
        None => ("src", path.strip_prefix("src/").unwrap_or_default()),
    };
    let rest = rest.trim_end_matches(".rs");
    let rest = rest.strip_suffix("/mod").unwrap_or(rest);
    if rest == "lib" || rest == "main" || !is_shipped(path) {
        return Vec::new();
    }
    [root].into_iter().chain(rest.split('/')).map(str::to_owned).collect()
}

/// Every path that a file names after `crate::`, `self::` and `super::`, from the root.
fn named(module: &Module, code: &str) -> Vec<Module> {
    let tests = code.find("\nmod tests {").unwrap_or(code.len());
    let mut named = Vec::new();
    for (start, base) in [
        ("crate::", &module[..1]),
        ("self::", &module[..]),
        ("super::", &module[..module.len() - 1]),
    ] {
        for (at, _) in code[..tests].match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                follow(base.to_vec(), &code[at + start.len()..tests], &mut named);
            }
        }
    }
    named
}

/// The paths that begin with this one and continue as in the text, through further `super`s and braces.
fn follow(mut base: Module, text: &str, named: &mut Vec<Module>) {
    if let Some(group) = text.strip_prefix('{') {
        let names = first_names(text);
        let mut from = 0;
        for name in names {
            let Some(at) = group[from..].find(&name).map(|at| at + from) else {
                continue;
            };
            follow(base.clone(), &group[at..], named);
            from = at + name.len();
        }
        return;
    }
    let name = first_names(text).concat();
    let rest = &text[name.len()..];
    match name.as_str() {
        "super" if base.len() > 1 => drop(base.pop()),
        "super" | "self" => {}
        _ => base.push(name),
    }
    match rest.strip_prefix("::") {
        Some(rest) => follow(base, rest, named),
        None => named.push(base),
    }
}

/// The file that a path leads to: its own file, or that of the folder around it.
fn nearest<'a>(files: &'a BTreeMap<Module, &str>, path: &[String]) -> Option<&'a Module> {
    let prefixes = (2..=path.len()).rev().map(|length| &path[..length]);
    prefixes
        .filter_map(|prefix| files.get_key_value(prefix))
        .map(|(module, _)| module)
        .next()
}

/// The modules that can be reached from each, over any number of arrows.
fn reachable<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> BTreeMap<&'a Module, BTreeSet<&'a Module>> {
    let reach = arrows.keys().map(|from| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = arrows[from].iter().copied().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(&arrows[next]);
            }
        }
        (*from, reached)
    });
    reach.collect()
}
