//! Names of errors, as far as a name alone tells.

use super::site::Site;

/// How the names of errors end.
const ENDS: [&str; 3] = ["Error", "Exception", "Warning"];

/// Whether the node is a name.
pub(super) fn is_name(place: &Site<'_, '_>) -> bool {
    place.node().child_count() == 0 && matches!(place.kind(), "identifier" | "type_identifier")
}

/// Whether names of errors end like this one.
pub(super) fn sounds_like_one(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}
