//! The request for a container that can do nothing but run greenlight's init as an ordinary user.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount as EngineMount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountType, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};

use super::{BINARY, mounts};
use crate::kernel::mounts::{MASKED_IN_PROC, READ_ONLY_IN_PROC};
use crate::spec::backend::Backend;
use crate::spec::command::{Access, Mount};
use crate::wire;
use crate::wire::Spec;

/// The label with the owner of a container; its value is the name of the container's first run.
pub(super) const RUN: &str = "greenlight.run";

/// The label with the process namespace in which that name is valid.
pub(super) const NAMESPACE: &str = "greenlight.namespace";

/// Paths that engines mask in addition to those that this crate always masks, and everything the kernel reports about
/// devices.
const MASKED: [&str; 6] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/scsi",
    "/proc/timer_stats",
    "/sys",
    "/sys/firmware",
];

/// The request for a container with this user and this system call filter.
pub(super) fn body(
    spec: &Spec,
    mounts: &[Mount],
    (uid, gid): (u32, u32),
    image: &str,
    seccomp: &str,
) -> ContainerCreateBody {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    ContainerCreateBody {
        image: Some(image.to_owned()),
        hostname: Some("sandbox".into()),
        user: Some(format!("{uid}:{gid}")),
        entrypoint: words(&[BINARY, wire::VERB, wire::CONTAINER]),
        working_dir: Some("/".into()),
        labels: Some(HashMap::from([
            (RUN.to_owned(), spec.name.clone()),
            (NAMESPACE.to_owned(), namespace()),
        ])),
        host_config: Some(host_config(spec, mounts, (uid, gid), seccomp)),
        ..ContainerCreateBody::default()
    }
}

/// The namespace that process ids belong to.
pub(super) fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map_or_else(|_| "unknown".into(), |name| name.display().to_string())
}

fn host_config(spec: &Spec, mounts: &[Mount], user: (u32, u32), seccomp: &str) -> HostConfig {
    let memory = i64::try_from(spec.limits.memory).unwrap_or(i64::MAX);
    // Init counts too, with its two threads.
    let processes = i64::try_from(spec.limits.processes.saturating_add(2)).unwrap_or(i64::MAX);
    let in_proc = |names: &[&str]| -> Vec<String> { names.iter().map(|name| format!("/proc/{name}")).collect() };
    let mut masked = in_proc(&MASKED_IN_PROC);
    masked.extend(MASKED.map(str::to_owned));
    HostConfig {
        network_mode: Some("none".into()),
        readonly_rootfs: Some(true),
        mounts: Some(mounts.iter().map(bind).collect()),
        tmpfs: Some(in_memory(spec, user)),
        memory: Some(memory),
        // This limits memory and swap together, so there is no swap.
        memory_swap: Some(memory),
        pids_limit: Some(processes),
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec![
            "no-new-privileges".into(),
            format!("seccomp={seccomp}"),
            // Only matters with SELinux, which would otherwise relabel the system's own directories.
            "label=disable".into(),
        ]),
        ipc_mode: Some("private".into()),
        sysctls: Some(sysctls()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        masked_paths: Some(masked),
        readonly_paths: Some(in_proc(&READ_ONLY_IN_PROC)),
        ulimits: Some(ulimits(spec)),
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".into()),
            config: None,
        }),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        privileged: Some(false),
        init: Some(false),
        auto_remove: Some(true),
        ..HostConfig::default()
    }
}

/// When engines disable the network, they also disable IPv6, and with it the IPv6 loopback address.
fn sysctls() -> HashMap<String, String> {
    let name = |interface: &str| format!("net.ipv6.conf.{interface}.disable_ipv6");
    let names = ["all", "lo"].map(name).into_iter();
    names
        .filter(|name| Path::new("/proc/sys").join(name.replace('.', "/")).exists())
        .map(|name| (name, "0".to_owned()))
        .collect()
}

fn bind(mount: &Mount) -> EngineMount {
    let read_only = mount.access != Access::ReadWrite;
    EngineMount {
        typ: Some(MountType::BIND),
        source: Some(mount.source.display().to_string()),
        target: Some(mount.target.display().to_string()),
        read_only: Some(read_only),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            // Nested mounts get separate mounts, which are read-only, too.
            non_recursive: Some(read_only),
            ..MountBindOptions::default()
        }),
        ..EngineMount::default()
    }
}

/// As in the other sandboxes, these directories are in memory and count towards its limit.
fn in_memory(spec: &Spec, (uid, gid): (u32, u32)) -> HashMap<String, String> {
    let size = spec.limits.memory / 2;
    let options = format!("rw,nosuid,nodev,exec,size={size}");
    let with_owner = |path: PathBuf| {
        let more = match spec.backend {
            // Podman supports no other options. Empty files use memory, too.
            Backend::Podman => "mode=1777".into(),
            _ if path.starts_with(&spec.home) => format!("nr_inodes=100k,mode=700,uid={uid},gid={gid}"),
            _ => "nr_inodes=100k,mode=1777".into(),
        };
        (path.display().to_string(), format!("{options},{more}"))
    };
    mounts::in_memory(spec).into_iter().map(with_owner).collect()
}

/// Init sets the other limits of single processes.
fn ulimits(spec: &Spec) -> Vec<ResourcesUlimits> {
    let mut limits = vec![ulimit("core", 0), ulimit("nofile", spec.limits.open_files)];
    if spec.backend == Backend::Podman {
        // Podman's default exceeds the allowed maximum on some machines; greenlight's own limit does not.
        let own = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum;
        limits.push(ulimit("nproc", own.unwrap_or(u64::MAX)));
    }
    limits
}

fn ulimit(name: &str, value: u64) -> ResourcesUlimits {
    // A negative number means no limit.
    let value = i64::try_from(value).unwrap_or(-1);
    ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(value),
        hard: Some(value),
    }
}
