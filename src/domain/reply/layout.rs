//! How a patch is laid out on GitHub: what is suggested, and what is left for the remainder.

use crate::domain::anchor::Cut;

/// How a patch is laid out on a pull request.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub cut: &'a Cut,
    /// How many of its suggestions stand in threads that were there before.
    pub carried: usize,
    /// Whether greenlight may push to the branch.
    pub can_land: bool,
    /// Whether GitHub refused the suggestions, so that all of the patch is in the remainder.
    pub is_refused: bool,
}
