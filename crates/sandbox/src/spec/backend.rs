//! The ways of confining a command, by name. What each of them does is elsewhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A way of confining commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// greenlight's own namespaces, mounts and filter of system calls.
    Native,
    /// The same, with the namespaces and mounts made by `bwrap`, which some systems allow what they refuse to others.
    Bubblewrap,
    /// A container of a Docker daemon on this machine.
    Docker,
    /// A container of Podman, through the same interface.
    Podman,
    /// Access rules for files and a stricter filter of system calls, in the namespaces of the host.
    Landlock,
    /// No confinement: what its caller may do, the command may do.
    None,
}

impl Backend {
    /// Every one, from the preferred to the last resort.
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

    /// Whether its commands live in separate namespaces, with their own root directory and process 1.
    pub(crate) fn has_namespaces(self) -> bool {
        match self {
            Self::Native | Self::Bubblewrap | Self::Docker | Self::Podman => true,
            Self::Landlock | Self::None => false,
        }
    }

    /// Whether its commands are shut in by the engine of containers.
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
