//! Paths that are never part of a proposal.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::de::{Deserialize, Deserializer, Error as _};

use crate::domain::id::RepoPath;

/// Paths that are protected under every configuration: files that run with a repository's secrets, control
/// greenlight, decide who reviews, or decide how git displays files and where it fetches others from. Case is
/// ignored, because some file systems and GitHub's own look-ups ignore it.
/// <https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners#codeowners-file-location>
const BUILT_IN: [&str; 6] = [
    ".github/**",
    "greenlight.toml",
    "CODEOWNERS",
    "docs/CODEOWNERS",
    "**/.gitattributes",
    "**/.gitmodules",
];

pub(super) const MAX_PATTERNS: usize = 200;
pub(super) const MAX_PATTERN_BYTES: usize = 256;

/// The built-in protected paths and those of a repository.
#[derive(Debug, Clone)]
pub struct Protected {
    patterns: Vec<String>,
    set: GlobSet,
    /// The folder of the repository that the paths are relative to, if it is not its root.
    folder: Option<RepoPath>,
}

impl Protected {
    /// Adds patterns to the built-in ones. They work as in `CODEOWNERS` and `.gitignore`: `*` stays within one folder
    /// and `**` does not; a pattern without a `/` matches in every folder; a folder matches everything in it.
    ///
    /// # Errors
    /// A sentence fragment about the invalid pattern.
    pub fn new(patterns: Vec<String>) -> Result<Self, String> {
        if patterns.len() > MAX_PATTERNS {
            return Err(format!("more than {MAX_PATTERNS} patterns"));
        }
        Self::of(patterns)
    }

    /// Protects everything that either of the two protects.
    pub fn both(one: &Self, other: &Self) -> Self {
        let mut patterns = one.patterns.clone();
        let folder = one.folder.clone().or_else(|| other.folder.clone());
        patterns.extend(
            other
                .patterns
                .iter()
                .filter(|pattern| !one.patterns.contains(pattern))
                .cloned(),
        );
        // Each pattern was already compiled before.
        let both = Self::of(patterns).unwrap_or_else(|_| Self::everything());
        Self { folder, ..both }
    }

    fn everything() -> Self {
        Self {
            patterns: Vec::new(),
            set: Glob::new("**").and_then(|all| GlobSet::new([all])).unwrap_or_default(),
            folder: None,
        }
    }

    fn of(patterns: Vec<String>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in BUILT_IN {
            set.add(glob(pattern, Case::Any)?);
        }
        for pattern in &patterns {
            // The pattern is first compiled as written, so that an error shows it that way.
            set.add(glob(pattern, Case::Exact)?);
            for pattern in spelled_out(pattern)? {
                set.add(glob(&pattern, Case::Exact)?);
            }
        }
        let set = set.build().map_err(|error| error.to_string())?;
        Ok(Self {
            patterns,
            set,
            folder: None,
        })
    }

    /// The same for paths that are relative to a folder of the repository.
    #[must_use]
    pub fn in_folder(self, folder: &RepoPath) -> Self {
        Self {
            folder: Some(folder.clone()),
            ..self
        }
    }

    /// Whether a proposal must not change this path.
    pub fn covers(&self, path: &RepoPath) -> bool {
        match &self.folder {
            Some(folder) => self.set.is_match(format!("{folder}/{path}")),
            None => self.set.is_match(path.as_str()),
        }
    }

    /// The patterns that the repository added, as it wrote them.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

impl Default for Protected {
    fn default() -> Self {
        // The built-in patterns are valid, as a test ensures. If they ever are not, everything is protected.
        Self::new(Vec::new()).unwrap_or_else(|_| Self::everything())
    }
}

impl PartialEq for Protected {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns && self.folder == other.folder
    }
}

impl<'de> Deserialize<'de> for Protected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Any,
    Exact,
}

fn glob(pattern: &str, case: Case) -> Result<Glob, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(case == Case::Any)
        .build()
        .map_err(|error| format!("{pattern:?} is not a pattern: {}", error.kind()))
}

