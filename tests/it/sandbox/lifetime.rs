//! Outliving the run, and hanging greenlight.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use greenlight::sandbox::{Backend, Choice, Outcome, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::double::{child_of, double};
use super::{Alive, DAEMON, Lab, SLOW_START, places};

super::each_backend! {
    a_double_forked_daemon_dies_with_the_sandbox,
    ignored_signals_do_not_outlive_the_timeout,
    stopping_itself_does_not_evade_the_timeout,
    a_grandchild_that_keeps_the_output_open_hangs_nothing,
    a_cancellation_ends_everything,
    what_is_cancelled_before_never_starts,
    a_run_that_nobody_waits_for_ends,
    killing_greenlight_kills_the_sandbox,
    killing_the_supervisor_kills_the_sandbox,
    killing_init_is_an_outcome,
    many_runs_at_once_do_not_disturb_each_other,
}

async fn a_double_forked_daemon_dies_with_the_sandbox(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab
        .python(&format!(
            "{DAEMON}\nwhile not os.path.exists('ready'): time.sleep(0.001)"
        ))
        .await;
    assert_eq!(output.outcome, Outcome::Exited(0));
    alive.has_started().await;
    alive.has_ended().await;
}

async fn ignored_signals_do_not_outlive_the_timeout(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = SLOW_START);
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}

async fn stopping_itself_does_not_evade_the_timeout(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = Duration::from_millis(300));
    assert_eq!(lab.sh("kill -STOP $$").await.outcome, Outcome::TimedOut);
}

async fn a_grandchild_that_keeps_the_output_open_hangs_nothing(lab: Lab) {
    let output = lab.sh("setsid sleep 1000 & echo done").await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "done\n".into())
    );
}

async fn a_cancellation_ends_everything(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let cancel = CancellationToken::new();
    let command = lab.command([
        "sh",
        "-c",
        "echo seen; trap '' TERM INT; exec 7>alive; echo up >&7; sleep 1000",
    ]);
    let cancelling = async {
        alive.has_started().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(lab.sandbox.exec(&command, &lab.policy, &cancel), cancelling);
    let output = output.unwrap();
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Cancelled, "seen\n".into())
    );
    alive.has_ended().await;
}

async fn what_is_cancelled_before_never_starts(lab: Lab) {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = lab
        .sandbox
        .exec(&lab.command(["touch", "x"]), &lab.policy, &cancel)
        .await
        .unwrap();
    assert_eq!(output.outcome, Outcome::Cancelled);
    assert!(!lab.path().join("x").exists());
}

async fn a_run_that_nobody_waits_for_ends(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let command = lab.command(["sh", "-c", "exec 7>alive; echo up >&7; sleep 1000"]);
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = lab.sandbox.exec(&command, &lab.policy, &cancel) => panic!("it ended by itself"),
        () = alive.has_started() => {}
    }
    alive.has_ended().await;
}

async fn killing_greenlight_kills_the_sandbox(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000").spawn().unwrap();
    alive.has_started().await;
    greenlight.kill().unwrap();
    alive.has_ended().await;
    greenlight.wait().unwrap();
}

async fn killing_the_supervisor_kills_the_sandbox(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    alive.has_started().await;
    let supervisor = child_of(greenlight.id());
    kill_process(Pid::from_raw(supervisor.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    alive.has_ended().await;
    assert!(!greenlight.wait().unwrap().success(), "a lost supervisor is an error");
    // Nobody was left to remove its control groups; the next greenlight does that.
    let backend = lab.sandbox.backend();
    Sandbox::detect(Choice::Only(backend), places(backend)).await.unwrap();
    assert_eq!(groups_of(greenlight.id()), Vec::<PathBuf>::new());
}

fn groups_of(process: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut unseen = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = unseen.pop() {
        let below = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        unseen.extend(
            below
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
        found.extend(
            Some(directory).filter(|path| path.display().to_string().contains(&format!("/greenlight-{process}-"))),
        );
    }
    found
}

async fn killing_init_is_an_outcome(lab: Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000").spawn().unwrap();
    alive.has_started().await;
    let init = match lab.sandbox.backend() {
        Backend::Docker => init_of_the_container(lab.path()),
        _ => child_of(child_of(greenlight.id())),
    };
    kill_process(Pid::from_raw(init.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    alive.has_ended().await;
    let text = String::from_utf8(greenlight.wait_with_output().unwrap().stdout).unwrap();
    assert!(text.contains(&format!("{:?}", Outcome::Signalled(9))), "{text}");
}

/// The init process of the container with this workspace.
fn init_of_the_container(workspace: &Path) -> u32 {
    let workspace = workspace.file_name().unwrap().to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let is_init = |process: &u32| {
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let mounts = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap_or_default();
        words.ends_with(b"sandbox-init\0container\0") && mounts.contains(workspace)
    };
    numbers.find(is_init).expect("the container runs")
}

async fn many_runs_at_once_do_not_disturb_each_other(lab: Lab) {
    let runs = (0..8).map(|number| {
        let command = lab.command(["sh", "-c", &format!("echo {number}; exit {number}")]);
        let (sandbox, policy) = (lab.sandbox.clone(), lab.policy.clone());
        tokio::spawn(async move {
            sandbox
                .exec(&command, &policy, &CancellationToken::new())
                .await
                .unwrap()
        })
    });
    for (number, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        let output = run.await.unwrap();
        assert_eq!(
            (output.outcome, output.stdout.text()),
            (Outcome::Exited(number.try_into().unwrap()), format!("{number}\n"))
        );
    }
}
