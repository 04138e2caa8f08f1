//! The files in which a project lists its packages, and whether they list one.

use greenlight_anchor::RepoPath;
use greenlight_readers::PackageKind;
use greenlight_tree::checkout::Checkout;

/// The most files that are searched for a name, and how much of each, in bytes.
const MAX_MANIFESTS: usize = 200;
const MAX_MANIFEST: u64 = 8 << 20;
/// Shorter names are like too many others.
pub(super) const MIN_NAME: usize = 4;

/// Whether a text has a name as a word.
pub(super) fn lists(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && text.split(|c| !is_part(c)).any(|word| word == name)
}

/// Whether a text has a name as a word, or as the beginning or end of one: `yaml` is part of `PyYAML`.
pub(super) fn lists_like(text: &str, name: &str) -> bool {
    let normal = |word: &str| word.to_lowercase().replace(['_', '.'], "-");
    let name = normal(name);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.split(|c| !is_part(c))
        .map(normal)
        .any(|word| word == name || (name.len() >= MIN_NAME && (word.ends_with(&name) || word.starts_with(&name))))
}

/// The files of a tree that list packages.
pub(super) fn manifests(checkout: &Checkout) -> Vec<&str> {
    let paths = checkout.paths().into_iter().map(RepoPath::as_str);
    let is_small = |path: &&str| {
        let size = std::fs::metadata(checkout.root().join(path)).map_or(0, |meta| meta.len());
        size <= MAX_MANIFEST
    };
    paths
        .filter(|path| kind_of(path).is_some())
        .filter(is_small)
        .take(MAX_MANIFESTS)
        .collect()
}

/// The kind of packages that a file lists.
pub(super) fn kind_of(path: &str) -> Option<PackageKind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if path.split('/').any(|part| part == "node_modules" || part == "vendor") {
        return None;
    }
    Some(match name {
        "pyproject.toml" | "setup.py" | "setup.cfg" | "tox.ini" | "Pipfile" | "Pipfile.lock" | "poetry.lock"
        | "uv.lock" | "pdm.lock" | "pylock.toml" | "environment.yml" | "environment.yaml" => PackageKind::Python,
        "package.json"
        | "package-lock.json"
        | "npm-shrinkwrap.json"
        | "pnpm-lock.yaml"
        | "yarn.lock"
        | "bun.lock"
        | "deno.json"
        | "deno.jsonc"
        | "deno.lock" => PackageKind::JavaScript,
        "Cargo.toml" | "Cargo.lock" => PackageKind::Rust,
        "go.mod" => PackageKind::Go,
        "Gemfile" | "Gemfile.lock" => PackageKind::Ruby,
        "composer.json" | "composer.lock" => PackageKind::Php,
        "pom.xml" | "build.gradle" | "build.gradle.kts" | "settings.gradle" | "settings.gradle.kts" => {
            PackageKind::Java
        }
        _ if path.contains("requirements") && (name.ends_with(".txt") || name.ends_with(".in")) => PackageKind::Python,
        _ if name.ends_with(".gemspec") => PackageKind::Ruby,
        _ if name.ends_with(".versions.toml") => PackageKind::Java,
        _ => return None,
    })
}
