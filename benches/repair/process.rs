//! A process of the benchmark, which is ended with all its descendants if it takes too long.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

pub(super) struct Ended {
    /// `None` if it had to be ended.
    pub(super) code: Option<i32>,
    pub(super) printed: String,
    pub(super) wall: Duration,
}

/// Runs it to its end. Its standard output is kept, limited only by the disk.
#[expect(clippy::disallowed_methods, reason = "the bench starts programs itself")]
pub(super) fn run(
    words: &[&str],
    directory: &Path,
    variables: &[(&str, String)],
    at_most: Duration,
) -> anyhow::Result<Ended> {
    let printed = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(words.first().copied().unwrap_or_default());
    command
        .args(words.get(1..).unwrap_or_default())
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(printed.reopen()?)
        .stderr(said(directory))
        .process_group(0);
    let began = Instant::now();
    let code = wait(command.spawn()?, at_most)?;
    let wall = began.elapsed();
    let printed = String::from_utf8_lossy(&std::fs::read(printed.path())?).into_owned();
    Ok(Ended { code, printed, wall })
}

/// Its standard error goes to a file beside its folder, for inspection.
fn said(directory: &Path) -> Stdio {
    File::create(directory.with_extension("stderr")).map_or_else(|_| Stdio::null(), Stdio::from)
}

fn wait(mut child: Child, at_most: Duration) -> anyhow::Result<Option<i32>> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(child.wait()));
    let ended = told.recv_timeout(at_most);
    // End the processes that it left behind.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    match ended {
        Ok(status) => Ok(Some(status?.code().unwrap_or(-1))),
        Err(_) => {
            told.recv()??;
            Ok(None)
        }
    }
}
