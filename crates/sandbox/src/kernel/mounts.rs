//! Builds the only file system that the command sees: an empty root, the tools and the workspace bound into it, and
//! separate `/proc`, `/dev` and temporary directories. The spec says which tools these are.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount};
use rustix::process::{chdir, pivot_root};

use crate::kernel::mount_piece::{MountPiece, flags_for, give, make_directories, mount_tmpfs, restrict};
use crate::kernel::overlay;
use crate::spec::command::{Access, Changes, Mount, WORKSPACE};
use crate::wire::{Identity, Orders};

/// Where the new root is built. Any directory works, because the host's tree is left immediately.
const STAGE: &str = "/tmp";

/// Where the host's tree is while the new root is incomplete.
const HOST: &str = "/.host";

pub(crate) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Settings of the whole machine. The command's user cannot change those that root owns anyway, but a mistake here
/// would be fatal.
pub(crate) const READ_ONLY_IN_PROC: [&str; 7] = ["sys", "irq", "bus", "fs", "sysrq-trigger", "mtrr", "pressure"];

/// What the kernel reveals about itself and other processes.
pub(crate) const MASKED_IN_PROC: [&str; 10] = [
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "kmsg",
    "timer_list",
    "latency_stats",
    "sched_debug",
    "kpagecount",
    "modules",
];

/// Builds the file system and makes it the root of this process, which must have a separate mount namespace.
pub(crate) fn build(orders: &Orders) -> anyhow::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("detach from the host's mounts")?;
    let workspace = Mount {
        source: orders.spec.workspace.clone(),
        target: WORKSPACE.into(),
        access: Access::ReadWrite,
    };
    let mut mounts: Vec<&Mount> = orders.spec.mounts.iter().chain([&workspace]).collect();
    // Outer mounts come first, because they would hide inner ones.
    mounts.sort_by(|a, b| a.target.cmp(&b.target));
    let pieces = mounts
        .into_iter()
        .map(MountPiece::of)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let devices = DEVICES.map(|name| Path::new("/dev").join(name)).map(|path| {
        MountPiece::of(&Mount {
            source: path.clone(),
            target: path,
            access: Access::ReadWrite,
        })
    });

    enter_new_root()?;
    mount_proc(orders)?;
    mount_dev(devices, orders)?;
    make_own_directories(orders)?;
    for (link, content) in &orders.spec.links {
        make_directories(link.parent().unwrap_or(Path::new("/")), orders)
            .and_then(|()| Ok(symlink(content, link)?))
            .with_context(|| format!("make the link {}", link.display()))?;
    }
    let mut accesses = vec![
        ("/tmp".into(), Access::ReadWrite),
        (orders.spec.home.clone(), Access::ReadWrite),
    ];
    accesses.extend(pieces.iter().map(|piece| (piece.target.clone(), piece.access)));
    for piece in pieces {
        match orders.spec.changes {
            Changes::Discarded { bytes } if piece.target == Path::new(WORKSPACE) => {
                overlay::attach(piece, bytes, orders)?;
            }
            _ => piece.attach(orders)?,
        }
    }
    unmount(HOST, UnmountFlags::DETACH).context("leave the host's files")?;
    fs::remove_dir(HOST).context("leave the host's files")?;
    restrict_all(&accesses)
}

fn enter_new_root() -> anyhow::Result<()> {
    mount_tmpfs(STAGE, MountFlags::empty(), "size=4m,nr_inodes=4096,mode=755").context("make a new root")?;
    fs::create_dir(Path::new(STAGE).join(".host")).context("make a new root")?;
    pivot_root(STAGE, Path::new(STAGE).join(".host")).context("enter the new root")?;
    chdir("/").context("enter the new root")
}

fn mount_proc(orders: &Orders) -> anyhow::Result<()> {
    fs::create_dir("/proc").context("make /proc")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // The command cannot see processes that it may not trace, which are init and the relay.
    mount("proc", "/proc", "proc", flags, c"hidepid=2").context("mount /proc")?;
    if matches!(orders.identity, Identity::Own { .. }) {
        // One more user namespace, which init itself still has to make. The system call filter refuses others, too.
        let _ = fs::write("/proc/sys/user/max_user_namespaces", "1");
        // Instances of the user count together, inside and outside.
        let _ = fs::write("/proc/sys/user/max_inotify_instances", "64");
    }
    for name in READ_ONLY_IN_PROC {
        let path = Path::new("/proc").join(name);
        if path.exists() {
            mount_bind(&path, &path).with_context(|| format!("protect {}", path.display()))?;
            restrict(&path, flags | MountFlags::RDONLY)?;
        }
    }
    Ok(())
}

