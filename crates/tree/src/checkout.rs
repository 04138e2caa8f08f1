//! The tree being worked on: a directory that only greenlight writes to, plus edits in memory.
//!
//! Untrusted code never runs in that directory. It runs in a [`Workspace`], a copy made for it, and greenlight reads
//! and writes the files there without following links. So a patch is always computed from bytes that greenlight
//! itself wrote.

mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::{Blob, FileChange, FileMode, Patch};
pub use workspace::Workspace;

use crate::files;

/// Files larger than this are copied for the tests, but neither read nor edited.
pub const MAX_FILE_BYTES: u64 = 4 << 20;
/// The maximum number of files in a tree.
const MAX_FILES: usize = 200_000;
/// The maximum number of directory entries, including folders and special files.
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum length of the address of `origin`, in bytes.
const MAX_ADDRESS: usize = 500;

/// Why a tree could not be worked on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something in it could not be read, or its copy not be written.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It has more files than are looked at.
    #[error("the tree has more than {MAX_FILES} files; run greenlight on a subdirectory")]
    TooManyFiles,
}

/// A tree and the edits made to it so far.
#[derive(Debug, Clone)]
pub struct Checkout {
    root: PathBuf,
    files: Arc<BTreeMap<RepoPath, FileMode>>,
    /// Paths that git has, but the directory does not.
    left_out: Arc<BTreeSet<RepoPath>>,
    edits: BTreeMap<RepoPath, Option<Blob>>,
    /// The address of the remote `origin` in workspaces.
    origin: Option<Arc<str>>,
}

impl Checkout {
    /// Lists the files of a directory, except those that git would ignore.
    ///
    /// # Errors
    /// When the directory cannot be read, or has too many files.
    pub fn open(root: &Path) -> Result<Self, Error> {
        Self::take_stock(root, true)
    }

    /// Adds those of the tracked files in a directory that git has although it ignores them.
    #[must_use]
    pub fn with_tracked(mut self, tracked: &[RepoPath]) -> Self {
        let files = Arc::make_mut(&mut self.files);
        for path in tracked {
            let file = self.root.join(path.as_str());
            // Files behind a symbolic link are not part of the tree.
            let is_inside = file
                .parent()
                .is_some_and(|above| above.canonicalize().is_ok_and(|it| it == above));
            let found = fs::symlink_metadata(&file).ok().filter(|_| is_inside);
            if let Some(mode) = found.as_ref().and_then(mode) {
                files.insert(path.clone(), mode);
            }
        }
        self
    }

    /// Lists the files of a tree that greenlight wrote, ignored or not. The paths of what was left out, such as
    /// submodules, count as taken.
    ///
    /// # Errors
    /// When the directory cannot be read, or has too many files.
    pub fn exported(root: &Path, left_out: &[String]) -> Result<Self, Error> {
        let checkout = Self::take_stock(root, false)?;
        let left_out: BTreeSet<RepoPath> = left_out.iter().filter_map(|path| path.parse().ok()).collect();
        Ok(Self {
            left_out: Arc::new(left_out),
            ..checkout
        })
    }

    fn take_stock(root: &Path, respect_ignore_files: bool) -> Result<Self, Error> {
        let root = root.canonicalize().map_err(|source| Error::Io {
            path: root.display().to_string(),
            source,
        })?;
        let mut files = BTreeMap::new();
        let walk = ignore::WalkBuilder::new(&root)
            .standard_filters(false)
            .parents(respect_ignore_files)
            .git_ignore(respect_ignore_files)
            .git_exclude(respect_ignore_files)
            .require_git(false)
            .follow_links(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for (count, entry) in walk.enumerate() {
            if count >= MAX_ENTRIES {
                return Err(Error::TooManyFiles);
            }
            let Ok(entry) = entry else { continue };
            let Some(mode) = entry.metadata().ok().and_then(|meta| mode(&meta)) else {
                continue;
            };
            let relative = entry.path().strip_prefix(&root).ok().and_then(Path::to_str);
            if let Some(path) = relative.and_then(|path| path.parse::<RepoPath>().ok()) {
                files.insert(path, mode);
            }
            if files.len() > MAX_FILES {
                return Err(Error::TooManyFiles);
            }
        }
        Ok(Self {
            root,
            files: Arc::new(files),
            left_out: Arc::default(),
            edits: BTreeMap::new(),
            origin: None,
        })
    }

    /// Names where the project is hosted, which builds and tests ask git for, as in a job of its CI. An address that git
    /// could read as anything else, or that contains credentials, is left out.
    #[must_use]
    pub fn with_origin(mut self, address: &str) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:".contains(c);
        let is_http = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
        if is_http && address.len() <= MAX_ADDRESS && address.chars().all(is_plain) {
            self.origin = Some(address.into());
        }
        self
    }

