//! `greenlight fix`: makes the failing tests of a local checkout pass, and asks before it writes.

use super::Exit;
use super::local::{self, Common};
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    common: Common,
}

pub(super) async fn fix(arguments: Arguments) -> Exit {
    local::work(arguments.common, Mode::Debug).await
}
