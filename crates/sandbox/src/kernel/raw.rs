//! System calls without a safe wrapper. This is the only unsafe code in greenlight.

#![expect(
    unsafe_code,
    reason = "forking is safe only in a process with a single thread, and some system calls have no safe wrapper"
)]

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use rustix::process::Pid;

/// Forks: returns `None` in the new process, and the new process's id in this one. This saves starting the program
/// again, which takes as long as everything else that is done for a sandbox.
///
/// # Errors
/// When this process has more than one thread, or the kernel cannot create another process.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    // SAFETY: with this single thread, no other thread holds a lock or changes memory at this moment, so the copy is
    // consistent. Nobody can start a second thread between the check and the call.
    let number = unsafe { libc::fork() };
    match number {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(Pid::from_raw(number)),
    }
}

/// Resets ignored signals to their default effect. Unlike handlers, ignored signals survive an exec, and `nohup`, a
/// shell's `&` and Python start programs that way. An ignored SIGXFSZ would disable the limit on file sizes, an
/// ignored SIGCHLD would hide how the command ended, and an ignored SIGINT would make the command deaf to interrupts.
///
/// SIGPIPE stays as it is: Rust ignores it in every program, and resets it in child processes.
pub(crate) fn stop_ignoring_signals() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGPIPE) {
        // SAFETY: no handler is installed, so no code of this program runs when a signal arrives. For numbers that
        // cannot be set, the kernel returns an error and changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Closes every descriptor from this one on, in a process that will never use their owners: the new process after
/// [`fork`], which leaves the function it was created in only by exiting.
pub(crate) fn close_from(first: RawFd) {
    // SAFETY: closing does not access memory. The owners of these descriptors are on a stack that is never unwound,
    // so none of them is closed twice, or used after its number was reused.
    unsafe { close_fds::close_open_fds(first, &[]) }
}

/// Whether this process can create a context for asynchronous I/O, see io_setup(2). It is destroyed immediately.
pub(crate) fn takes_asynchronous_io() -> bool {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number of this size to a variable that outlives the call.
    let taken = unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) } == 0;
    if taken {
        // SAFETY: only this function has the context, and no operation was submitted to it.
        unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    }
    taken
}

/// Whether this process can create an io_uring, whose operations no filter sees. It is closed immediately.
pub(crate) fn makes_io_uring() -> bool {
    // The size of `struct io_uring_params` in 32-bit numbers, see io_uring_setup(2).
    let mut parameters = [0_u32; 30];
    // SAFETY: the kernel reads and writes the 120 bytes of the array, which outlives the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    if let Ok(ring @ 0..) = RawFd::try_from(ring) {
        // SAFETY: the kernel returned this descriptor only to this function.
        drop(unsafe { OwnedFd::from_raw_fd(ring) });
    }
    ring >= 0
}
