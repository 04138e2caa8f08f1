//! Weights for the ranks of alternatives.

/// A weight that falls from 1 with increasing rank.
pub(super) fn falling(rank: usize) -> f32 {
    1.0 / (1.0 + 0.06 * f32::from(u8::try_from(rank).unwrap_or(u8::MAX)))
}

/// How likely the variable of this rank is the one that is missing: the order in which a function binds its variables
/// says little.
pub(super) fn nearness(rank: usize) -> f32 {
    0.7 + 0.3 * falling(rank)
}
