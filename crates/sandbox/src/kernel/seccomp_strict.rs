//! Further filters of system calls, on top of the one that every sandbox has: for what a backend cannot confine by
//! namespaces, and therefore refuses.

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
    /// Whether Landlock rules over `truncate`, which it does since Linux 6.2.
    pub(crate) truncation_is_ruled: bool,
}

/// Refused no matter what their arguments are: sockets of every kind, because Landlock knows only some; the memory of
/// others.
const REACH_OUT: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
];

/// Answered as a kernel without them would: all programs of one namespace share these objects, and they outlive them.
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

/// Only for the caller itself, which is process 0 in their first argument: otherwise any process of the same user.
const OF_ANY_PROCESS: &[c_long] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// What Landlock does not rule over, and the owner of a file may do wherever it lies: permissions, owners, attributes
/// (by name or through a file that is open for reading). Anyone who watches a directory learns names in it.
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

/// Requests of `ioctl` that change a file which is open for reading only: flags, attributes, version, encryption, and
/// verity, which makes it read-only for good. From <linux/fs.h>, <linux/fscrypt.h> and <linux/fsverity.h>.
const ATTRIBUTE_REQUESTS: [u32; 6] = [
    0x4008_6602,
    0x4004_6602,
    0x401c_5820,
    0x4008_7602,
    0x800c_6613,
    0x4080_6685,
];

/// Refuses what namespaces would keep apart.
pub(crate) fn without_namespaces(shared: &Shared) -> anyhow::Result<()> {
    let mut rules: SyscallRules = REACH_OUT.iter().map(|number| (*number, Vec::new())).collect();
    for number in OF_ANY_PROCESS {
        rules.insert(*number, vec![rule(&[(0, Ne, 0)])?]);
    }
    // The first argument says of what kind the second is: a process, a group or a user.
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
        // Without a name it means an open file, of which only times can be changed. The whole pointer counts.
        let has_name = SeccompCondition::new(1, Qword, Ne, 0)?;
        rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![has_name])?]);
        let requests = ATTRIBUTE_REQUESTS.map(|request| rule(&[(1, Eq, request.cast_signed())]));
        rules.insert(libc::SYS_ioctl, requests.into_iter().collect::<anyhow::Result<_>>()?);
    }
    install(rules, libc::EPERM)?;
    forbid_shared_objects()
}

/// Refuses semaphores and queues, where no control group counts the memory that they take in the kernel.
pub(crate) fn forbid_queues() -> anyhow::Result<()> {
    let of_memory = [libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt];
    let others = SHARED_OBJECTS.iter().filter(|number| !of_memory.contains(number));
    install(others.map(|number| (*number, Vec::new())).collect(), libc::ENOSYS)
}

/// Refuses shared memory and queues that outlive who made them, where they cannot be kept apart or counted.
pub(crate) fn forbid_shared_objects() -> anyhow::Result<()> {
    let objects = SHARED_OBJECTS.iter().map(|number| (*number, Vec::new())).collect();
    install(objects, libc::ENOSYS)
}

fn install(rules: SyscallRules, error: c_int) -> anyhow::Result<()> {
    apply_filter(&compile(rules, error)?).context("install the stricter filter of system calls")
}
