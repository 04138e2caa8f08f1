//! The threats once more, and a few of their own, in containers of a real engine. Where none can be reached, every one of
//! these tests says so by name and does nothing: `tests/docker-engine.sh` starts one.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bollard::query_parameters::{CreateContainerOptions, ListContainersOptions, StartContainerOptions};
use bollard::{API_DEFAULT_VERSION, Docker};
use greenlight::sandbox::{Backend, Choice, Guarantee, Limits, Network, Outcome, Places, Policy, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::double::child_of;
use super::{Alive, Lab, PATIENCE};

const MIB: u64 = 1 << 20;
const TOKEN: &str = "ghs_canary16C7e42F292c6912E7710c838347Ae178B4a";
const SCRIPT: &str = "GREENLIGHT_TEST_CONTAINER_SCRIPT";
const WORKSPACE: &str = "GREENLIGHT_TEST_CONTAINER_WORKSPACE";

/// Where the engine of the tests listens: written by `tests/docker-engine.sh`, else the usual place.
fn named_socket(backend: Backend) -> Option<PathBuf> {
    let note = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/ci/{backend}.sock"));
    Some(PathBuf::from(fs::read_to_string(note).ok()?.trim()))
}

fn places(backend: Backend) -> Places {
    Places {
        container_socket: named_socket(backend),
        ..env!("CARGO_BIN_EXE_greenlight").into()
    }
}

/// A sandbox of containers, unless there is no engine.
async fn engine(backend: Backend) -> Option<Lab> {
    match Sandbox::detect(Choice::Only(backend), places(backend)).await {
        Ok(sandbox) => Some(Lab {
            sandbox,
            workspace: tempfile::tempdir().unwrap(),
            policy: Policy {
                limits: Limits {
                    wall: PATIENCE,
                    memory: 512 * MIB,
                    processes: 64,
                    ..Limits::default()
                },
                network: Network::None,
            },
        }),
        Err(unusable) => {
            let is_there = named_socket(backend).is_some_and(|socket| socket.exists());
            assert!(!is_there, "the engine of the tests cannot be used: {unusable}");
            // Not to the captured stream: whoever reads a green result has to see this.
            let mut terminal = fs::File::options().append(true).open("/dev/stderr").unwrap();
            writeln!(terminal, "unavailable: {backend}: {}", unusable.reason).unwrap();
            None
        }
    }
}

macro_rules! lab_or_return {
    () => {
        match engine(Backend::Docker).await {
            Some(lab) => lab,
            None => return,
        }
    };
}

fn client() -> Docker {
    let socket = named_socket(Backend::Docker).unwrap_or("/var/run/docker.sock".into());
    Docker::connect_with_unix(socket.to_str().unwrap(), 30, API_DEFAULT_VERSION).unwrap()
}

/// The containers of greenlights with this number.
async fn containers_of(process: u32) -> Vec<String> {
    let docker = client().negotiate_version().await.unwrap();
    let options = ListContainersOptions {
        all: true,
        filters: Some(HashMap::from([("label".into(), vec!["greenlight.run".into()])])),
        ..ListContainersOptions::default()
    };
    let all = docker.list_containers(Some(options)).await.unwrap();
    let names = all.into_iter().filter_map(|container| container.names?.pop());
    names
        .filter(|name| name.contains(&format!("greenlight-{process}-")))
        .collect()
}

/// A greenlight that can be killed, which runs a shell script in a container and prints what it printed.
#[expect(clippy::disallowed_methods, reason = "only a real process can be killed")]
fn double(lab: &Lab, script: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sandbox::container::plays_greenlight", "--nocapture"]);
    command
        .env(SCRIPT, script)
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
    let sandbox = Sandbox::detect(Choice::Only(Backend::Docker), places(Backend::Docker))
        .await
        .unwrap();
    let command = greenlight::sandbox::Command::new(["sh".into(), "-c".into(), script], workspace);
    let policy = Policy {
        network: Network::None,
        ..Policy::default()
    };
    let output = sandbox.exec(&command, &policy, &CancellationToken::new()).await;
    let output = output.unwrap();
    println!("{:?}\n{}{}", output.outcome, output.stdout.text(), output.stderr.text());
}

#[tokio::test]
async fn a_container_holds_what_is_asked_for() {
    let lab = lab_or_return!();
    let guarantees = lab.sandbox.guarantees();
    for (name, guarantee) in guarantees.all() {
        let least = match name {
            "separate user" => Guarantee::None,
            "memory" | "disk" => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
    let output = lab.sh("pwd; cat file; echo changed > file; exit 3").await;
    assert_eq!(output.outcome, Outcome::Exited(3), "{output:?}");
    assert!(output.stdout.text().starts_with("/workspace\n"));
    assert_eq!(fs::read_to_string(lab.path().join("file")).unwrap(), "changed\n");
}

#[tokio::test]
async fn the_token_is_not_visible_in_a_container() {
    let lab = lab_or_return!();
    let script = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ | tr '\\0' '\\n'; echo looked";
    let output = double(&lab, script)
        .env("GITHUB_TOKEN", TOKEN)
        .env("OTHER", TOKEN)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("looked") && !text.contains(TOKEN), "{text}");
}

#[tokio::test]
async fn init_of_a_container_hides_itself() {
    let script = "
refused('environment of init', lambda: open('/proc/1/environ').read())
refused('memory of init', lambda: open('/proc/1/mem', 'rb'))
refused('memory map of init', lambda: open('/proc/1/maps').read())
refused('descriptors of init', lambda: os.listdir('/proc/1/fd'))
refused('root of init', lambda: os.listdir('/proc/1/root/'))
refused('trace init', lambda: syscall(101, 16, 1, 0, 0))
refused('score of init', lambda: write('/proc/1/oom_score_adj', '1000'))
for name in os.listdir('/proc/self/fd'):
    path = os.readlink('/proc/self/fd/' + name) if os.path.exists('/proc/self/fd/' + name) else ''
    if 'socket' in path:
        print('ESCAPED', name, path)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn files_of_the_host_are_not_visible_in_a_container() {
    let lab = lab_or_return!();
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    fs::write(&canary, TOKEN).unwrap();
    let script = format!(
        "
refused('canary', lambda: open('{}').read())
refused('shadow', lambda: open('/etc/shadow').read())
for place in ['/tmp', '/var/tmp', '/srv', '/boot', '/mnt', '/media', '/sys', '/dev/shm', '/dev/mqueue', os.environ['HOME']]:
    left = os.listdir(place) if os.path.isdir(place) else []
    if [name for name in left if name != '.cargo']:
        print('ESCAPED', place, left)
assert open('/etc/resolv.conf').read() == ''
for path in ['/usr/x', '/etc/x', '/x', '/dev/x', '/run/x', '/run/greenlight', '/etc/passwd', '/proc/sys/kernel/core_pattern']:
    refused(path, lambda: write(path), errno.EROFS, errno.EACCES, errno.ETXTBSY)
for name in ['kcore', 'keys', 'kallsyms', 'kmsg', 'timer_list']:
    if os.path.exists('/proc/' + name):
        try:
            if open('/proc/' + name, 'rb').read(1):
                print('ESCAPED', name)
        except OSError:
            pass
",
        canary.display()
    );
    lab.attack(&script).await;
}

#[tokio::test]
async fn privileges_are_gone_in_a_container() {
    let script = "
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
assert status['NoNewPrivs'] == '1' and status['Seccomp'] == '2', status
for name in ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']:
    assert int(status[name], 16) == 0, status
assert os.getuid() != 0 and 0 not in os.getgroups(), (os.getuid(), os.getgroups())
refused('namespace', lambda: syscall(272, 0x10000000), errno.EPERM)
refused('mount', lambda: syscall(165, 0, 0, 0, 0, 0), errno.EPERM)
refused('bpf', lambda: syscall(321, 0, 0, 0), errno.EPERM)
refused('keyctl', lambda: syscall(250, 0, 0, 0, 0), errno.EPERM)
refused('set-user-ID', lambda: os.chmod('/workspace', 0o4755), errno.EPERM)
refused('device', lambda: os.mknod('/tmp/device', 0o020666, os.makedev(1, 1)), errno.EPERM)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn no_network_by_any_family_in_a_container() {
    let script = "
for family in range(0, 50):
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET]:
        if family not in {socket.AF_UNIX, socket.AF_NETLINK}:
            refused(f'family {family} type {kind}', lambda: socket.socket(family, kind), errno.EPERM, errno.EAFNOSUPPORT)
for number in [425, 426, 427]:
    refused(number, lambda: syscall(number, 8, ctypes.create_string_buffer(256), 0, 0, 0, 0), errno.EPERM)
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn loopback_in_a_container_leads_nowhere_else() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=5)
    server.accept()[0].sendall(b'hello')
    assert client.recv(5) == b'hello'
refused('host', lambda: socket.create_connection(('127.0.0.1', {}), timeout=2), errno.ECONNREFUSED)
refused('elsewhere', lambda: socket.create_connection(('1.1.1.1', 53), timeout=2), errno.ENETUNREACH)
refused('vsock', lambda: socket.socket(40, socket.SOCK_STREAM), errno.EPERM)
",
        listener.local_addr().unwrap().port()
    );
    lab_or_return!().network(Network::Loopback).attack(&script).await;
}

#[tokio::test]
async fn the_socket_of_the_engine_is_not_visible() {
    let named = named_socket(Backend::Docker).unwrap_or_default();
    let script = format!(
        "
for path in ['{}', '/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']:
    refused(path, lambda: socket.socket(socket.AF_UNIX).connect(path), errno.ENOENT)
",
        named.display()
    );
    lab_or_return!().attack(&script).await;
}

#[tokio::test]
async fn a_second_call_to_the_supervisor_is_not_answered() {
    let script = "
assert os.path.exists('/run/greenlight.socket')
refused('call', lambda: socket.socket(socket.AF_UNIX).connect('/run/greenlight.socket'), errno.ECONNREFUSED)
refused('listen', lambda: socket.socket(socket.AF_UNIX).bind('/run/greenlight.socket'), errno.EADDRINUSE, errno.EROFS)
refused('remove', lambda: os.unlink('/run/greenlight.socket'), errno.EBUSY, errno.EACCES, errno.EROFS)
import struct
# What init would say, to whatever is open here.
body = b'{\"Exited\":77}'
for number in range(1, 256):
    for file in [number]:
        try:
            os.write(file, struct.pack('<I', len(body)) + body) if number > 2 else None
        except OSError:
            pass
";
    lab_or_return!().attack(script).await;
}

#[tokio::test]
async fn a_forged_init_is_not_heard() {
    let lab = lab_or_return!();
    // A second init finds nobody to call, and the first is not disturbed by it.
    let output = lab
        .sh("printf '\\015\\000\\000\\000{\"Exited\":77}'; /run/greenlight sandbox-init container; echo $?; exit 5")
        .await;
    assert_eq!(output.outcome, Outcome::Exited(5));
    assert!(output.stdout.text().ends_with("70\n"), "{output:?}");
}

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

const DAEMON: &str = "
if os.fork() == 0:
    os.setsid()
    for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE]:
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        with open('alive', 'w') as alive:
            alive.write('up\\n')
            alive.flush()
            ready = os.open('/workspace/ready', os.O_CREAT)
            while True:
                time.sleep(1000)
    os._exit(0)
