//! The four doors as people use them: the real program, in a process with its own environment.

mod action;
mod config;
mod demo;
mod doctor_app;
mod fix;
mod flags;
mod hidden;
mod init;
mod manual;
mod mcp;
mod modes;
mod newcomer;
mod prune;
mod remembered;
mod replay;
mod sandbox;
mod serve;
mod snippets;
mod stage;
mod suggest;
mod terminal;
mod tests;
mod tutorial;
mod verify;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::harness::story::FEW_RUNS;
use crate::harness::{eventually, shares_everyones_store};

/// Nothing here takes that long, even if many tests share few processors.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time limit for a process that was asked to end.
const A_MOMENT: Duration = Duration::from_secs(20);

/// How the program is started: with these variables, and only those others by which its toolchains are found.
pub(crate) struct Door {
    data: TempDir,
    variables: BTreeMap<String, String>,
}

impl Door {
    pub(crate) fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        shares_everyones_store(data.path());
        let inherited = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"];
        let variables = std::env::vars()
            .filter(|(name, _)| inherited.contains(&name.as_str()))
            .chain([("GREENLIGHT_DATA_DIR".into(), data.path().display().to_string())])
            .collect();
        Self { data, variables }
    }

    /// A scripted model runs alone unless an engine is chosen afterwards: most of these tests have bugs that need no
    /// model.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        if name == "GREENLIGHT_MODEL" {
            self.variables.insert("GREENLIGHT_ENGINE".into(), "model".into());
        }
        self.variables.insert(name.into(), value.into());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_greenlight")), arguments)
    }

    /// The same with another copy of the program.
    #[expect(clippy::disallowed_methods, reason = "the tests start the program itself")]
    pub(crate) fn command_of<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the program to its end, without a terminal.
    pub(crate) async fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        ended(self.command(arguments).spawn().unwrap()).await
    }
}

/// The result of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Fails with the whole output of the process if it ended with another code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Fails if standard error does not contain this.
    #[track_caller]
    pub(crate) fn saying(self, part: &str) -> Self {
        assert!(self.err.contains(part), "{part:?} is not in {}", self.err);
        self
    }
}

pub(crate) async fn ended(child: Child) -> Ended {
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let Output { status, stdout, stderr } = output.expect("the process ends").unwrap();
    Ended {
        code: status.code(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Sends a signal to a process that was started here.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = i32::try_from(child.id().expect("the process runs")).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), signal).unwrap();
}

/// The path of a fixture repository, such as `rail/before`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/repos")
        .join(name)
}

/// A writable copy of a fixture repository.
pub(crate) fn copy_of(name: &str) -> TempDir {
    let files = tree(&fixture(name));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    written(&files)
}

/// The text of a `greenlight.toml`, with which failing tests run twice instead of five times, unless it says how often.
pub(crate) fn few_runs(config: &str) -> String {
    match config.contains("[triage]") {
        true => config.into(),
        false => format!("{config}\n{FEW_RUNS}"),
    }
}

/// A new directory with these files.
pub(crate) fn written(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    directory
}

/// Every file below a directory except `.git`.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let walk = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    walk.map(Result::unwrap)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| {
            let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_string();
            (path, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Runs git in a directory, without any user's configuration.
#[expect(clippy::disallowed_methods, reason = "git is asked whether it agrees")]
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new("git")
        .args([
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap()
}

/// Waits for an effect of another process.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, async || is_so()).await;
}

/// Whether any process of this machine was started with these consecutive words.
pub(crate) fn is_running(words: &str) -> bool {
    let wanted = format!("{}\0", words.replace(' ', "\0"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut commands = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    commands.any(|command| String::from_utf8_lossy(&command).ends_with(&wanted))
}
