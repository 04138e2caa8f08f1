//! A process of the bench that is ended with all that it started when it takes too long.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct Ended {
    /// None when it was ended.
    pub(super) code: Option<i32>,
    pub(super) printed: String,
    pub(super) wall: Duration,
}

/// Runs it to its end; what it prints to standard output is kept, up to what the disk holds.
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
    let mut child = command.spawn()?;
    let code = wait(&mut child, began + at_most)?;
    let wall = began.elapsed();
    let printed = String::from_utf8_lossy(&std::fs::read(printed.path())?).into_owned();
    Ok(Ended { code, printed, wall })
}

/// What it says beside that lies next to its folder, for looking at.
fn said(directory: &Path) -> Stdio {
    File::create(directory.with_extension("stderr")).map_or_else(|_| Stdio::null(), Stdio::from)
}

fn wait(child: &mut Child, until: Instant) -> anyhow::Result<Option<i32>> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status.code().unwrap_or(-1));
        }
        if Instant::now() > until {
            break None;
        }
        sleep(INTERVAL);
    };
    // What it left behind goes too.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if code.is_none() {
        child.wait()?;
    }
    Ok(code)
}