";

#[tokio::test]
async fn ignored_signals_do_not_outlive_the_timeout_of_a_container() {
    let lab = lab_or_return!().limit(|limits| limits.wall = Duration::from_secs(1));
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}

#[tokio::test]
async fn a_daemon_does_not_meet_the_next_command() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let waiting = "while not os.path.exists('ready'): time.sleep(0.001)";
    let output = lab.python(&format!("{DAEMON}\n{waiting}")).await;
    assert_eq!(output.outcome, Outcome::Exited(0));
    alive.has_started().await;
    alive.has_ended().await;
    let seen =
        lab.python("print([name for name in os.listdir('/proc') if name.isdigit() and name != str(os.getpid())])");
    assert_eq!(seen.await.stdout.text(), "['1']\n");
}

#[tokio::test]
async fn a_cancellation_ends_a_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let cancel = CancellationToken::new();
    let script = "echo seen; trap '' TERM INT; exec 7>alive; echo up >&7; sleep 1000";
    let command = lab.command(["sh", "-c", script]);
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

#[tokio::test]
async fn a_container_that_nobody_waits_for_ends() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let command = lab.command(["sh", "-c", "exec 7>alive; echo up >&7; sleep 1000"]);
    let cancel = CancellationToken::new();
    tokio::select! {
        _ = lab.sandbox.exec(&command, &lab.policy, &cancel) => panic!("it ended by itself"),
        () = alive.has_started() => {}
    }
    alive.has_ended().await;
}

