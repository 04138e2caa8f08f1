//! The sandbox with namespaces and mounts made by `bwrap` (<https://github.com/containers/bubblewrap>), which some
//! systems allow to do what they forbid to other programs.
//!
//! The supervisor starts a **launcher**, which reads the orders, gives up root if it has it, and becomes `bwrap`.
//! This starts the ordinary init as process 1 of the sandbox, on the same socket. `bwrap` gets an empty environment,
//! because the processes inside can see it. It never runs as the kernel's user 0, which could write to `/proc/sys`
//! without any capability.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::io::FdFlags;
use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, Gid, Uid, UnshareFlags};

use crate::kernel::mount_piece::{self, MountPiece};
use crate::kernel::namespaces::unshare;
use crate::kernel::{limits, mounts, privileges, seccomp, seccomp_strict};
use crate::spec::command::{Access, Mount, Network, WORKSPACE};
use crate::wire;
use crate::wire::{Identity, Orders, Progress, read_frame, write_frame};

/// Where the system may have installed the program. The search path is not used, because anyone may own its first
/// entries.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// The path of the greenlight binary inside, for the second stage.
const BINARY: &str = "/run/greenlight-init";

/// Where root prepares the files for `bwrap`, in a private mount namespace.
const STAGE: &str = "/tmp";

/// Becomes `bwrap`, or reports why it cannot.
pub(crate) fn main() -> io::Result<()> {
    let mut control = wire::control()?;
    let orders: Orders = read_frame(&mut control)?;
    match launch(&orders) {
        Ok(never) => match never {},
        Err(reason) => write_frame(&control, &Progress::CouldNotStart(format!("{reason:#}"))),
    }
}

fn launch(orders: &Orders) -> anyhow::Result<Infallible> {
    let program = find()?;
    let binary = std::env::current_exe().context("find greenlight's own binary")?;
    let mut mounts = orders.spec.mounts.clone();
    mounts.push(Mount {
        source: orders.spec.workspace.clone(),
        target: WORKSPACE.into(),
        access: Access::ReadWrite,
    });
    mounts.push(Mount {
        source: binary,
        target: BINARY.into(),
        access: Access::ReadOnly,
    });
    // Outer mounts come first, because they would hide inner ones.
    mounts.sort_by(|a, b| a.target.cmp(&b.target));
    let mut memory = None;
    match orders.identity {
        Identity::Lent(id) => {
            memory = Some(stage_mounts(&mut mounts, orders)?);
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            rustix::thread::set_thread_groups(&[]).context("give up groups")?;
            rustix::thread::set_thread_res_gid(gid, gid, gid).context("change the group")?;
            rustix::thread::set_thread_res_uid(uid, uid, uid).context("change the user")?;
        }
        Identity::Own { uid: 0, .. } => bail!("root has no other user here to run untrusted code as"),
        Identity::Own { .. } => {}
    }
    let mut files = Vec::new();
    for (name, content) in mounts::own_files(orders.identity.seen_inside(), &orders.spec.home) {
        files.push((Path::new("/etc").join(name), inherited_file(content.as_bytes())?));
    }
    let numbers: Vec<(PathBuf, RawFd)> = files
        .iter()
        .map(|(path, file)| (path.clone(), file.as_raw_fd()))
        .collect();
    let arguments = arguments(orders, &mounts, memory.as_ref(), &numbers);
    #[expect(clippy::disallowed_methods, reason = "only this crate spawns processes")]
    let error = std::process::Command::new(program).args(arguments).env_clear().exec();
    Err(error).with_context(|| format!("start {program}"))
}

/// The path of the installed `bwrap`.
///
/// # Errors
/// When there is none, or anybody but root could have changed it.
pub(crate) fn find() -> anyhow::Result<&'static str> {
    let mut complaint = "bwrap is not installed".to_owned();
    for place in PLACES {
        match fs::metadata(place) {
            Ok(file) if file.uid() == 0 && file.mode() & 0o022 == 0 => return Ok(place),
            Ok(_) => complaint = format!("{place} is not owned by root alone"),
            Err(_) => {}
        }
    }
    bail!(complaint)
}

/// In-memory directories that root mounts itself, because `bwrap` cannot limit the number of their files.
struct Memory {
    temporary: PathBuf,
    shared: PathBuf,
    home: PathBuf,
}

