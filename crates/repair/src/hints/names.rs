//! Names that a misspelled one was probably meant to be: those in the same file, those in other files of the project,
//! and members that values of most languages have.

use std::collections::BTreeMap;

use strsim::damerau_levenshtein;

use super::place::HintPlace;
use crate::language;

/// Maximum number of names that are compared, and of other files that are read.
const MAX_NAMES: usize = 20_000;
const MAX_FILES: usize = 400;
const MAX_BYTES: usize = 2 << 20;
/// Maximum length of a name.
const MAX_NAME: usize = 80;
/// Maximum number of names that are offered.
const MAX_OFFERED: usize = 6;
/// Names this many lines away are about as likely as names of the same function.
const NEAR: usize = 40;

/// Names of the same thing in different languages and libraries.
const SYNONYMS: &[&[&str]] = &[
    &["length", "size", "len", "count", "Length", "Count", "Len"],
    &["upper", "toUpperCase", "to_uppercase", "ToUpper", "toupper"],
    &["lower", "toLowerCase", "to_lowercase", "ToLower", "tolower"],
    &["append", "push", "add", "push_back", "Add"],
    &["extend", "addAll", "concat", "extend_from_slice"],
    &["strip", "trim", "Trim", "TrimSpace"],
    &["startswith", "startsWith", "starts_with", "HasPrefix"],
    &["endswith", "endsWith", "ends_with", "HasSuffix"],
    &["find", "indexOf", "index", "Index"],
    &[
        "contains",
        "includes",
        "has",
        "containsKey",
        "contains_key",
        "Contains",
        "__contains__",
    ],
    &["remove", "delete", "pop", "discard"],
    &["replace", "replaceAll", "ReplaceAll"],
    &["keys", "keySet"],
    &["items", "entries", "entrySet"],
    &["isEmpty", "is_empty", "empty"],
    &["forEach", "for_each"],
    &["None", "null", "nil", "undefined", "NULL", "nullptr"],
    &["True", "true", "TRUE"],
    &["False", "false", "FALSE"],
    &["self", "this"],
    &["String", "string", "str"],
    &["boolean", "bool", "Boolean"],
    &["int", "integer", "Integer"],
];

/// Members of everyday values.
const MEMBERS: &[&str] = &[
    "items",
    "keys",
    "values",
    "get",
    "setdefault",
    "update",
    "pop",
    "append",
    "extend",
    "insert",
    "remove",
    "sort",
    "reverse",
    "index",
    "count",
    "copy",
    "clear",
    "add",
    "discard",
    "union",
    "difference",
    "intersection",
    "join",
    "split",
    "strip",
    "lstrip",
    "rstrip",
    "replace",
    "format",
    "upper",
    "lower",
    "title",
    "startswith",
    "endswith",
    "encode",
    "decode",
    "isdigit",
    "isalpha",
    "zfill",
    "splitlines",
    "rsplit",
    "rfind",
    "partition",
    "isspace",
    "isupper",
    "islower",
    "isalnum",
    "findall",
    "finditer",
    "fullmatch",
    "search",
    "group",
    "push",
    "shift",
    "unshift",
    "slice",
    "splice",
    "concat",
    "includes",
    "indexOf",
    "filter",
    "map",
    "reduce",
    "forEach",
    "find",
    "some",
    "every",
    "length",
    "size",
    "toUpperCase",
    "toLowerCase",
    "trim",
    "startsWith",
    "endsWith",
    "charAt",
    "substring",
    "toString",
    "isEmpty",
    "contains",
    "containsKey",
    "getOrDefault",
    "putIfAbsent",
    "equals",
    "hashCode",
    "stream",
    "collect",
    "println",
    "has",
    "set",
    "delete",
    "then",
    "catch",
    "entries",
    "padStart",
    "toFixed",
];