/// Patterns that have for `globset` the meaning that people expect of this one.
fn spelled_out(pattern: &str) -> Result<[String; 2], String> {
    let shown: String = pattern.chars().take(80).collect();
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("the pattern {shown:?}… is too long"));
    }
    if pattern.starts_with('!') {
        return Err(format!("{shown:?} begins with `!`, but protection cannot be removed"));
    }
    let rooted = pattern.strip_prefix("./").unwrap_or(pattern);
    let bare = rooted.trim_start_matches('/').trim_end_matches('/');
    if bare.is_empty() || bare.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("{shown:?} is not a path inside the repository"));
    }
    let anywhere = rooted == pattern && !rooted.starts_with('/') && !bare.contains('/');
    let prefix = if anywhere { "**/" } else { "" };
    Ok([format!("{prefix}{bare}"), format!("{prefix}{bare}/**")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(patterns: &[&str], path: &str) -> bool {
        let protected = Protected::new(patterns.iter().map(ToString::to_string).collect()).unwrap();
        protected.covers(&path.parse().unwrap())
    }

    #[test]
    fn files_that_control_greenlight_are_always_protected() {
        for path in [
            ".github/workflows/ci.yml",
            ".github/CODEOWNERS",
            ".GitHub/workflows/ci.yml",
            "greenlight.toml",
            "Greenlight.toml",
            "CODEOWNERS",
            "docs/codeowners",
            ".gitattributes",
            "src/.GitAttributes",
            ".gitmodules",
            "a/b/.gitmodules",
        ] {
            assert!(covers(&[], path), "{path}");
            assert!(Protected::default().covers(&path.parse().unwrap()), "{path}");
        }
        for path in [
            "src/lib.rs",
            "src/greenlight.toml",
            "github/x",
            ".githubx",
            "docs/README.md",
            ".gitignore",
        ] {
            assert!(!covers(&[], path), "{path}");
        }
    }

    #[test]
    fn patterns_read_as_in_codeowners() {
        assert!(covers(&["migrations/**"], "migrations/2024/001.sql"));
        for folder in ["migrations", "migrations/", "/migrations", "./migrations"] {
            assert!(covers(&[folder], "migrations/001.sql"), "{folder}");
        }
        assert!(covers(&["migrations"], "app/migrations/001.sql"));
        assert!(!covers(&["/migrations"], "app/migrations/001.sql"));
        assert!(!covers(&["./migrations"], "app/migrations/001.sql"));
        assert!(covers(&["*.lock"], "a/b/Cargo.lock"));
        assert!(covers(&["src/*.rs"], "src/lib.rs"));
        assert!(!covers(&["src/*.rs"], "src/deep/lib.rs"));
        assert!(covers(&["src/{a,b}.rs"], "src/b.rs"));
        assert!(!covers(&["migrations"], "Migrations/001.sql"));
    }

    #[test]
    fn a_folder_has_the_protection_of_its_repository() {
        let patterns = ["pkg/fare.py", "/migrations", "*.lock"].map(String::from).into();
        let protected = Protected::new(patterns).unwrap().in_folder(&"pkg".parse().unwrap());
        for (path, is_covered) in [
            ("fare.py", true),
            ("pkg/fare.py", false),
            ("migrations/1.sql", false),
            ("a/x.lock", true),
            (".gitattributes", true),
        ] {
            assert_eq!(protected.covers(&path.parse().unwrap()), is_covered, "{path}");
        }
    }

    #[test]
    fn a_pattern_that_would_protect_nothing_is_refused() {
        for bad in ["", "/", "!migrations", "../x", "a//b", "a/./b", "[z", &"x".repeat(300)] {
            assert!(Protected::new(vec![bad.into()]).is_err(), "{bad:?}");
        }
        assert!(Protected::new(vec!["x".into(); 201]).is_err());
    }
}
