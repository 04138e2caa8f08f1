//! Applies a change of one text to another version of it.

/// Applies the change from `was` to `then` to `now`: by merging, or as a patch if another change is directly beside
/// it. `None` if both changed the same lines.
pub fn carried_over(was: &str, now: &str, then: &str) -> Option<String> {
    let merged = diffy::merge(was, now, then).ok();
    merged.or_else(|| diffy::apply(now, &diffy::create_patch(was, then)).ok())
}
