//! Formatters for Rust and related files. The compiler's suggestions are not here: they are not a mode of a tool.

use super::tool::{FixedFiles, TOOL, Tool};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: &["cargo", "fmt"],
        checks: &["--check"],
        drops: &["--check"],
        files: FixedFiles::Named(&[".rs"]),
        ..TOOL
    },
    Tool {
        name: &["rustfmt"],
        checks: &["--check"],
        drops: &["--check"],
        files: FixedFiles::Named(&[".rs"]),
        ..TOOL
    },
    Tool {
        name: &["cargo", "sort"],
        checks: &["--check", "-c"],
        drops: &["--check", "-c"],
        files: FixedFiles::Named(&[".toml"]),
        ..TOOL
    },
    Tool {
        name: &["taplo", "fmt"],
        checks: &["--check"],
        drops: &["--check", "--diff"],
        files: FixedFiles::Named(&[".toml"]),
        ..TOOL
    },
    Tool {
        name: &["taplo", "format"],
        checks: &["--check"],
        drops: &["--check", "--diff"],
        files: FixedFiles::Named(&[".toml"]),
        ..TOOL
    },
    Tool {
        name: &["cargo"],
        checks: &["--locked", "--frozen"],
        instead: &["cargo", "update", "--workspace", "--offline"],
        says: &[
            "but --locked was passed",
            "because --locked was passed",
            "but --frozen was passed",
            "because --frozen was passed",
        ],
        files: FixedFiles::Own(&["Cargo.lock"]),
        ..TOOL
    },
];
