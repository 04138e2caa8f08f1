//! The packages that a project of JavaScript declares as its workspaces, and packages in folders that are no projects.
//!
//! <https://docs.npmjs.com/cli/using-npm/workspaces>, <https://pnpm.io/pnpm-workspace_yaml>

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;
use serde_json::Value;

use super::selection::is_aside;
use crate::workflow::texts_at;

/// Maximum size of a manifest, in bytes.
const MAX_MANIFEST: usize = 256 << 10;
/// Maximum number of patterns of a project, and length of one.
const MAX_PATTERNS: usize = 200;
const MAX_PATTERN: usize = 200;
/// Maximum depth of the folder of a project that declares workspaces.
const MAX_DEPTH: usize = 3;
/// The files that make a folder a project.
const MANIFESTS: [&str; 8] = [
    "package.json",
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "composer.json",
    "Gemfile",
    "go.mod",
    "pom.xml",
];

/// The folders of the workspaces of all projects, in order.
pub(super) fn members(checkout: &Checkout) -> Vec<RepoPath> {
    let mut found = BTreeSet::new();
    for above in declaring(checkout) {
        let Some(patterns) = Patterns::of(checkout, above) else {
            continue;
        };
        let inside = if above.is_empty() {
            String::new()
        } else {
            format!("{above}/")
        };
        let packages = folders_with(checkout, "package.json");
        let own = packages.filter(|folder| folder.strip_prefix(&inside).is_some_and(|below| patterns.names(below)));
        found.extend(own.filter_map(|folder| folder.parse::<RepoPath>().ok()));
    }
    found.into_iter().collect()
}

/// The folder of the project whose workspace a folder is; the inner `None` is the root.
pub(crate) fn owner(checkout: &Checkout, folder: &RepoPath) -> Option<Option<RepoPath>> {
    let mut path = folder.as_str();
    while !path.is_empty() {
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
        let below = folder.as_str().strip_prefix(path)?.trim_start_matches('/');
        if Patterns::of(checkout, path).is_some_and(|patterns| patterns.names(below)) {
            return Some(path.parse().ok());
        }
    }
    None
}

/// Packages side by side in a folder that is no project, as in `services/api`, of a repository that has no manifest for
/// all of them.
pub(super) fn side_by_side(checkout: &Checkout) -> Vec<RepoPath> {
    let mut found = BTreeSet::new();
    for manifest in MANIFESTS.into_iter().filter(|manifest| !checkout.contains(manifest)) {
        for folder in folders_with(checkout, manifest) {
            let Some((above, name)) = folder.split_once('/') else {
                continue;
            };
            let is_project = MANIFESTS
                .iter()
                .any(|other| checkout.contains(&format!("{above}/{other}")));
            if !name.contains('/') && !is_project && !folder.starts_with('.') && !is_aside(folder) {
                found.extend(folder.parse::<RepoPath>().ok());
            }
        }
    }
    found.into_iter().collect()
}

/// The folders that may declare workspaces; an empty text is the root.
fn declaring(checkout: &Checkout) -> BTreeSet<&str> {
    let files = ["package.json", "pnpm-workspace.yaml", "lerna.json"];
    let is_near = |folder: &&str| folder.is_empty() || folder.split('/').count() <= MAX_DEPTH;
    let folders = files.into_iter().flat_map(|file| folders_with(checkout, file));
    folders.filter(is_near).collect()
}

/// The folders with a file of this name, but not those of installed packages.
fn folders_with<'a>(checkout: &'a Checkout, file: &'a str) -> impl Iterator<Item = &'a str> {
    let paths = checkout.paths().into_iter().map(RepoPath::as_str);
    paths.filter_map(move |path| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_installed = folder.split('/').any(|part| part == "node_modules");
        (name == file && !is_installed).then_some(folder)
    })
}

/// What a project says about its workspaces.
struct Patterns {
    wanted: GlobSet,
    unwanted: GlobSet,
}

