//! What the backends besides the preferred one hold, each on its own terms: the traps that were found with `bwrap`, and
//! how to get away from a run.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Stdio;
use std::time::Duration;

use greenlight::sandbox::{Backend, Guarantee, Outcome, Property};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::{Alive, Lab};

/// A lab for one backend, or nothing on a machine that cannot do it, which is said where it is seen.
pub(super) async fn lab(backend: Backend) -> Option<Lab> {
    Lab::on(backend).await
}

/// Labs for both.
pub(super) async fn labs() -> impl Iterator<Item = Lab> {
    [lab(Backend::Bubblewrap).await, lab(Backend::Landlock).await]
        .into_iter()
        .flatten()
}

const BACKEND: &str = "GREENLIGHT_TEST_BACKEND";
const SCRIPT: &str = "GREENLIGHT_TEST_BACKEND_SCRIPT";
const WORKSPACE: &str = "GREENLIGHT_TEST_BACKEND_WORKSPACE";

/// A greenlight with a token in its environment that runs a script with one backend, and can be killed.
#[expect(clippy::disallowed_methods, reason = "only a real process can be killed")]
fn greenlight(lab: &Lab, script: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "sandbox::backends::plays_greenlight", "--nocapture"])
        .env(BACKEND, lab.sandbox.backend().name())
        .env(SCRIPT, script)
        .env(WORKSPACE, lab.path())
        .env("GITHUB_TOKEN", "ghs_canary")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Does nothing unless [`greenlight`] started it.
#[tokio::test]
async fn plays_greenlight() {
    let Some(backend) = std::env::var_os(BACKEND) else {
        return;
    };
    let mut lab = Lab::on(backend.to_str().unwrap().parse().unwrap()).await.unwrap();
    lab.policy.limits.memory = 1 << 30;
    let command = greenlight::sandbox::Command::new(
        ["sh".into(), "-c".into(), std::env::var_os(SCRIPT).unwrap()],
        std::env::var_os(WORKSPACE).unwrap(),
    );
    let output = lab.exec(&command).await;
    println!("{:?}\n{}{}", output.outcome, output.stdout.text(), output.stderr.text());
}

