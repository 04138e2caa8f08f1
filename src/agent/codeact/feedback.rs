//! Reports the result of a block to the model: as data, within bounds.

use crate::domain::redact::{fenced, inline};
use crate::sandbox::{Cell, CellOutcome, Language, LostReason};
use crate::suite::clean;

/// How many bytes of each stream are shown.
const STDOUT: usize = 4 << 10;
const STDERR: usize = 1 << 10;
const VALUE: usize = 2 << 10;

/// How a block ended, its output, and its value or error.
pub(super) fn cell(cell: &Cell, language: Language) -> String {
    let mut parts = Vec::new();
    match (&cell.outcome, &cell.restarted) {
        (CellOutcome::StateLost(why), _) => parts.push(format!("the interpreter {}.", lost(why))),
        (_, Some(why)) => parts.push(format!(
            "before this block the interpreter {}, so it ran in a new one, without the functions. Run it again.",
            lost(why)
        )),
        (CellOutcome::Interrupted, _) => parts.push("The block took too long and was interrupted.".into()),
        (CellOutcome::Ok | CellOutcome::Error, _) => {}
    }
    let is_error = cell.outcome == CellOutcome::Error;
    let streams = [
        ("Printed", &cell.stdout, STDOUT),
        ("Printed as errors", &cell.stderr, STDERR),
    ];
    for (title, stream, max) in streams {
        let text = clean(stream.text().as_bytes());
        if !text.trim().is_empty() {
            parts.push(format!("{title}:\n{}", fenced("text", &text, max)));
        }
    }
    // The value of a bash block is its exit code.
    let says_nothing = language == Language::Bash && cell.value == "0";
    if !says_nothing && !cell.value.trim().is_empty() {
        let title = match language {
            Language::Bash => "Exit code",
            _ if is_error => "Error",
            _ => "Value",
        };
        parts.push(format!(
            "{title}:\n{}",
            fenced("text", &clean(cell.value.as_bytes()), VALUE)
        ));
    }
    if parts.is_empty() {
        parts.push("Done; it printed nothing.".into());
    }
    parts.join("\n")
}

fn lost(why: &LostReason) -> String {
    match why {
        LostReason::TimedOut => "took too long and was killed".into(),
        LostReason::Exited(code) => format!("exited with {code}"),
        LostReason::Signalled(signal) => format!("was killed by signal {signal}"),
        LostReason::OutOfMemory => "ran out of memory".into(),
        LostReason::DiskLimit => "wrote too much".into(),
        LostReason::Cancelled => "was cancelled".into(),
        LostReason::Idle => "was idle for too long".into(),
        LostReason::ChannelBroken(why) => format!("was ended: {}", inline(why, 200)),
        LostReason::DidNotStart(why) => format!("did not start: {}", inline(why, 200)),
    }
}
