//! The frameworks and linters that are known, by name alone; what is particular to one is in its file in `frameworks/`.

use serde::{Deserialize, Serialize};

/// Frameworks that share packages, tools and conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ecosystem {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    Ruby,
    Php,
    Dotnet,
    C,
    /// A command that may need the tools of any.
    Any,
}

macro_rules! frameworks {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// What prints the results, and therefore how they are asked for and parsed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Framework {
            $($(#[$doc])* $variant,)*
        }

        impl Framework {
            /// Every one that is known. Those that run the tests of others come first, because what they pass on is
            /// theirs already; those that only look at the code come last.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

// The names of the variants are stored in journals.
frameworks! {
    /// CTest, of CMake.
    Ctest,
    /// `cargo nextest run`.
    Nextest,
    /// `cargo test` with Rust's own test harness.
    Cargo,
    /// Gradle, on the JVM.
    Gradle,
    /// Surefire and Failsafe, as Maven runs them.
    Maven,
    /// pytest.
    Pytest,
    /// Python's own `unittest`.
    Unittest,
    /// `go test`.
    Go,
    /// Jest.
    Jest,
    /// Vitest.
    Vitest,
    /// Mocha.
    Mocha,
    /// `node --test`.
    Node,
    /// `bun test`.
    Bun,
    /// `deno test`.
    Deno,
    /// RSpec.
    Rspec,
    /// Minitest and test-unit.
    Minitest,
    /// PHPUnit.
    Phpunit,
    /// `dotnet test`.
    Dotnet,
    /// Anything that prints the Test Anything Protocol.
    Tap,
    /// The TypeScript compiler.
    Tsc,
    /// ESLint.
    Eslint,
    /// Ruff, for Python.
    Ruff,
    /// mypy, for Python.
    Mypy,
    /// `go vet`.
    GoVet,
    /// gcc, clang or javac: diagnostics, no matter what called them.
    Compiler,
    /// `cargo check`, `cargo build` and `cargo clippy`: diagnostics of rustc.
    Rustc,
    /// Anything else. Parsed by what its output looks like; failing that, the command as a whole is one test.
    Other,
}