    /// The directory; only greenlight writes to it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every file of the edited tree, in order.
    pub fn paths(&self) -> Vec<&RepoPath> {
        let kept = self
            .files
            .keys()
            .filter(|path| !matches!(self.edits.get(path), Some(None)));
        let added = self
            .edits
            .iter()
            .filter(|(path, blob)| blob.is_some() && !self.files.contains_key(path));
        let mut paths: Vec<_> = kept.chain(added.map(|(path, _)| path)).collect();
        paths.sort_unstable();
        paths
    }

    /// Whether the edited tree has a file at this path.
    pub fn contains(&self, path: &str) -> bool {
        path.parse().is_ok_and(|path: RepoPath| match self.edits.get(&path) {
            Some(edit) => edit.is_some(),
            None => self.files.contains_key(&path),
        })
    }

    /// The file with its edits. `None` if it does not exist or is larger than [`MAX_FILE_BYTES`].
    pub fn read(&self, path: &RepoPath) -> Option<Blob> {
        match self.edits.get(path) {
            Some(edit) => edit.clone(),
            None => self.read_original(path),
        }
    }

    /// How the file is stored, with its edits. `None` if it does not exist.
    pub fn mode(&self, path: &RepoPath) -> Option<FileMode> {
        match self.edits.get(path) {
            Some(edit) => edit.as_ref().map(|blob| blob.mode),
            None => self.files.get(path).copied(),
        }
    }

    /// The text of the file with its edits, if it is text.
    pub fn read_text(&self, path: &str) -> Option<String> {
        let blob = self.read(&path.parse().ok()?)?;
        (blob.mode != FileMode::Symlink).then(|| blob.text().map(ToString::to_string))?
    }

    /// The file as it was before any edit.
    pub fn read_original(&self, path: &RepoPath) -> Option<Blob> {
        let mode = *self.files.get(path)?;
        let bytes = if mode == FileMode::Symlink {
            fs::read_link(self.root.join(path.as_str()))
                .ok()?
                .as_os_str()
                .as_bytes()
                .to_vec()
        } else {
            files::read_result(&self.root, Path::new(path.as_str()), MAX_FILE_BYTES).ok()?
        };
        Some(Blob { mode, bytes })
    }

