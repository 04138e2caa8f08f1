//! `greenlight fix`: makes the failing tests of a local checkout pass, and asks before it writes.

use super::Exit;
use super::local::{self, Common, UpFront};
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Approve up front: what the model asks to execute, and writing the fix to the working tree. A change of a test
    /// that may be wrong is no fix, and is not covered
    #[arg(long)]
    yes: bool,
    /// Approve up front that a test is changed where it, and not the code, may be wrong
    #[arg(long)]
    yes_tests: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn fix(arguments: Arguments) -> Exit {
    let up_front = UpFront {
        all_but_tests: arguments.yes,
        tests: arguments.yes_tests,
    };
    local::work(arguments.common, up_front, Mode::Debug).await
}
