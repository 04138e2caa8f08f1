//! cargo-nextest in CI's commands: a plugin that this machine may lack.

use crate::framework::Framework;
use crate::test_command::TestCommand;

/// Options without a value that both understand.
const SHARED: [&str; 21] = [
    "--all",
    "--all-features",
    "--all-targets",
    "--benches",
    "--bins",
    "--examples",
    "--frozen",
    "--ignore-rust-version",
    "--lib",
    "--locked",
    "--no-default-features",
    "--offline",
    "--quiet",
    "--release",
    "--tests",
    "--verbose",
    "--workspace",
    "-q",
    "-r",
    "-v",
    "-vv",
];
/// Options with a value that both understand.
const SHARED_WITH_VALUE: [&str; 14] = [
    "--bench",
    "--bin",
    "--color",
    "--config",
    "--example",
    "--exclude",
    "--features",
    "--manifest-path",
    "--package",
    "--target",
    "--target-dir",
    "--test",
    "-F",
    "-p",
];
/// Options of cargo-nextest without a value that only say how the tests are run.
const LEFT_OUT: [&str; 11] = [
    "--cargo-quiet",
    "--cargo-verbose",
    "--fail-fast",
    "--ff",
    "--hide-progress-bar",
    "--ignore-default-filter",
    "--nff",
    "--no-capture",
    "--no-fail-fast",
    "--no-input-handler",
    "--nocapture",
];
/// The same with a value.
const LEFT_OUT_WITH_VALUE: [&str; 20] = [
    "--build-jobs",
    "--cargo-message-format",
    "--config-file",
    "--failure-output",
    "--final-status-level",
    "--flaky-result",
    "--jobs",
    "--max-fail",
    "--message-format",
    "--no-tests",
    "--profile",
    "--retries",
    "--show-progress",
    "--status-level",
    "--success-output",
    "--test-threads",
    "--tool-config-file",
    "--user-config-file",
    "-P",
    "-j",
];

/// Replaces cargo-nextest, a plugin that this machine may lack, by `cargo test`, which runs the same tests, and those in
/// documentation. `None` if the command chooses tests, or says something that `cargo test` does not know.
/// <https://nexte.st/docs/running/>, <https://doc.rust-lang.org/cargo/commands/cargo-test.html>
pub(super) fn as_cargo_test(command: &mut TestCommand) -> Option<()> {
    if command.framework != Framework::Nextest {
        return Some(());
    }
    let is_run = |pair: &[String]| pair[0] == "nextest" && matches!(pair[1].as_str(), "run" | "r");
    let run = command.argv.windows(2).position(is_run)?;
    let mut kept = vec!["test".to_owned()];
    let mut words = command.argv.get(run + 2..)?.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        let takes_another = !word.contains('=');
        if SHARED.contains(&name) {
            kept.push(word.clone());
        } else if SHARED_WITH_VALUE.contains(&name) || name == "--cargo-profile" {
            kept.push(word.replacen("--cargo-profile", "--profile", 1));
            if takes_another {
                kept.push(words.next()?.clone());
            }
        } else if LEFT_OUT_WITH_VALUE.contains(&name) {
            if takes_another {
                words.next()?;
            }
        } else if !LEFT_OUT.contains(&name) {
            return None;
        }
    }
    command.argv.truncate(run);
    command.argv.extend(kept);
    command.framework = Framework::Cargo;
    Some(())
}
