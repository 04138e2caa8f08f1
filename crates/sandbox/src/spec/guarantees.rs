//! Which properties a backend enforces, and how well. The backends implement them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How well a property is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guarantee {
    /// It is not enforced.
    None,
    /// Enforced against accidents and simple attacks, or with a delay.
    Partial,
    /// Enforced by the kernel, immediately.
    Enforced,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Enforced => "enforced",
        })
    }
}

/// A property of confined code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Files of the host that were not mounted cannot be read.
    FileReads,
    /// Files of the host that were not mounted cannot be changed.
    FileWrites,
    /// No other machine and no service of this one can be reached.
    Network,
    /// Other processes of the host cannot be seen, signalled or traced.
    Processes,
    /// Environment, memory, descriptors and credential files of greenlight and its user cannot be read.
    Secrets,
    /// The command's user owns nothing else on this machine.
    SeparateUser,
    /// The memory of all processes together is bounded.
    Memory,
    /// The number of processes is bounded.
    ProcessCount,
    /// The size of the workspace is bounded.
    Disk,
    /// System calls that tests do not need are refused.
    SystemCalls,
    /// When a run ends, none of its processes survives.
    TreeKill,
}

impl Property {
    /// All properties, most important first.
    pub const ALL: [Self; 11] = [
        Self::Secrets,
        Self::FileReads,
        Self::FileWrites,
        Self::Network,
        Self::Processes,
        Self::TreeKill,
        Self::SeparateUser,
        Self::SystemCalls,
        Self::Memory,
        Self::ProcessCount,
        Self::Disk,
    ];

    /// The name for settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::FileReads => "file_reads",
            Self::FileWrites => "file_writes",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Secrets => "secrets",
            Self::SeparateUser => "separate_user",
            Self::Memory => "memory",
            Self::ProcessCount => "process_count",
            Self::Disk => "disk",
            Self::SystemCalls => "system_calls",
            Self::TreeKill => "tree_kill",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How well each property is enforced; the fields have the names of [`Property`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarantees {
    /// [`Property::FileReads`].
    pub file_reads: Guarantee,
    /// [`Property::FileWrites`].
    pub file_writes: Guarantee,
    /// [`Property::Network`].
    pub network: Guarantee,
    /// [`Property::Processes`].
    pub processes: Guarantee,
    /// [`Property::Secrets`].
    pub secrets: Guarantee,
    /// [`Property::SeparateUser`].
    pub separate_user: Guarantee,
    /// [`Property::Memory`].
    pub memory: Guarantee,
    /// [`Property::ProcessCount`].
    pub process_count: Guarantee,
    /// [`Property::Disk`].
    pub disk: Guarantee,
    /// [`Property::SystemCalls`].
    pub system_calls: Guarantee,
    /// [`Property::TreeKill`].
    pub tree_kill: Guarantee,
}

impl Guarantees {
    /// The guarantees without confinement: limits that a watchdog enforces.
    pub const fn none() -> Self {
        const NOT: Guarantee = Guarantee::None;
        Self {
            file_reads: NOT,
            file_writes: NOT,
            network: NOT,
            processes: NOT,
            secrets: NOT,
            separate_user: NOT,
            memory: NOT,
            process_count: NOT,
            disk: Guarantee::Partial,
            system_calls: NOT,
            tree_kill: Guarantee::Partial,
        }
    }

    /// How well one property is enforced.
    pub fn of(&self, property: Property) -> Guarantee {
        match property {
            Property::FileReads => self.file_reads,
            Property::FileWrites => self.file_writes,
            Property::Network => self.network,
            Property::Processes => self.processes,
            Property::Secrets => self.secrets,
            Property::SeparateUser => self.separate_user,
            Property::Memory => self.memory,
            Property::ProcessCount => self.process_count,
            Property::Disk => self.disk,
            Property::SystemCalls => self.system_calls,
            Property::TreeKill => self.tree_kill,
        }
    }

    /// Every property, and how well it is enforced.
    pub fn all(&self) -> [(Property, Guarantee); 11] {
        Property::ALL.map(|property| (property, self.of(property)))
    }

    /// The first of these properties that is not fully enforced.
    pub fn missing(&self, required: &[Property]) -> Option<(Property, Guarantee)> {
        let with_guarantee = required.iter().map(|property| (*property, self.of(*property)));
        with_guarantee
            .into_iter()
            .find(|(_, held)| *held != Guarantee::Enforced)
    }
}

impl fmt::Display for Guarantees {
    /// `secrets enforced, file_reads enforced, …, disk partial`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all().map(|(property, held)| format!("{property} {held}"));
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_documents() {
        for property in Property::ALL {
            assert_eq!(serde_json::to_value(property).unwrap(), property.name());
        }
        let document = serde_json::to_value(Guarantees::none()).unwrap();
        for property in Property::ALL {
            assert_eq!(document[property.name()], Guarantees::none().of(property).to_string());
        }
    }

    #[test]
    fn what_is_partial_is_missing() {
        let guarantees = Guarantees {
            memory: Guarantee::Enforced,
            ..Guarantees::none()
        };
        assert_eq!(guarantees.missing(&[Property::Memory]), None);
        let missing = guarantees.missing(&[Property::Memory, Property::Disk, Property::Network]);
        assert_eq!(missing, Some((Property::Disk, Guarantee::Partial)));
    }
}
