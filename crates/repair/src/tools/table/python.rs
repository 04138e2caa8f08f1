//! Formatters and linters for Python.

use super::tool::{FixedFiles, TOOL, Tool};

const KINDS: FixedFiles = FixedFiles::Named(&[".py", ".pyi", ".ipynb"]);

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: &["black"],
        checks: &["--check", "--diff"],
        drops: &["--check", "--diff"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["isort"],
        checks: &["--check", "--check-only", "-c", "--diff", "--df"],
        drops: &["--check", "--check-only", "-c", "--diff", "--df"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["ruff", "format"],
        checks: &["--check", "--diff"],
        drops: &["--check", "--diff"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["ruff", "check"],
        drops: &["--diff", "--no-fix", "--unsafe-fixes", "--exit-zero"],
        adds: &["--fix", "--no-unsafe-fixes"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["autoflake"],
        checks: &["--check", "-c", "--check-diff", "-cd"],
        drops: &["--check", "-c", "--check-diff", "-cd"],
        adds: &["--in-place"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["autopep8"],
        checks: &["--diff", "-d", "--exit-code"],
        drops: &["--diff", "-d", "--exit-code"],
        adds: &["--in-place"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["yapf"],
        checks: &["--diff", "-d", "--quiet", "-q"],
        drops: &["--diff", "-d", "--quiet", "-q"],
        adds: &["--in-place"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["docformatter"],
        checks: &["--check", "-c"],
        drops: &["--check", "-c"],
        adds: &["--in-place"],
        files: KINDS,
        ..TOOL
    },
    // It has no check: it fails after fixing something.
    Tool {
        name: &["pyupgrade"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["uv", "lock"],
        checks: &["--check", "--locked"],
        drops: &["--check", "--locked"],
        adds: &["--offline"],
        files: FixedFiles::Own(&["uv.lock"]),
        ..TOOL
    },
];
