//! Kernel mechanisms, one in each module. They run in the caller's process: the supervisor, init, or the host's side.
//! The callers decide which of them a run needs.

pub(crate) mod cgroup;
mod cgroup_hierarchy;
pub(crate) mod disk_usage;
pub(crate) mod fd_passing;
pub(crate) mod identity;
pub(crate) mod limits;
pub(crate) mod loopback;
pub(crate) mod mount_piece;
pub(crate) mod mounts;
pub(crate) mod namespaces;
pub(crate) mod overlay;
pub(crate) mod privileges;
pub(crate) mod process_list;
pub(crate) mod raw;
pub(crate) mod scratch;
pub(crate) mod seccomp;
pub(crate) mod seccomp_profile;
pub(crate) mod seccomp_strict;
pub(crate) mod subreaper;
