//! Converts the columns of the database.

use std::any::Any;

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::Error;
use super::outage::is_outage;
use crate::domain::id::{InstallationId, RepositoryId};

pub(super) fn broken(error: impl std::fmt::Display + 'static) -> Error {
    let problem = error.to_string();
    match (&error as &dyn Any).downcast_ref() {
        Some(error) if is_outage(error) => Error::Unavailable(problem),
        _ => Error::Broken(problem),
    }
}

/// An id as the database stores it.
pub(super) fn number(id: Option<RepositoryId>) -> Result<Option<i64>, Error> {
    id.map(|RepositoryId(id)| i64::try_from(id).map_err(broken)).transpose()
}

pub(super) fn installation(row: &AnyRow) -> Result<Option<InstallationId>, Error> {
    let id: Option<i64> = row.try_get("installation").map_err(broken)?;
    id.map(|id| Ok(InstallationId(u64::try_from(id).map_err(broken)?)))
        .transpose()
}
