//! What an installation consists of: its steps, the files they see, and the project they serve.

use std::collections::{BTreeMap, BTreeSet};

use greenlight_anchor::RepoPath;
use greenlight_sandbox::Sandbox;
use greenlight_tree::checkout::Checkout;

use super::INSTALLED;
use super::node_headers::node_headers;
use crate::ci_install::CiInstall;
use crate::framework::Framework;
use crate::shell::quoted;

/// Where tools are installed that only an installation needs.
pub(super) const TOOLS: &str = "/installed/tmp/tools";

/// How the dependencies of one tree are installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The installing tools. Their registries are reachable and their variables are set.
    pub(super) tools: BTreeSet<&'static str>,
    pub(super) steps: Vec<Step>,
    pub(super) shown: VisibleFiles,
    /// Whether a failed installation is retried with the whole tree visible.
    pub(super) may_see_all: bool,
    /// The tree that contains Node's `node_modules` folders.
    pub(super) modules: Option<String>,
    /// Directories of programs that the tests need before this machine's own.
    pub(super) path: Vec<String>,
    /// What people should know if this plan is carried out.
    pub(super) notes: Vec<String>,
    /// What to do if it fails.
    pub(super) instead: Option<Box<Plan>>,
}

/// Which files the installation sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VisibleFiles {
    All,
    Only {
        files: BTreeSet<RepoPath>,
        /// Files that only need to exist, shown empty.
        empty: BTreeSet<RepoPath>,
    },
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) argv: Vec<String>,
    pub(super) phase: Phase,
    pub(super) place: StepDirectory,
    /// What to try in turn after a failure, each with a note to record if it succeeds.
    pub(super) otherwise: Vec<(Vec<String>, String)>,
    /// Whether a failure is only noted.
    pub(super) is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// With access to the registries.
    Online,
    /// With only the loopback interface.
    Offline,
}

/// Where a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepDirectory {
    Workspace(Option<RepoPath>),
    /// In the copy of the workspace inside the result.
    Installed(Option<RepoPath>),
}

impl Default for VisibleFiles {
    fn default() -> Self {
        Self::Only {
            files: BTreeSet::new(),
            empty: BTreeSet::new(),
        }
    }
}

impl Step {
    pub(super) fn new(phase: Phase, place: StepDirectory, argv: &[&str]) -> Self {
        Self {
            argv: owned(argv),
            phase,
            place,
            otherwise: Vec::new(),
            is_optional: false,
        }
    }

    pub(super) fn or(mut self, argv: Vec<String>, note: &str) -> Self {
        self.otherwise.push((argv, note.to_owned()));
        self
    }

    pub(super) fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }
}

pub(super) fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// The project as the installers see it.
pub(super) struct Project<'a> {
    pub(super) checkout: &'a Checkout,
    /// The directory in which the tests run.
    pub(super) directory: Option<RepoPath>,
    pub(super) framework: Framework,
    /// The command that runs them.
    pub(super) argv: &'a [String],
    /// What CI installs for them.
    pub(super) ci: &'a CiInstall,
    pub(super) present: &'a BTreeSet<String>,
    /// The version of this machine's Node, such as `20.11.1`.
    pub(super) node: Option<&'a str>,
}

impl Project<'_> {
    /// The path of a file in the project's directory.
    pub(super) fn path(&self, name: &str) -> Option<RepoPath> {
        let path = match &self.directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_owned(),
        };
        self.checkout.contains(&path).then(|| path.parse().ok())?
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.checkout.read_text(self.path(name)?.as_str())
    }

    /// Everything below the project's directory, relative to it.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let prefix = self
            .directory
            .as_ref()
            .map_or(String::new(), |directory| format!("{directory}/"));
        let paths = self.checkout.paths().into_iter();
        paths.filter_map(move |path| path.as_str().strip_prefix(prefix.as_str()))
    }

    /// Every file of the tree with one of these names.
    pub(super) fn named(&self, names: &[&str]) -> BTreeSet<RepoPath> {
        let is_named = |path: &RepoPath| {
            let parts: Vec<&str> = path.as_str().split('/').collect();
            parts.last().is_some_and(|name| names.contains(name)) && !parts.contains(&"node_modules")
        };
        self.checkout
            .paths()
            .into_iter()
            .filter(|path| is_named(path))
            .cloned()
            .collect()
    }
}

