//! Formatters and linters for everything else.

use super::tool::{FixedFiles, TOOL, Tool};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: &["shfmt"],
        checks: &["-d", "--diff", "-l", "--list"],
        drops: &["-d", "--diff", "-l", "--list"],
        adds: &["-w"],
        ..TOOL
    },
    Tool {
        name: &["clang-format"],
        checks: &["--dry-run", "-n"],
        drops: &["--dry-run", "-n", "-Werror", "--Werror"],
        adds: &["-i"],
        ..TOOL
    },
    Tool {
        name: &["terraform", "fmt"],
        checks: &["-check", "--check"],
        drops: &["-check", "--check", "-diff", "--diff"],
        files: FixedFiles::Named(&[".tf", ".tfvars"]),
        ..TOOL
    },
    Tool {
        name: &["tofu", "fmt"],
        checks: &["-check", "--check"],
        drops: &["-check", "--check", "-diff", "--diff"],
        files: FixedFiles::Named(&[".tf", ".tfvars"]),
        ..TOOL
    },
    Tool {
        name: &["mix", "format"],
        checks: &["--check-formatted"],
        drops: &["--check-formatted"],
        files: FixedFiles::Named(&[".ex", ".exs", ".heex"]),
        ..TOOL
    },
    Tool {
        name: &["rubocop"],
        drops: &["-A", "--autocorrect-all"],
        adds: &["--autocorrect"],
        files: FixedFiles::Named(&[".rb", ".rake", ".gemspec", "Gemfile", "Rakefile"]),
        ..TOOL
    },
    Tool {
        name: &["standardrb"],
        adds: &["--fix"],
        files: FixedFiles::Named(&[".rb", ".rake", ".gemspec", "Gemfile", "Rakefile"]),
        ..TOOL
    },
    Tool {
        name: &["php-cs-fixer"],
        checks: &["--dry-run"],
        drops: &["--dry-run", "--diff"],
        files: FixedFiles::Named(&[".php"]),
        ..TOOL
    },
    Tool {
        name: &["pint"],
        checks: &["--test"],
        drops: &["--test"],
        files: FixedFiles::Named(&[".php"]),
        ..TOOL
    },
    Tool {
        name: &["dotnet", "format"],
        checks: &["--verify-no-changes"],
        drops: &["--verify-no-changes"],
        files: FixedFiles::Named(&[".cs", ".vb"]),
        ..TOOL
    },
    Tool {
        name: &["ktlint"],
        adds: &["--format"],
        files: FixedFiles::Named(&[".kt", ".kts"]),
        ..TOOL
    },
    Tool {
        name: &["mvn"],
        checks: &["spotless:check"],
        swaps: &[("spotless:check", "spotless:apply")],
        ..TOOL
    },
    Tool {
        name: &["mvnw"],
        checks: &["spotless:check"],
        swaps: &[("spotless:check", "spotless:apply")],
        ..TOOL
    },
    Tool {
        name: &["gradle"],
        checks: &["spotlessCheck", "ktlintCheck"],
        swaps: &[("spotlessCheck", "spotlessApply"), ("ktlintCheck", "ktlintFormat")],
        ..TOOL
    },
    Tool {
        name: &["gradlew"],
        checks: &["spotlessCheck", "ktlintCheck"],
        swaps: &[("spotlessCheck", "spotlessApply"), ("ktlintCheck", "ktlintFormat")],
        ..TOOL
    },
    Tool {
        name: &["scalafmt"],
        checks: &["--test", "--check"],
        drops: &["--test", "--check"],
        files: FixedFiles::Named(&[".scala", ".sbt"]),
        ..TOOL
    },
    Tool {
        name: &["stylua"],
        checks: &["--check", "-c"],
        drops: &["--check", "-c"],
        files: FixedFiles::Named(&[".lua"]),
        ..TOOL
    },
    Tool {
        name: &["zig", "fmt"],
        checks: &["--check"],
        drops: &["--check"],
        files: FixedFiles::Named(&[".zig"]),
        ..TOOL
    },
];
