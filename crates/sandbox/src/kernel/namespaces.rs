//! New namespaces for this process.

use rustix::thread::UnshareFlags;

/// Moves this process into new namespaces.
#[expect(
    deprecated,
    reason = "only the flag FILES makes `unshare` unsound, and its replacement is an unsafe function"
)]
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}
