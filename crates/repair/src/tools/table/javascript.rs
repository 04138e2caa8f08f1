//! Formatters and linters for JavaScript, TypeScript and style sheets.

use super::tool::{FixedFiles, TOOL, Tool};

const CODE: FixedFiles = FixedFiles::Named(&[
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro",
]);
const STYLES: FixedFiles = FixedFiles::Named(&[".css", ".scss", ".sass", ".less", ".pcss", ".vue", ".svelte"]);

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: &["eslint"],
        drops: &["--fix-dry-run"],
        adds: &["--fix"],
        files: CODE,
        ..TOOL
    },
    Tool {
        name: &["prettier"],
        checks: &["--check", "-c", "--list-different", "-l"],
        drops: &["--check", "-c", "--list-different", "-l"],
        adds: &["--write"],
        ..TOOL
    },
    Tool {
        name: &["biome", "check"],
        adds: &["--write"],
        ..TOOL
    },
    Tool {
        name: &["biome", "lint"],
        adds: &["--write"],
        ..TOOL
    },
    Tool {
        name: &["biome", "format"],
        adds: &["--write"],
        ..TOOL
    },
    Tool {
        name: &["biome", "ci"],
        swaps: &[("ci", "check")],
        adds: &["--write"],
        ..TOOL
    },
    Tool {
        name: &["stylelint"],
        adds: &["--fix"],
        files: STYLES,
        ..TOOL
    },
    Tool {
        name: &["standard"],
        adds: &["--fix"],
        files: CODE,
        ..TOOL
    },
    Tool {
        name: &["xo"],
        adds: &["--fix"],
        files: CODE,
        ..TOOL
    },
    Tool {
        name: &["oxlint"],
        adds: &["--fix"],
        files: CODE,
        ..TOOL
    },
    Tool {
        name: &["dprint", "check"],
        swaps: &[("check", "fmt")],
        ..TOOL
    },
    Tool {
        name: &["deno", "fmt"],
        checks: &["--check"],
        drops: &["--check"],
        ..TOOL
    },
    Tool {
        name: &["deno", "lint"],
        adds: &["--fix"],
        files: CODE,
        ..TOOL
    },
    Tool {
        name: &["npm", "ci"],
        instead: &["npm", "install", "--package-lock-only", "--offline", "--ignore-scripts"],
        files: FixedFiles::Own(&["package-lock.json"]),
        ..TOOL
    },
];
