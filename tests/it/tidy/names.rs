//! No type name stands for many things: a reader who sees one should not have to ask which.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::sources::{Tree, code};

/// How often a name may be defined.
const MOST: usize = 3;

/// Names that are defined more often. `Arguments` and `Error` are conventions, always read with their module; the others
/// have to become fewer, never more.
const KNOWN: [(&str, usize); 34] = [
    ("Answer", 7),
    ("Arguments", 14),
    ("Bench", 4),
    ("Body", 4),
    ("Call", 5),
    ("Error", 8),
    ("File", 4),
    ("Files", 5),
    ("Finding", 5),
    ("Found", 9),
    ("Hunk", 4),
    ("Kept", 4),
    ("Kind", 5),
    ("Known", 4),
    ("Language", 4),
    ("Limits", 4),
    ("Line", 6),
    ("Outcome", 4),
    ("Part", 6),
    ("Piece", 5),
    ("Place", 8),
    ("Reader", 6),
    ("Report", 5),
    ("Request", 4),
    ("Rules", 4),
    ("Said", 5),
    ("Search", 4),
    ("Seen", 4),
    ("Shown", 5),
    ("State", 4),
    ("Test", 5),
    ("Told", 6),
    ("Verdict", 6),
    ("Word", 5),
];

/// The definition of a type. Indented `type`s belong to traits.
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:(?:    )?(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|union)|(?:pub(?:\([a-z: ]+\))? )?type) ([A-Z]\w*)").unwrap()
});

pub(super) fn no_type_name_means_many_things(tree: &Tree) -> Vec<String> {
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in tree.rust("src/").chain(tree.rust("crates/")) {
        for found in DEFINED.captures_iter(&code(text)) {
            defined.entry(found[1].to_string()).or_default().push(path);
        }
    }
    let allowed = |name: &str| {
        KNOWN
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(MOST, |(_, most)| *most)
    };
    let too_many = defined.into_iter().filter(|(name, paths)| paths.len() > allowed(name));
    too_many
        .map(|(name, paths)| format!("{name} is defined {} times: {}", paths.len(), paths.join(", ")))
        .collect()
}
