//! `--sandbox none`: no protection is claimed, and resources that can be limited still are.

use greenlight::sandbox::{Guarantee, Outcome, Property};
use tokio_util::sync::CancellationToken;

use super::{Alive, Lab, SLOW_START};

#[tokio::test]
async fn nothing_is_promised() {
    let lab = Lab::unconfined().await;
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let most = if matches!(name, Property::Disk | Property::TreeKill) {
            Guarantee::Partial
        } else {
            Guarantee::None
        };
        assert!(guarantee <= most, "{name} is {guarantee}");
    }
}

#[tokio::test]
async fn the_environment_is_clean_all_the_same() {
    let lab = Lab::unconfined().await;
    let output = lab.exec(&lab.command(["env"])).await;
    let mut names: Vec<String> = output
        .stdout
        .text()
        .lines()
        .map(|line| line.split('=').next().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["CI", "HOME", "LANG", "PATH"]);
}

#[tokio::test]
async fn descendants_that_ignore_signals_die_at_the_timeout() {
    let lab = Lab::unconfined().await.limit(|limits| limits.wall = SLOW_START);
    let mut alive = Alive::new(lab.path(), "alive");
    let script = "(trap '' TERM HUP INT; exec 7>alive; echo up >&7; setsid sh -c 'sleep 1000; sleep 1000' & sleep 1000) & sleep 1000";
    assert_eq!(lab.sh(script).await.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}

#[tokio::test]
async fn a_daemon_left_behind_dies() {
    let lab = Lab::unconfined().await;
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab
        .sh("exec 7>alive; echo up >&7; (setsid sleep 1000 &) ; echo done; exit 3")
        .await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(3), "done\n".into())
    );
    alive.has_started().await;
    alive.has_ended().await;
}

#[tokio::test]
async fn a_cancellation_ends_it() {
    let lab = Lab::unconfined().await;
    let mut alive = Alive::new(lab.path(), "alive");
    let cancel = CancellationToken::new();
    let command = lab.command(["sh", "-c", "exec 7>alive; echo up >&7; sleep 1000"]);
    let cancelling = async {
        alive.has_started().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(lab.sandbox.exec(&command, &lab.policy, &cancel), cancelling);
    assert_eq!(output.unwrap().outcome, Outcome::Cancelled);
    alive.has_ended().await;
}

#[tokio::test]
async fn output_and_files_are_bounded() {
    let lab = Lab::unconfined()
        .await
        .limit(|limits| (limits.output, limits.file_size) = (100, 1 << 20));
    let output = lab
        .sh("head -c 1000000 /dev/zero; exec dd if=/dev/zero of=file bs=1M count=9 2>&1")
        .await;
    assert_eq!(output.outcome, Outcome::DiskLimit);
    assert!(output.stdout.total >= 1_000_000 && output.stdout.head.len() + output.stdout.tail.len() == 100);
}