    /// The left-out entry, such as a submodule, that is at, above or below this path, so that no file can be there. A
    /// path with a file is never taken, because the name of a left-out entry may look like it.
    pub fn taken(&self, path: &RepoPath) -> Option<&RepoPath> {
        let is_at_or_below = |path: &RepoPath, other: &RepoPath| {
            let rest = path.as_str().strip_prefix(other.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_near = |other: &&RepoPath| is_at_or_below(path, other) || is_at_or_below(other, path);
        self.left_out
            .iter()
            .find(is_near)
            .filter(|_| !self.files.contains_key(path))
    }

    /// Replaces, adds (`Some`) or removes (`None`) a file, in memory. Does nothing if the path is
    /// [taken](Self::taken).
    pub fn edit(&mut self, path: RepoPath, content: Option<Blob>) {
        if self.taken(&path).is_none() {
            self.edits.insert(path, content);
        }
    }

    /// Replaces the text of a file and keeps its mode.
    pub fn edit_text(&mut self, path: RepoPath, text: impl Into<Vec<u8>>) {
        let mode = self.read(&path).map_or(FileMode::Regular, |blob| blob.mode);
        let bytes = text.into();
        self.edit(path, Some(Blob { mode, bytes }));
    }

    /// Discards every edit.
    pub fn reset(&mut self) {
        self.edits.clear();
    }

    /// Applies a patch on top of the edits.
    pub fn apply(&mut self, patch: &Patch) {
        for (path, change) in patch.files() {
            self.edit(path.clone(), change.after.clone());
        }
    }

    /// All edits as a patch of the original tree.
    pub fn patch(&self) -> Patch {
        Patch::new(self.edits.iter().map(|(path, after)| {
            let (before, after) = (self.read_original(path), after.clone());
            (path.clone(), FileChange { before, after })
        }))
    }

    /// The same as [`Checkout::workspace`], for async code that must not block on the disk.
    ///
    /// # Errors
    /// When the disk is full or not writable.
    pub async fn fresh_copy(&self, within: &Path) -> Result<Workspace, Error> {
        let (checkout, at) = (self.clone(), within.to_path_buf());
        let copied = tokio::task::spawn_blocking(move || checkout.workspace(&at)).await;
        copied.unwrap_or_else(|panicked| {
            Err(Error::Io {
                path: within.display().to_string(),
                source: io::Error::other(panicked),
            })
        })
    }

    /// Copies the edited tree into a new directory where untrusted code can run.
    ///
    /// # Errors
    /// When the disk is full or not writable.
    pub fn workspace(&self, within: &Path) -> Result<Workspace, Error> {
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |source| Error::Io { path, source }
        };
        fs::create_dir_all(within).map_err(at(within))?;
        let directory = tempfile::Builder::new()
            .prefix("ws-")
            .tempdir_in(within)
            .map_err(at(within))?
            .keep();
        let workspace = Workspace::new(directory);
        let mut links = Vec::new();
        for path in self.paths() {
            let target = workspace.path().join(path.as_str());
            let parent = target.parent().unwrap_or(workspace.path());
            fs::create_dir_all(parent).map_err(at(parent))?;
            let mode = self
                .edits
                .get(path)
                .and_then(Option::as_ref)
                .map_or_else(|| self.files.get(path).copied(), |blob| Some(blob.mode));
            match self.edits.get(path) {
                _ if mode == Some(FileMode::Symlink) => links.push((path, target)),
                Some(Some(blob)) => {
                    fs::write(&target, &blob.bytes).map_err(at(&target))?;
                    let bits = if blob.mode == FileMode::Executable {
                        0o755
                    } else {
                        0o644
                    };
                    fs::set_permissions(&target, fs::Permissions::from_mode(bits)).map_err(at(&target))?;
                }
                _ => {
                    fs::copy(self.root.join(path.as_str()), &target).map_err(at(&target))?;
                }
            }
        }
        // Links are created last, so that no file above was written through one.
        for (path, target) in links {
            if let Some(blob) = self.read(path) {
                let to = Path::new(std::ffi::OsStr::from_bytes(&blob.bytes));
                std::os::unix::fs::symlink(to, &target).map_err(at(&target))?;
            }
        }
        let repository = workspace.path().join(".git");
        empty_repository(&repository, self.origin.as_deref()).map_err(at(&repository))?;
        Ok(workspace)
    }
}

/// Creates a repository without commits. Tests and builds of projects ask git where the repository begins and what it is
/// configured to, and install hooks; without any repository, git refuses all of that.
fn empty_repository(directory: &Path, origin: Option<&str>) -> io::Result<()> {
    for name in ["objects", "refs/heads"] {
        fs::create_dir_all(directory.join(name))?;
    }
    fs::write(directory.join("HEAD"), "ref: refs/heads/main\n")?;
    let mut config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n".to_owned();
    if let Some(origin) = origin {
        config += &format!("[remote \"origin\"]\n\turl = {origin}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
    }
    fs::write(directory.join("config"), config)
}

/// The mode that git would record for a file. `None` if git has no mode for it.
fn mode(meta: &fs::Metadata) -> Option<FileMode> {
    match meta.file_type() {
        kind if kind.is_symlink() => Some(FileMode::Symlink),
        kind if kind.is_file() && meta.permissions().mode() & 0o111 != 0 => Some(FileMode::Executable),
        kind if kind.is_file() => Some(FileMode::Regular),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
