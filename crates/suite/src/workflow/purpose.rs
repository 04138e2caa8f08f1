//! What a workflow or a job is for, by its name.

/// Words in the names of workflows and jobs that do something other than testing.
const OTHER_PURPOSE: [&str; 50] = [
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

/// Words in the names of jobs that take longer than people want to wait for.
const LONG: [&str; 5] = ["long", "slow", "extended", "weekly", "stress"];
/// Words in the names of jobs that say little about the code when they fail: the tests of the others come first.
const COARSE: [&str; 1] = ["smoke"];
/// How much later they count.
const LATER: u32 = 3;

/// 0 for a name that says no more than "test", 1 for one that says it among other things, 2 for others; more for those that
/// take long. `None` for one with another purpose.
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
    let is_late = words().any(|word| LONG.contains(&word) || COARSE.contains(&word));
    let later = if is_late { LATER } else { 0 };
    Some(match (words().all(is_for_tests), words().any(is_for_tests)) {
        (true, _) => later,
        (_, true) => later + 1,
        _ => later + 2,
    })
}

/// The rank of a job for tests of the whole program, if that is all that keeps it from counting. Most need a browser or
/// a server.
pub(super) fn rank_of_end_to_end(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let rest: Vec<&str> = words().filter(|word| !matches!(*word, "e2e" | "")).collect();
    let is_end_to_end = words().any(|word| word == "e2e");
    let rank = if rest.is_empty() {
        Some(2)
    } else {
        rank(&rest.join("-"))
    };
    rank.filter(|_| is_end_to_end).map(|rank| rank + LATER)
}
