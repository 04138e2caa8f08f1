//! The system call filter: it refuses calls that no test needs and that reach beyond namespaces. It allows by
//! default, because a list of everything that test suites may call would be outdated every month. Other mechanisms
//! confine files, processes and the network.

use std::collections::BTreeMap;

use anyhow::Context;
use libc::c_long;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, apply_filter, sock_filter,
};

/// A system call: the name of its constant, and its number.
pub(crate) type Syscall = (&'static str, c_long);

/// A condition on an argument: its index, the comparison, and the value.
pub(crate) type Condition = (u8, SeccompCmpOp, i32);

/// A call that is refused if all conditions of one of these lists are true, or always if there are no lists.
pub(crate) type Refusal = (Syscall, Vec<Vec<Condition>>);

macro_rules! call {
    (libc::$name:ident) => {
        (stringify!($name), libc::$name)
    };
}

macro_rules! calls {
    ($(libc::$name:ident),* $(,)?) => {
        &[$(call!(libc::$name)),*]
    };
}
pub(crate) type SyscallRules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Refused with any arguments.
const REFUSED: &[Syscall] = calls![
    // Keys and tracing cross namespaces, and have often been used to attack the kernel.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    // Performs the operations of other calls without passing this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Calls that affect the whole machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_nfsservctl,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Memory of other processes, and pages passed to the kernel.
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_vmsplice,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[Syscall] = calls![
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
/// `kexec_file_load`, which not every library defines.
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[Syscall] = &[("SYS_kexec_file_load", 294)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REFUSED_HERE: &[Syscall] = &[];

/// New in Linux 6.6, and not yet defined in every library.
const FCHMODAT2: Syscall = ("SYS_fchmodat2", 452);

/// New in Linux 6.15, and not yet defined in any library: a variant of a mount call.
const OPEN_TREE_ATTR: Syscall = ("SYS_open_tree_attr", 467);

/// Refused as if by an older kernel, so that callers fall back to calls that the filter can check. The first two pass
/// their arguments in memory, and the third creates memory that nobody can count. The last creates contexts for
/// asynchronous I/O, whose number is limited for the whole machine (`fs.aio-max-nr`), so one process could take them
/// all.
pub(crate) const UNKNOWN: &[Syscall] = calls![
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_memfd_secret,
    libc::SYS_io_setup,
];

/// The first unknown number, above every call of Linux 6.18 and below those of the x32 interface.
const FIRST_UNKNOWN: u32 = 470;

/// Calls that can set permissions, and so create a set-user-ID file: the index of the mode argument, and that of the
/// flags that say whether the mode is used.
const MODES: &[(Syscall, u8, Option<u8>)] = &[
    (call!(libc::SYS_fchmod), 1, None),
    (call!(libc::SYS_fchmodat), 2, None),
    (FCHMODAT2, 2, None),
    (call!(libc::SYS_mknodat), 2, None),
    (call!(libc::SYS_openat), 3, Some(2)),
];

#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[(Syscall, u8, Option<u8>)] = &[
    (call!(libc::SYS_chmod), 1, None),
    (call!(libc::SYS_creat), 1, None),
    (call!(libc::SYS_mknod), 1, None),
    (call!(libc::SYS_open), 2, Some(1)),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[(Syscall, u8, Option<u8>)] = &[];

/// Installs the filter for this process and everything it starts.
///
/// `counted` says that a control group counts memory. Without one, calls that hide memory are refused as well.
pub(crate) fn apply(counted: bool) -> anyhow::Result<()> {
    apply_filter(&unknown_calls(counted)).context("install the system call filter")?;
    apply_filter(&compile_all(&[promises()], libc::EOPNOTSUPP)?).context("install the system call filter")?;
    apply_filter(&refused_calls()?).context("install the system call filter")
}

/// Preallocation of disk space, which is too fast for anybody to notice in time. File systems without it return the
/// same error, and libraries then write the file instead.
fn promises() -> Refusal {
    let without_hole = (1, MaskedEq(2), 0);
    (call!(libc::SYS_fallocate), vec![vec![without_hole]])
}

/// Refuses internet sockets, if there is an unwanted loopback interface.
pub(crate) fn forbid_internet() -> anyhow::Result<()> {
    let families = [libc::AF_INET, libc::AF_INET6].map(|family| vec![(0, Eq, family)]);
    let refusal = (call!(libc::SYS_socket), families.to_vec());
    // The error of a kernel without these sockets.
    let filter = compile_all(&[refusal], libc::EAFNOSUPPORT)?;
    apply_filter(&filter).context("install the socket filter")
}

/// This filter kills processes of other architectures, so the next one can rely on the numbers.
fn refused_calls() -> anyhow::Result<BpfProgram> {
    compile_all(&refusals(), libc::EPERM)
}

/// The refused calls, independent of the filter's format.
pub(crate) fn refusals() -> Vec<Refusal> {
    let always = REFUSED.iter().chain(REFUSED_HERE).chain(&[OPEN_TREE_ATTR]);
    let mut refusals: Vec<Refusal> = always.map(|call| (*call, Vec::new())).collect();
    let clone = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let clone = clone.map(|flag| vec![has(0, flag)]).to_vec();
    refusals.push((call!(libc::SYS_clone), clone));
    refusals.push((call!(libc::SYS_socket), sockets()));
    refusals.push((call!(libc::SYS_socketpair), vec![vec![(0, Ne, libc::AF_UNIX)]]));
    // Both inject input into the terminal that greenlight was started from.
    let terminal = vec![vec![(1, Eq, 0x5412)], vec![(1, Eq, 0x541c)]];
    refusals.push((call!(libc::SYS_ioctl), terminal));
    // A lease on a mounted file would block other processes that open it.
    refusals.push((call!(libc::SYS_fcntl), vec![vec![(1, Eq, libc::F_SETLEASE)]]));
    for (call, mode, flags) in MODES.iter().chain(MODES_HERE) {
        refusals.push((*call, set_id_modes(*mode, *flags)));
    }
    refusals
}

fn compile_all(refusals: &[Refusal], error: i32) -> anyhow::Result<BpfProgram> {
    let mut rules = SyscallRules::new();
    for ((_, number), lists) in refusals {
        let lists = lists.iter().map(|conditions| rule(conditions));
        rules.insert(*number, lists.collect::<anyhow::Result<Vec<_>>>()?);
    }
    compile(rules, error)
}

/// A filter that refuses these calls with an error, and allows all others.
pub(crate) fn compile(rules: SyscallRules, error: i32) -> anyhow::Result<BpfProgram> {
    let refuse = SeccompAction::Errno(error.cast_unsigned());
    let architecture = std::env::consts::ARCH
        .try_into()
        .context("this processor architecture is not supported")?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture).context("write the filter")?;
    filter.try_into().context("compile the filter")
}

/// Refuses all sockets but ordinary ones of the four families that a network namespace confines and programs expect.
fn sockets() -> Vec<Vec<Condition>> {
    const FAMILY: u8 = 0;
    const PROTOCOL: u8 = 2;
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(|family| (FAMILY, Ne, family));
    let only = |family, protocols: &[i32]| {
        let mut conditions = vec![(FAMILY, Eq, family)];
        conditions.extend(protocols.iter().map(|protocol| (PROTOCOL, Ne, *protocol)));
        conditions
    };
    vec![
        families.to_vec(),
        only(
            libc::AF_INET,
            &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP],
        ),
        only(
            libc::AF_INET6,
            &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6],
        ),
        only(libc::AF_NETLINK, &[libc::NETLINK_ROUTE]),
    ]
}

/// A set-user-ID file would carry the rights of its owner out of the workspace.
fn set_id_modes(mode: u8, flags: Option<u8>) -> Vec<Vec<Condition>> {
    const SET_IDS: [i32; 2] = [0o4000, 0o2000];
    let mut rules = Vec::new();
    for bit in SET_IDS {
        match flags {
            None => rules.push(vec![has(mode, bit)]),
            Some(flags) => {
                for creating in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
                    rules.push(vec![has(flags, creating), has(mode, bit)]);
                }
            }
        }
    }
    rules
}

