//! The format in which runs are stored, and how other formats are read.
//!
//! | format | what is written |
//! |--------|-----------------|
//! | 1 | steps as JSON, without a format number |
//! | 2 | the same steps with a format number: a column in SQLite, a line before them in a git ref |
//! | 3 | a run may be on a checkout, may reach a limit without having found anything, and may not be judged |
//!
//! Older formats are supported forever; a newer one is left alone. CONTRIBUTING.md says how to change a step.

use serde::{Deserialize, Serialize};

use super::Error;
use crate::domain::run::{Run, Step};

/// The format that this version writes.
pub const FORMAT: u32 = 3;
/// The format of steps without a format number.
pub const FIRST: u32 = 1;

/// The data is in a format that only later versions of greenlight know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a newer version of greenlight wrote this (format {0}; this one reads up to {FORMAT}): upgrade greenlight to \
     continue"
)]
pub struct Newer(pub u32);

/// Why no part of a run can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error(transparent)]
    Newer(#[from] Newer),
    #[error("the first step of its journal cannot be read")]
    NoStart,
}

/// A line that is not a step, but names the format of the lines after it. In a lesson, the steps follow on the same
/// line.
#[derive(Serialize, Deserialize)]
struct Mark {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Lesson {
    format: u32,
    steps: Vec<Step>,
}

/// Parses one step. Returns `None` if it is malformed.
///
/// # Errors
/// When the format is a newer one.
pub(super) fn step(format: u32, json: &str) -> Result<Option<Step>, Newer> {
    known(format)?;
    // The error is dropped, because it may quote text that anybody wrote.
    Ok(serde_json::from_str(json).ok())
}

/// Folds a run from lines. Each is a step, or, before steps of a later format than the first, a line such as
/// `{"format":2}`.
///
/// # Errors
/// When the format is a newer one, or the first step cannot be read.
pub fn fold(text: &str) -> Result<Run, Unread> {
    let mut format = FIRST;
    let mut steps = Vec::new();
    for line in text.lines() {
        match mark(line) {
            Some(other) => {
                known(other)?;
                format = other;
            }
            None => steps.push(step(format, line)?),
        }
    }
    Run::salvage(steps).map_err(|_| Unread::NoStart)
}

/// The lines of a file that are steps.
pub(super) fn steps(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| mark(line).is_none())
}

/// The same lines with one more step, in the format of this version.
pub(super) fn append(text: &str, step: &Step) -> Result<String, Error> {
    let mut text = text.to_string();
    if text.lines().rev().find_map(mark).unwrap_or(FIRST) != FORMAT {
        text += &line(&Mark { format: FORMAT })?;
    }
    Ok(text + &line(step)?)
}

/// The lesson of a run, as a line without its line break.
pub(super) fn lesson(steps: Vec<Step>) -> Result<String, Error> {
    let lesson = Lesson { format: FORMAT, steps };
    serde_json::to_string(&lesson).map_err(|error| Error::Broken(error.to_string()))
}

/// Parses the lesson of a run. Returns `None` if it is malformed.
pub(super) fn read_lesson(line: &str) -> Result<Option<Run>, Newer> {
    let steps: Option<Vec<Step>> = match mark(line) {
        Some(format) => {
            known(format)?;
            serde_json::from_str(line).ok().map(|Lesson { steps, .. }| steps)
        }
        None => serde_json::from_str(line).ok(),
    };
    Ok(steps.and_then(|steps| Run::fold(steps).ok()))
}

fn known(format: u32) -> Result<(), Newer> {
    if format > FORMAT { Err(Newer(format)) } else { Ok(()) }
}

fn mark(line: &str) -> Option<u32> {
    // No step begins like this, and the check keeps most lines from being parsed twice.
    let is_one = line.starts_with("{\"format\":");
    let mark = is_one.then(|| serde_json::from_str::<Mark>(line).ok())?;
    mark.map(|Mark { format }| format)
}

pub(super) fn line(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value)
        .map(|json| json + "\n")
        .map_err(|error| Error::Broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = r#"{"started":{"run":"r1","pull_request":{"repository":"a/b","number":3},"installation":null,"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","base":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","origin":{"ci":{"workflow_run":null}},"consent":"none","approvers":1,"gate_seconds":60,"at":"2026-03-01T10:00:00Z"}}"#;

    #[test]
    fn the_format_is_written_once() {
        let old = format!("{STARTED}\n");
        let text = append(&old, &Step::NeedsExecution).unwrap();
        let text = append(&text, &Step::Announced).unwrap();
        assert_eq!(
            text,
            format!("{old}{{\"format\":{FORMAT}}}\n\"needs_execution\"\n\"announced\"\n")
        );
        assert_eq!(steps(&text).count(), 3);
        let run = fold(&text).unwrap();
        assert_eq!((run.length, run.needs_execution, run.unreadable), (3, true, None));
    }

    #[test]
    fn a_newer_format_is_not_taken_for_a_broken_step() {
        let newer = format!("{STARTED}\n{{\"format\":99,\"more\":1}}\n{{\"later\":1}}\n");
        assert_eq!(fold(&newer), Err(Newer(99).into()));
        assert_eq!(
            fold(&format!("{STARTED}\n{{\"later\":1}}\n")).unwrap().unreadable,
            Some(1)
        );
        assert_eq!(fold("{\n"), Err(Unread::NoStart));
        assert_eq!(fold(""), Err(Unread::NoStart));
    }

    #[test]
    fn lessons_of_every_format_are_read() {
        let run = |line: &str| read_lesson(line).map(|run| run.map(|run| run.length));
        let Step::Started(started) = serde_json::from_str(STARTED).unwrap() else {
            panic!("no start");
        };
        let now = lesson(vec![Step::Started(started), Step::Announced]).unwrap();
        assert!(now.starts_with("{\"format\":3,"), "{now}");
        assert_eq!(run(&now), Ok(Some(2)));
        assert_eq!(run(&format!("[{STARTED}]")), Ok(Some(1)));
        assert_eq!(run("{\"format\":99,\"later\":1}"), Err(Newer(99)));
        assert_eq!(run("{\"format\":2}"), Ok(None));
    }
}
