//! Formatters and linters of Go.

use super::tool::{FixedFiles, TOOL, Tool};

const KINDS: FixedFiles = FixedFiles::Named(&[".go"]);

/// What `go` says when `go.mod` or `go.sum` are out of date.
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
    // What stops a build is often no more than a list that is out of date.
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
