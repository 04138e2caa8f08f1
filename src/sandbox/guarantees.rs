//! What a backend was seen to hold, property by property. The requirements that callers derive from it are theirs.

use std::fmt;

/// How well a property is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guarantee {
    /// Not at all.
    None,
    /// Against accidents and simple attacks, or with a delay.
    Partial,
    /// By the kernel, at once.
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

/// What a sandbox on this machine guarantees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantees {
    /// Files of the host that were not given cannot be read.
    pub file_reads: Guarantee,
    /// Files of the host that were not given cannot be changed.
    pub file_writes: Guarantee,
    /// No other machine and no service of this one can be reached.
    pub network: Guarantee,
    /// Other processes of the host cannot be seen, signalled or traced.
    pub processes: Guarantee,
    /// Environment, memory, descriptors and credential files of greenlight and its user cannot be read.
    pub secrets: Guarantee,
    /// The user that runs the command owns nothing else on this machine.
    pub separate_user: Guarantee,
    /// The memory of all processes together is bounded.
    pub memory: Guarantee,
    /// The number of processes is bounded.
    pub process_count: Guarantee,
    /// The size of the workspace is bounded.
    pub disk: Guarantee,
    /// System calls that tests do not need are refused.
    pub system_calls: Guarantee,
    /// When a run ends, none of its processes lives on.
    pub tree_kill: Guarantee,
}

impl Guarantees {
    /// What is held when nothing is confined.
    pub(super) const fn none() -> Self {
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

    /// Every property with its name, for showing them.
    pub fn all(&self) -> [(&'static str, Guarantee); 11] {
        [
            ("file reads", self.file_reads),
            ("file writes", self.file_writes),
            ("network", self.network),
            ("processes", self.processes),
            ("secrets", self.secrets),
            ("separate user", self.separate_user),
            ("memory", self.memory),
            ("process count", self.process_count),
            ("disk", self.disk),
            ("system calls", self.system_calls),
            ("tree kill", self.tree_kill),
        ]
    }
}
