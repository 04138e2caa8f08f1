//! Parses single lines of cargo and of the test harness.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

static BINARY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+Running (?:unittests )?(\S+) \((?:.*/)?([^/]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)$"));
static DOC_TESTS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+Doc-tests (\S+)$"));

/// A label for the binary that is about to run: the source file distinguishes `src/lib.rs` from `src/main.rs`, and
/// the binary's name distinguishes the packages of a workspace.
pub(super) fn new_binary(line: &str) -> Option<String> {
    if let Some(doc) = DOC_TESTS.as_ref().and_then(|doc| doc.captures(line)) {
        return Some(format!("{}:doc", &doc[1]));
    }
    let binary = BINARY.as_ref()?.captures(line)?;
    Some(format!("{}:{}", &binary[2], &binary[1]))
}

pub(super) fn is_start(line: &str) -> bool {
    line.strip_prefix("running ")
        .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")))
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes the suffix that says how the harness runs a test.
pub(super) fn strip_suffix(name: &str) -> &str {
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}
