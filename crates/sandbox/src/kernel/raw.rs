//! What no library offers as a safe function. The only unsafe code of greenlight.

#![expect(
    unsafe_code,
    reason = "a process is copied here, which is safe only as long as it has one thread, and calls are made that have no wrapper"
)]

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use rustix::process::Pid;

/// Continues in two processes: in the new one with nothing, in this one with the number of the new one. It saves starting
/// the program once more, which takes as long as everything else that is done for a sandbox.
///
/// # Errors
/// When this process has more than one thread, or the kernel makes no further process.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads cannot be copied"));
    }
    // SAFETY: with one thread, which is this one, no lock is held by anyone else at this moment, and no memory is being
    // changed: the copy finds everything as it is here. Nobody can start a second thread between the check and the call.
    let number = unsafe { libc::fork() };
    match number {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(Pid::from_raw(number)),
    }
}

/// Gives every signal its default effect again, as far as it was ignored: unlike a handler, that outlives an exec, and
/// `nohup`, a shell's `&` and Python start programs so. An ignored SIGXFSZ would lift the bound of a file, an ignored
/// SIGCHLD hide how the command ended, and an ignored SIGINT make the command deaf to interrupts.
///
/// SIGPIPE stays as it is: Rust ignores it in every program, and resets it in those that it starts.
pub(crate) fn stop_ignoring_signals() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGPIPE) {
        // SAFETY: no handler is installed, so nothing of this program runs when a signal arrives. The kernel refuses
        // the numbers that cannot be set, which changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Closes every descriptor from this one on, in a process that will never use what owned them: the new one after
/// [`fork`], which leaves nothing of the function it was made in but by ending.
pub(crate) fn close_from(first: RawFd) {
    // SAFETY: closing is no access to memory. What still claims to own these descriptors lies on a stack that is never
    // unwound, so none of them is closed twice or used after it was given to somebody else.
    unsafe { close_fds::close_open_fds(first, &[]) }
}

/// Whether this process can take a context of asynchronous I/O, see io_setup(2). It is given back at once.
pub(crate) fn takes_asynchronous_io() -> bool {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number of this size to a place that outlives the call.
    let taken = unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) } == 0;
    if taken {
        // SAFETY: the context is this function's own, and nothing was asked of it.
        unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    }
    taken
}

/// Whether this process can make a ring of io_uring, whose calls no filter sees. It is closed at once.
pub(crate) fn makes_io_uring() -> bool {
    // The size of `struct io_uring_params` in numbers, see io_uring_setup(2).
    let mut parameters = [0_u32; 30];
    // SAFETY: the kernel reads and writes the 120 bytes of the array, which outlives the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    if let Ok(ring @ 0..) = RawFd::try_from(ring) {
        // SAFETY: the kernel gave this descriptor to this function alone.
        drop(unsafe { OwnedFd::from_raw_fd(ring) });
    }
    ring >= 0
}
