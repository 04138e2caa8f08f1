//! One test per threat: what hostile code under test may try, and what comes of it.

use std::path::PathBuf;

use greenlight::sandbox::{Choice, Command, Outcome, Policy, Sandbox};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn measure() {
    let sandbox = Sandbox::detect(Choice::Auto, PathBuf::from(env!("CARGO_BIN_EXE_greenlight")))
        .await
        .unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let command = Command::new(["true"], workspace.path());
    let mut times = vec![];
    let mut walls = vec![];
    for _ in 0..100 {
        let t = std::time::Instant::now();
        let output = sandbox
            .exec(&command, &Policy::default(), &CancellationToken::new())
            .await
            .unwrap();
        times.push(t.elapsed());
        walls.push(output.wall);
        assert_eq!(output.outcome, Outcome::Exited(0));
    }
    times.sort();
    walls.sort();
    println!(
        "median {:?} min {:?} max {:?}; wall median {:?}",
        times[50], times[0], times[99], walls[50]
    );
}
