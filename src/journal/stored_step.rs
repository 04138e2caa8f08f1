//! A step as it is stored.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::Error;
use super::columns::broken;
use super::format::{self, FORMAT, Newer};
use crate::domain::run::Step;

/// A step of a run in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredStep {
    /// Its index in the run.
    pub place: usize,
    pub json: String,
    /// When it was appended. `None` if a version wrote it that did not record that, and in git refs.
    pub at: Option<Timestamp>,
    format: u32,
}

impl StoredStep {
    pub(super) fn of_row(row: &AnyRow) -> Result<Self, Error> {
        let place: i64 = row.try_get("place").map_err(broken)?;
        let at: Option<i64> = row.try_get("at").map_err(broken)?;
        // A format that is not a number counts as a newer one.
        let format = row.try_get("format").map(|format: i64| u32::try_from(format));
        Ok(Self {
            place: usize::try_from(place).map_err(broken)?,
            json: row.try_get("step").map_err(broken)?,
            at: at.and_then(|at| Timestamp::from_microsecond(at).ok()),
            format: format.map_or(u32::MAX, |format| format.unwrap_or(u32::MAX)),
        })
    }

    pub(super) fn of_line(place: usize, line: &str) -> Self {
        Self {
            place,
            json: line.into(),
            at: None,
            format: FORMAT,
        }
    }

    /// The step. `None` if it is malformed.
    ///
    /// # Errors
    /// When a newer greenlight wrote it.
    pub fn step(&self) -> Result<Option<Step>, Newer> {
        format::step(self.format, &self.json)
    }
}
