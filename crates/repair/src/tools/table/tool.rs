//! A row of the table: a tool that checks what it could fix.

/// Which files a tool fixes.
#[derive(Debug, Clone, Copy)]
pub(super) enum FixedFiles {
    /// Those that its check names, if they end like this; all that it names when empty.
    Named(&'static [&'static str]),
    /// Those with these names where it runs, named or not: that they are stale is all that its check can say.
    Own(&'static [&'static str]),
}

/// A tool that checks, and can fix what it finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool {
    /// The program and its subcommand.
    pub(super) name: &'static [&'static str],
    /// Words one of which makes it a check; when empty, it always is one. Options with `=` and a value count.
    pub(super) checks: &'static [&'static str],
    /// Words that only a check has; they are left out.
    pub(super) drops: &'static [&'static str],
    /// Words that become others.
    pub(super) swaps: &'static [(&'static str, &'static str)],
    /// Options that make it fix, put behind its name. A command that has the first of them fixed what it could.
    pub(super) adds: &'static [&'static str],
    /// When not empty, all of the command from its name on becomes this.
    pub(super) instead: &'static [&'static str],
    /// When not empty, what one line of the failure must say: the tool fixes nothing else.
    pub(super) says: &'static [&'static str],
    pub(super) files: FixedFiles,
}

/// What the rows of the table leave open.
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
