//! The files that test runners of a language collect tests from.

use greenlight_syntax::Language;

use crate::domain::test_path::is_test_path;

/// Whether runners collect tests from a file with this name. In Rust, the module declarations in other files decide.
pub(super) fn is_collected(language: Language, path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match language {
        Language::Python => stem.starts_with("test") || stem.ends_with("_test") || stem.ends_with("_tests"),
        Language::Go => stem.ends_with("_test"),
        Language::Java => lower.contains("src/test") || stem.contains("test") || stem.ends_with("it"),
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            is_test_path(path) || language == Language::Rust
        }
    }
}
