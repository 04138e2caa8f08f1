//! Which variables of a job are for its tests, and for what it builds before them.

use std::collections::BTreeMap;

use greenlight_readers::ci_step::CiScript;

use crate::shell::{SimpleCommand, expanded, is_name};

/// Maximum number of variables of one line.
const MAX_VARIABLES: usize = 20;

/// Variables that belong to the machine, decide whether tools may use a network, or only colour the output.
const NOT_TAKEN: [&str; 28] = [
    "PATH",
    "PWD",
    // Shells source these files before they run a command.
    "ENV",
    "BASH_ENV",
    "HOME",
    "TMPDIR",
    "SHELL",
    "USER",
    "CI",
    "ANDROID_HOME",
    "CARGO_HOME",
    "CARGO_NET_OFFLINE",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "MAVEN_HOME",
    "PYTHONHOME",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "npm_config_offline",
    "CLICOLOR_FORCE",
    "TERM",
];
/// Prefixes of such variables.
const NOT_TAKEN_PREFIXES: [&str; 6] = ["CIBW_", "GITHUB_", "RUNNER_", "ACTIONS_", "LD_", "GREENLIGHT_"];

/// The variables that a line or its step sets for what it builds. One that only a shell would know is left out.
pub(crate) fn set_for(
    line: &SimpleCommand,
    script: &CiScript,
    env: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let own = line.env.iter().filter(|(name, _)| !line.local.contains(name));
    let own = own.filter_map(|(name, value)| Some((name.clone(), expanded(value, env)?)));
    let all = script.env.clone().into_iter().chain(own);
    all.filter(|(name, value)| is_taken(name) && !is_for_the_job(name) && !value.contains('\n'))
        .take(MAX_VARIABLES)
        .collect()
}

/// Whether a variable with this name may say something about the tests.
pub(crate) fn is_taken(name: &str) -> bool {
    let is_of_machine = NOT_TAKEN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let is_colour = name.split('_').any(|word| matches!(word, "COLOR" | "COLORS"));
    is_name(name) && !NOT_TAKEN.contains(&name) && !is_of_machine && !is_colour
}

/// Whether a variable of a workflow or a job is for its own steps or their machine: versions that they install, names, what
/// they keep or publish, compilers and folders. All others reach the tests.
pub(crate) fn is_for_the_job(name: &str) -> bool {
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