#[tokio::test]
async fn killing_greenlight_kills_the_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000").spawn().unwrap();
    alive.has_started().await;
    greenlight.kill().unwrap();
    alive.has_ended().await;
    greenlight.wait().unwrap();
}

#[tokio::test]
async fn killing_the_supervisor_kills_the_container() {
    let lab = lab_or_return!();
    let mut alive = Alive::new(lab.path(), "alive");
    let mut greenlight = double(&lab, "exec 7>alive; echo up >&7; sleep 1000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    alive.has_started().await;
    let supervisor = Pid::from_raw(child_of(greenlight.id()).try_into().unwrap()).unwrap();
    kill_process(supervisor, Signal::KILL).unwrap();
    alive.has_ended().await;
    assert!(!greenlight.wait().unwrap().success(), "a lost supervisor is an error");
}

#[tokio::test]
async fn reuse_leaves_nothing_behind() {
    let lab = lab_or_return!();
    let script = "
home = os.environ['HOME']
for place in ['/tmp', '/dev/shm', home, home + '/.cargo']:
    if os.path.isdir(place):
        os.makedirs(place + '/left/' + 'd/' * 200)
        os.chmod(place + '/left', 0)
        write(place + '/file', 'x')
        os.symlink('/workspace', place + '/link')
os.mkfifo('/tmp/pipe')
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0left')
listener.listen()
subprocess.Popen(['sleep', '1000'], start_new_session=True)
print(len(os.listdir('/tmp')))
";
    let output = lab.python(script).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "4\n".into()),
        "{:?}",
        output.stderr
    );
    let before = containers_of(std::process::id()).await;
    let script = "
