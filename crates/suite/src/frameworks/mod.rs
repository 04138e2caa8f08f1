//! What is known of each framework and linter: one file each, which holds all that is particular to it.
//!
//! To add one: its variant in `framework.rs`, its file here and its two lines below, a folder of recorded outputs in
//! `tests/fixtures/outputs`, and a row in greenlight's `docs/test-suites.md`. Tests hold these together.

mod bun;
mod cargo;
mod catch2;
mod compiler;
mod ctest;
mod deno;
mod dotnet;
mod eslint;
mod exunit;
mod go;
mod go_vet;
mod googletest;
mod gradle;
mod javascript;
mod jest;
mod maven;
mod meson;
mod minitest;
mod mocha;
mod mypy;
mod nextest;
mod node;
mod other;
mod pest;
mod phpunit;
mod pytest;
mod rspec;
mod ruff;
mod rustc;
pub(crate) mod spec;
mod swift;
mod tap;
mod tsc;
mod unittest;
mod vitest;

use std::fmt;

use self::spec::{FrameworkKind, Runtime, Snapshots, Spec};
use crate::framework::{Ecosystem, Framework};

impl Framework {
    /// All that is known of it.
    pub(crate) fn spec(self) -> &'static Spec {
        match self {
            Self::Ctest => &ctest::SPEC,
            Self::Meson => &meson::SPEC,
            Self::Nextest => &nextest::SPEC,
            Self::Cargo => &cargo::SPEC,
            Self::Gradle => &gradle::SPEC,
            Self::Maven => &maven::SPEC,
            Self::Pytest => &pytest::SPEC,
            Self::Unittest => &unittest::SPEC,
            Self::Go => &go::SPEC,
            Self::Jest => &jest::SPEC,
            Self::Vitest => &vitest::SPEC,
            Self::Mocha => &mocha::SPEC,
            Self::Node => &node::SPEC,
            Self::Bun => &bun::SPEC,
            Self::Deno => &deno::SPEC,
            Self::Rspec => &rspec::SPEC,
            Self::Minitest => &minitest::SPEC,
            Self::Pest => &pest::SPEC,
            Self::Phpunit => &phpunit::SPEC,
            Self::Dotnet => &dotnet::SPEC,
            Self::Exunit => &exunit::SPEC,
            Self::Swift => &swift::SPEC,
            Self::Googletest => &googletest::SPEC,
            Self::Catch2 => &catch2::SPEC,
            Self::Tap => &tap::SPEC,
            Self::Tsc => &tsc::SPEC,
            Self::Eslint => &eslint::SPEC,
            Self::Ruff => &ruff::SPEC,
            Self::Mypy => &mypy::SPEC,
            Self::GoVet => &go_vet::SPEC,
            Self::Compiler => &compiler::SPEC,
            Self::Rustc => &rustc::SPEC,
            Self::Other => &other::SPEC,
        }
    }

    /// The ecosystem whose tools it needs.
    pub(crate) fn ecosystem(self) -> Ecosystem {
        self.spec().ecosystem
    }

    /// Whether its commands may use what is installed for this ecosystem.
    pub(crate) fn uses(self, ecosystem: Ecosystem) -> bool {
        self.ecosystem() == ecosystem || self.spec().also_uses.contains(&ecosystem)
    }

    /// Whether it finds problems in the code without running it.
    pub(crate) fn is_linter(self) -> bool {
        self.spec().kind != FrameworkKind::Tests
    }

    /// Whether greenlight can install what such tests need.
    pub fn has_installer(self) -> bool {
        !self.spec().installers.is_empty()
    }

    /// Whether something is compiled before tests run, so that a fresh copy costs a build.
    pub fn is_compiled(self) -> bool {
        self.spec().is_compiled
    }

    /// How its tests can be rerun without starting from scratch.
    pub fn runtime(self) -> Option<Runtime> {
        self.spec().runtime
    }

    /// The kinds of snapshots that its tests may have.
    pub fn snapshots(self) -> &'static [Snapshots] {
        self.spec().snapshots
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec().name)
    }
}
