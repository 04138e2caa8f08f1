//! Using more than the machine can spare.

use std::ops::RangeInclusive;
use std::time::Duration;

use greenlight::sandbox::{Guarantee, Outcome, Property};

use super::{Alive, Lab, SLOW_START};

super::each_backend! {
    a_fork_bomb_is_capped,
    a_fork_bomb_that_never_stops_is_ended,
    threads_count_as_processes,
    a_memory_bomb_ends_as_out_of_memory,
    memory_of_many_processes_counts_together,
    memory_of_a_process_that_hides_counts,
    files_in_memory_count_as_memory,
    memory_cannot_be_hidden_from_the_count,
    shared_pages_are_not_counted_twice,
    a_disk_bomb_ends_as_disk_limit,
    a_disk_bomb_that_is_over_quickly_is_noticed,
    a_disk_bomb_without_a_name_is_found,
    a_disk_bomb_in_a_closed_directory_is_found,
    room_on_disk_cannot_be_taken_in_an_instant,
    a_single_file_is_bounded,
    an_inode_bomb_ends_as_disk_limit,
    inodes_of_the_temporary_directories_are_bounded,
    directories_that_nest_without_end_are_a_disk_bomb,
    output_is_bounded,
    processor_time_is_bounded,
    the_time_of_what_was_killed_is_counted,
    open_files_are_bounded,
    a_crash_leaves_no_core,
    the_guarantees_are_those_of_this_machine,
}

const MIB: u64 = 1 << 20;

async fn a_fork_bomb_is_capped(lab: Lab) {
    let lab = lab.limit(|limits| limits.processes = 32);
    let script = "
started = 0
try:
    while started < 2000:
        if os.fork() == 0:
            signal.pause()
        started += 1
except OSError as error:
    assert error.errno == errno.EAGAIN, error
print(started)
sys.stdout.flush()
os._exit(0)
";
    let output = lab.python(script).await;
    let started: u32 = output.stdout.text().trim().parse().unwrap();
    assert!(capped(&lab).contains(&started), "{started} of 32");
}

/// How many of 2,000 processes may start with a limit of 32.
fn capped(lab: &Lab) -> RangeInclusive<u32> {
    if lab.is_landlock() && !rustix::process::geteuid().is_root() {
        // The kernel counts all processes of the user, which varies: other tests may use up the whole limit, or free
        // it.
        0..=1500
    } else {
        20..=32
    }
}

async fn a_fork_bomb_that_never_stops_is_ended(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = SLOW_START);
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

async fn threads_count_as_processes(lab: Lab) {
    let lab = lab.limit(|limits| limits.processes = 32);
    let script = "
started = 0
try:
    for _ in range(2000):
        threading.Thread(target=signal.pause, daemon=True).start()
        started += 1
except RuntimeError:
    pass
print(started)
sys.stdout.flush()
os._exit(0)
";
    let started: u32 = lab.python(script).await.stdout.text().trim().parse().unwrap();
    assert!(capped(&lab).contains(&started), "{started} of 32");
}

async fn a_memory_bomb_ends_as_out_of_memory(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 96 * MIB);
    let output = lab.python("kept = []\nwhile True: kept.append(b'x' * (1 << 20))").await;
    assert_eq!(output.outcome, Outcome::OutOfMemory);
    assert!(output.peak_memory > 48 * MIB, "{}", output.peak_memory);
}

async fn memory_of_many_processes_counts_together(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 128 * MIB);
    let script = "
for _ in range(12):
    if os.fork() == 0:
        kept = b'x' * (32 << 20)
        signal.pause()
signal.pause()
";
    assert_eq!(lab.python(script).await.outcome, Outcome::OutOfMemory);
}

async fn memory_of_a_process_that_hides_counts(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 96 * MIB);
    let script = "
PR_SET_DUMPABLE = 4
assert libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
kept = []
while True:
    kept.append(b'x' * (1 << 20))
";
    assert_eq!(lab.python(script).await.outcome, Outcome::OutOfMemory);
}

