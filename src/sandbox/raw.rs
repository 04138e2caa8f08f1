//! What no library offers as a safe function. The only unsafe code of greenlight.

#![expect(
    unsafe_code,
    reason = "a process is copied here, which is safe only as long as it has one thread"
)]

use std::io;
use std::os::fd::RawFd;

use rustix::process::Pid;

/// Continues in two processes: in the new one with nothing, in this one with the number of the new one. It saves starting
/// the program once more, which takes as long as everything else that is done for a sandbox.
///
/// # Errors
/// When this process has more than one thread, or the kernel makes no further process.
pub(super) fn fork() -> io::Result<Option<Pid>> {
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

/// Closes every descriptor from this one on, in a process that will never use what owned them: the new one after
/// [`fork`], which leaves nothing of the function it was made in but by ending.
pub(super) fn close_from(first: RawFd) {
    // SAFETY: closing is no access to memory. What still claims to own these descriptors lies on a stack that is never
    // unwound, so none of them is closed twice or used after it was given to somebody else.
    unsafe { close_fds::close_open_fds(first, &[]) }
}
