//! `greenlight fix`: makes the failing tests of a local checkout pass, and asks before it writes.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::local::{self, Common, UpFront};
use crate::config::flags::EnginePart;
use crate::domain::mode::Mode;
use crate::domain::weakening::AllowedFinding;

#[derive(Debug, clap::Args)]
pub(super) struct FixArguments {
    /// Approve up front: what the model asks to execute, and writing the fix to the working tree. This does not cover a
    /// change to a test that may be wrong
    #[arg(long)]
    yes: bool,
    /// Approve up front a change to a test, if the test may be wrong and not the code
    #[arg(long)]
    yes_tests: bool,
    /// Leave out parts of the built-in engine, separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with = "record")]
    without: Vec<EnginePart>,
    /// Allow what the guard refuses in a fix, by the name that the refusal gives, such as `removed@tests/test_a.py`.
    /// Can be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "record")]
    allow: Vec<AllowedFinding>,
    #[command(flatten)]
    common: Common,
}

/// Looks for a fix, and writes nothing.
pub(super) async fn propose(common: Common, cancel: &CancellationToken) -> (Value, Exit) {
    local::outcome((common, UpFront::default()), Mode::Debug, cancel).await
}

pub(super) async fn fix(arguments: FixArguments) -> Exit {
    let up_front = UpFront {
        all_but_tests: arguments.yes,
        tests: arguments.yes_tests,
    };
    let common = arguments.common.without(arguments.without).allowing(arguments.allow);
    local::work(common, up_front, Mode::Debug).await
}