#[tokio::test]
async fn bubblewrap_holds_what_it_promises() {
    let Some(lab) = lab(Backend::Bubblewrap).await else {
        return;
    };
    assert_eq!(lab.sandbox.backend(), Backend::Bubblewrap);
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let least = match name {
            Property::SeparateUser => Guarantee::None,
            Property::Memory | Property::Disk => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
}

#[tokio::test]
async fn landlock_holds_what_it_promises() {
    let Some(lab) = lab(Backend::Landlock).await else {
        return;
    };
    let is_root = rustix::process::geteuid().is_root();
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let least = match name {
            Property::SeparateUser if !is_root => Guarantee::None,
            Property::Memory | Property::Disk | Property::Processes | Property::ProcessCount => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
        assert!(name != Property::Processes || guarantee == Guarantee::Partial);
    }
}

#[tokio::test]
async fn the_environment_of_greenlight_is_nowhere_to_be_found() {
    for lab in labs().await {
        let script = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a canary; env; echo end";
        let done = greenlight(&lab, script).stderr(Stdio::null()).spawn().unwrap();
        let text = String::from_utf8(done.wait_with_output().unwrap().stdout).unwrap();
        assert!(text.contains("end") && !text.contains("ghs_canary"), "{text}");
    }
}

#[tokio::test]
async fn the_kernel_cannot_be_configured() {
    for lab in labs().await {
        let script = "
assert 0 not in os.getresuid() + os.getresgid() + tuple(os.getgroups())
for path in ['core_pattern', '../user/max_user_namespaces', '../../sysrq-trigger', '../../1/mem']:
    refused(path, lambda: os.open('/proc/sys/kernel/' + path, os.O_WRONLY))
refused('control group', lambda: os.open('/sys/fs/cgroup/cgroup.procs', os.O_WRONLY))
refused('setuid', lambda: os.setuid(0))
";
        lab.attack(script).await;
    }
}

#[tokio::test]
async fn files_of_the_host_cannot_be_read_or_changed() {
    for lab in labs().await {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let script = format!(
            "
secret = {secret:?}
refused('read', lambda: open(secret).read())
refused('write', lambda: open(secret, 'w'))
refused('truncate', lambda: os.truncate(secret, 0))
refused('chmod', lambda: os.chmod(secret, 0o777))
refused('chown', lambda: os.chown(secret, os.getuid(), -1))
refused('times', lambda: os.utime(secret, (1, 1)))
refused('attribute', lambda: os.setxattr(secret, 'user.x', b''))
refused('remove', lambda: os.remove(secret))
refused('rename', lambda: os.rename(secret, 'here'))
refused('link', lambda: os.link(secret, 'here'))
refused('list', lambda: os.listdir(os.path.dirname(secret)))
def through_a_link():
    os.symlink(secret, 'link')
    return open('link').read()
refused('symbolic link', through_a_link)
for path in ['/etc/shadow', '/root/.bashrc', '/root/.ssh/id_rsa', '/etc/hostname.bak', '/var/log/dpkg.log', '/proc/1/environ', '/dev/vda', '/dev/mem']:
    refused(path, lambda: open(path, 'rb').read(1))
refused('new', lambda: open('/var/lib/greenlight-new', 'w'))
refused('tools', lambda: open('/usr/greenlight-new', 'w'))
"
        );
        lab.attack(&script).await;
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }
}

#[tokio::test]
async fn services_of_the_host_cannot_be_reached() {
    for lab in labs().await {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let name = format!("greenlight-backend-{port}");
        let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _named = UnixListener::bind(&path).unwrap();
        let script = format!(
            "
def unix(address):
    found = socket.socket(socket.AF_UNIX)
    found.connect(address)
refused('abstract', lambda: unix('\\0{name}'))
refused('named', lambda: unix({path:?}))
refused('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), timeout=2))
refused('listen', lambda: socket.create_server(('127.0.0.1', 0)))
for family in [16, 17, 31, 38, 40, 44]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW]:
        refused(family, lambda: socket.socket(family, kind, 16))
for number in [425, 426, 427]:
    refused('io_uring', lambda: syscall(number, 8, ctypes.create_string_buffer(256), 0, 0, 0, 0), errno.EPERM)
a, b = socket.socketpair()
"
        );
        lab.attack(&script).await;
    }
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
            ready = os.open('ready', os.O_CREAT)
            while True:
                time.sleep(1000)
    os._exit(0)
";

#[tokio::test]
async fn a_daemon_left_behind_dies() {
    for lab in labs().await {
        let mut alive = Alive::new(lab.path(), "alive");
        let script = format!("{DAEMON}\nwhile not os.path.exists('ready'): time.sleep(0.001)");
        assert_eq!(lab.python(&script).await.outcome, Outcome::Exited(0));
        alive.has_started().await;
        alive.has_ended().await;
    }
}

#[tokio::test]
async fn ignored_signals_and_a_stop_do_not_evade_the_timeout() {
    for lab in labs().await {
        let lab = lab.limit(|limits| limits.wall = Duration::from_secs(1));
        let mut alive = Alive::new(lab.path(), "alive");
        let script = format!("{DAEMON}\nos.kill(os.getpid(), signal.SIGSTOP)");
        assert_eq!(lab.python(&script).await.outcome, Outcome::TimedOut);
        alive.has_started().await;
        alive.has_ended().await;
    }
}

#[tokio::test]
async fn a_fork_bomb_ends_at_the_timeout() {
    for lab in labs().await {
        let lab = lab.limit(|limits| (limits.wall, limits.processes) = (Duration::from_secs(2), 60));
        let mut alive = Alive::new(lab.path(), "alive");
        let script = "
alive = os.open('alive', os.O_WRONLY)
os.write(alive, b'up\\n')
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
";
        let output = lab.python(script).await;
        assert!(
            [Outcome::TimedOut, Outcome::OutOfMemory].contains(&output.outcome),
            "{output:?}"
        );
        alive.has_started().await;
        alive.has_ended().await;
    }
}

#[tokio::test]
async fn killing_greenlight_ends_everything() {
    for lab in labs().await {
        let mut alive = Alive::new(lab.path(), "alive");
        let script = "exec 7>alive; echo up >&7; (trap '' TERM HUP INT; setsid sleep 1000 & sleep 1000) & sleep 1000";
        let mut greenlight = greenlight(&lab, script).spawn().unwrap();
        alive.has_started().await;
        kill_process(Pid::from_child(&greenlight), Signal::KILL).unwrap();
        greenlight.wait().unwrap();
        alive.has_ended().await;
    }
}

#[tokio::test]
async fn killing_the_supervisor_ends_everything() {
    for lab in labs().await {
        let mut alive = Alive::new(lab.path(), "alive");
        let script = "exec 7>alive; echo up >&7; (trap '' TERM HUP INT; setsid sleep 1000 & sleep 1000) & sleep 1000";
        let mut greenlight = greenlight(&lab, script).stderr(Stdio::null()).spawn().unwrap();
        alive.has_started().await;
        let supervisor = super::double::child_of(greenlight.id());
        kill_process(Pid::from_raw(supervisor.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
        alive.has_ended().await;
        assert!(!greenlight.wait().unwrap().success(), "a lost supervisor is an error");
    }
}

#[tokio::test]
async fn a_cancellation_ends_everything() {
    for lab in labs().await {
        let mut alive = Alive::new(lab.path(), "alive");
        let cancel = CancellationToken::new();
        let command = lab.command([
            "sh",
            "-c",
            "trap '' TERM INT; exec 7>alive; echo up >&7; setsid sleep 1000",
        ]);
        let cancelling = async {
            alive.has_started().await;
            cancel.cancel();
        };
        let (output, ()) = tokio::join!(lab.sandbox.exec(&command, &lab.policy, &cancel), cancelling);
        assert_eq!(output.unwrap().outcome, Outcome::Cancelled);
        alive.has_ended().await;
    }
}

#[tokio::test]
async fn memory_cannot_be_hidden_in_segments() {
    for lab in labs().await {
        let lab = lab.limit(|limits| limits.memory = 128 << 20);
        let script = "
libc.shmat.restype = ctypes.c_void_p
for _ in range(64):
    segment = libc.shmget(0, 8 << 20, 0o1600)
    if segment == -1:
        print('refused')
        break
    address = libc.shmat(segment, 0, 0)
    ctypes.memset(address, 1, 8 << 20)
    libc.shmdt(ctypes.c_void_p(address))
";
        let output = lab.python(script).await;
        let is_refused = output.outcome == Outcome::Exited(0) && output.stdout.text() == "refused\n";
        assert!(is_refused || output.outcome == Outcome::OutOfMemory, "{output:?}");
    }
}

#[tokio::test]
async fn a_workspace_that_only_root_can_reach_is_shown_or_refused_in_so_many_words() {
    for lab in labs().await {
        let closed = tempfile::tempdir().unwrap();
        fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let workspace = closed.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let command = greenlight::sandbox::Command::new(["sh", "-c", "echo content > file"], &workspace);
        let outcome = lab.exec(&command).await.outcome;
        if lab.sandbox.backend() == Backend::Landlock && rustix::process::geteuid().is_root() {
            let Outcome::DidNotStart(reason) = outcome else {
                panic!("{outcome:?}")
            };
            assert!(reason.contains("allow everyone to pass"), "{reason}");
        } else {
            assert_eq!(outcome, Outcome::Exited(0));
            assert_eq!(fs::read_to_string(workspace.join("file")).unwrap(), "content\n");
        }
    }
}
