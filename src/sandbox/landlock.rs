//! Landlock.

use ::landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

use super::remedy::Landlock;

/// How much of Landlock the running kernel has.
pub(super) fn found() -> Landlock {
    let all = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if all().handle_access(AccessFs::from_all(ABI::V1)).is_err() {
        Landlock::Missing
    } else if all().scope(Scope::Signal).is_err() {
        Landlock::Files
    } else {
        Landlock::Signals
    }
}
