//! Runs from rows of the database.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::Error;
use super::columns::{broken, installation};
use super::format::{self, Newer, Unread};
use super::index::AFTER_THE_END;
use super::once::ReportedOnce;
use crate::domain::id::RepositoryId;
use crate::domain::run::{Run, Step};

/// The result of folding rows.
#[derive(Default)]
pub(super) struct Folded {
    pub(super) runs: Vec<Run>,
    /// The ids of runs that cannot be read at all, because their first step is broken.
    pub(super) without_start: Vec<String>,
}

/// Folds rows that are grouped by run, each in order. An unreadable run is logged once and left out.
pub(super) fn fold(rows: &[AnyRow], reported: &ReportedOnce) -> Folded {
    let mut folded = Folded::default();
    for rows in rows.chunk_by(|one, other| id(one) == id(other)) {
        let Some(first) = rows.first() else { continue };
        match run(first, rows) {
            Ok(run) => folded.runs.push(run),
            Err(why) => {
                reported.tell(&id(first), why);
                if why == Unread::NoStart {
                    folded.without_start.push(id(first));
                }
            }
        }
    }
    folded
}

/// The id of a row's run.
pub(super) fn id(row: &AnyRow) -> String {
    row.try_get("id").unwrap_or_default()
}

fn run(first: &AnyRow, rows: &[AnyRow]) -> Result<Run, Unread> {
    let steps: Result<Vec<Option<Step>>, Newer> = rows.iter().map(step).collect();
    let mut run = Run::salvage(steps?).map_err(|_| Unread::NoStart)?;
    readdress(&mut run, first).map_err(|_| Unread::NoStart)?;
    Ok(run)
}

fn step(row: &AnyRow) -> Result<Option<Step>, Newer> {
    // A format that is not a number counts as a newer one.
    let format = row.try_get("format").map(|format: i64| u32::try_from(format));
    let format = format.map_or(u32::MAX, |format| format.unwrap_or(u32::MAX));
    let json: String = row.try_get("step").unwrap_or_default();
    format::step(format, &json)
}

/// When the run of these rows ended, if that was recorded.
pub(super) fn ended_at(rows: &[AnyRow]) -> Option<Timestamp> {
    let is_end = |row: &&AnyRow| matches!(step(row), Ok(Some(Step::Ended(_))));
    let newest = rows.iter().rev().take(AFTER_THE_END);
    let end = newest.into_iter().find(is_end)?;
    let at: Option<i64> = end.try_get("at").ok()?;
    Timestamp::from_microsecond(at?).ok()
}

/// Replaces the recorded repository of a run by its current name and installation.
fn readdress(run: &mut Run, row: &AnyRow) -> Result<(), Error> {
    let started = &mut run.started;
    let id: Option<i64> = row.try_get("repository_id").map_err(broken)?;
    let name: Option<String> = row.try_get("name").map_err(broken)?;
    let id = id.map(|id| u64::try_from(id).map(RepositoryId)).transpose();
    let Some(pull_request) = started.pull_request_mut() else {
        return Err(Error::Broken(format!("{} is not a run on a pull request", started.run)));
    };
    pull_request.repository.id = id.map_err(broken)?;
    if let Some(name) = name {
        pull_request.repository.name = name.parse().map_err(broken)?;
        started.installation = installation(row)?;
    }
    Ok(())
}
