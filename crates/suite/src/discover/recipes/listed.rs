//! Values of TOML that are one thing or a list of them.

use toml::Value;

/// The members of a list, or the one value.
pub(super) fn listed(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(list)) => list,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}
