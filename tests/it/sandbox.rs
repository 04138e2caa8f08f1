//! One test per threat: what hostile code under test may try, and what comes of it.

use std::path::PathBuf;

use greenlight::sandbox::{Choice, Command, Outcome, Policy, Sandbox};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn smoke() {
    let sandbox = Sandbox::detect(Choice::Auto, PathBuf::from(env!("CARGO_BIN_EXE_greenlight"))).await.unwrap();
    println!("{:?}", sandbox.guarantees());
    let workspace = tempfile::tempdir().unwrap();
    let command = Command::new(["sh", "-c", "id; env; ls -la / /proc/self/fd /dev $HOME; mount; pwd; touch x; ls -la; cat /proc/self/status | grep -i -E 'cap|seccomp|nonew'"], workspace.path());
    let output = sandbox.exec(&command, &Policy::default(), &CancellationToken::new()).await.unwrap();
    println!("{:?} {}\n{}\n{:?}", output.outcome, output.stdout.text(), output.stderr.text(), output);
    assert_eq!(output.outcome, Outcome::Exited(0));
}
