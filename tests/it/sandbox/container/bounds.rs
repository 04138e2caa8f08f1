//! Taking more than is good for the machine, in a container.

use std::time::Duration;

use greenlight::sandbox::Outcome;

use super::super::Alive;
use super::{DAEMON, MIB};

#[tokio::test]
async fn a_fork_bomb_in_a_container_is_capped() {
    let lab = lab_or_return!().limit(|limits| limits.processes = 32);
    let script = "
started = 0
try:
    while started < 200:
        if os.fork() == 0:
            signal.pause()
        started += 1
except OSError as error:
    assert error.errno == errno.EAGAIN, error
print(started)
sys.stdout.flush()
os._exit(0)
";
    let started: u32 = lab.python(script).await.stdout.text().trim().parse().unwrap();
    assert!((20..=32).contains(&started), "{started} of 32");
}

#[tokio::test]
async fn a_fork_bomb_that_never_stops_is_ended() {
    let lab = lab_or_return!().limit(|limits| limits.wall = Duration::from_secs(1));
    let mut alive = Alive::new(lab.path(), "alive");
    let script = "
alive = open('alive', 'w')
alive.write('up\\n')
alive.flush()
while True:
    try:
        os.fork()
    except OSError:
        pass
";
    assert_eq!(lab.python(script).await.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}

#[tokio::test]
async fn a_memory_bomb_in_a_container_ends_as_out_of_memory() {
    let lab = lab_or_return!().limit(|limits| limits.memory = 96 * MIB);
    let bomb = lab.python("kept = []\nwhile True: kept.append(b'x' * (1 << 20))").await;
    assert_eq!(bomb.outcome, Outcome::OutOfMemory);
    assert!(bomb.peak_memory > 48 * MIB, "{}", bomb.peak_memory);
    // The next one is not blamed for it.
    assert_eq!(lab.sh("exit 3").await.outcome, Outcome::Exited(3));
}

#[tokio::test]
async fn memory_of_many_processes_in_a_container_counts_together() {
    let lab = lab_or_return!().limit(|limits| limits.memory = 128 * MIB);
    let script = "
for _ in range(12):
    if os.fork() == 0:
        kept = b'x' * (32 << 20)
        signal.pause()
signal.pause()
";
    assert_eq!(lab.python(script).await.outcome, Outcome::OutOfMemory);
}

#[tokio::test]
async fn inodes_in_a_container_are_bounded() {
    let script = "
def make(place):
    for number in range(300_000):
        os.close(os.open(f'{place}/{number}', os.O_CREAT))
for place in ['/tmp', os.environ['HOME']]:
    refused('inodes', lambda: make(place), errno.ENOSPC)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn a_disk_bomb_in_a_container_ends_as_disk_limit() {
    let lab = lab_or_return!().limit(|limits| limits.disk = 32 * MIB);
    let script = "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > file$i; done";
    assert_eq!(lab.sh(script).await.outcome, Outcome::DiskLimit);
}

#[tokio::test]
async fn output_of_a_container_is_bounded() {
    let lab = lab_or_return!().limit(|limits| limits.output = 1000);
    let output = lab
        .sh("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last; echo oops >&2")
        .await;
    assert_eq!(output.outcome, Outcome::Exited(0));
    assert_eq!(output.stdout.total, 50_000_000 + 12);
    assert!(output.stdout.head.starts_with(b"first\nxxx") && output.stdout.tail.ends_with(b"xxx\nlast\n"));
    assert_eq!(output.stderr.text(), "oops\n");
}

#[tokio::test]
async fn processor_time_of_a_container_is_counted() {
    let lab = lab_or_return!().limit(|limits| limits.cpu_time = Duration::from_secs(1));
    let output = lab.sh("while :; do :; done").await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(output.cpu >= Duration::from_millis(500), "{:?}", output.cpu);
    // Not what the one before took.
    assert!(lab.sh("true").await.cpu < Duration::from_millis(500));
}

#[tokio::test]
async fn ignored_signals_do_not_outlive_the_timeout_of_a_container() {
    let lab = lab_or_return!().limit(|limits| limits.wall = Duration::from_secs(1));
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}
