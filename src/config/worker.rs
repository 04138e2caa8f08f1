//! `[worker]` of `greenlight.toml`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::field_schema;
use super::values::worker_labels;
use crate::domain::worker_labels::WorkerLabels;

/// Which of a service's machines may work on this repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct WorkerConfig {
    /// The labels that a worker must have. Others leave the work to one that has them.
    #[serde(deserialize_with = "worker_labels")]
    #[schemars(schema_with = "field_schema::worker_labels")]
    pub needs: WorkerLabels,
}
