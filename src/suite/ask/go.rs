//! `go test` and `go vet`.

use super::Asked;
use crate::suite::{Framework, TestCommand};

pub(super) fn ask(command: &TestCommand, mut asked: Asked) -> Asked {
    if command.framework == Framework::Go {
        asked.after("test", "-json");
        // A result from a cache is no run.
        if !asked
            .argv
            .iter()
            .any(|word| word.trim_start_matches('-').starts_with("count"))
        {
            asked.after("test", "-count=1");
        }
    }
    asked
}
