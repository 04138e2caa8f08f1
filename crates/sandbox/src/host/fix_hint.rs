//! Suggests what a person can do when a backend cannot be used, based on the state of the machine. Whether a backend
//! works is found out elsewhere, by trying it.

use std::fs;
use std::path::Path;

use crate::helpers::bubblewrap;
use crate::helpers::landlock::{self, Landlock};
use crate::spec::backend::Backend;

/// Common causes on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) is_root: bool,
    pub(crate) has_bubblewrap: bool,
    /// The most likely reason why namespaces cannot be made.
    pub(crate) obstacle: Option<Obstacle>,
    /// The program that installs packages here.
    pub(crate) installer: Option<&'static str>,
    pub(crate) landlock: Landlock,
}

/// What prevents making namespaces; all but the first apply only to ordinary users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// This is a container.
    Container,
    /// Ubuntu since 23.10: only programs with an AppArmor profile may.
    AppArmor,
    /// A patch in the kernels of Debian and others.
    Clone,
    /// The limit on namespaces is zero.
    Number,
}

impl Machine {
    /// Inspects the machine.
    pub(crate) fn look() -> Self {
        let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|content| content.trim() == value);
        let exists = |path: &str| Path::new(path).exists();
        let obstacle = if exists("/.dockerenv") || exists("/run/.containerenv") {
            Some(Obstacle::Container)
        } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
            Some(Obstacle::AppArmor)
        } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
            Some(Obstacle::Clone)
        } else if is("/proc/sys/user/max_user_namespaces", "0") {
            Some(Obstacle::Number)
        } else {
            None
        };
        let installers = ["apt-get", "dnf", "zypper", "pacman", "apk"];
        Self {
            is_root: rustix::process::geteuid().is_root(),
            has_bubblewrap: bubblewrap::find().is_ok(),
            obstacle,
            installer: installers
                .into_iter()
                .find(|name| exists(&format!("/usr/bin/{name}")) || exists(&format!("/sbin/{name}"))),
            landlock: landlock::found(),
        }
    }
}

/// How to make this backend usable on this machine.
pub(crate) fn of(backend: Backend, machine: &Machine) -> String {
    match backend {
        Backend::Native => namespaces(machine, "run greenlight as root, or "),
        Backend::Bubblewrap if !machine.has_bubblewrap => install(machine.installer),
        Backend::Bubblewrap => namespaces(machine, ""),
        Backend::Landlock => match machine.landlock {
            Landlock::Missing => {
                "use Linux 5.13 or newer, started with `lsm=` containing `landlock` (see /sys/kernel/security/lsm)"
                    .into()
            }
            Landlock::Files if !machine.is_root => {
                "run greenlight as root, or use Linux 6.12 or newer, which confines signals".into()
            }
            _ => "run greenlight as an ordinary user, or as root where it may change its user (CAP_SETUID, CAP_CHOWN)"
                .into(),
        },
        Backend::Docker | Backend::Podman => format!(
            "start a daemon of {backend} on this machine that runs containers for nobody else, and let this user use \
             its socket"
        ),
        Backend::None => "choose another sandbox".into(),
    }
}

fn install(installer: Option<&str>) -> String {
    match installer {
        Some("pacman") => "`sudo pacman -S bubblewrap`".into(),
        Some("apk") => "`sudo apk add bubblewrap`".into(),
        Some(installer) => format!("`sudo {installer} install bubblewrap`"),
        None => {
            "install bubblewrap (https://github.com/containers/bubblewrap), version 0.8.0 or newer, as /usr/bin/bwrap"
                .into()
        }
    }
}

fn namespaces(machine: &Machine, or: &str) -> String {
    match machine.obstacle {
        Some(Obstacle::Container) => "run greenlight on the host or in a virtual machine, or start its container with \
             `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt \
             systempaths=unconfined`, or give it the socket of a separate Docker daemon"
            .into(),
        _ if machine.is_root => {
            "run greenlight as root on the host or in a virtual machine with Linux 5.14 or newer".into()
        }
        Some(Obstacle::AppArmor) => {
            format!(
                "{or}`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or allow it to bwrap alone: \
                 `sudo \
                 apt-get install apparmor-profiles && sudo ln -s \
                 /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r \
                 /etc/apparmor.d/bwrap-userns-restrict`"
            )
        }
        Some(Obstacle::Clone) => format!("{or}`sudo sysctl -w kernel.unprivileged_userns_clone=1`"),
        Some(Obstacle::Number) => format!("{or}`sudo sysctl -w user.max_user_namespaces=10000`"),
        None => format!("{or}use a machine with Linux 5.14 or newer that allows user namespaces"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(backend: Backend, machine: Machine, expected: &str) {
        let remedy = of(backend, &machine);
        assert!(remedy.contains(expected), "{remedy}");
    }

    #[test]
    fn every_obstacle_has_its_remedy() {
        let machine = Machine::default();
        let with = |obstacle| Machine {
            obstacle: Some(obstacle),
            has_bubblewrap: true,
            ..machine
        };
        let in_container = with(Obstacle::Container);
        for backend in [Backend::Native, Backend::Bubblewrap] {
            check(
                backend,
                with(Obstacle::AppArmor),
                "kernel.apparmor_restrict_unprivileged_userns=0",
            );
            check(backend, with(Obstacle::AppArmor), "bwrap-userns-restrict");
            check(backend, with(Obstacle::Clone), "kernel.unprivileged_userns_clone=1");
            check(backend, with(Obstacle::Number), "user.max_user_namespaces=10000");
            check(backend, in_container, "--security-opt systempaths=unconfined");
            check(backend, in_container, "separate Docker daemon");
        }
    }

    #[test]
    fn bubblewrap_is_installed_with_the_available_package_manager() {
        let with = |installer| Machine {
            installer,
            ..Machine::default()
        };
        check(
            Backend::Bubblewrap,
            with(Some("apt-get")),
            "`sudo apt-get install bubblewrap`",
        );
        check(Backend::Bubblewrap, with(Some("dnf")), "`sudo dnf install bubblewrap`");
        check(Backend::Bubblewrap, with(Some("pacman")), "`sudo pacman -S bubblewrap`");
        check(Backend::Bubblewrap, with(None), "0.8.0 or newer");
    }

    #[test]
    fn landlock_has_to_be_in_the_kernel_and_enabled() {
        let with = |landlock, is_root| Machine {
            landlock,
            is_root,
            ..Machine::default()
        };
        check(
            Backend::Landlock,
            with(Landlock::Missing, false),
            "Linux 5.13 or newer, started with `lsm=` containing `landlock`",
        );
        check(Backend::Landlock, with(Landlock::Files, false), "Linux 6.12");
        check(Backend::Landlock, with(Landlock::Signals, true), "CAP_SETUID");
    }
}
