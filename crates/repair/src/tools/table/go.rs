//! Formatters and linters for Go.

use super::tool::{FixedFiles, TOOL, Tool};

const KINDS: FixedFiles = FixedFiles::Named(&[".go"]);

/// Messages of `go` about an outdated `go.mod` or `go.sum`.
const STALE: &[&str] = &["updates to go.mod needed", "missing go.sum entry", "go mod tidy"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: &["gofmt"],
        checks: &["-l", "-d"],
        drops: &["-l", "-d", "-e"],
        adds: &["-w"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["goimports"],
        checks: &["-l", "-d"],
        drops: &["-l", "-d", "-e"],
        adds: &["-w"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["gofumpt"],
        checks: &["-l", "-d"],
        drops: &["-l", "-d", "-e"],
        adds: &["-w"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["golangci-lint", "run"],
        adds: &["--fix"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["golangci-lint", "fmt"],
        checks: &["--diff", "-d"],
        drops: &["--diff", "-d"],
        files: KINDS,
        ..TOOL
    },
    Tool {
        name: &["go", "mod", "tidy"],
        checks: &["-diff"],
        drops: &["-diff"],
        files: FixedFiles::Own(&["go.mod", "go.sum"]),
        ..TOOL
    },
    // An outdated `go.mod` often is all that stops a build.
    Tool {
        name: &["go", "build"],
        instead: &["go", "mod", "tidy"],
        says: STALE,
        files: FixedFiles::Own(&["go.mod", "go.sum"]),
        ..TOOL
    },
    Tool {
        name: &["go", "vet"],
        instead: &["go", "mod", "tidy"],
        says: STALE,
        files: FixedFiles::Own(&["go.mod", "go.sum"]),
        ..TOOL
    },
    Tool {
        name: &["go", "test"],
        instead: &["go", "mod", "tidy"],
        says: STALE,
        files: FixedFiles::Own(&["go.mod", "go.sum"]),
        ..TOOL
    },
];
