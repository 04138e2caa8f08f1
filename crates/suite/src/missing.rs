//! What a red run lacks: packages of others that are not installed, as opposed to modules of the project itself.
//!
//! A message names what is missing, and the tree says whose it is. A module that the project has, or whose name is
//! like one of its modules, is a bug to fix, and so is a package that the project ought to list but does not. Nothing
//! here makes a run green: what lacks a package is not judged.

mod manifests;
mod plugins;

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use greenlight_readers::{Missing, PackageKind, missing};
use greenlight_tree::checkout::Checkout;
use manifests::{MIN_NAME, kind_of, lists, lists_like, manifests};
use plugins::{is_known, plugins};

use crate::discover::go_module;

/// A name with at most this many different characters may be one of the project's, mistyped.
const MAX_TYPOS: usize = 2;

/// A package of others that a run lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPackage {
    /// As a person would name it.
    pub name: String,
    /// Whether the project lists it.
    pub is_declared: bool,
}

/// What a red run lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingPackages {
    /// The packages that stopped the command as a whole. Empty if anything else stopped it, too.
    pub of_command: Vec<MissingPackage>,
    /// The package that each of these failing tests lacks.
    pub of_tests: BTreeMap<String, MissingPackage>,
}

/// Finds out what a red run lacks.
pub fn missing_packages(checkout: &Checkout, run: &TestRun) -> MissingPackages {
    let project = Project::of(checkout);
    let mut found = MissingPackages::default();
    match run.outcome {
        Outcome::MissingModule if !run.failures.is_empty() => {
            let of_failure = |failure: &Failure| project.lacks(&failure.message);
            let all: Option<Vec<MissingPackage>> = run.failures.iter().map(of_failure).collect();
            found.of_command = all.unwrap_or_default();
        }
        Outcome::MissingModule => found.of_command.extend(project.lacks(&run.tail)),
        // Nothing ran, so nothing of the project can be wrong.
        Outcome::DidNotStart => {
            let package = missing(&run.tail).map(|missing| MissingPackage {
                is_declared: project.declares(&missing),
                name: package(&missing),
            });
            let plugins = || project.lacked_plugins(&run.tail);
            found.of_command = package.map_or_else(|| plugins().collect(), |package| vec![package]);
        }
        // A test may expect a module to be missing, so only packages that the project lists count.
        Outcome::Failed => {
            for failure in run.failures.iter().filter(|failure| !failure.name.is_empty()) {
                let cause = failure.cause();
                let lacked = project.lacks(&cause).filter(|lacked| lacked.is_declared);
                let lacked = lacked.or_else(|| project.lacked_plugins(&cause).find(|plugin| plugin.is_declared));
                found
                    .of_tests
                    .extend(lacked.map(|lacked| (failure.name.clone(), lacked)));
            }
        }
        _ => {}
    }
    found.of_command.sort_by(|a, b| a.name.cmp(&b.name));
    found.of_command.dedup();
    found
}

/// Whether two trees list different packages.
pub fn list_different_packages(one: &Checkout, other: &Checkout) -> bool {
    let texts = |checkout: &Checkout| -> BTreeMap<String, Option<String>> {
        let manifests = manifests(checkout).into_iter();
        manifests
            .map(|path| (path.to_owned(), checkout.read_text(path)))
            .collect()
    };
    texts(one) != texts(other)
}

/// The project, as far as it says whose a module is.
struct Project<'a> {
    checkout: &'a Checkout,
    manifests: Vec<&'a str>,
}

impl<'a> Project<'a> {
    fn of(checkout: &'a Checkout) -> Self {
        Self {
            checkout,
            manifests: manifests(checkout),
        }
    }

    /// The package of others that a text reports as missing.
    fn lacks(&self, text: &str) -> Option<MissingPackage> {
        let missing = missing(text)?;
        if self.owns(&missing, text) {
            return None;
        }
        let is_declared = self.declares(&missing);
        // Where packages are listed by the very names that code imports, one that is not listed is a mistake.
        let is_exact = matches!(
            missing.kind,
            PackageKind::JavaScript | PackageKind::Go | PackageKind::Rust | PackageKind::Java
        );
        (is_declared || !(is_exact || self.resembles_its_own(&missing))).then(|| MissingPackage {
            name: package(&missing),
            is_declared,
        })
    }

    /// The plugins of pytest that a message lacks: those that the project lists, and well-known ones.
    fn lacked_plugins(&self, message: &str) -> impl Iterator<Item = MissingPackage> {
        let packages = plugins(message).into_iter().map(|name| {
            let missing = Missing {
                name,
                kind: PackageKind::Python,
            };
            MissingPackage {
                is_declared: self.declares(&missing),
                name: missing.name,
            }
        });
        packages.filter(|plugin| plugin.is_declared || is_known(&plugin.name))
    }

    fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.checkout.paths().into_iter().map(RepoPath::as_str)
    }

    /// Whether something missing is part of the project.
    fn owns(&self, missing: &Missing, text: &str) -> bool {
        let name = missing.name.as_str();
        let top = top(missing);
        match missing.kind {
            PackageKind::Python => name.starts_with('.') || self.modules(".py").contains(top),
            PackageKind::JavaScript => {
                let is_path = !name.contains("/node_modules/")
                    && !top.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@');
                let is_alias =
                    top == "@" || top.starts_with("@/") || name.starts_with("node:") || name.starts_with("file:");
                let is_folder = || {
                    self.paths()
                        .any(|path| path.split('/').next() == Some(top) && path != top)
                };
                is_path || is_alias || is_folder()
            }
            PackageKind::Go => {
                let is_of_library = !top.contains('.');
                is_of_library
                    || self
                        .texts("go.mod")
                        .any(|text| go_module(&text).is_some_and(|own| is_below(name, own)))
            }
            PackageKind::Ruby => {
                let file = format!("{}.rb", name.trim_end_matches(".rb"));
                name.starts_with(['/', '.']) || self.has_file(&file) || self.modules(".rb").contains(top)
            }
            PackageKind::Php => !name.split('/').any(|part| part == "vendor"),
            PackageKind::C => self.has_file(name) || text.contains(&format!("\"{name}\"")),
            PackageKind::Rust | PackageKind::Java => false,
        }
    }

    /// Whether the project lists a package.
    fn declares(&self, missing: &Missing) -> bool {
        let name = top(missing);
        let texts = self.manifests.iter().filter(|path| kind_of(path) == Some(missing.kind));
        let mut texts = texts.filter_map(|path| self.checkout.read_text(path));
        texts.any(|text| match missing.kind {
            PackageKind::Python => lists_like(&text, name),
            PackageKind::JavaScript => ["\"", "'", "node_modules/", "/", "\n", " "].iter().any(|before| {
                ["\"", "'", "@", ":"]
                    .iter()
                    .any(|after| text.contains(&format!("{before}{name}{after}")))
            }),
            PackageKind::Go => text.split_whitespace().any(|listed| is_below(&missing.name, listed)),
            PackageKind::Java => lists(&text, missing.name.rsplit(':').next().unwrap_or_default()),
            PackageKind::Php => true,
            PackageKind::Rust | PackageKind::Ruby | PackageKind::C => lists(&text, name),
        })
    }

    /// Whether a name is that of one of the project's own modules, but for a few characters.
    fn resembles_its_own(&self, missing: &Missing) -> bool {
        let name = top(missing);
        let ending = match missing.kind {
            PackageKind::Python => ".py",
            PackageKind::Ruby => ".rb",
            _ => return false,
        };
        let is_near = |own: &&str| strsim::damerau_levenshtein(own, name) <= MAX_TYPOS;
        name.len() >= MIN_NAME
            && self
                .modules(ending)
                .iter()
                .filter(|own| own.len() >= MIN_NAME)
                .any(is_near)
    }

    /// The names of files with this ending, and of all folders above them.
    fn modules(&self, ending: &str) -> BTreeSet<&'a str> {
        let files = self.paths().filter_map(|path| path.strip_suffix(ending));
        files.flat_map(|path| path.split('/')).collect()
    }

    fn has_file(&self, name: &str) -> bool {
        self.paths().any(|path| is_below_reversed(path, name))
    }

    fn texts(&self, name: &str) -> impl Iterator<Item = String> {
        let named = self
            .manifests
            .iter()
            .filter(move |path| path.rsplit('/').next() == Some(name));
        named.filter_map(|path| self.checkout.read_text(path))
    }
}

/// The package that a module or file belongs to, as a person would name it.
fn package(missing: &Missing) -> String {
    match missing.kind {
        PackageKind::JavaScript => top(missing).to_owned(),
        PackageKind::Php => "vendor/autoload.php".into(),
        _ => missing.name.clone(),
    }
}

/// The first part of a name, by which packages are listed.
fn top(missing: &Missing) -> &str {
    let name = missing.name.as_str();
    match missing.kind {
        PackageKind::Python => name.split('.').next().unwrap_or(name),
        PackageKind::JavaScript => {
            let name = name.rsplit_once("/node_modules/").map_or(name, |(_, inside)| inside);
            let parts = if name.starts_with('@') { 2 } else { 1 };
            let end = name.match_indices('/').nth(parts - 1).map_or(name.len(), |(at, _)| at);
            &name[..end]
        }
        PackageKind::Go | PackageKind::Ruby => name.split('/').next().unwrap_or(name),
        PackageKind::Rust | PackageKind::Php | PackageKind::Java | PackageKind::C => name,
    }
}

/// Whether a path is another one or below it.
fn is_below(path: &str, above: &str) -> bool {
    !above.is_empty()
        && path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path ends with another one.
fn is_below_reversed(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests;