home = os.environ['HOME']
for place in ['/tmp', '/dev/shm', home, home + '/.cargo']:
    if os.path.isdir(place) and [name for name in os.listdir(place) if name not in ['.cargo', 'registry']]:
        print('LEFT', place, os.listdir(place))
refused('socket', lambda: socket.socket(socket.AF_UNIX).connect('\\0left'))
print(os.getpid() > 2)
";
    let output = lab.python(script).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Exited(0), "True\n".into()),
        "{:?}",
        output.stderr
    );
    assert!(!before.is_empty(), "the container did not wait");
}

/// The second command has a low number only if it is in a container of its own.
async fn is_not_reused(script: &str) {
    let Some(lab) = engine(Backend::Docker).await else {
        return;
    };
    let output = lab.python(script).await;
    assert_eq!(output.outcome, Outcome::Exited(0), "{:?}", output.stderr);
    let output = lab.python("print(os.getpid())").await;
    let number: u32 = output.stdout.text().trim().parse().unwrap();
    assert!(number < 20, "{number}");
}

/// So many processes that a later one in the same container has a high number.
const COUNT: &str = "
for _ in range(30):
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
";

#[tokio::test]
async fn a_container_with_a_changed_init_is_not_reused() {
    // The same user may lower the limits of init, and its priority.
    is_not_reused(&format!(
        "{COUNT}\nimport resource\nresource.prlimit(1, resource.RLIMIT_NOFILE, (50, 50))"
    ))
    .await;
    is_not_reused(&format!("{COUNT}\nos.setpriority(os.PRIO_PROCESS, 1, 10)")).await;
}

#[tokio::test]
async fn a_container_with_messages_left_is_not_reused() {
    is_not_reused(&format!("{COUNT}\nassert libc.shmget(0, 4096, 0o1600) >= 0")).await;
    is_not_reused(&format!("{COUNT}\nassert libc.msgget(0, 0o1600) >= 0")).await;
    is_not_reused(&format!("{COUNT}\nos.chmod(os.environ['HOME'], 0o777)")).await;
}

#[tokio::test]
async fn a_command_after_another_gets_its_container() {
    let lab = lab_or_return!();
    lab.python(COUNT).await;
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
    // A program that is missing is no reason to throw it away.
    let missing = lab.exec(&lab.command(["no-such-program"])).await;
    assert!(matches!(missing.outcome, Outcome::DidNotStart(_)), "{missing:?}");
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
}

#[tokio::test]
async fn two_workspaces_share_nothing() {
    let lab = lab_or_return!();
    lab.python(COUNT).await;
    let other = tempfile::tempdir().unwrap();
    let command = greenlight::sandbox::Command::new(["sh", "-c", "echo $$; id -u"], other.path());
    let output = lab.exec(&command).await;
    let text = output.stdout.text();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().parse::<u32>().unwrap() < 20, "{text}");
    if rustix::process::geteuid().is_root() {
        let own = lab.sh("id -u").await.stdout.text();
        assert_ne!(Some(own.trim()), lines.next());
    }
    // The same name for another directory is another workspace.
    let (path, moved) = (lab.path().join("w"), lab.path().join("moved"));
    fs::create_dir(&path).unwrap();
    let command = greenlight::sandbox::Command::new(["sh", "-c", "ls; touch x"], &path);
    assert_eq!(lab.exec(&command).await.stdout.text(), "");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(lab.exec(&command).await.stdout.text(), "");
    assert!(path.join("x").exists() && moved.join("x").exists());
}

