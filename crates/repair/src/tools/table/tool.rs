//! A row of the table: a tool that checks what it could fix.

/// Which files a tool fixes.
#[derive(Debug, Clone, Copy)]
pub(super) enum FixedFiles {
    /// Files that its check names and that have one of these suffixes; any named file if the list is empty.
    Named(&'static [&'static str]),
    /// Files with these names in its directory, named or not: the check can only report that they are stale.
    Own(&'static [&'static str]),
}

/// A tool that can fix what it checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    /// The program and its subcommand.
    pub(super) name: &'static [&'static str],
    /// Words that make it a check; one of them must occur. If empty, it always is one. Options may have a value after
    /// `=`.
    pub(super) checks: &'static [&'static str],
    /// Words that only a check has; the fix leaves them out.
    pub(super) drops: &'static [&'static str],
    /// Words to replace, and their replacements.
    pub(super) swaps: &'static [(&'static str, &'static str)],
    /// Options that make it fix, inserted after its name. A command with the first of them has already fixed what it
    /// could.
    pub(super) adds: &'static [&'static str],
    /// If not empty, this replaces the whole command from the tool's name on.
    pub(super) instead: &'static [&'static str],
    /// If not empty, a line of the failure must contain one of these: the tool fixes nothing else.
    pub(super) says: &'static [&'static str],
    pub(super) files: FixedFiles,
}

/// Defaults for the rows of the table.
pub(super) const TOOL: Tool = Tool {
    name: &[],
    checks: &[],
    drops: &[],
    swaps: &[],
    adds: &[],
    instead: &[],
    says: &[],
    files: FixedFiles::Named(&[]),
};
