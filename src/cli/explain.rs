//! `greenlight explain`: says why the tests of a local checkout fail, and changes nothing.

use super::Exit;
use super::local::{self, Common};
use crate::domain::mode::Mode;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    common: Common,
}

pub(super) async fn explain(arguments: Arguments) -> Exit {
    local::work(arguments.common, Mode::Explain).await
}
