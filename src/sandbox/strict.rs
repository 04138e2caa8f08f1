//! Further filters of system calls, on top of the one that every sandbox has: for what a backend cannot confine by
//! namespaces, and therefore refuses.

use anyhow::Context;
use libc::c_int;
use seccompiler::SeccompCmpOp::Eq;
use seccompiler::apply_filter;

use super::seccomp::{Rules, compile, rule};

/// Refuses sockets of the internet, where an interface is up that should not be used.
pub(super) fn forbid_internet() -> anyhow::Result<()> {
    let families = [libc::AF_INET, libc::AF_INET6];
    let sockets = families.map(|family| rule(&[(0, Eq, family)]));
    let rules = Rules::from([(libc::SYS_socket, sockets.into_iter().collect::<anyhow::Result<_>>()?)]);
    install(rules, libc::EPERM)
}

fn install(rules: Rules, error: c_int) -> anyhow::Result<()> {
    apply_filter(&compile(rules, error)?).context("install the stricter filter of system calls")
}
