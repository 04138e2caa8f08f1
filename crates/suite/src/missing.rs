//! What a red run lacks: packages of others that are not installed, as opposed to modules of the project itself.
//!
//! A message names what is missing, and the tree says whose it is. A module that the project has, or whose name is
//! like one of its modules, is a bug to fix, and so is a package that the project ought to list but does not. Nothing
//! here makes a run green: what lacks a package is not judged.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_readers::test_run::{Failure, Outcome, TestRun};
use greenlight_readers::{Language, Missing, missing};
use greenlight_tree::checkout::Checkout;

/// The most files that are searched for a name, and how much of each, in bytes.
const MAX_MANIFESTS: usize = 200;
const MAX_MANIFEST: usize = 8 << 20;
/// A name with at most this many different characters may be one of the project's, mistyped.
const MAX_TYPOS: usize = 2;
/// Shorter names are like too many others.
const MIN_NAME: usize = 4;

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
        Outcome::DidNotStart => found
            .of_command
            .extend(missing(&run.tail).map(|missing| MissingPackage {
                is_declared: project.declares(&missing),
                name: package(&missing),
            })),
        // A test may expect a module to be missing, so only packages that the project lists count.
        Outcome::Failed => {
            for failure in run.failures.iter().filter(|failure| !failure.name.is_empty()) {
                if let Some(lacked) = project.lacks(&failure.cause()).filter(|lacked| lacked.is_declared) {
                    found.of_tests.insert(failure.name.clone(), lacked);
                }
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
            missing.language,
            Language::JavaScript | Language::Go | Language::Rust | Language::Java
        );
        (is_declared || !(is_exact || self.resembles_its_own(&missing))).then(|| MissingPackage {
            name: package(&missing),
            is_declared,
        })
    }

    fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.checkout.paths().into_iter().map(|path| path.as_str())
    }

    /// Whether something missing is part of the project.
    fn owns(&self, missing: &Missing, text: &str) -> bool {
        let name = missing.name.as_str();
        let top = top(missing);
        match missing.language {
            Language::Python => name.starts_with('.') || self.modules(".py").contains(top),
            Language::JavaScript => {
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
            Language::Go => {
                let is_of_library = !top.contains('.');
                is_of_library
                    || self.texts("go.mod").any(|text| {
                        let own = text.lines().find_map(|line| line.trim().strip_prefix("module "));
                        own.is_some_and(|own| is_below(name, own.trim()))
                    })
            }
            Language::Ruby => {
                let file = format!("{}.rb", name.trim_end_matches(".rb"));
                name.starts_with(['/', '.']) || self.has_file(&file) || self.modules(".rb").contains(top)
            }
            Language::Php => !name.split('/').any(|part| part == "vendor"),
            Language::C => self.has_file(name) || text.contains(&format!("\"{name}\"")),
            Language::Rust | Language::Java => false,
        }
    }

    /// Whether the project lists a package.
    fn declares(&self, missing: &Missing) -> bool {
        let name = top(missing);
        let texts = self
            .manifests
            .iter()
            .filter(|path| language_of(path) == Some(missing.language));
        let mut texts = texts.filter_map(|path| self.checkout.read_text(path));
        texts.any(|text| match missing.language {
            Language::Python => lists_like(&text, name),
            Language::JavaScript => ["\"", "'", "node_modules/", "/", "\n", " "].iter().any(|before| {
                ["\"", "'", "@", ":"]
                    .iter()
                    .any(|after| text.contains(&format!("{before}{name}{after}")))
            }),
            Language::Go => text.split_whitespace().any(|listed| is_below(&missing.name, listed)),
            Language::Java => lists(&text, missing.name.rsplit(':').next().unwrap_or_default()),
            Language::Php => true,
            Language::Rust | Language::Ruby | Language::C => lists(&text, name),
        })
    }

    /// Whether a name is that of one of the project's own modules, but for a few characters.
    fn resembles_its_own(&self, missing: &Missing) -> bool {
        let name = top(missing);
        let ending = match missing.language {
            Language::Python => ".py",
            Language::Ruby => ".rb",
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
    match missing.language {
        Language::JavaScript => top(missing).to_owned(),
        Language::Php => "vendor/autoload.php".into(),
        _ => missing.name.clone(),
    }
}

/// The first part of a name, by which packages are listed.
fn top(missing: &Missing) -> &str {
    let name = missing.name.as_str();
    match missing.language {
        Language::Python => name.split('.').next().unwrap_or(name),
        Language::JavaScript => {
            let name = name.rsplit_once("/node_modules/").map_or(name, |(_, inside)| inside);
            let parts = if name.starts_with('@') { 2 } else { 1 };
            let end = name.match_indices('/').nth(parts - 1).map_or(name.len(), |(at, _)| at);
            &name[..end]
        }
        Language::Go | Language::Ruby => name.split('/').next().unwrap_or(name),
        Language::Rust | Language::Php | Language::Java | Language::C => name,
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

/// Whether a text has a name as a word.
fn lists(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && text.split(|c| !is_part(c)).any(|word| word == name)
}

/// Whether a text has a name as a word, or as the beginning or end of one: `yaml` is part of `PyYAML`.
fn lists_like(text: &str, name: &str) -> bool {
    let normal = |word: &str| word.to_lowercase().replace(['_', '.'], "-");
    let name = normal(name);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.split(|c| !is_part(c))
        .map(normal)
        .any(|word| word == name || (name.len() >= MIN_NAME && (word.ends_with(&name) || word.starts_with(&name))))
}

/// The files of a tree that list packages.
fn manifests(checkout: &Checkout) -> Vec<&str> {
    let paths = checkout.paths().into_iter().map(|path| path.as_str());
    let is_small = |path: &&str| {
        let size = std::fs::metadata(checkout.root().join(path)).map_or(0, |meta| meta.len());
        size <= MAX_MANIFEST as u64
    };
    paths
        .filter(|path| language_of(path).is_some())
        .filter(is_small)
        .take(MAX_MANIFESTS)
        .collect()
}

/// The language whose packages a file lists.
fn language_of(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if path.split('/').any(|part| part == "node_modules" || part == "vendor") {
        return None;
    }
    Some(match name {
        "pyproject.toml" | "setup.py" | "setup.cfg" | "tox.ini" | "Pipfile" | "Pipfile.lock" | "poetry.lock"
        | "uv.lock" | "pdm.lock" | "pylock.toml" | "environment.yml" | "environment.yaml" => Language::Python,
        "package.json"
        | "package-lock.json"
        | "npm-shrinkwrap.json"
        | "pnpm-lock.yaml"
        | "yarn.lock"
        | "bun.lock"
        | "deno.json"
        | "deno.jsonc"
        | "deno.lock" => Language::JavaScript,
        "Cargo.toml" | "Cargo.lock" => Language::Rust,
        "go.mod" => Language::Go,
        "Gemfile" | "Gemfile.lock" => Language::Ruby,
        "composer.json" | "composer.lock" => Language::Php,
        "pom.xml" | "build.gradle" | "build.gradle.kts" | "settings.gradle" | "settings.gradle.kts" => Language::Java,
        _ if path.contains("requirements") && (name.ends_with(".txt") || name.ends_with(".in")) => Language::Python,
        _ if name.ends_with(".gemspec") => Language::Ruby,
        _ if name.ends_with(".versions.toml") => Language::Java,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(root.path()).unwrap();
        (root, checkout)
    }

    fn run(outcome: Outcome, messages: &[&str]) -> TestRun {
        let failure = |(number, message): (usize, &&str)| Failure {
            name: format!("t{number}"),
            message: (*message).into(),
            ..Failure::default()
        };
        TestRun {
            failures: messages.iter().enumerate().map(failure).collect(),
            ..TestRun::without_result("t", outcome, messages.join("\n"))
        }
    }

    /// What stopped a command: the names, with `!` after one that the project does not list.
    fn lacks(files: &[(&str, &str)], messages: &[&str]) -> String {
        let (_root, checkout) = tree(files);
        let found = missing_packages(&checkout, &run(Outcome::MissingModule, messages));
        let name = |one: &MissingPackage| format!("{}{}", one.name, if one.is_declared { "" } else { "!" });
        found.of_command.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    const PYTHON: [(&str, &str); 3] = [
        (
            "pyproject.toml",
            "[project]\nname = 'shop'\ndependencies = ['PyYAML>=6', 'python-dateutil', 'humanize']",
        ),
        ("src/shop/totals.py", ""),
        ("tests/test_totals.py", ""),
    ];

    #[test]
    fn a_package_of_others_is_lacked_and_a_module_of_the_project_is_a_bug() {
        let python = |name: &str| {
            lacks(
                &PYTHON,
                &[&format!("E   ModuleNotFoundError: No module named '{name}'")],
            )
        };
        assert_eq!(python("humanize"), "humanize");
        assert_eq!(python("humanize.time"), "humanize.time");
        assert_eq!(python("yaml"), "yaml");
        assert_eq!(python("dateutil"), "dateutil");
        assert_eq!(python("PIL"), "PIL!");
        for own in ["shop.totls", "shop", "tests.helpers", "shopp", "totals"] {
            assert_eq!(python(own), "", "{own}");
        }
    }

    #[test]
    fn node_lists_packages_by_name() {
        let files = [
            (
                "package.json",
                r#"{"scripts": {"test": "vitest"}, "devDependencies": {"left-pad": "1", "@a/b": "2"}}"#,
            ),
            ("src/a.js", ""),
        ];
        let node = |name: &str| lacks(&files, &[&format!("Cannot find module '{name}' from 'src/a.js'")]);
        assert_eq!(node("left-pad"), "left-pad");
        assert_eq!(node("left-pad/deep/file.js"), "left-pad");
        assert_eq!(node("@a/b/c"), "@a/b");
        for own in [
            "./lft",
            "/workspace/src/b.js",
            "#inner",
            "@/components/x",
            "~/x",
            "$lib/x",
            "src/b",
            "lft-pad",
            "node:fs2",
        ] {
            assert_eq!(node(own), "", "{own}");
        }
    }

    #[test]
    fn go_and_ruby_and_php_are_told_apart_too() {
        let go = [
            ("go.mod", "module ex.org/own\n\nrequire github.com/google/uuid v1.6.0\n"),
            ("a.go", ""),
        ];
        let said = |name: &str| {
            lacks(
                &go,
                &[&format!(
                    "a.go:3:8: cannot find module providing package {name}: module lookup disabled"
                )],
            )
        };
        assert_eq!(said("github.com/google/uuid/x"), "github.com/google/uuid/x");
        assert_eq!(
            (said("ex.org/own/inner"), said("strngs"), said("ex.org/other")),
            Default::default()
        );
        let ruby = [("Gemfile", "gem 'rack'"), ("lib/shop.rb", ""), ("lib/shop/cart.rb", "")];
        let said = |name: &str| lacks(&ruby, &[&format!("cannot load such file -- {name} (LoadError)")]);
        assert_eq!(
            (said("rack/test"), said("nokogiri")),
            ("rack/test".into(), "nokogiri!".into())
        );
        assert_eq!((said("shop/crt"), said("./x"), said("/w/lib/x")), Default::default());
        let php = [("composer.json", "{}")];
        assert_eq!(
            lacks(&php, &["Failed opening required 'vendor/autoload.php'"]),
            "vendor/autoload.php"
        );
        assert_eq!(lacks(&php, &["Failed opening required 'src/a.php'"]), "");
    }

    #[test]
    fn anything_else_that_is_wrong_is_a_bug() {
        let missing = "ModuleNotFoundError: No module named 'humanize'";
        assert_eq!(lacks(&PYTHON, &[missing, missing]), "humanize");
        assert_eq!(lacks(&PYTHON, &[missing, "SyntaxError: expected ':'"]), "");
    }

    #[test]
    fn a_failing_test_lacks_only_what_the_project_lists() {
        let (_root, checkout) = tree(&PYTHON);
        let of_tests = |message: &str| missing_packages(&checkout, &run(Outcome::Failed, &[message])).of_tests;
        let found = of_tests("def test():\n>   import humanize\nE   ModuleNotFoundError: No module named 'humanize'");
        assert_eq!(found["t0"].name, "humanize");
        for message in [
            "E   ModuleNotFoundError: No module named 'invented'",
            "E   assert 1 == 2\nModuleNotFoundError: No module named 'humanize'",
        ] {
            assert!(of_tests(message).is_empty(), "{message}");
        }
    }

    #[test]
    fn a_command_that_did_not_start_lacks_what_it_names() {
        let (_root, checkout) = tree(&[]);
        let said = "npm error request to https://r.test/vitest failed: cache mode is 'only-if-cached' but";
        let found = missing_packages(&checkout, &run(Outcome::DidNotStart, &[said]));
        assert_eq!(found.of_command[0].name, "vitest");
        assert_eq!(
            missing_packages(&checkout, &run(Outcome::TimedOut, &[said])),
            MissingPackages::default()
        );
    }

    #[test]
    fn trees_that_list_other_packages_differ() {
        let (_one, one) = tree(&PYTHON);
        let (_same, same) = tree(&[PYTHON[0], ("src/other.py", "")]);
        let (_other, other) = tree(&[("pyproject.toml", "[project]\ndependencies = ['rich']")]);
        assert!(!list_different_packages(&one, &same));
        assert!(list_different_packages(&one, &other));
    }
}
