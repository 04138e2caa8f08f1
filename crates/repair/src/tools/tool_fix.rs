//! What a tool's fix is, and how commands and files are named in it.

use greenlight_anchor::patch::Patch;

/// Maximum number of characters of a command that are shown.
const MAX_SHOWN: usize = 200;

/// What a tool's fix changes, and so what it takes to be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixKind {
    /// The code that the tool checks.
    Code,
    /// A snapshot that a test compares with: the code is right, and the test may be wrong.
    Snapshot,
}

/// A patch that a tool made, still unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFix {
    /// What the tool changed.
    pub patch: Patch,
    /// The command as a person would type it.
    pub tool: String,
    /// One sentence without its full stop, in Markdown.
    pub explanation: String,
    /// What it takes to be wrong.
    pub kind: FixKind,
}

/// A file and the number of further ones.
pub(super) fn files(first: &str, count: usize) -> String {
    match count {
        0 | 1 => format!("`{first}`"),
        2 => format!("`{first}` and 1 more file"),
        _ => format!("`{first}` and {} more files", count - 1),
    }
}

/// A command as a person would type it.
pub(super) fn typed(argv: &[String]) -> String {
    let words = argv.iter().map(|word| shlex::try_quote(word).unwrap_or_default());
    shown(&words.collect::<Vec<_>>().join(" "))
}

/// A line that cannot end a code span, truncated if it is long.
pub(super) fn shown(line: &str) -> String {
    let line = greenlight_suite::clean(line.as_bytes()).replace(['`', '\n', '\r'], " ");
    line.chars().take(MAX_SHOWN).collect()
}
