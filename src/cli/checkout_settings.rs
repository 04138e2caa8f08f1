//! The `greenlight.toml` that counts in a checkout: its own, or else that of the repository that it is a folder of.

use std::path::{Path, PathBuf};
use std::sync::Once;

use super::{Exit, terminal};
use crate::config::repository::{Protect, TestConfig};
use crate::config::{ConfigError, RepoConfig};
use crate::domain::id::RepoPath;
use crate::engine::worktree::CONFIG_FILE;
use crate::files::{self, FileError};
use crate::git::LocalRepository;

/// More than [`RepoConfig`] accepts, so that its own error is shown.
const MAX_BYTES: u64 = 1 << 20;

static TOLD: Once = Once::new();

/// A file, and where it is.
pub(super) struct SettingsFile {
    /// The folder that it is in.
    pub(super) folder: PathBuf,
    pub(super) text: String,
    /// Where the checkout is below that folder. `None` if it is the same one.
    below: Option<RepoPath>,
}

impl SettingsFile {
    /// The file that counts in a checkout, which is an absolute path. `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn of(root: &Path) -> Result<Option<Self>, Exit> {
        if let Some(text) = read(root, CONFIG_FILE.as_ref())? {
            return Ok(Some(Self {
                folder: root.to_path_buf(),
                text,
                below: None,
            }));
        }
        let Ok(repository) = LocalRepository::open(root) else {
            return Ok(None);
        };
        let top = repository.work_tree();
        let below = top.and_then(|top| Some((top, root.strip_prefix(top).ok()?.to_str()?.parse().ok()?)));
        let Some((top, below)) = below else { return Ok(None) };
        let text = read(top, CONFIG_FILE.as_ref())?;
        Ok(text.map(|text| Self {
            folder: top.to_path_buf(),
            text,
            below: Some(below),
        }))
    }

    /// What it means in the checkout.
    ///
    /// # Errors
    /// The first mistake.
    pub(super) fn config(&self) -> Result<RepoConfig, ConfigError> {
        let config = RepoConfig::parse(&self.text)?;
        match &self.below {
            Some(below) => Ok(in_folder(config, below)),
            None => Ok(config),
        }
    }

    /// The error for a file with a mistake.
    pub(super) fn mistaken(&self, error: &ConfigError) -> Exit {
        Exit::Usage(format!(
            "{error} (in {}); `greenlight config check` lists every mistake",
            self.folder.display()
        ))
    }

    /// Whether it is in the checkout itself.
    pub(super) fn is_own(&self) -> bool {
        self.below.is_none()
    }

    /// What of it does not count in the checkout, as the end of a sentence.
    pub(super) fn limits(&self) -> &'static str {
        match self.below {
            Some(_) => ", but without the commands of `[test]`, which are about its own folder",
            None => "",
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(CONFIG_FILE)
    }

    /// Says once whose settings count, if the checkout has none.
    pub(super) fn tell(&self) {
        if self.below.is_some() {
            TOLD.call_once(|| {
                let path = self.path();
                terminal::mention(&format!("note: {} counts here{}", path.display(), self.limits()));
            });
        }
    }
}

/// What settings mean for a folder of their repository that is worked on alone. The commands of `[test]` are about the
/// folder that the file is in.
fn in_folder(config: RepoConfig, folder: &RepoPath) -> RepoConfig {
    RepoConfig {
        test: TestConfig {
            command: None,
            install: None,
            ..config.test
        },
        protect: Protect {
            paths: config.protect.paths.in_folder(folder),
        },
        ..config
    }
}

/// A file of a folder. `None` if it is missing.
///
/// # Errors
/// When it cannot be read.
pub(super) fn read(folder: &Path, name: &Path) -> Result<Option<String>, Exit> {
    let shown = || folder.join(name).display().to_string();
    match files::read_result(folder, name, MAX_BYTES) {
        Ok(bytes) => match RepoConfig::decoded(&bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Exit::Usage(format!("{}: {}", shown(), error.problem))),
        },
        Err(FileError::Missing) => Ok(None),
        Err(FileError::NotOrdinary) => Err(Exit::Usage(format!(
            "{} is not an ordinary file; it may be a folder or a symbolic link, so replace it by a file",
            shown()
        ))),
        Err(error) => Err(Exit::Usage(format!("{}: {error}", shown()))),
    }
}