async fn files_in_memory_count_as_memory(lab: Lab) {
    // If these files are not in memory, they count like those in the workspace.
    let lab = lab.limit(|limits| (limits.memory, limits.disk) = (128 * MIB, 128 * MIB));
    for place in ["/tmp", "/dev/shm", "$TMPDIR", "$HOME", "/tmp /dev/shm $HOME"] {
        let script = format!("for place in {place}; do head -c 300M /dev/zero > $place/file; done; sleep 1");
        let output = lab.sh(&script).await;
        // A single file system is full before the memory is; all of them together are too much.
        let is_bounded = if !lab.is_landlock() {
            output.outcome == Outcome::OutOfMemory || output.stderr.text().contains("No space left")
        } else if place.contains('$') {
            output.outcome == Outcome::DiskLimit
        } else {
            output.stderr.text().contains("Permission denied")
        };
        assert!(is_bounded, "{place}: {output:?}");
    }
}

async fn memory_cannot_be_hidden_from_the_count(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 128 * MIB);
    let script = "
def hide():
    file = os.memfd_create('x')
    for _ in range(64):
        os.write(file, b'x' * (8 << 20))
try:
    hide()
except OSError as error:
    assert error.errno == errno.ENOSYS, error
    if libc.shmget(0, 8 << 20, 0o1600) == -1:
        assert ctypes.get_errno() == errno.ENOSYS
        print('there is nowhere to hide')
        sys.exit()
    # System V shared memory, written to and detached.
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(64):
        segment = libc.shmget(0, 8 << 20, 0o1600)
        address = libc.shmat(segment, 0, 0)
        ctypes.memset(address, 1, 8 << 20)
        libc.shmdt(ctypes.c_void_p(address))
    time.sleep(5)
";
    let output = lab.python(script).await;
    let is_refused = output.outcome == Outcome::Exited(0) && output.stdout.text() == "there is nowhere to hide\n";
    assert!(is_refused || output.outcome == Outcome::OutOfMemory, "{output:?}");
}

async fn shared_pages_are_not_counted_twice(lab: Lab) {
    let lab = lab.limit(|limits| limits.memory = 256 * MIB);
    let script = "
kept = b'x' * (96 << 20)
children = []
for _ in range(8):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(0.3)
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
";
    assert_eq!(lab.python(script).await.outcome, Outcome::Exited(0));
}

async fn a_disk_bomb_ends_as_disk_limit(lab: Lab) {
    let lab = lab.limit(|limits| limits.disk = 32 * MIB);
    let script = "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > file$i; done";
    assert_eq!(lab.sh(script).await.outcome, Outcome::DiskLimit);
}

async fn a_disk_bomb_that_is_over_quickly_is_noticed(lab: Lab) {
    let lab = lab.limit(|limits| limits.disk = 8 * MIB);
    assert_eq!(lab.sh("head -c 64M /dev/zero > file").await.outcome, Outcome::DiskLimit);
}

async fn a_disk_bomb_without_a_name_is_found(lab: Lab) {
    let lab = lab.limit(|limits| limits.disk = 32 * MIB);
    let script = "
files = []
while True:
    files.append(os.open('.', os.O_TMPFILE | os.O_WRONLY))
    os.write(files[-1], b'x' * (1 << 20))
";
    assert_eq!(lab.python(script).await.outcome, Outcome::DiskLimit);
}

async fn a_disk_bomb_in_a_closed_directory_is_found(lab: Lab) {
    let lab = lab.limit(|limits| limits.disk = 32 * MIB);
    let script = "mkdir -m 300 closed; i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > closed/file$i; done";
    assert_eq!(lab.sh(script).await.outcome, Outcome::DiskLimit);
}

async fn room_on_disk_cannot_be_taken_in_an_instant(lab: Lab) {
    let script = "
def allocate(mode):
    file = os.open('file', os.O_CREAT | os.O_RDWR)
    if libc.fallocate(file, mode, ctypes.c_long(0), ctypes.c_long(1 << 20)) == -1:
        raise OSError(ctypes.get_errno(), 'fallocate')
for mode in [0, 1, 16]:
    refused(mode, lambda: allocate(mode), errno.EOPNOTSUPP)
os.posix_fallocate(os.open('file', os.O_RDWR), 0, 1 << 20)
assert os.stat('file').st_size == 1 << 20
";
    lab.attack(script).await;
}

