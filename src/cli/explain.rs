//! `greenlight explain`: says why the tests of a local checkout fail, and changes nothing.

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

pub(super) async fn explain(arguments: ExplainArguments) -> Exit {
    let up_front = UpFront {
        all_but_tests: arguments.yes,
        tests: false,
    };
    local::work(arguments.common, up_front, Mode::Explain).await
}
