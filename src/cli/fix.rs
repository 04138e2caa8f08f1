//! `greenlight fix`: makes the failing tests of a local checkout pass, and asks before it writes.

use super::Exit;
use super::local::{self, Common, UpFront};
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct FixArguments {
    /// Approve up front: what the model asks to execute, and writing the fix to the working tree. This does not cover a
    /// change to a test that may be wrong
    #[arg(long)]
    yes: bool,
    /// Approve up front a change to a test, if the test may be wrong and not the code
    #[arg(long)]
    yes_tests: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn fix(arguments: FixArguments) -> Exit {
    let up_front = UpFront {
        all_but_tests: arguments.yes,
        tests: arguments.yes_tests,
    };
    local::work(arguments.common, up_front, Mode::Debug).await
}
