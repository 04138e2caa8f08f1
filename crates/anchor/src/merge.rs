//! Carries a change of one text over to another that changed meanwhile.

/// What became of `was` done to `now`: by merging, or, where something was written right beside it, by its lines. `None`
/// if both changed the same lines.
pub fn carried_over(was: &str, now: &str, then: &str) -> Option<String> {
    let merged = diffy::merge(was, now, then).ok();
    merged.or_else(|| diffy::apply(now, &diffy::create_patch(was, then)).ok())
}
