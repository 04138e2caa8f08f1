//! The sandbox without namespaces, for machines that allow none: Landlock rules for files, signals and ports
//! (<https://docs.kernel.org/userspace-api/landlock.html>), and a stricter system call filter for what they do not
//! cover.
//!
//! Its isolation is reduced. The command runs in the real path of the workspace and among the processes of the host,
//! which it cannot reach but can count. It can see that a file exists, but not its content. It has no sockets, so
//! [`Network::Loopback`] provides no network here. There is no `/proc`, no `/dev/shm` and no terminal, and therefore
//! no locks between processes that need shared memory. A separate user can access only what everyone may access,
//! which excludes tools in root's home. Without a separate user, the command cannot change permissions, owners or
//! times of files, because the kernel could not tell those of the workspace from all others of the user.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fs, io};

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use anyhow::{Context, bail, ensure};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::process::{DumpableBehavior, Pid};

use crate::kernel::scratch::Scratch;
use crate::kernel::{limits, mounts, privileges, seccomp, seccomp_strict, subreaper};
use crate::spec::command::{Access, Mount, Network};
use crate::wire;
use crate::wire::{Identity, Orders, Progress, Spec, read_frame, write_frame};

/// Which parts of Landlock the kernel supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Landlock {
    /// None, or it is not enabled.
    #[default]
    Missing,
    /// Rules for files, but not for signals.
    Files,
    Signals,
}

/// Which parts of Landlock the running kernel supports.
pub(crate) fn found() -> Landlock {
    if !handles(AccessFs::from_all(ABI::V1)) {
        Landlock::Missing
    } else if required().scope(Scope::Signal).is_err() {
        Landlock::Files
    } else {
        Landlock::Signals
    }
}

fn required() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn handles(access: impl Into<BitFlags<AccessFs>>) -> bool {
    required().handle_access(access).is_ok()
}

/// Adapts the command to the real file system: mounts that cannot be shown at their own paths are dropped, and the
/// home and temporary directories become directories of this run.
pub(crate) fn arrange(spec: &mut Spec, scratch: &Scratch) -> anyhow::Result<()> {
    ensure!(
        !matches!(spec.network, Network::Registries(_)),
        "landlock cannot let a command reach package registries; install dependencies with another sandbox"
    );
    let home = scratch.directory("home").context("make a home directory")?;
    let temporary = scratch.directory("tmp").context("make a temporary directory")?;
    let old_home = std::mem::replace(&mut spec.home, home.clone());
    for value in spec.env.values_mut() {
        if let Ok(below) = Path::new(value.as_str()).strip_prefix(&old_home) {
            // Rebuilt from components, because joining an empty path would append a slash.
            *value = home.iter().chain(below).collect::<PathBuf>().display().to_string();
        } else if value == "/tmp" {
            *value = temporary.display().to_string();
        }
    }
    spec.env.insert("TMPDIR".into(), temporary.display().to_string());
    spec.mounts.retain(|mount| mount.source == mount.target);
    spec.mounts.extend([home, temporary].map(|place| Mount {
        source: place.clone(),
        target: place,
        access: Access::ReadWrite,
    }));
    Ok(())
}

/// Prepares init, which stays unrestricted so that it can see and end the command's processes.
///
/// Init must not die with the supervisor, because nobody would be left to end the other processes: it notices that
/// its socket was closed, and ends them.
pub(crate) fn stay_outside(orders: &Orders) -> anyhow::Result<()> {
    match (orders.identity, found()) {
        (_, Landlock::Missing) => bail!("the kernel does not support landlock, or it is not enabled"),
        (Identity::Own { uid: 0, .. }, _) => bail!("root has no other user here to run untrusted code as"),
        (Identity::Own { .. }, Landlock::Files) => {
            bail!(
                "this kernel's landlock does not confine signals, so the command could kill the processes that \
                   limit it"
            )
        }
        _ => {}
    }
    subreaper::adopt().context("watch the command")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).context("hide init from the command")
}

/// Starts the process that restricts itself and becomes the command.
pub(crate) fn start(orders: &Orders) -> anyhow::Result<Pid> {
    let (control, theirs) = UnixStream::pair().context("make a socket")?;
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let child = std::process::Command::new("/proc/self/exe")
        .args([wire::VERB, wire::COMMAND])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .process_group(0)
        .spawn()
        .context("start the last stage")?;
    write_frame(&control, orders).context("tell the last stage what to run")?;
    match read_frame(&control) {
        Ok(Progress::CouldNotStart(reason)) => bail!(reason),
        Ok(_) => bail!("the last stage sent an unexpected message"),
        // The exec of the command closes its socket.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(error).context("wait for the last stage"),
    }
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.context("the kernel returned no process id for the command")
}

/// A rule in the form that the library takes.
type Rule = Result<PathBeneath<OwnedFd>, RulesetError>;

