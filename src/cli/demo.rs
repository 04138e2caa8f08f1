//! `greenlight demo`: the whole story on one machine.

use super::Exit;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Play the maintainer, too: approve the fix without asking
    #[arg(long)]
    approve: bool,
}

pub(super) async fn demo(_arguments: Arguments) -> Exit {
    Exit::Done
}