/// The argument has this bit.
fn has(argument: u8, bit: i32) -> Condition {
    (argument, MaskedEq(u64::from(bit.cast_unsigned())), bit)
}

/// All conditions must be true. Only the lower halves are compared, like the kernel does with arguments of type
/// `int`.
pub(crate) fn rule(conditions: &[Condition]) -> anyhow::Result<SeccompRule> {
    let conditions = conditions.iter().map(|(argument, operator, value)| {
        SeccompCondition::new(*argument, Dword, operator.clone(), u64::from(value.cast_unsigned()))
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}

/// Refuses calls that are unknown to this file, or must not be available, with "function not implemented".
fn unknown_calls(counted: bool) -> BpfProgram {
    // From <linux/bpf_common.h> and <linux/seccomp.h>.
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERROR: u32 = 0x0005_0000;

    let mut numbers: Vec<c_long> = UNKNOWN.iter().map(|(_, number)| *number).collect();
    if !counted {
        numbers.push(libc::SYS_memfd_create);
    }
    let numbers: Vec<u32> = numbers
        .into_iter()
        .filter_map(|number| number.try_into().ok())
        .collect();
    let mut program = vec![
        instruction(LOAD, 0, 0),
        instruction(JUMP_IF_AT_LEAST, FIRST_UNKNOWN, distance(numbers.len() + 1)),
    ];
    for (index, number) in numbers.iter().enumerate() {
        program.push(instruction(JUMP_IF_EQUAL, *number, distance(numbers.len() - index)));
    }
    program.push(instruction(RETURN, ALLOW, 0));
    program.push(instruction(RETURN, ERROR | libc::ENOSYS.cast_unsigned(), 0));
    program
}

fn instruction(code: u16, k: u32, jump_if_true: u8) -> sock_filter {
    sock_filter {
        code,
        jt: jump_if_true,
        jf: 0,
        k,
    }
}

fn distance(instructions: usize) -> u8 {
    u8::try_from(instructions).unwrap_or(u8::MAX)
}
