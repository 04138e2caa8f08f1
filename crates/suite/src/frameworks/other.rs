//! Commands of no known framework: `make`, `just`, scripts.

use greenlight_readers::test_run::Outcome;

use crate::discover::others;
use crate::framework::Ecosystem;
use crate::frameworks::spec::Spec;
use crate::install;
use crate::parse::recognise::recognise;

pub(super) const SPEC: Spec = Spec {
    name: "an unknown framework",
    ecosystem: Ecosystem::Any,
    is_compiled: true,
    installers: install::plan::ALL,
    also_uses: &[Ecosystem::Python, Ecosystem::JavaScript],
    looks_for: Some("a `test` target of make, just or Task"),
    discover: others::find,
    parse: |printed| recognise(printed.text).map(|(_, run)| run).unwrap_or_default(),
    exit: |code| (code == 5).then_some(Outcome::NothingRan),
    ..Spec::NEW
};
