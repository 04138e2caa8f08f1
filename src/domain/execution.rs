//! What a model asks permission for: one call beyond what its run may do, described exactly, for a person to allow or
//! refuse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::RepoPath;
use super::redact;

/// The longest text of a request, in bytes, that a person is asked to read at a gate.
pub const MAX_SHOWN: usize = 16 << 10;

/// One call of a model that waits for a person. The gate shows this value, the digest covers it, and greenlight
/// executes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    pub what: What,
    /// Host names that it may reach. Empty means no network.
    #[serde(default)]
    pub network: Vec<String>,
    /// How long it may take.
    pub seconds: u64,
    /// Why the model wants it; untrusted.
    pub why: String,
    /// [`Patch::digest`](super::patch::Patch::digest) of the edits that are in the tree when the call is executed.
    pub patch: String,
    /// How many files those edits change.
    pub files: usize,
}

/// What the call does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// One line of shell, in the root of the repository.
    Command(String),
    /// Code that the model wrote. Its packages are installed first, while there is still a network.
    Code {
        language: Language,
        code: String,
        packages: Vec<String>,
    },
    /// Tests by name; all tests if the list is empty.
    Tests(Vec<String>),
    /// A change to a protected file, in the working copy only and never in a proposal.
    Edit {
        #[schemars(with = "String")]
        path: RepoPath,
        difference: String,
    },
}

/// The word for the package registries in a list of host names.
pub const REGISTRIES: &str = "registries";

impl Execution {
    /// Why no person may be asked about it; `None` if one may. The approver must see all of it, exactly as it is.
    pub fn unfit(&self) -> Option<&'static str> {
        let (text, path) = match &self.what {
            What::Command(text) | What::Code { code: text, .. } => (text.as_str(), ""),
            What::Edit { path, difference } => (difference.as_str(), path.as_str()),
            What::Tests(_) => ("", ""),
        };
        let names = || self.network.iter().chain(self.what.names()).map(String::as_str);
        let length = names().chain([text, path]).map(str::len).sum::<usize>();
        if length > MAX_SHOWN {
            return Some("it is too long to be shown in full");
        }
        if names()
            .chain([text, path])
            .any(|text| redact::hidden(text).next().is_some())
        {
            return Some("it has invisible or text-reordering characters");
        }
        if names().chain([text, path]).any(|text| redact::redact(text) != text) {
            return Some("it contains what looks like a credential");
        }
        if names().any(|name| name.trim().is_empty() || name.contains(['\n', '\r'])) {
            return Some("one of its names is empty or contains a line break");
        }
        None
    }

    /// Whether it runs code.
    pub fn runs_code(&self) -> bool {
        !matches!(self.what, What::Edit { .. })
    }
}

impl What {
    /// The packages to install, or the tests to run.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Code { packages: names, .. } | Self::Tests(names) => names,
            Self::Command(_) | Self::Edit { .. } => &[],
        }
    }
}

/// A language that the model can run code in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Python,
    JavaScript,
    Bash,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Bash => "bash",
        }
    }
}

/// A call that waits, and its id in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferred {
    pub call_id: String,
    pub execution: Execution,
}

/// How a request was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    Approved,
    Rejected {
        reason: Option<String>,
    },
    /// Nobody answered in time, or there is nobody to ask.
    NoAnswer,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(what: What) -> Execution {
        Execution {
            what,
            network: Vec::new(),
            seconds: 60,
            why: String::new(),
            patch: String::new(),
            files: 0,
        }
    }

    #[test]
    fn what_nobody_could_read_is_not_asked_for() {
        let code = |code: &str, packages: &[&str]| {
            of(What::Code {
                language: Language::Bash,
                code: code.into(),
                packages: packages.iter().map(|name| (*name).into()).collect(),
            })
        };
        assert_eq!(code("echo 1\r\necho 2\n", &["numpy==2"]).unfit(), None);
        for (unfit, why) in [
            (code(&"x".repeat(MAX_SHOWN + 1), &[]), "too long"),
            (code("echo \u{202e}1", &[]), "invisible"),
            (code("echo 1\recho 2", &[]), "invisible"),
            (code("echo 1", &["numpy", "a\nb"]), "line break"),
            (code("echo 1", &[" "]), "empty"),
            (code("curl https://me:hunter22@example.org/", &[]), "credential"),
            (of(What::Command("curl \u{200b}x".into())), "invisible"),
            (of(What::Tests(vec!["a".repeat(9_000); 2])), "too long"),
        ] {
            assert!(unfit.unfit().is_some_and(|said| said.contains(why)), "{unfit:?}");
        }
        let mut host = of(What::Command("true".into()));
        host.network.push("pypi.org\nevil.example".into());
        assert!(host.unfit().is_some());
    }
}
