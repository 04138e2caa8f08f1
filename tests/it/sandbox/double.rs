//! A greenlight that can be killed, given a token, or started with an unusual home: this test program again, in
//! another process.

use std::fs;
use std::process::{Command, Stdio};

use greenlight::sandbox::{Choice, Network, Sandbox};
use tokio_util::sync::CancellationToken;

use super::{Lab, places};

const SCRIPT: &str = "GREENLIGHT_TEST_DOUBLE_SCRIPT";
const BACKEND: &str = "GREENLIGHT_TEST_DOUBLE_BACKEND";
const WORKSPACE: &str = "GREENLIGHT_TEST_DOUBLE_WORKSPACE";

/// A process that runs a shell script in a sandbox and workspace, and prints the script's output.
pub(super) fn double(lab: &Lab, script: &str) -> Command {
    wrapped(&[], lab, script)
}

/// The same, started by another program.
#[expect(
    clippy::disallowed_methods,
    reason = "only a real process can be killed or have descriptors left open"
)]
pub(super) fn wrapped(wrapper: &[&str], lab: &Lab, script: &str) -> Command {
    let test_program = std::env::current_exe().unwrap();
    let mut command = match wrapper.split_first() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(test_program);
            command
        }
        None => Command::new(test_program),
    };
    command.args(["--exact", "sandbox::double::plays_greenlight", "--nocapture"]);
    command
        .env(SCRIPT, script)
        .env(BACKEND, lab.sandbox.backend().name())
        .env(WORKSPACE, lab.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Does nothing unless [`double`] started it.
#[tokio::test]
async fn plays_greenlight() {
    let (Some(script), Some(workspace)) = (std::env::var_os(SCRIPT), std::env::var_os(WORKSPACE)) else {
        return;
    };
    greenlight::sandbox::harden_self().unwrap();
    let backend = std::env::var_os(BACKEND).unwrap().to_str().unwrap().parse().unwrap();
    let sandbox = Sandbox::detect(Choice::Only(backend), places(backend)).await.unwrap();
    let command = greenlight::sandbox::Command::new(["sh".into(), "-c".into(), script], workspace);
    let policy = greenlight::sandbox::Policy {
        network: Network::None,
        ..Default::default()
    };
    let output = sandbox
        .exec(&command, &policy, &CancellationToken::new())
        .await
        .unwrap();
    println!("{:?}\n{}{}", output.outcome, output.stdout.text(), output.stderr.text());
}

/// The only child of a process that spawns one child.
pub(super) fn child_of(process: u32) -> u32 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let children = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    let children: Vec<u32> = children
        .flat_map(|list| {
            list.split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]
}
