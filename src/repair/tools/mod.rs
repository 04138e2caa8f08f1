//! What the tools already know: fixes that a compiler, a linter, a formatter or a package manager makes by itself, when its
//! own check is what failed.

use tokio_util::sync::CancellationToken;

use super::Task;
use crate::domain::patch::Patch;
use crate::domain::proposal::Claim;
use crate::suite;

/// A patch that a tool made. It is not proved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFix {
    pub patch: Patch,
    /// The command as a person would type it.
    pub tool: String,
    /// One sentence without its full stop, in Markdown.
    pub explanation: String,
    /// A snapshot that is written anew says that the test may be wrong.
    pub claim: Claim,
}

/// What the tools would do about this failure, the surest first.
///
/// # Errors
/// When the tree cannot be copied, or the sandbox fails; whatever a tool does is no error.
pub async fn tool_fixes(_task: &Task<'_>, _cancel: &CancellationToken) -> Result<Vec<ToolFix>, suite::Error> {
    Ok(Vec::new())
}
