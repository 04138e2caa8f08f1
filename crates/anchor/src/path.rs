//! The path of a file in a repository.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is not the path of a file in a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a path inside the repository")]
pub struct InvalidPath {
    /// The beginning of the text.
    pub value: String,
}

/// A path inside a repository: relative, `/`-separated, normalised, and never inside `.git`.
///
/// Names that some file system treats as `.git` are refused too (HFS+ ignores certain invisible characters, NTFS has
/// `git~1`), as git does with `core.protectHFS` and `core.protectNTFS`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(String);

impl RepoPath {
    /// The path as git writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RepoPath {
    type Err = InvalidPath;
    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let looks_like_git = |part: &str| {
            let visible: String =
                part.chars().filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')).collect();
            let name = visible.trim_end_matches(['.', ' ']).to_ascii_lowercase();
            name == ".git" || name == "git~1" || name.starts_with(".git:")
        };
        let fits = |part: &str| !part.is_empty() && part != "." && part != ".." && !looks_like_git(part);
        if text.len() <= 4096 && !text.contains(['\0', '\\', '\n', '\r']) && text.split('/').all(fits) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidPath {
                value: text.chars().take(120).collect(),
            })
        }
    }
}

impl TryFrom<String> for RepoPath {
    type Error = InvalidPath;
    fn try_from(text: String) -> Result<Self, InvalidPath> {
        text.parse()
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> Self {
        path.0
    }
}
