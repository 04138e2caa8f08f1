//! One test for each threat: what hostile code under test may try, and the result. The attacker writes Python.
//!
//! Each runs against every backend, as `sandbox::<room>::<threat>::<backend>`. If the native backend cannot confine
//! code, its tests fail: there is nothing to be green about. Other backends may be unavailable on a machine, which is
//! reported by name on standard error; those in `GREENLIGHT_TEST_BACKENDS` must be available.

mod backends;
mod container;
mod double;
mod files;
mod landlock;
mod lifetime;
mod limits;
mod network;
mod outside;
mod overlay;
mod privileges;
mod registries;
mod secrets;
mod sessions;
mod tools;
mod unconfined;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use greenlight::sandbox::{
    Backend, Choice, Command, Limits, Network, Outcome, Output, Places, Policy, Sandbox, Unusable, WORKSPACE,
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// One threat against one backend.
macro_rules! attack {
    ($name:ident, $backend:ident, $threat:ident) => {
        #[tokio::test]
        async fn $name() {
            crate::sandbox::against(greenlight::sandbox::Backend::$backend, super::$threat).await;
        }
    };
}

/// Each of these threats against every backend that confines code.
macro_rules! each_backend {
    ($($threat:ident),* $(,)?) => {$(
        mod $threat {
            use crate::sandbox::attack;
            attack!(native, Native, $threat);
            attack!(bubblewrap, Bubblewrap, $threat);
            attack!(docker, Docker, $threat);
            attack!(landlock, Landlock, $threat);
        }
    )*};
}

/// The same without Landlock, which has no separate network that could be opened to some hosts.
macro_rules! each_backend_with_network {
    ($($threat:ident),* $(,)?) => {$(
        mod $threat {
            use crate::sandbox::attack;
            attack!(native, Native, $threat);
            attack!(bubblewrap, Bubblewrap, $threat);
            attack!(docker, Docker, $threat);
        }
    )*};
}

use attack;
use each_backend;
use each_backend_with_network;

async fn against<T: Future<Output = ()>>(backend: Backend, threat: impl FnOnce(Lab) -> T) {
    if let Some(lab) = Lab::on(backend).await {
        threat(lab).await;
    }
}

/// The socket of the engine for the tests, if `tests/docker-engine.sh` started one.
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

/// A sandbox with this backend, tried once; containers each time, because a connection to their engine belongs to one
/// test.
async fn found(backend: Backend) -> Result<Sandbox, Unusable> {
    static FOUND: [OnceCell<Result<Sandbox, Unusable>>; 3] = [const { OnceCell::const_new() }; 3];
    let detect = || Sandbox::detect(Choice::Only(backend), places(backend));
    let place = match backend {
        Backend::Native => 0,
        Backend::Bubblewrap => 1,
        Backend::Landlock => 2,
        _ => return detect().await,
    };
    FOUND[place].get_or_init(detect).await.clone()
}

/// Reports this once, bypassing the capture of output: a test that could not attack must not look like one that did.
fn report_unavailable(backend: Backend, unusable: &Unusable) {
    static REPORTED: Mutex<BTreeSet<Backend>> = Mutex::new(BTreeSet::new());
    if REPORTED.lock().unwrap().insert(backend) {
        // Macros would write to the captured output.
        let line = format!("UNAVAILABLE here, and not tested: the {backend} sandbox ({unusable})\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

/// Long enough for any machine; only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time limit for a command that must print something before the limit is reached, even on a busy machine.
const SLOW_START: Duration = Duration::from_secs(4);

/// A sandbox, a workspace, and the limits of the next run.
struct Lab {
    sandbox: Sandbox,
    workspace: TempDir,
    policy: Policy,
}

impl Lab {
    /// A lab with this backend, or `None` if the backend is unavailable.
    async fn on(backend: Backend) -> Option<Self> {
        let sandbox = match found(backend).await {
            Ok(sandbox) => sandbox,
            Err(unusable) => {
                let required = std::env::var_os("GREENLIGHT_TEST_BACKENDS").unwrap_or_default();
                let mut required = required.to_str().unwrap().split(',');
                let is_required = backend == Backend::Native || required.any(|name| name == backend.name());
                assert!(!is_required, "the {backend} sandbox has to work here: {unusable}");
                report_unavailable(backend, &unusable);
                return None;
            }
        };
        let limits = Limits {
            wall: PATIENCE,
            memory: 512 << 20,
            processes: 64,
            ..Limits::default()
        };
        Some(Self {
            sandbox,
            workspace: tempfile::tempdir().unwrap(),
            policy: Policy {
                limits,
                network: Network::None,
            },
        })
    }

    async fn unconfined() -> Self {
        Self::on(Backend::None).await.unwrap()
    }

    /// The path of the workspace as the command sees it.
    fn inside(&self) -> &Path {
        match self.sandbox.backend() {
            Backend::Landlock | Backend::None => self.path(),
            _ => Path::new(WORKSPACE),
        }
    }

    /// Whether the command shares the host's file system and processes: without `/proc`, `/dev/shm`, terminals and
    /// sockets, with a home and a separate temporary directory on disk.
    fn is_landlock(&self) -> bool {
        self.sandbox.backend() == Backend::Landlock
    }

    fn is_native(&self) -> bool {
        self.sandbox.backend() == Backend::Native
    }

    /// The path at which the command sees a file or directory of the host, preferably `target`.
    fn shown(&self, source: &Path, target: &str) -> PathBuf {
        if self.is_landlock() { source } else { Path::new(target) }.into()
    }

    fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.policy.limits);
        self
    }

    fn network(mut self, network: Network) -> Self {
        self.policy.network = network;
        self
    }

    fn path(&self) -> &Path {
        self.workspace.path()
    }

    fn file(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn command(&self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command::new(argv, self.path())
    }

    async fn exec(&self, command: &Command) -> Output {
        self.sandbox
            .exec(command, &self.policy, &CancellationToken::new())
            .await
            .unwrap()
    }

    async fn sh(&self, script: &str) -> Output {
        self.exec(&self.command(["sh", "-c", script])).await
    }

    async fn python(&self, script: &str) -> Output {
        self.exec(&self.command(["/usr/bin/python3", "-c", &format!("{PRELUDE}\n{script}")]))
            .await
    }

    /// Runs an attack that must end normally and must not report an escape.
    #[track_caller]
    fn attack(&self, script: &str) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let output = self.python(&format!("{script}\nprint('done')")).await;
            let seen = (output.outcome.clone(), output.stdout.text(), output.stderr.text());
            assert_eq!(
                seen,
                (Outcome::Exited(0), "done\n".into(), String::new()),
                "at {caller}"
            );
        }
    }
}

/// `refused(what, call)` reports a call that works but should not.
const PRELUDE: &str = "
import ctypes, errno, os, platform, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def refused(what, call, *errors):
    try:
        result = call()
    except (OSError, ValueError) as error:
        if errors and getattr(error, 'errno', None) not in errors:
            print('ODD', what, error)
        return
    print('ESCAPED', what, result)
def write(path, content=''):
    with open(path, 'a') as file:
        file.write(content)
";

/// Leaves a process behind that ignores all signals it can, and writes `up` to the pipe `alive`.
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

/// A named pipe that a process inside the sandbox holds open for as long as it lives.
struct Alive(pipe::Receiver);

impl Alive {
    /// `name` is the pipe inside the workspace; the process runs `exec 7>NAME; echo up >&7`.
    fn new(workspace: &Path, name: &str) -> Self {
        let path = workspace.join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        Self(pipe::OpenOptions::new().open_receiver(path).unwrap())
    }

    async fn has_started(&mut self) {
        let mut word = [0; 3];
        tokio::time::timeout(PATIENCE, self.0.read_exact(&mut word))
            .await
            .expect("it never started")
            .unwrap();
        assert_eq!(&word, b"up\n");
    }

    /// Waits until the last process that holds the pipe is dead.
    async fn has_ended(&mut self) {
        let mut rest = Vec::new();
        tokio::time::timeout(PATIENCE, self.0.read_to_end(&mut rest))
            .await
            .expect("it lives on")
            .unwrap();
    }
}
