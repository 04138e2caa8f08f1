//! Which variables of a job are for its tests.

/// Whether a variable of a workflow or a job is for its own steps or their machine: versions that they install, names, what
/// they keep or publish, compilers and folders. All others reach the tests.
pub(super) fn is_for_the_job(name: &str) -> bool {
    const WORDS: [&str; 29] = [
        "ARTIFACT",
        "ARTIFACTS",
        "BRANCH",
        "CACHE",
        "CC",
        "CODECOV",
        "COMMIT",
        "CXX",
        "DEPLOY",
        "DIR",
        "DOCKER",
        "HOME",
        "IMAGE",
        "KEY",
        "PASSWORD",
        "PATH",
        "PREFIX",
        "REGISTRY",
        "RELEASE",
        "REPO",
        "REPOSITORY",
        "ROOT",
        "SECRET",
        "SHA",
        "TAG",
        "TOKEN",
        "TOOLCHAIN",
        "VERSION",
        "VERSIONS",
    ];
    let name = name.to_ascii_uppercase();
    // Those of tools, such as `CARGO_REGISTRIES_CRATES_IO_PROTOCOL`, are for the tests even if they have such a word.
    let mut words = name.split('_');
    let is_of_tests = || name.split('_').any(|word| matches!(word, "TEST" | "TESTS" | "TESTING"));
    words.any(|word| WORDS.contains(&word)) && !is_of_tests() && name != "NODE_PATH"
}
