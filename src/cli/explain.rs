//! `greenlight explain`: says why the tests of a local checkout fail, and changes nothing.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::local::{self, Common, UpFront};
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct ExplainArguments {
    /// Approve up front what the model asks to execute
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

/// Explains without anybody to approve what a model asks to execute.
pub(super) async fn outcome(common: Common, cancel: &CancellationToken) -> (Value, Exit) {
    local::outcome((common, UpFront::default()), Mode::Explain, cancel).await
}

pub(super) async fn explain(arguments: ExplainArguments) -> Exit {
    let up_front = UpFront {
        all_but_tests: arguments.yes,
        tests: false,
    };
    local::work(arguments.common, up_front, Mode::Explain).await
}