impl Patterns {
    /// `None` if the folder declares no workspaces.
    fn of(checkout: &Checkout, folder: &str) -> Option<Self> {
        let text = |name: &str| {
            let path = if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{folder}/{name}")
            };
            checkout.read_text(&path).filter(|text| text.len() <= MAX_MANIFEST)
        };
        let json = |name: &str| -> Option<Value> { serde_json::from_str(&text(name)?).ok() };
        let list = |value: &Value| -> Option<Vec<String>> {
            let all = value.as_array()?.iter();
            Some(all.filter_map(Value::as_str).map(String::from).collect())
        };
        let of_npm = || {
            let workspaces = json("package.json")?.get("workspaces")?.clone();
            list(&workspaces).or_else(|| list(workspaces.get("packages")?))
        };
        let of_pnpm = || {
            let yaml = text("pnpm-workspace.yaml")?;
            Some(texts_at(&yaml, "packages").unwrap_or_default())
        };
        let of_lerna = || list(json("lerna.json")?.get("packages")?);
        Some(Self::new(&of_pnpm().or_else(of_npm).or_else(of_lerna)?))
    }

    fn new(patterns: &[String]) -> Self {
        let (mut wanted, mut unwanted) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let short = patterns.iter().filter(|pattern| pattern.len() <= MAX_PATTERN);
        for pattern in short.take(MAX_PATTERNS) {
            let (set, pattern) = match pattern.strip_prefix('!') {
                Some(pattern) => (&mut unwanted, pattern),
                None => (&mut wanted, pattern.as_str()),
            };
            let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
            if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
                set.add(glob);
            }
        }
        let build = |set: GlobSetBuilder| set.build().unwrap_or_else(|_| GlobSet::empty());
        Self {
            wanted: build(wanted),
            unwanted: build(unwanted),
        }
    }

    fn names(&self, below: &str) -> bool {
        self.wanted.is_match(below) && !self.unwanted.is_match(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let (_tree, checkout) = tree(files);
        let found = members(&checkout);
        assert_eq!(found.iter().map(RepoPath::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn workspaces_are_found_as_each_tool_declares_them() {
        let packages = [
            ("packages/a/package.json", "{}"),
            ("packages/a/fixtures/x/package.json", "{}"),
            ("packages/old/package.json", "{}"),
            ("packages/node_modules/c/package.json", "{}"),
            ("tools/deep/b/package.json", "{}"),
        ];
        let with = |file: (&'static str, &'static str)| [&packages[..], &[file]].concat();
        let npm = r#"{"workspaces": ["packages/*", "./tools/**/b/", "!packages/old"]}"#;
        check(&with(("package.json", npm)), &["packages/a", "tools/deep/b"]);
        let yarn = r#"{"workspaces": {"packages": ["packages/a"]}}"#;
        check(&with(("package.json", yarn)), &["packages/a"]);
        let pnpm =
            "# all\npackages:\n  # own\n  - 'packages/*' # two\n  - \"!packages/old\"\ncatalog:\n  - tools/deep/b\n";
        check(&with(("pnpm-workspace.yaml", pnpm)), &["packages/a"]);
        let lerna = r#"{"packages": ["packages/{a,old}"]}"#;
        check(&with(("lerna.json", lerna)), &["packages/a", "packages/old"]);
        check(&with(("package.json", r#"{"workspaces": ["../*", "[", 3]}"#)), &[]);
        check(
            &[
                ("web/package.json", r#"{"workspaces": ["a/*"]}"#),
                ("web/a/b/package.json", "{}"),
            ],
            &["web/a/b"],
        );
    }

    #[test]
    fn a_workspace_belongs_to_the_project_that_declares_it() {
        let (_tree, checkout) = tree(&[
            ("package.json", r#"{"workspaces": ["packages/*"]}"#),
            ("packages/a/package.json", "{}"),
            ("other/a/package.json", "{}"),
        ]);
        let owner_of = |folder: &str| owner(&checkout, &folder.parse().unwrap());
        assert_eq!(owner_of("packages/a"), Some(None));
        assert_eq!(owner_of("other/a"), None);
    }

    #[test]
    fn packages_side_by_side_are_found_unless_something_stands_for_all_of_them() {
        let two = [
            ("services/api/pyproject.toml", ""),
            ("services/web/package.json", "{}"),
            ("services/web/fixtures/a/package.json", "{}"),
            ("examples/a/package.json", "{}"),
        ];
        let found = |more: &[(&str, &str)]| {
            let (_tree, checkout) = tree(&[&two[..], more].concat());
            let found = side_by_side(&checkout);
            found.iter().map(RepoPath::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), ["services/api", "services/web"]);
        assert_eq!(found(&[("package.json", "{}")]), ["services/api"]);
        assert_eq!(found(&[("services/package.json", "{}")]), [""; 0]);
    }
}
