//! Process 1 of a container. It connects to the supervisor, gives up the remaining privileges, and runs one command
//! after another. Between two commands, everything is restored to its initial state, or the container ends.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context, ensure};
use greenlight_tree::files;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};

use super::{SOCKET, mounts};
use crate::helpers::{command_process, relay};
use crate::kernel::{fd_passing, limits, privileges, seccomp, subreaper};
use crate::spec::command::Network;
use crate::wire::{Orders, Progress, SupervisorMessage, read_frame, write_frame};

/// How often to check whether killed processes are dead; after this many rounds, the container ends.
const ROUNDS: usize = 1000;

/// One command, and its output streams.
struct Run {
    orders: Orders,
    output: [OwnedFd; 2],
}

enum Message {
    Run(Box<Run>),
    Go,
}

/// Acts as process 1 until the connection ends.
pub(crate) fn main() -> io::Result<()> {
    // Descriptors that an engine left open must not leak into commands.
    close_fds::set_fds_cloexec(3, &[]);
    let control = UnixStream::connect(SOCKET)?;
    let SupervisorMessage::Next = read_frame(&control)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let first = receive(&control)?;
    // The relay starts last, under the same system call filter as the command.
    if let Err(reason) = confine(&first.orders).and_then(|()| relay::start(&first.orders.spec)) {
        return write_frame(&control, &Progress::CouldNotStart(format!("{reason:#}")));
    }
    let places = mounts::in_memory(&first.orders.spec);
    let before = state(&places);
    let (sender, receiver) = mpsc::channel();
    let words = control.try_clone()?;
    thread::spawn(move || handle_messages(&words, &sender));
    let mut next = Some(Message::Run(Box::new(first)));
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => receiver.recv().map_err(io::Error::other)?,
        };
        let Message::Run(run) = message else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        write_frame(&control, &Progress::Ready)?;
        let Message::Go = receiver.recv().map_err(io::Error::other)? else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let Run { orders, output } = *run;
        let ended = match command_process::start(&orders, Some(output)) {
            Ok(command) => command_process::wait_for(command)?,
            Err(reason) => Progress::CouldNotStart(format!("{reason:#}")),
        };
        kill_all()?;
        write_frame(&control, &ended)?;
        for place in &places {
            empty(place, &places)?;
        }
        if !is_as_before(&before, &places) {
            // The container ends with this process, and the next command gets a new one.
            return Ok(());
        }
        write_frame(&control, &Progress::Clean)?;
    }
}

fn receive(control: &UnixStream) -> io::Result<Run> {
    let output = fd_passing::receive(control)?;
    let orders = read_frame(control)?;
    Ok(Run { orders, output })
}

/// Executes the supervisor's messages, and exits when the connection ends.
fn handle_messages(words: &UnixStream, sender: &Sender<Message>) {
    while let Ok(word) = read_frame(words) {
        let message = match word {
            SupervisorMessage::Interrupt => {
                command_process::interrupt(true);
                continue;
            }
            SupervisorMessage::Go => Message::Go,
            SupervisorMessage::Next => match receive(words) {
                Ok(run) => Message::Run(Box::new(run)),
                Err(_) => break,
            },
        };
        if sender.send(message).is_err() {
            break;
        }
    }
    #[expect(clippy::exit, reason = "the main thread waits for the command, which may never end")]
    std::process::exit(70);
}

