//! One test per threat: what hostile code under test may try, and what comes of it. Python is the attacker's language.
//! Where the machine cannot confine, these tests fail: there is nothing to be green about.

mod double;
mod files;
mod lifetime;
mod limits;
mod network;
mod outside;
mod privileges;
mod registries;
mod secrets;
mod tools;
mod unconfined;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight::sandbox::{Choice, Command, Limits, Network, Outcome, Output, Policy, Sandbox};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// Long enough for any machine; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sandbox, a workspace, and the bounds of the next run.
struct Lab {
    sandbox: Sandbox,
    workspace: TempDir,
    policy: Policy,
}

impl Lab {
    async fn new() -> Self {
        Self::with(Choice::Auto).await
    }

    async fn with(choice: Choice) -> Self {
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
        let sandbox = Sandbox::detect(choice, helper)
            .await
            .expect("this machine cannot confine");
        let limits = Limits {
            wall: PATIENCE,
            memory: 512 << 20,
            processes: 64,
            ..Limits::default()
        };
        Self {
            sandbox,
            workspace: tempfile::tempdir().unwrap(),
            policy: Policy {
                limits,
                network: Network::None,
            },
        }
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

    /// Runs an attack that has to get to its end and to say nothing about an escape.
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

/// `refused(what, call)` says so when a call works that should not.
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

/// A named pipe that a process inside holds open for as long as it lives.
struct Alive(pipe::Receiver);

impl Alive {
    /// `name` is the pipe inside the workspace; the process does `exec 7>NAME; echo up >&7`.
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