/// Tells packages not to download a browser from hosts that an installation cannot reach: that would fail, and what other
/// packages build after it would be missing.
const NO_BROWSERS: [(&str, &str); 5] = [
    ("CYPRESS_INSTALL_BINARY", "0"),
    ("ELECTRON_SKIP_BINARY_DOWNLOAD", "1"),
    ("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    ("PUPPETEER_SKIP_CHROMIUM_DOWNLOAD", "1"),
    ("PUPPETEER_SKIP_DOWNLOAD", "1"),
];

impl Plan {
    /// The same plan with more notes for people.
    pub(super) fn noting(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Its commands, as a person would type them.
    pub fn commands(&self) -> Vec<String> {
        let words = |step: &Step| step.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        self.steps.iter().map(words).collect()
    }

    /// The files that it sees. `None` means all of them.
    pub fn sees(&self) -> Option<Vec<&RepoPath>> {
        match &self.shown {
            VisibleFiles::All => None,
            VisibleFiles::Only { files, empty } => Some(files.iter().chain(empty).collect()),
        }
    }

    /// The plans to try in turn: this one, the same with all files visible, and what is done instead.
    pub(super) fn attempts(mut self) -> Vec<Self> {
        let instead = self
            .instead
            .take()
            .map(|instead| instead.attempts())
            .unwrap_or_default();
        let whole = (self.may_see_all && self.shown != VisibleFiles::All).then(|| Self {
            shown: VisibleFiles::All,
            ..self.clone()
        });
        [Some(self), whole].into_iter().flatten().chain(instead).collect()
    }

    /// What is done instead of this plan, or else the plan itself.
    fn fallback(&self) -> Self {
        match &self.instead {
            Some(instead) => Self::clone(instead),
            None => self.clone(),
        }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        let instead = (self.instead.is_some() || other.instead.is_some())
            .then(|| Box::new(self.fallback().and(other.fallback())));
        self.tools.extend(other.tools);
        self.steps.extend(other.steps);
        self.may_see_all |= other.may_see_all;
        self.modules = self.modules.or(other.modules);
        self.path.extend(other.path);
        self.notes.extend(other.notes);
        self.instead = instead;
        self.shown = match (self.shown, other.shown) {
            (
                VisibleFiles::Only { mut files, mut empty },
                VisibleFiles::Only {
                    files: more_files,
                    empty: more_empty,
                },
            ) => {
                files.extend(more_files);
                empty.extend(more_empty);
                VisibleFiles::Only { files, empty }
            }
            _ => VisibleFiles::All,
        };
        self
    }

    /// Variables with the directories that the tools use. Packages are kept in the result; temporary files go to a
    /// part of it that is removed at the end.
    pub(super) fn environment(&self, sandbox: &Sandbox) -> BTreeMap<String, String> {
        let uses = |tools: &[&str]| tools.iter().any(|tool| self.tools.contains(tool));
        let mut env: Vec<(&str, String)> = vec![("TMPDIR", format!("{INSTALLED}/tmp"))];
        let venv = uses(&["python3", "uv"]).then(|| format!("{INSTALLED}/venv/bin"));
        let own: Vec<String> = venv.into_iter().chain(self.path.iter().cloned()).collect();
        if !own.is_empty() {
            env.push(("PATH", format!("{}:{}", own.join(":"), sandbox.search_path())));
        }
        if uses(&["python3", "uv"]) {
            env.push(("VIRTUAL_ENV", format!("{INSTALLED}/venv")));
            env.push(("GREENLIGHT_GENERATED", format!("{INSTALLED}/generated")));
            env.push(("UV_PROJECT_ENVIRONMENT", format!("{INSTALLED}/venv")));
            env.push(("PIP_NO_CACHE_DIR", "1".into()));
            env.push(("UV_CACHE_DIR", format!("{INSTALLED}/tmp/uv")));
            env.push(("UV_PYTHON_DOWNLOADS", "never".into()));
        }
        if let Some(modules) = &self.modules {
            env.push(("GREENLIGHT_MODULES", modules.clone()));
            env.push(("npm_config_cache", format!("{INSTALLED}/tmp/npm")));
            env.push(("npm_config_store_dir", format!("{INSTALLED}/tmp/pnpm")));
            env.push(("YARN_CACHE_FOLDER", format!("{INSTALLED}/tmp/yarn")));
            env.push(("YARN_GLOBAL_FOLDER", format!("{INSTALLED}/tmp/yarn-global")));
            // The project's own Yarn is a program of the tree, and the packages in its layout only work with its
            // own loader.
            env.push(("YARN_IGNORE_PATH", "1".into()));
            env.push(("YARN_NODE_LINKER", "node-modules".into()));
            env.extend(NO_BROWSERS.map(|(name, value)| (name, value.to_owned())));
            let headers = node_headers(&self.path, sandbox.search_path());
            env.extend(headers.map(|folder| ("npm_config_nodedir", folder)));
        }
        if uses(&["cargo"]) {
            env.push(("CARGO_HOME", format!("{INSTALLED}/cargo")));
        }
        if uses(&["go"]) {
            env.push(("GOMODCACHE", format!("{INSTALLED}/go")));
            env.push(("GOFLAGS", "-modcacherw".into()));
        }
        if uses(&["mvn"]) {
            env.push(("MAVEN_OPTS", format!("-Dmaven.repo.local={INSTALLED}/maven")));
        }
        if uses(&["gradle"]) {
            env.push(("GRADLE_USER_HOME", format!("{INSTALLED}/gradle")));
            env.push(("GRADLE_RO_DEP_CACHE", format!("{INSTALLED}/gradle/caches")));
        }
        env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
