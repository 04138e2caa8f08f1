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

/// 0 for a name that says no more than "test", 1 for one that says it among other things, 2 for others. `None` for one with
/// another purpose.
pub(super) fn rank(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let name = name
        .strip_suffix(".yml")
        .or(name.strip_suffix(".yaml"))
        .unwrap_or(&name);
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_for_tests = |word: &str| matches!(word, "test" | "tests" | "ci" | "unit");
    // `dev-tests` are the tests of a branch for development.
    let is_branch = |word: &str| word == "dev" && name.starts_with("dev") && words().any(is_for_tests);
    if words().any(|word| OTHER_PURPOSE.contains(&word) && !is_branch(word)) {
        return None;
    }
    Some(match (words().all(is_for_tests), words().any(is_for_tests)) {
        (true, _) => 0,
        (_, true) => 1,
        _ => 2,
    })
}
