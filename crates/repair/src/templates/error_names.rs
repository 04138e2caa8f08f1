//! Names of errors, as far as a name alone tells.

use super::site::Site;

/// Suffixes of error names.
const ENDS: [&str; 3] = ["Error", "Exception", "Warning"];

/// Whether the node is a name.
pub(super) fn is_name(place: &Site<'_, '_>) -> bool {
    place.node().child_count() == 0 && matches!(place.kind(), "identifier" | "type_identifier")
}

/// Whether a name ends like the name of an error.
pub(super) fn sounds_like_one(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}