fn mount_dev(devices: [anyhow::Result<MountPiece>; 5], orders: &Orders) -> anyhow::Result<()> {
    fs::create_dir("/dev").context("make /dev")?;
    mount_tmpfs("/dev", MountFlags::NOEXEC, "size=64k,nr_inodes=64,mode=755").context("mount /dev")?;
    for device in devices {
        device?.attach(orders)?;
    }
    for (link, content) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(content, Path::new("/dev").join(link)).context("fill /dev")?;
    }
    fs::create_dir("/dev/pts").context("fill /dev")?;
    fs::create_dir("/dev/shm").context("fill /dev")?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(
        "devpts",
        "/dev/pts",
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=0620",
    )
    .context("mount /dev/pts")?;
    for name in MASKED_IN_PROC {
        let path = Path::new("/proc").join(name);
        if path.exists() {
            mount_bind("/dev/null", &path).with_context(|| format!("mask {}", path.display()))?;
        }
    }
    restrict(
        Path::new("/dev"),
        MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC,
    )
}

/// Directories and files that only the sandbox has.
fn make_own_directories(orders: &Orders) -> anyhow::Result<()> {
    // These directories are in memory and count towards its limit.
    let size = orders.spec.limits.memory / 2;
    for directory in ["/tmp", "/dev/shm"] {
        fs::create_dir(directory)
            .or_else(ignore_existing)
            .with_context(|| format!("make {directory}"))?;
        let options = format!("size={size},nr_inodes=100k,mode=1777");
        mount_tmpfs(directory, MountFlags::empty(), &options).with_context(|| format!("mount {directory}"))?;
    }
    let home = &orders.spec.home;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(home)
        .context("make the home directory")?;
    mount_tmpfs(
        home,
        MountFlags::empty(),
        &format!("size={size},nr_inodes=100k,mode=700"),
    )
    .context("mount the home directory")?;
    give(home, orders).context("mount the home directory")?;
    for directory in ["/etc", "/run", "/var"] {
        fs::create_dir(directory).with_context(|| format!("make {directory}"))?;
    }
    symlink("/tmp", "/var/tmp").context("make /var/tmp")?;
    for (name, content) in own_files(orders.identity.seen_inside(), home) {
        fs::write(Path::new("/etc").join(name), content).with_context(|| format!("write /etc/{name}"))?;
    }
    Ok(())
}

/// Files in `/etc` that only the sandbox has.
pub(crate) fn own_files(uid: u32, home: &Path) -> [(&'static str, String); 7] {
    let home = home.display();
    [
        (
            "passwd",
            format!(
                "root:x:0:0::/:/bin/false\nsandbox:x:{uid}:{uid}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
            ),
        ),
        ("group", format!("root:x:0:\nsandbox:x:{uid}:\nnogroup:x:65534:\n")),
        ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n".into()),
        // Without it, a name has only the first of its addresses; see host.conf(5).
        ("host.conf", "multi on\n".into()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".into()),
        ("hostname", "sandbox\n".into()),
        ("resolv.conf", String::new()),
    ]
}

fn ignore_existing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists {
        Ok(())
    } else {
        Err(error)
    }
}

/// Restricts nested mounts that came along with others, and finally the root itself.
fn restrict_all(accesses: &[(PathBuf, Access)]) -> anyhow::Result<()> {
    let list = fs::read("/proc/self/mountinfo").context("list the mounts")?;
    for mount_point in list
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
    {
        let path = unescape(mount_point);
        // These already have the right restrictions, and the root must come last.
        let is_done =
            path.starts_with("/proc") || path.starts_with("/dev") || accesses.iter().any(|(done, _)| *done == path);
        if is_done || path == Path::new("/") {
            continue;
        }
        let nearest = accesses
            .iter()
            .filter(|(root, _)| path.starts_with(root))
            .max_by_key(|(root, _)| root.as_os_str().len());
        restrict(
            &path,
            flags_for(nearest.map_or(Access::ReadOnly, |(_, access)| *access)),
        )?;
    }
    restrict(Path::new("/"), flags_for(Access::ReadOnly))
}

/// Decodes the octal escapes of `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
pub(crate) fn unescape(escaped: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(value) if byte == b'\\' => {
                path.push(value);
                rest = &after[3..];
            }
            _ => {
                path.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_odd_names_are_understood() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/plain\04"), Path::new(r"/plain\04"));
        assert_eq!(unescape("/ü".as_bytes()), Path::new("/ü"));
    }
}