/// Mounts everything at a place that the sandbox's user can reach, because some sources are reachable only by root.
fn stage_mounts(mounts: &mut [Mount], orders: &Orders) -> anyhow::Result<Memory> {
    unshare(UnshareFlags::NEWNS).context("make a mount namespace")?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("detach from the host's mounts")?;
    let mut pieces = Vec::new();
    for (number, mount) in mounts.iter_mut().enumerate() {
        let staged = Path::new(STAGE).join(number.to_string());
        pieces.push(MountPiece::of(&Mount {
            source: mount.source.clone(),
            target: staged.clone(),
            access: mount.access,
        })?);
        mount.source = staged;
    }
    mount_piece::mount_tmpfs(STAGE, MountFlags::empty(), "size=4m,nr_inodes=4096,mode=755")
        .context("prepare the staging directory")?;
    for piece in pieces {
        piece.attach(orders)?;
    }
    let size = orders.spec.limits.memory / 2;
    let in_memory = |name: &str, mode: &str| {
        let place = Path::new(STAGE).join(name);
        fs::create_dir(&place).context("prepare the staging directory")?;
        let options = format!("size={size},nr_inodes=100k,mode={mode}");
        mount_piece::mount_tmpfs(&place, MountFlags::empty(), &options).context("prepare the staging directory")?;
        mount_piece::give(&place, orders).context("prepare the staging directory")?;
        anyhow::Ok(place)
    };
    Ok(Memory {
        temporary: in_memory("temporary", "1777")?,
        shared: in_memory("shared", "1777")?,
        home: in_memory("home", "700")?,
    })
}

/// An open file with this content, which `bwrap` inherits, reads and closes.
fn inherited_file(content: &[u8]) -> anyhow::Result<OwnedFd> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).context("make a pipe")?;
    // At most one page, which fits into every pipe.
    ensure!(content.len() <= 4096, "a file of /etc is too long");
    File::from(write).write_all(content).context("fill a pipe")?;
    rustix::io::fcntl_setfd(&read, FdFlags::empty()).context("hand on a pipe")?;
    Ok(read)
}

/// The arguments of `bwrap`, which processes them in this order.
fn arguments(orders: &Orders, mounts: &[Mount], memory: Option<&Memory>, files: &[(PathBuf, RawFd)]) -> Vec<OsString> {
    let spec = &orders.spec;
    let id = orders.identity.seen_inside().to_string();
    let mut list = List(Vec::new());
    list.add(["--unshare-all", "--unshare-user", "--disable-userns"]);
    list.add(["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]);
    list.add(["--uid", &id, "--gid", &id, "--hostname", "sandbox"]);
    list.add(["--proc", "/proc"]);
    for name in mounts::MASKED_IN_PROC {
        let path = format!("/proc/{name}");
        if Path::new(&path).exists() {
            list.add(["--dev-bind", "/dev/null", &path]);
        }
    }
    list.add(["--remount-ro", "/proc", "--dev", "/dev"]);
    list.directory(
        Path::new("/dev/shm"),
        "1777",
        spec.limits.memory,
        memory.map(|memory| &memory.shared),
    );
    list.add(["--remount-ro", "/dev"]);
    list.directory(
        Path::new("/tmp"),
        "1777",
        spec.limits.memory,
        memory.map(|memory| &memory.temporary),
    );
    list.directory(
        &spec.home,
        "0700",
        spec.limits.memory,
        memory.map(|memory| &memory.home),
    );
    for (path, number) in files {
        list.add(["--perms", "0444", "--file", &number.to_string()]);
        list.path(path);
    }
    list.add(["--symlink", "/tmp", "/var/tmp"]);
    for (link, content) in &spec.links {
        list.add(["--symlink"]);
        list.path(content);
        list.path(link);
    }
    for mount in mounts {
        list.add([match mount.access {
            Access::ReadOnly | Access::ReadOnlyButPipes => "--ro-bind",
            Access::ReadWrite => "--bind",
        }]);
        list.path(&mount.source);
        list.path(&mount.target);
    }
    list.add([
        "--remount-ro",
        "/",
        "--chdir",
        "/",
        "--",
        BINARY,
        wire::VERB,
        wire::INIT,
    ]);
    list.0
}

struct List(Vec<OsString>);

impl List {
    fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.into());
    }

    /// Adds an in-memory directory, whose content counts towards the memory limit.
    fn directory(&mut self, target: &Path, mode: &str, memory: u64, made: Option<&PathBuf>) {
        match made {
            Some(source) => {
                self.add(["--bind"]);
                self.path(source);
            }
            None => self.add(["--perms", mode, "--size", &(memory / 2).max(1).to_string(), "--tmpfs"]),
        }
        self.path(target);
    }
}

/// Init's own part of confinement: `bwrap` did the rest, and critical parts are checked here.
pub(crate) fn confine(orders: &Orders) -> anyhow::Result<()> {
    let left = rustix::thread::capabilities(None).context("read the capabilities")?;
    let none = CapabilitySet::empty();
    ensure!(
        left.effective == none && left.permitted == none && left.inheritable == none,
        "bwrap left capabilities"
    );
    ensure!(std::process::id() == 1, "bwrap made no process namespace");
    rustix::thread::set_no_new_privs(true).context("forbid new privileges")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).context("hide init from the command")?;
    limits::apply(orders)?;
    privileges::die_with_the_supervisor()?;
    if orders.spec.network == Network::None {
        // `bwrap` always brings up the loopback interface.
        seccomp::forbid_internet()?;
    }
    if !orders.counted {
        // Nobody outside can measure the memory that they use.
        seccomp_strict::forbid_shared_objects()?;
    }
    seccomp::apply(orders.counted)
}
