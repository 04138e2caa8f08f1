//! The JSON schema of each kind of value in `greenlight.toml`; [`super::values`] has the parser of each.
//!
//! [`super::repository`] names both side by side. A test in [`super::schema`] compares their bounds.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::protect::{MAX_PATTERN_BYTES, MAX_PATTERNS};
use super::values::{MAX_COMMAND_BYTES, MAX_HOSTS, MAX_LABEL_CHARS};
use crate::domain::worker_labels::{MAX_LABEL_BYTES, MAX_LABELS};
use crate::sandbox::Property;

/// A member of a schema that only the generator reads: the bounds of a text, which JSON schema cannot express.
pub(super) const RANGE: &str = "x-range";

pub(super) fn whole<const MIN: u64, const MAX: u64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
}

pub(super) fn money<const MAX: u32>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "maximum": MAX })
}

/// From `MIN` to `MAX` seconds.
pub(super) fn duration<const MIN: u64, const MAX: u64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^\s*([0-9]+\s*[A-Za-zµ]+\s*)+$",
        RANGE: format!("{} to {}", in_words(MIN), in_words(MAX)),
    })
}

/// From `MIN` to `MAX` MiB.
pub(super) fn size<const MIN: u64, const MAX: u64>(_: &mut SchemaGenerator) -> Schema {
    let words = |mebibytes: u64| match () {
        () if mebibytes.is_multiple_of(1 << 20) => format!("{}TiB", mebibytes >> 20),
        () if mebibytes.is_multiple_of(1 << 10) => format!("{}GiB", mebibytes >> 10),
        () => format!("{mebibytes}MiB"),
    };
    json_schema!({
        "type": "string",
        "pattern": r"^[0-9]+\s*(KiB|MiB|GiB|TiB)$",
        RANGE: format!("{} to {}", words(MIN), words(MAX)),
    })
}

pub(super) fn command(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_COMMAND_BYTES, "pattern": r"^[^\r\n]*\S[^\r\n]*$" })
}

pub(super) fn label(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": MAX_LABEL_CHARS })
}

pub(super) fn hosts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_HOSTS,
        "items": { "type": "string", "pattern": r"^(registries|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)$" },
    })
}

pub(super) fn patterns(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_PATTERNS,
        "items": { "type": "string", "minLength": 1, "maxLength": MAX_PATTERN_BYTES, "pattern": "^[^!]" },
    })
}

pub(super) fn properties(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "enum": Property::ALL.map(Property::name) } })
}

pub(super) fn worker_labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_LABELS,
        "items": { "type": "string", "maxLength": MAX_LABEL_BYTES, "pattern": "^[A-Za-z0-9._-]+$" },
    })
}

fn in_words(seconds: u64) -> String {
    match seconds {
        0 => "0s".into(),
        seconds if seconds.is_multiple_of(86_400) => format!("{}days", seconds / 86_400),
        seconds if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        seconds if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
