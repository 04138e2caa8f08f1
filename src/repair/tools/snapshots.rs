//! Snapshots that their framework writes anew, when nothing but snapshots differ.

use tokio_util::sync::CancellationToken;

use super::ToolFix;
use crate::repair::Task;
use crate::suite;

pub(super) async fn fix(_task: &Task<'_>, _cancel: &CancellationToken) -> Result<Option<ToolFix>, suite::Error> {
    Ok(None)
}
