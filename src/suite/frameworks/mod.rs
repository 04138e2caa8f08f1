//! The supported frameworks and linters: one file each, with everything that is specific to it.
//!
//! To add one, write its file here, add its line to the list below, a folder of recorded outputs to
//! `tests/fixtures/outputs`, and a row to `docs/test-suites.md`. Tests keep these consistent.

mod bun;
mod cargo;
mod compiler;
mod ctest;
mod deno;
mod dotnet;
mod eslint;
mod go;
mod go_vet;
mod gradle;
mod javascript;
mod jest;
mod maven;
mod minitest;
mod mocha;
mod mypy;
mod nextest;
mod node;
mod other;
mod phpunit;
mod pytest;
mod rspec;
mod ruff;
mod rustc;
mod spec;
mod tap;
mod tsc;
mod unittest;
mod vitest;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(in crate::suite) use self::spec::{CommandLine, FrameworkKind, Spec};
pub use self::spec::{Runtime, Snapshots};

/// Groups of frameworks that share packages, tools and conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) enum Ecosystem {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    Ruby,
    Php,
    Dotnet,
    C,
    /// A command that may need any tools.
    Any,
}

macro_rules! frameworks {
    ($($(#[$doc:meta])* $variant:ident => $module:ident,)*) => {
        /// The program that prints the results, which decides how results are requested and parsed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Framework {
            $($(#[$doc])* $variant,)*
        }

        impl Framework {
            /// All supported frameworks. Frameworks that run the tests of others come first, because they report
            /// those results themselves; tools that only check the code come last.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(in crate::suite) fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$variant => &$module::SPEC,)*
                }
            }
        }
    };
}

// The names of the variants are stored in journals.
frameworks! {
    Ctest => ctest,
    /// `cargo nextest run`.
    Nextest => nextest,
    /// `cargo test` with Rust's standard test harness.
    Cargo => cargo,
    Gradle => gradle,
    /// Surefire and Failsafe, as Maven runs them.
    Maven => maven,
    Pytest => pytest,
    /// The `unittest` module of Python's standard library.
    Unittest => unittest,
    /// `go test`.
    Go => go,
    Jest => jest,
    Vitest => vitest,
    Mocha => mocha,
    /// `node --test`.
    Node => node,
    /// `bun test`.
    Bun => bun,
    /// `deno test`.
    Deno => deno,
    Rspec => rspec,
    /// Minitest and test-unit.
    Minitest => minitest,
    Phpunit => phpunit,
    /// `dotnet test`.
    Dotnet => dotnet,
    /// Anything that prints the Test Anything Protocol.
    Tap => tap,
    /// The TypeScript compiler.
    Tsc => tsc,
    Eslint => eslint,
    Ruff => ruff,
    Mypy => mypy,
    GoVet => go_vet,
    /// gcc, clang or javac: diagnostics, no matter what called them.
    Compiler => compiler,
    /// `cargo check`, `cargo build` and `cargo clippy`: diagnostics of rustc.
    Rustc => rustc,
    /// Anything else. Recognised by its output; failing that, the whole command is one test.
    Other => other,
}

impl Framework {
    /// The ecosystem whose tools it needs.
    pub(in crate::suite) fn ecosystem(self) -> Ecosystem {
        self.spec().ecosystem
    }

    /// Whether its commands may use what is installed for this ecosystem.
    pub(in crate::suite) fn uses(self, ecosystem: Ecosystem) -> bool {
        self.ecosystem() == ecosystem || self.spec().also_uses.contains(&ecosystem)
    }

    /// Whether it finds problems in the code without running it.
    pub fn is_linter(self) -> bool {
        self.spec().kind != FrameworkKind::Tests
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
