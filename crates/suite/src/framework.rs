//! The frameworks and linters that are known, by name alone; what is particular to one is in its file in `frameworks/`.

use serde::{Deserialize, Serialize};

/// Groups of frameworks that share packages, tools and conventions.
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
    /// A command that may need any tools.
    Any,
}

impl Ecosystem {
    /// Its name for people. `None` if it is not one.
    pub(crate) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Dotnet => ".NET",
            Self::C => "C and C++",
            Self::Any => return None,
        })
    }
}

macro_rules! frameworks {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
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
        }
    };
}

// The names of the variants are stored in journals.
frameworks! {
    /// CTest, of CMake.
    Ctest,
    /// `meson test`.
    Meson,
    /// `cargo nextest run`.
    Nextest,
    /// `cargo test` with Rust's standard test harness.
    Cargo,
    /// Gradle, on the JVM.
    Gradle,
    /// Surefire and Failsafe, as Maven runs them.
    Maven,
    /// pytest.
    Pytest,
    /// The `unittest` module of Python's standard library.
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
    /// Pest, on PHPUnit.
    Pest,
    /// PHPUnit.
    Phpunit,
    /// `dotnet test`.
    Dotnet,
    /// ExUnit, of Elixir.
    Exunit,
    /// `swift test`: XCTest and Swift Testing.
    Swift,
    /// GoogleTest, for C++.
    Googletest,
    /// Catch2, for C++.
    Catch2,
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
    /// Anything else. Recognised by its output; failing that, the whole command is one test.
    Other,
}