/// Names close to this one, the likeliest first, each with a weight from 0 to 1.
pub(super) fn near(place: &HintPlace<'_>, name: &str, said: &[String]) -> Vec<(String, f32)> {
    let mut found: BTreeMap<String, f32> = BTreeMap::new();
    let mut offer = |name: &str, weight: f32| {
        let known = found.entry(name.to_string()).or_insert(0.0);
        *known = known.max(weight);
    };
    said.iter()
        .filter(|other| !other.is_empty())
        .for_each(|other| offer(other, 1.0));
    for (other, distance) in own_words(place, name) {
        let bonus = if distance <= NEAR { 0.03 } else { 0.0 };
        if let Some(weight) = likeness(name, &other) {
            offer(&other, (weight + bonus).min(1.0));
        }
    }
    if said.is_empty() {
        for group in SYNONYMS.iter().filter(|group| group.contains(&name)) {
            group
                .iter()
                .filter(|other| **other != name)
                .for_each(|other| offer(other, 0.85));
        }
        for other in MEMBERS {
            if let Some(weight) = likeness(name, other) {
                offer(other, weight * 0.97);
            }
        }
        for other in project_words(place, name) {
            if let Some(weight) = likeness(name, &other) {
                offer(&other, weight * 0.95);
            }
        }
    }
    found.remove(name);
    let mut found: Vec<(String, f32)> = found.into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MAX_OFFERED);
    found
}

/// How alike two names are, from 0.7 to 1. `None` if they are not.
pub(super) fn likeness(name: &str, other: &str) -> Option<f32> {
    if name == other || other.len() > MAX_NAME || name.len() > MAX_NAME || name.len().abs_diff(other.len()) > 3 {
        return None;
    }
    let same_letters = |a: &str, b: &str| {
        let letters = |text: &str| {
            text.chars()
                .filter(|c| *c != '_')
                .flat_map(char::to_lowercase)
                .collect::<String>()
        };
        letters(a) == letters(b)
    };
    if same_letters(name, other) {
        return Some(0.97);
    }
    let length = name.chars().count().max(other.chars().count());
    let distance = damerau_levenshtein(name, other);
    let most = match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    // `cnt` is short for `count`.
    let mut rest = other.chars();
    let is_short = name.len() >= 3
        && name.len() * 3 >= other.len()
        && name.chars().next() == other.chars().next()
        && name.chars().all(|c| rest.any(|other| other == c));
    if distance > most && is_short {
        return Some(0.75);
    }
    (distance <= most).then_some(match distance {
        1 => 0.96,
        2 => 0.85,
        _ => 0.75,
    })
}

/// The words of the file, each with its distance in lines.
fn own_words(place: &HintPlace<'_>, name: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let here = usize::try_from(place.line).unwrap_or(usize::MAX);
    for (at, line) in (1..).zip(place.text.lines()) {
        for word in words(line).filter(|word| *word != name) {
            if found.len() >= MAX_NAMES {
                return found;
            }
            let distance = here.abs_diff(at);
            let known = found.entry(word.to_string()).or_insert(distance);
            *known = (*known).min(distance);
        }
    }
    found
}

/// The words of the project's other files of this language.
fn project_words(place: &HintPlace<'_>, name: &str) -> Vec<String> {
    let kind = place.path.as_str().rsplit('.').next().unwrap_or_default();
    let (mut found, mut bytes) = (std::collections::BTreeSet::new(), 0);
    let others = place.checkout.paths().into_iter().filter(|other| {
        **other != place.path
            && other.as_str().rsplit('.').next() == Some(kind)
            && language::of(other.as_str()).is_some()
    });
    for other in others.take(MAX_FILES) {
        let text = place.checkout.read_text(other.as_str()).unwrap_or_default();
        bytes += text.len();
        if bytes > MAX_BYTES || found.len() >= MAX_NAMES {
            break;
        }
        found.extend(
            words(&text)
                .filter(|word| likeness(name, word).is_some())
                .map(String::from),
        );
    }
    found.into_iter().collect()
}

/// The words of a text that can be names.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .filter(|word| word.len() > 1 && word.len() <= MAX_NAME && !word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_if_a_slip_turns_one_into_the_other() {
        for (name, other, alike) in [
            ("totl", "total", true),
            ("total_cuont", "total_count", true),
            ("Add", "add", true),
            ("user_id", "userId", true),
            ("cnt", "count", true),
            ("ctx", "connection", false),
            ("a", "b", false),
            ("id", "it", false),
            ("count", "lines", false),
            ("same", "same", false),
        ] {
            assert_eq!(likeness(name, other).is_some(), alike, "{name} {other}");
        }
    }
}
