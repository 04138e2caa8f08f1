//! The names of the backends, which are the ways to confine a command.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A way to confine commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// greenlight's own namespaces, mounts and system call filter.
    Native,
    /// The same with namespaces and mounts made by `bwrap`, which some systems allow to do what they forbid to other
    /// programs.
    Bubblewrap,
    /// A container of a Docker daemon on this machine.
    Docker,
    /// A Podman container, through the same API.
    Podman,
    /// Access rules for files and a stricter system call filter, in the namespaces of the host.
    Landlock,
    /// No confinement: the command may do everything that its caller may do.
    None,
}

impl Backend {
    /// All backends, most preferred first.
    pub const ALL: [Self; 6] = [
        Self::Native,
        Self::Bubblewrap,
        Self::Docker,
        Self::Podman,
        Self::Landlock,
        Self::None,
    ];

    /// The name for flags, settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    /// Whether its commands run in separate namespaces, with a separate root directory and process 1.
    pub(crate) fn has_namespaces(self) -> bool {
        match self {
            Self::Native | Self::Bubblewrap | Self::Docker | Self::Podman => true,
            Self::Landlock | Self::None => false,
        }
    }

    /// Whether a container engine confines its commands.
    pub(crate) fn is_container(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no sandbox {name:?}; choose one of {names}")
        })
    }
}
