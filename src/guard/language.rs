//! The languages whose syntax is read here and in `measure`, and which of their files a runner collects.

use crate::domain::test_path::is_test_path;

/// A language whose syntax can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Rust,
    Go,
    Java,
}

impl Language {
    /// By the ending of the file's name.
    pub fn of(path: &str) -> Option<Self> {
        Some(match path.rsplit_once('.')?.1 {
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => return None,
        })
    }

    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }

    /// Whether the runners take tests from a file of this name. In Rust, modules decide, which stand in other files.
    pub(super) fn is_collected(self, path: &str) -> bool {
        let lower = path.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        match self {
            Self::Python => stem.starts_with("test") || stem.ends_with("_test") || stem.ends_with("_tests"),
            Self::Go => stem.ends_with("_test"),
            Self::Java => lower.contains("src/test") || stem.contains("test") || stem.ends_with("it"),
            Self::JavaScript | Self::TypeScript | Self::Tsx | Self::Rust => is_test_path(path) || self == Self::Rust,
        }
    }
}
