//! A type name has few meanings: a reader who sees one should not have to ask which it is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::sources::{Tree, code};

/// How often a name may be defined.
const MOST: usize = 3;

/// Read with its module, as the standard library does it: `io::Error`, `git::Error`.
const CONVENTIONS: [&str; 1] = ["Error"];

/// The definition of a type, local ones included. Indented `type`s belong to traits.
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^(?: *(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([a-z: ]+\))? )?type) ([A-Z]\w*)",
    )
    .unwrap()
});

pub(super) fn no_type_name_means_many_things(tree: &Tree) -> Vec<String> {
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in tree.rust("src/").chain(tree.rust("crates/")) {
        for found in DEFINED.captures_iter(&code(text)) {
            defined.entry(found[1].to_string()).or_default().push(path);
        }
    }
    let too_many = defined
        .into_iter()
        .filter(|(name, paths)| paths.len() > MOST && !CONVENTIONS.contains(&name.as_str()));
    too_many
        .map(|(name, paths)| format!("{name} is defined {} times: {}", paths.len(), paths.join(", ")))
        .collect()
}
