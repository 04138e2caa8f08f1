//! What single lines of cargo and of the test harness say.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern;

static BINARY: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+Running (?:unittests )?(\S+) \((?:.*/)?([^/]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)$"));
static DOC_TESTS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\s+Doc-tests (\S+)$"));

/// A name for the binary that is about to run: its source file tells `src/lib.rs` from `src/main.rs`, its own name
/// tells the packages of a workspace apart.
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

/// What the harness adds to a name to say how it is run.
pub(super) fn strip_suffix(name: &str) -> &str {
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}
