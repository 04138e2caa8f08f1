//! Whole texts for snapshots: greenlight's posts without the parts that differ between runs.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Variable parts, and their replacements in a snapshot. The order matters: longer digests come first.
const VARIES: [(&str, &str); 14] = [
    (r"\b[0-9a-f]{64}\b", "[digest]"),
    (r"\b[0-9a-f]{40}\b", "[commit]"),
    (r"\b[0-9a-f]{12,16}\b", "[digest]"),
    (r"\b[0-9]+ tokens\b", "[n] tokens"),
    (r"\b(approve|reject|greenlight:gate) g[0-9a-z]{5}\b", "$1 [gate]"),
    (r"`g[0-9a-z]{5}`", "`[gate]`"),
    (r"\b(run|Run:|run=)(:? `?)r[0-9a-z]{9}\b", "$1$2[run]"),
    (
        r"(\bless than )?\b[0-9]+(\.[0-9]+)? (ms|s|min|h)\b( [0-9]+ (s|min)\b)?",
        "[time]",
    ),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+( ?UTC|Z)?)?", "[date]"),
    (r"http://127\.0\.0\.1:[0-9]+", "[github]"),
    (r"\b[0-9]+ edits? tried\b", "[n] edits tried"),
    (r"\btried [0-9]+ small edits?\b", "tried [n] small edits"),
    (r"\becho [A-Za-z0-9+/=]{40,}", "echo [patch]"),
    (r"/tmp/[^\s`'\x22]+", "[folder]"),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compiled = VARIES.map(|(pattern, shown)| (Regex::new(pattern).unwrap(), shown));
    compiled.into()
});

/// A commit as people see it.
static SHORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(= )?\b[0-9a-f]{7}\b").unwrap());

/// The text with commits, ids, digests, times, addresses and counts of tried edits replaced by placeholders.
pub(crate) fn stable(text: &str) -> String {
    // A setting may be a number of seven digits.
    let short = SHORT.replace_all(text, |found: &Captures| match found.get(1) {
        Some(_) => found[0].to_string(),
        None => "[commit]".into(),
    });
    let replaced = PATTERNS.iter().fold(short.into_owned(), |text, (pattern, shown)| {
        pattern.replace_all(&text, *shown).into_owned()
    });
    let lines: Vec<&str> = replaced.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[test]
fn what_varies_is_replaced_and_nothing_else() {
    let text = "run `r123456789` on abcdef0: `/greenlight approve g7fqa3` until 2026-11-23 10:00 UTC, 12 edits tried in \
                3.2 s. The guards decide.";
    let shown = "run `[run]` on [commit]: `/greenlight approve [gate]` until [date], [n] edits tried in [time]. The \
                 guards decide.";
    assert_eq!(stable(text), shown);
}
