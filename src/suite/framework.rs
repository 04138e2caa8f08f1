//! The frameworks and linters that are known, by the ecosystems they belong to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a framework's tools have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ecosystem {
    Rust,
    Python,
    JavaScript,
    Go,
    Java,
    /// One whose dependencies are not installed.
    NotInstalled,
    /// A command that may need the tools of any.
    Any,
}

/// What prints the results, and therefore how they are asked for and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framework {
    /// `cargo test` with Rust's own test harness.
    Cargo,
    /// `cargo nextest run`.
    Nextest,
    /// `cargo check`, `cargo build` and `cargo clippy`: diagnostics of rustc.
    Rustc,
    Pytest,
    /// Python's own `unittest`.
    Unittest,
    Ruff,
    Mypy,
    /// `node --test`.
    Node,
    Jest,
    Vitest,
    Mocha,
    /// `bun test`.
    Bun,
    /// Anything that prints the Test Anything Protocol.
    Tap,
    /// The TypeScript compiler.
    Tsc,
    Eslint,
    /// `go test`.
    Go,
    GoVet,
    /// Surefire and Failsafe, as Maven runs them.
    Maven,
    Gradle,
    /// `dotnet test`.
    Dotnet,
    Rspec,
    /// Minitest and test-unit.
    Minitest,
    Phpunit,
    Ctest,
    /// gcc, clang or javac: diagnostics, whoever called them.
    Compiler,
    /// Anything else. Read by what its output looks like; failing that, the command as a whole is one test.
    Other,
}

impl Framework {
    /// Every one that is known.
    pub const ALL: [Self; 26] = [
        Self::Cargo,
        Self::Nextest,
        Self::Rustc,
        Self::Pytest,
        Self::Unittest,
        Self::Ruff,
        Self::Mypy,
        Self::Node,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::Bun,
        Self::Tap,
        Self::Tsc,
        Self::Eslint,
        Self::Go,
        Self::GoVet,
        Self::Maven,
        Self::Gradle,
        Self::Dotnet,
        Self::Rspec,
        Self::Minitest,
        Self::Phpunit,
        Self::Ctest,
        Self::Compiler,
        Self::Other,
    ];

    /// Whose tools it needs and is asked with.
    pub(super) fn ecosystem(self) -> Ecosystem {
        match self {
            Self::Cargo | Self::Nextest | Self::Rustc => Ecosystem::Rust,
            Self::Pytest | Self::Unittest | Self::Ruff | Self::Mypy => Ecosystem::Python,
            Self::Node | Self::Jest | Self::Vitest | Self::Mocha | Self::Bun | Self::Tap | Self::Tsc | Self::Eslint => {
                Ecosystem::JavaScript
            }
            Self::Go | Self::GoVet => Ecosystem::Go,
            Self::Maven | Self::Gradle => Ecosystem::Java,
            Self::Dotnet | Self::Rspec | Self::Minitest | Self::Phpunit => Ecosystem::NotInstalled,
            Self::Ctest | Self::Compiler | Self::Other => Ecosystem::Any,
        }
    }

    /// Whether it finds faults in the code without running any of it.
    pub fn is_linter(self) -> bool {
        matches!(
            self,
            Self::Rustc | Self::Ruff | Self::Mypy | Self::Tsc | Self::Eslint | Self::GoVet | Self::Compiler
        )
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cargo => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::Rustc => "rustc",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Ruff => "Ruff",
            Self::Mypy => "mypy",
            Self::Node => "node --test",
            Self::Jest => "Jest",
            Self::Vitest => "Vitest",
            Self::Mocha => "Mocha",
            Self::Bun => "bun test",
            Self::Tap => "TAP",
            Self::Tsc => "tsc",
            Self::Eslint => "ESLint",
            Self::Go => "go test",
            Self::GoVet => "go vet",
            Self::Maven => "Maven",
            Self::Gradle => "Gradle",
            Self::Dotnet => "dotnet test",
            Self::Rspec => "RSpec",
            Self::Minitest => "Minitest",
            Self::Phpunit => "PHPUnit",
            Self::Ctest => "CTest",
            Self::Compiler => "a compiler",
            Self::Other => "an unknown framework",
        })
    }
}
