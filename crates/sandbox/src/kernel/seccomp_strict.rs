//! Further system call filters, in addition to the one of every sandbox: they refuse what a backend cannot confine
//! with namespaces.

use std::ffi::c_int;

use anyhow::Context;
use libc::c_long;
use seccompiler::SeccompCmpArgLen::Qword;
use seccompiler::SeccompCmpOp::{Eq, Ne};
use seccompiler::{SeccompCondition, SeccompRule, apply_filter};

use crate::kernel::seccomp::{SyscallRules, compile, rule};

/// What a command without namespaces shares with the host.
pub(crate) struct Shared {
    /// The user who runs greenlight, with all their files.
    pub(crate) own_user: bool,
    /// Whether Landlock restricts `truncate`, as it does since Linux 6.2.
    pub(crate) truncation_is_ruled: bool,
}

/// Refused with any arguments: all sockets, because Landlock covers only some kinds; and access to the memory of
/// other processes.
const REACH_OUT: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
];

/// Refused as if by a kernel without them: all programs in a namespace share these objects, which outlive them.
const SHARED_OBJECTS: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Allowed only for the caller itself, which is process 0 in their first argument. Otherwise they reach any process
/// of the same user.
const OF_ANY_PROCESS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Operations that Landlock does not restrict, and that the owner of a file may do anywhere: changing permissions,
/// owners and attributes (by name, or through a file opened for reading). Watching a directory reveals names in it.
const OF_OWN_FILES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    463, // setxattrat
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    466, // removexattrat
    469, // file_setattr
    libc::SYS_inotify_add_watch,
];

#[cfg(target_arch = "x86_64")]
const OF_OWN_FILES_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_OWN_FILES_HERE: &[c_long] = &[];

/// Requests of `ioctl` that change a file opened only for reading: flags, attributes, version, encryption, and
/// verity, which makes it permanently read-only. From <linux/fs.h>, <linux/fscrypt.h> and <linux/fsverity.h>.
const ATTRIBUTE_REQUESTS: [u32; 6] = [
    0x4008_6602,
    0x4004_6602,
    0x401c_5820,
    0x4008_7602,
    0x800c_6613,
    0x4080_6685,
];

/// Refuses what namespaces would isolate.
pub(crate) fn without_namespaces(shared: &Shared) -> anyhow::Result<()> {
    let mut rules: SyscallRules = REACH_OUT.iter().map(|number| (*number, Vec::new())).collect();
    for number in OF_ANY_PROCESS {
        rules.insert(*number, vec![rule(&[(0, Ne, 0)])?]);
    }
    // The first argument says whether the second is a process, a group or a user.
    for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        rules.insert(number, vec![rule(&[(0, Ne, process)])?, rule(&[(1, Ne, 0)])?]);
    }
    if !shared.truncation_is_ruled {
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    if shared.own_user {
        rules.extend(
            OF_OWN_FILES
                .iter()
                .chain(OF_OWN_FILES_HERE)
                .map(|number| (*number, Vec::new())),
        );
        // Without a name, the call applies to an open file and can only change times. The whole pointer is compared.
        let has_name = SeccompCondition::new(1, Qword, Ne, 0)?;
        rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![has_name])?]);
        let requests = ATTRIBUTE_REQUESTS.map(|request| rule(&[(1, Eq, request.cast_signed())]));
        rules.insert(libc::SYS_ioctl, requests.into_iter().collect::<anyhow::Result<_>>()?);
    }
    install(rules, libc::EPERM)?;
    forbid_shared_objects()
}

/// Refuses semaphores and queues if no control group counts their kernel memory.
pub(crate) fn forbid_queues() -> anyhow::Result<()> {
    let of_memory = [libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt];
    let others = SHARED_OBJECTS.iter().filter(|number| !of_memory.contains(number));
    install(others.map(|number| (*number, Vec::new())).collect(), libc::ENOSYS)
}

/// Refuses shared memory and queues that outlive their creators, if they cannot be isolated or counted.
pub(crate) fn forbid_shared_objects() -> anyhow::Result<()> {
    let objects = SHARED_OBJECTS.iter().map(|number| (*number, Vec::new())).collect();
    install(objects, libc::ENOSYS)
}

fn install(rules: SyscallRules, error: c_int) -> anyhow::Result<()> {
    apply_filter(&compile(rules, error)?).context("install the stricter system call filter")
}