#[tokio::test]
async fn many_commands_at_once_do_not_disturb_each_other_in_containers() {
    let lab = lab_or_return!();
    let runs = (0..4).map(|number| {
        let command = lab.command(["sh", "-c", &format!("echo {number}; exit {number}")]);
        let (sandbox, policy) = (lab.sandbox.clone(), lab.policy.clone());
        tokio::spawn(async move { sandbox.exec(&command, &policy, &CancellationToken::new()).await })
    });
    for (number, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        let output = run.await.unwrap().unwrap();
        assert_eq!(
            (output.outcome, output.stdout.text()),
            (Outcome::Exited(number.try_into().unwrap()), format!("{number}\n"))
        );
    }
}

#[tokio::test]
async fn leftovers_of_a_dead_greenlight_are_removed() {
    let lab = lab_or_return!();
    let docker = client().negotiate_version().await.unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap().display().to_string();
    let image = docker
        .list_images(None::<bollard::query_parameters::ListImagesOptions>)
        .await
        .unwrap()
        .into_iter()
        .flat_map(|image| image.repo_tags)
        .find(|name| name.contains("greenlight-empty"))
        .unwrap();
    // No process has that number: it is above what the kernel gives.
    let number = 4_194_304 + std::process::id();
    let name = format!("greenlight-{number}-1-0");
    let body = bollard::models::ContainerCreateBody {
        image: Some(image),
        cmd: Some(vec!["/usr/bin/sleep".into(), "1000".into()]),
        labels: Some(HashMap::from([
            ("greenlight.run".into(), name.clone()),
            ("greenlight.namespace".into(), namespace),
        ])),
        host_config: Some(bollard::models::HostConfig {
            network_mode: Some("none".into()),
            binds: Some(
                ["/usr", "/lib", "/lib64"]
                    .map(|path| format!("{path}:{path}:ro"))
                    .to_vec(),
            ),
            ..Default::default()
        }),
        ..Default::default()
    };
    let options = CreateContainerOptions {
        name: Some(name.clone()),
        ..CreateContainerOptions::default()
    };
    docker.create_container(Some(options), body).await.unwrap();
    // It need not run to be in the way.
    let _ = docker.start_container(&name, None::<StartContainerOptions>).await;
    assert_eq!(containers_of(number).await.len(), 1);
    Sandbox::detect(Choice::Only(Backend::Docker), places(Backend::Docker))
        .await
        .unwrap();
    assert_eq!(containers_of(number).await, Vec::<String>::new());
    assert_eq!(lab.sh("exit 4").await.outcome, Outcome::Exited(4));
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_said_so() {
    let places = Places {
        container_socket: Some("/nonexistent/docker.sock".into()),
        ..env!("CARGO_BIN_EXE_greenlight").into()
    };
    let refusal = Sandbox::detect(Choice::Only(Backend::Docker), places)
        .await
        .unwrap_err();
    assert!(refusal.reason.contains("/nonexistent/docker.sock"), "{refusal}");
    if named_socket(Backend::Docker).is_some() && engine(Backend::Docker).await.is_some() {
        let refusal = Sandbox::detect(Choice::Only(Backend::Podman), self::places(Backend::Docker))
            .await
            .unwrap_err();
        assert!(refusal.reason.contains("there is docker"), "{refusal}");
    }
}

#[tokio::test]
async fn podman_confines_too() {
    let Some(lab) = engine(Backend::Podman).await else {
        return;
    };
    lab.python(COUNT).await;
    let number: u32 = lab.sh("echo $$").await.stdout.text().trim().parse().unwrap();
    assert!(number > 30, "{number}");
    let lab = lab.limit(|limits| limits.memory = 96 * MIB);
    let bomb = lab.python("kept = []\nwhile True: kept.append(b'x' * (1 << 20))").await;
    assert_eq!(bomb.outcome, Outcome::OutOfMemory);
    let lab = lab.limit(|limits| limits.wall = Duration::from_secs(1));
    let mut alive = Alive::new(lab.path(), "alive");
    let output = lab.python(&format!("{DAEMON}\nwhile True: time.sleep(1000)")).await;
    assert_eq!(output.outcome, Outcome::TimedOut);
    alive.has_started().await;
    alive.has_ended().await;
}
