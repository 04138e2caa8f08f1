//! `greenlight tdd`: writes the tests of a specification, sees them fail, writes the code, and asks before it writes
//! anything to the checkout.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Exit;
use super::local::{self, Common, UpFront};
use crate::domain::command::MAXIMUM_TEXT;
use crate::domain::mode::Mode;

/// More bytes than a specification with the maximum number of characters can have.
const MAX_BYTES: u64 = 4 * MAXIMUM_TEXT as u64 + 1;

#[derive(Debug, clap::Args)]
pub(super) struct TddArguments {
    /// The file with the specification; `-` reads it from standard input
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
    /// Approve up front: what the model asks to execute, and writing the result to the working tree
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn tdd(arguments: TddArguments) -> Exit {
    let TddArguments { spec, yes, common } = arguments;
    let up_front = UpFront {
        all_but_tests: yes,
        tests: false,
    };
    let read = tokio::task::spawn_blocking(move || specification(&spec)).await;
    match read {
        Ok(Ok(specification)) => local::work(common, up_front, Mode::Tdd { specification }).await,
        Ok(Err(exit)) => exit,
        Err(error) => Exit::Fault(error.to_string()),
    }
}

fn specification(path: &Path) -> Result<String, Exit> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| Exit::Usage(format!("--spec: {shown}: {error}"));
    let mut text = String::new();
    let bounded: &mut dyn Read = if path.as_os_str() == "-" {
        &mut std::io::stdin().lock()
    } else {
        &mut File::open(path).map_err(unreadable)?
    };
    bounded.take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    let text = text.trim();
    match text.chars().count() {
        0 => Err(Exit::Usage(format!(
            "--spec: {shown} is empty; say what the code should do"
        ))),
        count if count > MAXIMUM_TEXT => Err(Exit::Usage(format!(
            "--spec: {shown} is longer than the {MAXIMUM_TEXT} characters that are read; specify one thing at a time"
        ))),
        _ => Ok(text.into()),
    }
}
