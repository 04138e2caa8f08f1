//! A step as it is stored.

use jiff::Timestamp;

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

/// Selects the steps of a run as [`StoredStep::some`] reads them, $3 of them from place $2 on. $1 is the run's id.
///
/// They are one row, because reading a row costs the driver many times as much as reading a step.
pub(super) const SELECT_SOME: &str = "SELECT string_agg(place || ' ' || format || ' ' || COALESCE(CAST(at AS TEXT), '') \
     || ' ' || octet_length(step) || ' ' || step, '') AS steps FROM (SELECT place, step, format, at FROM step WHERE run = \
     $1 AND place >= $2 ORDER BY place LIMIT $3) AS part";
/// How many steps a row has at most, because neither database returns a text of more than a gigabyte.
pub(super) const MAX_SOME: usize = 200;

impl StoredStep {
    /// Reads the steps in a row of [`SELECT_SOME`]. Each is written as its place, format, time and length in bytes,
    /// followed by the step itself. The databases promise no order.
    ///
    /// # Errors
    /// When the text is not of that form.
    pub(super) fn some(mut text: &str) -> Result<Vec<Self>, Error> {
        let mut steps = Vec::new();
        while !text.is_empty() {
            let (step, rest) = Self::first(text).ok_or_else(|| broken("the stored steps cannot be told apart"))?;
            steps.push(step);
            text = rest;
        }
        steps.sort_unstable_by_key(|step: &Self| step.place);
        Ok(steps)
    }

    /// The first step of such a text, and what follows it.
    fn first(text: &str) -> Option<(Self, &str)> {
        let mut parts = text.splitn(5, ' ');
        let mut next = || parts.next();
        let (place, format, at, length, rest) = (next()?, next()?, next()?, next()?, next()?);
        let (json, rest) = rest.split_at_checked(length.parse().ok()?)?;
        let step = Self {
            place: place.parse().ok()?,
            json: json.into(),
            at: at.parse().ok().and_then(|at| Timestamp::from_microsecond(at).ok()),
            // A format that is not a number counts as a newer one.
            format: format.parse().unwrap_or(u32::MAX),
        };
        Some((step, rest))
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
