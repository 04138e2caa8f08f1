//! What a workflow or a job is for, by its name.

/// Words in the names of workflows and jobs that do something other than testing a change of the code.
const NO_TESTS: [&str; 15] = [
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
    "cifuzz",
    "codeql",
    "scorecard",
    "downstream",
];
/// Words in the names of those whose tests need more than the code, or another machine. They are named and not run.
const OTHER_TESTS: [&str; 29] = [
    "acceptance",
    "asan",
    "browser",
    "browsers",
    "container",
    "containers",
    "cross",
    "cuda",
    "docker",
    "e2e",
    "emulated",
    "example",
    "examples",
    "functional",
    "gpu",
    "graal",
    "graalvm",
    "integration",
    "miri",
    "native",
    "prod",
    "production",
    "sanitizer",
    "sanitizers",
    "shell",
    "themes",
    "upstream",
    "valgrind",
    "wasm",
];

/// Words in the names of workflows and jobs that test in an unusual way. They count where nothing else tests.
const UNUSUAL: [&str; 14] = [
    "nightly",
    "regression",
    "msrv",
    "minimal",
    "lowest",
    "oldest",
    "old",
    "beta",
    "coverage",
    "package",
    "install",
    "installed",
    "installation",
    "dev",
];
/// What a workflow for changes may do after its tests.
const AFTER: [&str; 3] = ["release", "publish", "deploy"];

/// Ranks from here on are unusual.
const FROM_UNUSUAL: u32 = 100;
/// The rank of what is only named.
pub(super) const ASIDE: u32 = 500;
/// Added for a job that may fail: it counts where all others may fail, too.
pub(super) const MAY_FAIL: u32 = 50;
/// Names of files that GitHub proposes for the first workflow of a repository, and that say nothing else:
/// <https://github.com/actions/starter-workflows/tree/main/ci>
const PROPOSED: [&str; 2] = ["python-package", "python-package-conda"];

/// Words in the names of jobs that take longer than people want to wait for.
const LONG: [&str; 5] = ["long", "slow", "extended", "weekly", "stress"];
/// Words in the names of jobs that say little about the code when they fail: the tests of the others come first.
const COARSE: [&str; 1] = ["smoke"];
/// Words in the names of jobs that build with a tool which few machines have.
const RARE_TOOLS: [&str; 16] = [
    "cygwin",
    "emscripten",
    "icc",
    "icpx",
    "icx",
    "intel",
    "mingw",
    "mingw64",
    "msys2",
    "musl",
    "nvhpc",
    "qemu",
    "tcc",
    "valgrind",
    "wine",
    "zig",
];
/// How much later they count.
pub(super) const LATER: u32 = 3;

/// Whether a workflow or a job with this rank is how a project is usually tested.
pub(super) fn is_usual(rank: u32) -> bool {
    rank < FROM_UNUSUAL
}

/// Leaves out what may fail, by its rank, if there is anything else.
pub(super) fn leave_out_what_may_fail<T>(found: &mut Vec<(u32, T)>) {
    if found.iter().any(|(rank, _)| *rank < MAY_FAIL) {
        found.retain(|(rank, _)| *rank < MAY_FAIL);
    }
}

/// Whether a workflow is named after what it publishes.
pub(super) fn publishes(path: &str) -> bool {
    const MORE: [&str; 4] = ["pypi", "upload", "wheel", "wheels"];
    let path = path.to_ascii_lowercase();
    let mut words = path.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| AFTER.contains(&word) || MORE.contains(&word))
}

/// 0 for a name that says no more than "test", 1 for one that says it among other things, 2 for others; more for those that
/// take long or test in an unusual way. `None` for one with another purpose.
pub(super) fn rank(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let name = name
        .strip_suffix(".yml")
        .or(name.strip_suffix(".yaml"))
        .unwrap_or(&name);
    if PROPOSED.contains(&name) {
        return Some(1);
    }
    // Not tests of how parts work together.
    let name = ["-", "_", " "].iter().fold(name.to_owned(), |name, between| {
        name.replace(&format!("continuous{between}integration"), "ci")
    });
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_for_tests = |word: &str| matches!(word, "test" | "tests" | "ci" | "unit");
    if words().any(|word| NO_TESTS.contains(&word) || OTHER_TESTS.contains(&word)) {
        return None;
    }
    // `dev-tests` are the tests of a branch for development.
    let is_branch = |word: &str| word == "dev" && name.starts_with("dev") && words().any(is_for_tests);
    let is_unusual = words().any(|word| UNUSUAL.contains(&word) && !is_branch(word));
    let is_late = words().any(|word| LONG.contains(&word) || COARSE.contains(&word) || RARE_TOOLS.contains(&word));
    let later = if is_late { LATER } else { 0 } + if is_unusual { FROM_UNUSUAL } else { 0 };
    Some(match (words().all(is_for_tests), words().any(is_for_tests)) {
        (true, _) => later,
        (_, true) => later + 1,
        _ => later + 2,
    })
}

/// The rank of a workflow, which its file names. One that is also for what comes after the tests counts if pull requests
/// start it; its jobs have names, too.
pub(super) fn rank_of_workflow(stem: &str, is_for_pull_requests: bool) -> Option<u32> {
    let lower = stem.to_ascii_lowercase();
    let rest: Vec<&str> = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !AFTER.contains(word))
        .collect();
    rank(stem).or_else(|| {
        rank(&rest.join("-"))
            .filter(|_| is_for_pull_requests)
            .map(|rank| rank + LATER)
    })
}

/// Whether the tests of a workflow or a job that does not count are named.
pub(super) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    !words.any(|word| NO_TESTS.contains(&word))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_for_tests() {
        for name in [
            "ci.yml",
            "continuous-integration.yml",
            "Continuous Integration",
            "continuous_integration",
            "tests",
        ] {
            assert_eq!(rank(name), Some(0), "{name}");
        }
        assert_eq!(rank("python-package.yml"), Some(1));
        assert_eq!(rank("node.js.yml"), Some(2));
        for name in [
            "integration.yml",
            "integration-tests",
            "docker.yml",
            "release-package.yml",
        ] {
            assert_eq!(rank(name), None, "{name}");
        }
        for name in ["coverage.yml", "test-package", "tests-dev", "nightly-tests"] {
            assert!(rank(name).is_some_and(|rank| !is_usual(rank)), "{name}");
        }
        assert!(rank("dev-tests").is_some_and(is_usual));
        assert!(rank("tcc") > rank("regular") && rank("tcc").is_some_and(is_usual));
        for (name, expected) in [
            ("build-test-release", Some(4)),
            ("release", Some(5)),
            ("ci", Some(0)),
            ("docs", None),
        ] {
            assert_eq!(rank_of_workflow(name, true), expected, "{name}");
        }
        assert_eq!(rank_of_workflow("release", false), None);
        assert!(is_named("miri") && is_named("integration tests") && !is_named("docs-integration"));
    }
}