async fn a_single_file_is_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.file_size = 4 * MIB);
    let output = lab
        .exec(&lab.command(["dd", "if=/dev/zero", "of=file", "bs=1M", "count=64"]))
        .await;
    assert_eq!(output.outcome, Outcome::DiskLimit);
    assert_eq!(std::fs::metadata(lab.path().join("file")).unwrap().len(), 4 * MIB);
}

async fn an_inode_bomb_ends_as_disk_limit(lab: Lab) {
    let lab = lab.limit(|limits| limits.disk = 8 * MIB);
    let output = lab
        .python("for i in range(1_000_000): os.close(os.open(str(i), os.O_CREAT))")
        .await;
    assert_eq!(output.outcome, Outcome::DiskLimit);
}

async fn inodes_of_the_temporary_directories_are_bounded(lab: Lab) {
    let script = "
made = 0
def make():
    global made
    while made < 300_000:
        os.close(os.open(f'{os.environ[\"TMPDIR\"]}/{made}', os.O_CREAT))
        made += 1
refused('inodes', make, errno.ENOSPC)
";
    if lab.is_landlock() {
        let lab = lab.limit(|limits| limits.disk = 8 * MIB);
        assert_eq!(lab.python(script).await.outcome, Outcome::DiskLimit);
    } else if lab.sandbox.guarantees().memory == Guarantee::Partial {
        // If their number cannot be limited, they count as memory.
        let lab = lab.limit(|limits| limits.memory = 128 * MIB);
        let output = lab.python(script).await;
        let is_bounded = output.outcome == Outcome::OutOfMemory || output.outcome == Outcome::Exited(0);
        assert!(is_bounded && !output.stdout.text().contains("ESCAPED"), "{output:?}");
    } else {
        lab.attack(script).await;
    }
}

async fn directories_that_nest_without_end_are_a_disk_bomb(lab: Lab) {
    let script = "
for _ in range(3000):
    os.mkdir('d')
    os.chdir('d')
time.sleep(10)
";
    assert_eq!(lab.python(script).await.outcome, Outcome::DiskLimit);
}

async fn output_is_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.output = 1000);
    let output = lab
        .sh("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last; echo oops >&2")
        .await;
    assert_eq!(output.outcome, Outcome::Exited(0));
    assert_eq!(output.stdout.total, 50_000_000 + 12);
    assert_eq!((output.stdout.head.len(), output.stdout.tail.len()), (500, 500));
    assert!(output.stdout.head.starts_with(b"first\nxxx") && output.stdout.tail.ends_with(b"xxx\nlast\n"));
    assert_eq!(output.stderr.text(), "oops\n");
}

async fn processor_time_is_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.cpu_time = Duration::from_secs(1));
    let output = lab.sh("while :; do :; done").await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    assert!(output.cpu >= Duration::from_millis(500), "{:?}", output.cpu);
}

async fn the_time_of_what_was_killed_is_counted(lab: Lab) {
    let lab = lab.limit(|limits| limits.wall = SLOW_START);
    let output = lab.sh("(while :; do :; done) & while :; do :; done").await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    // A machine that is busy with thirty other processes gives no more in this time.
    assert!(output.cpu >= Duration::from_millis(100), "{:?}", output.cpu);
}

async fn open_files_are_bounded(lab: Lab) {
    let lab = lab.limit(|limits| limits.open_files = 64);
    lab.attack("refused('files', lambda: [os.open('/dev/null', os.O_RDONLY) for _ in range(100)], errno.EMFILE)")
        .await;
}

async fn a_crash_leaves_no_core(lab: Lab) {
    let output = lab.python("os.kill(os.getpid(), signal.SIGSEGV)").await;
    assert_eq!(output.outcome, Outcome::Signalled(11));
    assert_eq!(std::fs::read_dir(lab.path()).unwrap().count(), 0);
}

async fn the_guarantees_are_those_of_this_machine(lab: Lab) {
    let guarantees = lab.sandbox.guarantees();
    for (name, guarantee) in guarantees.all() {
        let least = match name {
            Property::SeparateUser => Guarantee::None,
            Property::Memory | Property::Disk | Property::ProcessCount => Guarantee::Partial,
            // It can find out which process ids are in use.
            Property::Processes if lab.is_landlock() => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(guarantees.separate_user == Guarantee::Enforced, is_root);
}
