//! Converts the columns of the database.

use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::Error;
use crate::domain::id::{InstallationId, RepositoryId};

pub(super) fn broken(error: impl std::fmt::Display) -> Error {
    Error::Broken(error.to_string())
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