/// Becomes the command, or reports why it cannot.
pub(crate) fn main() -> io::Result<()> {
    let mut control = wire::control()?;
    let orders: Orders = read_frame(&mut control)?;
    match become_command(&orders) {
        Ok(never) => match never {},
        Err(reason) => write_frame(&control, &Progress::CouldNotStart(format!("{reason:#}"))),
    }
}

fn become_command(orders: &Orders) -> anyhow::Result<Infallible> {
    let spec = &orders.spec;
    limits::apply(orders)?;
    if let Identity::Lent(_) = orders.identity {
        privileges::shrink_bounding_set()?;
    }
    privileges::give_up_rights(orders.identity)?;
    privileges::die_with_the_supervisor()?;
    let directory = spec.workspace.join(&spec.cwd);
    reach(&spec.workspace)?;
    ensure!(
        is_inside(&directory, &spec.workspace),
        "there is no directory {} in the workspace",
        directory.display()
    );
    let (program, arguments) = spec.argv.split_first().context("there is no program to run")?;
    restrict(spec)?;
    seccomp_strict::without_namespaces(&seccomp_strict::Shared {
        own_user: matches!(orders.identity, Identity::Own { .. }),
        truncation_is_ruled: handles(AccessFs::Truncate),
    })?;
    seccomp::apply(orders.counted)?;
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let error = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&spec.env)
        .current_dir(directory)
        .stdin(Stdio::null())
        .exec();
    Err(error).with_context(|| format!("start {}{}", program.display(), unsearched(spec, program)))
}

/// A hint why the command's user could not find a program: search path directories that are reachable only by others,
/// such as tools in root's home for a separate user.
fn unsearched(spec: &Spec, program: &OsStr) -> String {
    let search_path = spec.env.get("PATH").map_or("", String::as_str);
    let closed: Vec<&str> = search_path
        .split(':')
        .filter(|directory| fs::metadata(directory).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied))
        .collect();
    if closed.is_empty() || program.as_encoded_bytes().contains(&b'/') {
        return String::new();
    }
    format!(
        ": landlock runs the command as user {}, who cannot reach {}: install the tools where everyone may pass, or \
         use another sandbox",
        rustix::process::getuid().as_raw(),
        closed.join(", ")
    )
}

/// A separate user can only work in directories that everyone may enter.
fn reach(workspace: &Path) -> anyhow::Result<()> {
    let user = rustix::process::getuid().as_raw();
    fs::read_dir(workspace).map(drop).with_context(|| {
        format!(
            "landlock runs the command as user {user}, who cannot reach {}: allow everyone to pass (chmod o+x) through \
             the directories above it",
            workspace.display()
        )
    })
}

/// Whether this is a directory in the workspace, after resolving links.
fn is_inside(directory: &Path, workspace: &Path) -> bool {
    match (directory.canonicalize(), workspace.canonicalize()) {
        (Ok(directory), Ok(workspace)) => directory.starts_with(workspace) && directory.is_dir(),
        _ => false,
    }
}

/// Restricts this process and everything it starts, permanently.
fn restrict(spec: &Spec) -> anyhow::Result<()> {
    // The library ignores what the running kernel does not support.
    const NEWEST: ABI = ABI::V9;
    let devices: Vec<PathBuf> = mounts::DEVICES
        .iter()
        .map(|name| Path::new("/dev").join(name))
        .collect();
    let shown = |access| {
        spec.mounts
            .iter()
            .filter(move |mount| mount.access == access)
            .map(|mount| &mount.source)
    };
    let writing = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(
            shown(Access::ReadOnly).chain(shown(Access::ReadOnlyButPipes)),
            AccessFs::from_read(NEWEST),
        ))?
        .add_rules(pipes_in(shown(Access::ReadOnlyButPipes)))?
        .add_rules(path_beneath_rules(
            shown(Access::ReadWrite).chain([&spec.workspace]),
            writing,
        ))?
        .add_rules(path_beneath_rules(devices, AccessFs::ReadFile | AccessFs::WriteFile))?
        .restrict_self()
        .context("restrict the command with landlock")?;
    ensure!(
        status.ruleset != RulesetStatus::NotEnforced,
        "the kernel does not support landlock"
    );
    Ok(())
}

/// Rules that allow writing to the named pipes in these directories, and to nothing else in them. Each pipe is
/// checked after it is opened, so a later replacement is not covered.
fn pipes_in<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> impl Iterator<Item = Rule> {
    let entries = directories
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flatten();
    entries.flatten().filter_map(|entry| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let pipe = rustix::fs::open(entry.path(), flags, Mode::empty()).ok()?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&pipe).ok()?.st_mode);
        (kind == FileType::Fifo).then(|| Ok(PathBeneath::new(pipe, AccessFs::WriteFile)))
    })
}
