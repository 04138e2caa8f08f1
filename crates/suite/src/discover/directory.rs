//! A directory of a tree, with paths relative to it: what discovery looks into.

use greenlight_anchor::RepoPath;
use greenlight_tree::checkout::Checkout;

use crate::framework::Framework;
use crate::test_command::{Source, TestCommand};

/// One directory of a tree.
pub(crate) struct Directory<'a> {
    pub(super) checkout: &'a Checkout,
    pub(crate) directory: Option<RepoPath>,
}

/// Whether the tree has files below a path.
pub(super) fn is_directory(checkout: &Checkout, path: &RepoPath) -> bool {
    let inside = format!("{path}/");
    checkout.paths().iter().any(|path| path.as_str().starts_with(&inside))
}

impl Directory<'_> {
    pub(super) fn path(&self, name: &str) -> String {
        match &self.directory {
            Some(directory) => format!("{directory}/{name}"),
            None => name.to_string(),
        }
    }

    /// The directory of the whole tree.
    pub(crate) fn root(&self) -> Self {
        Self {
            directory: None,
            ..*self
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.checkout.read_text(&self.path(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.checkout.contains(&self.path(name))
    }

    /// Paths below this directory, relative to it.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let prefix = self
            .directory
            .as_ref()
            .map_or(String::new(), |directory| format!("{directory}/"));
        self.checkout
            .paths()
            .into_iter()
            .filter_map(move |path| path.as_str().strip_prefix(prefix.as_str()))
    }

    pub(crate) fn command(&self, argv: &[&str], framework: Framework, file: &str) -> Option<TestCommand> {
        let argv = argv.iter().map(ToString::to_string).collect();
        Some(TestCommand {
            directory: self.directory.clone(),
            ..TestCommand::new(argv, framework, Source::File(self.path(file).parse().ok()?))
        })
    }
}
