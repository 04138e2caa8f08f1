//! How a patch is laid out on GitHub: what becomes suggestions, and what the remainder is.

use crate::domain::anchor::Cut;

/// How a patch is laid out on a pull request.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub cut: &'a Cut,
    /// How many of its suggestions are in threads that already existed.
    pub carried: usize,
    /// Whether greenlight may push to the branch.
    pub can_land: bool,
    /// Whether GitHub refused the suggestions, so that the whole patch is in the remainder.
    pub is_refused: bool,
}
