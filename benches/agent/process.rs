//! A process of the benchmark: its duration, its processor time, and the peak memory of its process tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Interval between memory measurements.
const INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Started {
    child: Child,
    began: Instant,
}

/// The measurements of a process.
pub(super) struct Ended {
    pub(super) began: Instant,
    pub(super) printed: String,
    pub(super) wall: Duration,
    /// Processor time of the process itself, over all threads, in seconds.
    pub(super) cpu_own: f64,
    /// Processor time of its waited-for descendants, in seconds.
    pub(super) cpu_below: f64,
    /// Peak memory in KiB: of the process with all its descendants, of the process alone, and of those that run the
    /// same program.
    pub(super) tree: u64,
    pub(super) alone: u64,
    pub(super) kin: u64,
}

impl Default for Ended {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            printed: String::new(),
            wall: Duration::ZERO,
            cpu_own: 0.0,
            cpu_below: 0.0,
            tree: 0,
            alone: 0,
            kin: 0,
        }
    }
}

impl Started {
    #[expect(clippy::disallowed_methods, reason = "the bench starts the program itself")]
    pub(super) fn new(
        program: &str,
        words: &[&OsStr],
        variables: &[(&str, String)],
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let inherited = std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME");
        let mut command = Command::new(program);
        command
            .args(words)
            .env_clear()
            .envs(inherited)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("start {program}"))?;
        Ok(Self { child, began })
    }

    /// Waits for its end, and measures its memory if requested.
    pub(super) fn end(mut self, is_watched: bool) -> anyhow::Result<Ended> {
        let id = self.child.id();
        let mut ended = Ended {
            began: self.began,
            ..Ended::default()
        };
        let mut stdout = self.child.stdout.take().context("no output")?;
        let is_over = AtomicBool::new(!is_watched);
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let watch = scope.spawn(|| watch(id, &is_over));
            let pid = i32::try_from(id).ok().and_then(Pid::from_raw).context("no process")?;
            let read = stdout.read_to_string(&mut ended.printed);
            // It is not reaped yet, so its statistics can still be read.
            let waited = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            ended.wall = self.began.elapsed();
            is_over.store(true, Ordering::Relaxed);
            watch.thread().unpark();
            (ended.tree, ended.alone, ended.kin) = watch.join().unwrap_or_default();
            read?;
            waited?;
            Ok(())
        })?;
        let stat = Stat::of(id).context("its figures cannot be read")?;
        (ended.cpu_own, ended.cpu_below) = (stat.own, stat.below);
        self.child.wait()?;
        Ok(ended)
    }
}

/// The kernel's statistics of a process. <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
struct Stat {
    parent: u32,
    own: f64,
    below: f64,
}

impl Stat {
    fn of(process: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name may contain spaces and parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // A tick is a hundredth of a second on every Linux that this runs on.
        let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / 100.0);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: seconds(11)? + seconds(12)?,
            below: seconds(13)? + seconds(14)?,
        })
    }
}

/// The peaks in KiB: of the tree, of its root, and of those in it that run the same program.
fn watch(root: u32, is_over: &AtomicBool) -> (u64, u64, u64) {
    let mut most = (0, 0, 0);
    let program = program(root);
    let words = fs::read(format!("/proc/{root}/cmdline")).unwrap_or_default();
    while !is_over.load(Ordering::Relaxed) {
        let (mut tree, mut kin) = (0, 0);
        for process in descendants(root) {
            // Until it executes its program, a new child shares its parent's memory, which must not be counted twice.
            if process != root && fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|its| its == words) {
                continue;
            }
            let kib = proportional_kib(process);
            tree += kib;
            if self::program(process) == program {
                kin += kib;
            }
        }
        most = (most.0.max(tree), most.1.max(proportional_kib(root)), most.2.max(kin));
        std::thread::park_timeout(INTERVAL);
    }
    most
}

fn program(process: u32) -> Option<std::ffi::OsString> {
    let link = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    link.file_name().map(OsStr::to_owned)
}

/// A process and all its descendants.
fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((process, stat)) = process.and_then(|process| Some((process, Stat::of(process)?))) {
            children.entry(stat.parent).or_default().push(process);
        }
    }
    let (mut found, mut next) = (vec![root], 0);
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    found
}

/// Shared pages count proportionally. Processes of other users can only be measured by root.
fn proportional_kib(process: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