/// Gives up the remaining privileges, and checks that the engine did its part.
fn confine(orders: &Orders) -> anyhow::Result<()> {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    privileges::give_up_capabilities()?;
    // The command has the same user and namespace. Otherwise it could trace init, or read its memory and descriptors.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).context("hide init from the command")?;
    ensure!(!rustix::process::getuid().is_root(), "the engine made init root");
    let groups = rustix::process::getgroups().context("list the groups")?;
    let own = rustix::process::getgid();
    ensure!(
        groups.iter().all(|group| *group == own),
        "the engine gave init additional groups"
    );
    let status = fs::read_to_string("/proc/self/status").context("read the status of init")?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    ensure!(
        field("CapBnd:") == Some("0000000000000000"),
        "the engine left capabilities"
    );
    ensure!(
        field("Seccomp:") == Some("2"),
        "the engine applied no system call filter"
    );
    ensure!(
        std::process::id() == 1,
        "the engine gave init no separate process namespace"
    );
    check_same_files(orders)?;
    limits::apply(orders)?;
    seccomp::apply(orders.counted)?;
    match &orders.spec.network {
        // An engine always brings up the loopback interface.
        Network::None => seccomp::forbid_internet(),
        Network::Loopback | Network::Registries(_) => Ok(()),
    }
}

/// An engine on another machine would mount the files of that machine under the same names.
fn check_same_files(orders: &Orders) -> anyhow::Result<()> {
    for (mount, (device, inode, _)) in mounts::of_run(&orders.spec).iter().zip(&orders.inodes) {
        let found = fs::metadata(&mount.target).with_context(|| format!("look at {}", mount.target.display()))?;
        ensure!(
            (found.dev(), found.ino()) == (*device, *inode),
            "{} inside is not {} of this machine; use an engine that uses the files of this machine",
            mount.target.display(),
            mount.source.display()
        );
    }
    Ok(())
}

/// Kills every process but this one, and returns when they are dead.
fn kill_all() -> io::Result<()> {
    for _ in 0..ROUNDS {
        let is_childless = loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        // Orphans become children of process 1, so without children it is alone.
        if is_childless && subreaper::others().is_empty() {
            return Ok(());
        }
        // Every process but this one, in one step that no fork can escape.
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
        thread::sleep(Duration::from_micros(200));
    }
    Err(io::Error::other("the processes do not die"))
}

/// Empties a directory, except for mounts in it.
fn empty(place: &Path, places: &[PathBuf]) -> io::Result<()> {
    let own_device = fs::metadata(place)?.dev();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        if places.contains(&path) || found.dev() != own_device {
            continue;
        }
        if found.is_dir() {
            files::remove_tree(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Whether the command left nothing behind that could affect the next one.
fn is_as_before(before: &[String], places: &[PathBuf]) -> bool {
    // The first line of each table is its header.
    let has_segments = |table: &str| fs::read_to_string(table).is_ok_and(|table| table.lines().count() > 1);
    let is_empty = |place: &Path| fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
    let has_messages = Path::new("/dev/mqueue").exists() && !is_empty(Path::new("/dev/mqueue"));
    !["shm", "sem", "msg"]
        .iter()
        .any(|kind| has_segments(&format!("/proc/sysvipc/{kind}")))
        && !has_messages
        && state(places) == before
}

/// State that a command can change without leaving a file or a process: the limits, priority and CPU affinity of
/// init, which has the same user, and the permissions and attributes of in-memory directories.
fn state(places: &[PathBuf]) -> Vec<String> {
    let read = |file: &str| fs::read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let stat = read("stat");
    // Priority, niceness, real-time priority and policy, see proc_pid_stat(5). The third field is the first one after
    // the name.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_whitespace()
        .collect();
    let scheduling = [15, 16, 37, 38].map(|index| fields.get(index).copied().unwrap_or_default());
    let status = read("status");
    let processors = status.lines().filter(|line| line.contains("_allowed"));
    let mut state = vec![
        read("limits"),
        scheduling.join(" "),
        processors.collect::<Vec<_>>().join("\n"),
    ];
    for place in places {
        let mut names = [0; 4096];
        // If there are more attributes than fit, the error makes the state differ.
        let length = rustix::fs::listxattr(place, &mut names).map_err(|error| error.to_string());
        let mode = fs::metadata(place).map(|found| found.mode()).ok();
        state.push(format!("{mode:?} {length:?}"));
    }
    state
}
