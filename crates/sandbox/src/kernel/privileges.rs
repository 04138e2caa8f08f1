//! Gives up privileges of this process permanently.

use anyhow::{Context, ensure};
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid};

use crate::wire::Identity;

/// Ensures that no program can regain a capability.
pub(crate) fn shrink_bounding_set() -> anyhow::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if rustix::thread::remove_capability_from_bounding_set(capability).is_err() {
            ensure!(number > 40, "give up capability {number}: refused");
            break;
        }
    }
    Ok(())
}

/// Gives up the groups, user and capabilities of this process.
pub(crate) fn give_up_rights(identity: Identity) -> anyhow::Result<()> {
    if let Identity::Lent(id) = identity {
        let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
        rustix::thread::set_thread_groups(&[]).context("give up groups")?;
        rustix::thread::set_thread_res_gid(gid, gid, gid).context("change the group")?;
        rustix::thread::set_thread_res_uid(uid, uid, uid).context("change the user")?;
    }
    give_up_capabilities()
}

/// Reduces this process and everything it starts to the privileges of an ordinary user, permanently.
pub(crate) fn give_up_capabilities() -> anyhow::Result<()> {
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set().context("give up ambient capabilities")?;
    let nothing = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    rustix::thread::set_capabilities(None, nothing).context("give up capabilities")?;
    rustix::thread::set_no_new_privs(true).context("forbid new privileges")
}

/// Must come after changing the user, which would undo it.
pub(crate) fn die_with_the_supervisor() -> anyhow::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).context("tie init to the supervisor")
}
