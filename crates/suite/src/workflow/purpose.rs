//! What a workflow or a job is for, by its name.

/// Words in the names of workflows and jobs that do something other than testing.
const OTHER_PURPOSE: [&str; 52] = [
    "release",
    "publish",
    "deploy",
    "docs",
    "doc",
    "documentation",
    "bench",
    "benchmark",
    "benchmarks",
    "fuzz",
    "fuzzing",
    "codeql",
    "nightly",
    "scorecard",
    "downstream",
    "upstream",
    "integration",
    "e2e",
    "smoke",
    "regression",
    "miri",
    "msrv",
    "minimal",
    "lowest",
    "oldest",
    "old",
    "beta",
    "coverage",
    "wasm",
    "cross",
    "emulated",
    "valgrind",
    "sanitizer",
    "sanitizers",
    "asan",
    "native",
    "graal",
    "graalvm",
    "container",
    "containers",
    "docker",
    "package",
    "packages",
    "prod",
    "production",
    "dev",
    "example",
    "examples",
    "themes",
    "shell",
    "browser",
    "browsers",
];

/// 0 for a name that says "test", 1 for others. `None` for one with another purpose.
pub(super) fn rank(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let has_other_purpose = words().any(|word| OTHER_PURPOSE.contains(&word));
    let is_for_tests = words().any(|word| matches!(word, "test" | "tests" | "ci"));
    (!has_other_purpose).then(|| u32::from(!is_for_tests))
}
