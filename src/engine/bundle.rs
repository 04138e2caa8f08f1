//! A run in one file: the request, its journal with the whole conversation, and the tree it began on. It can be
//! replayed offline.
//!
//! A bundle is a ZIP archive: `manifest.json`, `journal.jsonl` with one [`Step`] a line, and the files of the tree
//! below `tree/`. The reader trusts nothing in it: sizes, counts and paths are bounded, and the tree must match the
//! hash in the manifest.

mod output;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

pub use output::may_write;
use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use self::output::Output;
use super::worktree::Worktree;
use crate::agent::{Model as _, Speech};
use crate::checkout::Checkout;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::patch::FileMode;
use crate::domain::redact;
use crate::domain::run::{Run, Step};
use crate::openai::OpenAi;
use crate::{git, journal, private};

/// The version of the manifest and of the archive's layout.
const VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";
const JOURNAL: &str = "journal.jsonl";
const TREE: &str = "tree/";
/// The bounds for writing and reading, in bytes and entries.
const MAX_TREE: u64 = 256 << 20;
const MAX_FILES: usize = 100_000;
const MAX_JOURNAL: u64 = 64 << 20;
const MAX_LINE: u64 = 16 << 20;
const MAX_MANIFEST: u64 = 16 << 20;
/// Longer than any path a link can hold.
const MAX_LINK: u64 = 4096;
/// The bound on greenlight's version in an error message, in bytes.
const MAX_NAME: usize = 40;
/// A step takes far more memory than its line, so the number of steps is bounded, too.
pub const MAX_STEPS: usize = 20_000;

/// What a run began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    /// The format of the steps in the journal. Bundles from before this field existed have the first format.
    #[serde(default = "first")]
    pub journal: u32,
    /// The version of greenlight that wrote it.
    pub greenlight: String,
    pub mode: Mode,
    pub head: CommitSha,
    /// The git hash of the tree below `tree/`.
    pub tree: String,
    /// The model's name. `None` for the built-in engine.
    pub model: Option<String>,
    /// How the model calls tools, and the size of its context window in tokens.
    pub speech: Speech,
    pub context: u64,
    /// `greenlight.toml` in full, with the values that were in force.
    pub config: String,
    /// The test command, as a person would type it.
    pub command: String,
    /// The lines that the pull request changed, by file.
    pub changed: std::collections::BTreeMap<RepoPath, Vec<std::ops::RangeInclusive<u32>>>,
    /// The git hash of the proposed tree, if there is a proposal.
    pub proposed_tree: Option<String>,
    /// What the repository remembered about this failure.
    #[serde(default)]
    pub memory: Memory,
    /// Whether nobody could be asked for permission when the run was recorded.
    #[serde(default)]
    pub asks_nobody: bool,
}

fn first() -> u32 {
    journal::FIRST
}

/// The versions in a bundle. They are read before the rest, because a newer version may write the rest differently.
#[derive(Deserialize)]
struct Versions {
    version: u32,
    #[serde(default = "first")]
    journal: u32,
    #[serde(default)]
    greenlight: String,
}

impl Versions {
    /// # Errors
    /// When a newer version of greenlight wrote it.
    fn check(self) -> Result<(), Error> {
        if self.version > VERSION || self.journal > journal::FORMAT {
            return Err(Error::Newer(redact::bounded(
                &redact::visible(&self.greenlight),
                MAX_NAME,
            )));
        }
        Ok(())
    }
}

impl Manifest {
    /// The version that this program writes, and its own version.
    pub fn of_this_version() -> (u32, String) {
        (VERSION, env!("CARGO_PKG_VERSION").into())
    }
}

/// Describes how a run began, and its result so far.
///
/// # Errors
/// When a file of the tree cannot be read.
pub async fn manifest(
    run: &Run,
    worktree: &Worktree,
    model: Option<&(OpenAi, String)>,
    memory: &Memory,
) -> Result<Manifest, git::Error> {
    let (version, greenlight) = Manifest::of_this_version();
    let mut pristine = worktree.checkout.clone();
    pristine.reset();
    let tree = git::tree_name(&pristine)?;
    let proposed_tree = match &run.proposal {
        Some(proposal) => {
            pristine.apply(&proposal.patch);
            Some(git::tree_name(&pristine)?)
        }
        None => None,
    };
    let (speech, context) = match model {
        // The model already discovered this and caches it.
        Some((model, _)) => (model.speech(), model.context()),
        None => (Speech::default(), crate::agent::DEFAULT_CONTEXT),
    };
    Ok(Manifest {
        version,
        journal: journal::FORMAT,
        greenlight,
        mode: run.started.mode.clone(),
        head: run.started.head.clone(),
        tree,
        model: model.map(|(_, name)| name.clone()),
        speech,
        context,
        config: worktree.config.to_string(),
        command: run
            .reproduced
            .as_ref()
            .map(|(before, _)| before.command.clone())
            .unwrap_or_default(),
        changed: worktree.changed.clone(),
        proposed_tree,
        memory: run
            .reproduced
            .as_ref()
            .map(|(before, _)| memory.about(before))
            .unwrap_or_default(),
        asks_nobody: false,
    })
}

/// Why a bundle could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a greenlight bundle: {0}")]
    Foreign(String),
    #[error("a newer version of greenlight wrote it (version {0}): upgrade greenlight to read it")]
    Newer(String),
    #[error("{0} is larger than {1} MiB")]
    TooLarge(&'static str, u64),
    #[error("its journal has more than {MAX_STEPS} steps")]
    TooManySteps,
    #[error("its tree is {actual}, but the run began on {expected}: the bundle was changed")]
    OtherTree { expected: String, actual: String },
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Checkout(#[from] crate::checkout::Error),
}

impl From<zip::result::ZipError> for Error {
    fn from(error: zip::result::ZipError) -> Self {
        use zip::result::ZipError;
        Self::Foreign(match error {
            ZipError::Io(error) => return Self::Io(error),
            // The library speaks of parts of the format.
            ZipError::InvalidArchive(_) => {
                "it is not a whole ZIP file. `greenlight fix --record FILE` writes one".into()
            }
            ZipError::FileNotFound => "files are missing in it".into(),
            error => error.to_string(),
        })
    }
}

/// Writes a bundle to a temporary file beside `file` and moves it into place, so that `file` is never incomplete.
///
/// # Errors
/// When the disk is full, or the tree is too large.
pub fn write(file: &Path, manifest: &Manifest, steps: &[Step], tree: &Checkout) -> Result<(), Error> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    private::folder(folder)?;
    let mut place = tempfile::NamedTempFile::new_in(folder)?;
    let mut output = Output::new(place.as_file_mut());
    let mut writer = ZipWriter::new(&mut output);
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    writer.start_file(MANIFEST, options)?;
    serde_json::to_writer_pretty(&mut writer, manifest).map_err(io::Error::from)?;
    if steps.len() > MAX_STEPS {
        return Err(Error::TooManySteps);
    }
    writer.start_file(JOURNAL, options)?;
    let mut left = MAX_JOURNAL;
    for step in steps {
        let mut line = serde_json::to_vec(step).map_err(io::Error::from)?;
        line.push(b'\n');
        if line.len() as u64 > MAX_LINE {
            return Err(too_large("a step of the run", MAX_LINE));
        }
        spend(&mut left, line.len() as u64, ("the journal of the run", MAX_JOURNAL))?;
        writer.write_all(&line)?;
    }
    let mut left = MAX_TREE;
    let mut pristine = tree.clone();
    pristine.reset();
    for path in pristine.paths() {
        let name = format!("{TREE}{path}");
        if let Some(blob) = pristine.read_original(path) {
            spend(&mut left, blob.bytes.len() as u64, OF_TREE)?;
            match blob.mode {
                FileMode::Symlink => writer.add_symlink(name, String::from_utf8_lossy(&blob.bytes), options)?,
                FileMode::Executable => writer.start_file(name, options.unix_permissions(0o755))?,
                FileMode::Regular => writer.start_file(name, options)?,
            }
            if blob.mode != FileMode::Symlink {
                writer.write_all(&blob.bytes)?;
            }
        } else {
            let mut source = File::open(pristine.root().join(path.as_str()))?;
            spend(&mut left, source.metadata()?.len(), OF_TREE)?;
            writer.start_file(name, options)?;
            io::copy(&mut source, &mut writer)?;
        }
    }
    writer.finish()?;
    output.done()?;
    place.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// The name and the size of the tree's bound.
const OF_TREE: (&str, u64) = ("the tree in it", MAX_TREE);

fn spend(left: &mut u64, bytes: u64, (what, most): (&'static str, u64)) -> Result<(), Error> {
    *left = left.checked_sub(bytes).ok_or_else(|| too_large(what, most))?;
    Ok(())
}

fn too_large(what: &'static str, most: u64) -> Error {
    Error::TooLarge(what, most >> 20)
}

/// Reads a bundle, and lays out its tree in an empty directory.
///
/// # Errors
/// When it is not a bundle, is too large, or its tree is not the one the run began on.
pub fn read(file: &Path, into: &Path) -> Result<(Manifest, Vec<Step>, Checkout), Error> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(file)?))?;
    if archive.len() > MAX_FILES {
        return Err(Error::Foreign(format!("more than {MAX_FILES} entries")));
    }
    let mut text = Vec::new();
    archive
        .by_name(MANIFEST)?
        .take(MAX_MANIFEST + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > MAX_MANIFEST {
        return Err(too_large("the manifest in it", MAX_MANIFEST));
    }
    let foreign = |error: serde_json::Error| Error::Foreign(error.to_string());
    serde_json::from_slice::<Versions>(&text).map_err(foreign)?.check()?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(foreign)?;
    drop(text);
    let steps = steps(BufReader::new(archive.by_name(JOURNAL)?))?;
    lay_out(&mut archive, into)?;
    let tree = Checkout::exported(into, &[])?;
    let actual = git::tree_name(&tree)?;
    if actual != manifest.tree {
        let expected = manifest.tree;
        return Err(Error::OtherTree { expected, actual });
    }
    Ok((manifest, steps, tree))
}

/// Reads the journal. Compression may expand a thousandfold, so the size is checked while reading.
fn steps(mut journal: impl io::BufRead) -> Result<Vec<Step>, Error> {
    let (mut steps, mut left, mut line) = (Vec::new(), MAX_JOURNAL, Vec::new());
    loop {
        line.clear();
        let length = journal.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(steps);
        }
        if length > MAX_LINE {
            return Err(too_large("a step in its journal", MAX_LINE));
        }
        spend(&mut left, length, ("its journal", MAX_JOURNAL))?;
        if steps.len() == MAX_STEPS {
            return Err(Error::TooManySteps);
        }
        steps.push(serde_json::from_slice(&line).map_err(|error| Error::Foreign(error.to_string()))?);
    }
}

/// Writes the files first and the links last, so that nothing is written through a link.
fn lay_out(archive: &mut ZipArchive<BufReader<File>>, into: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(into)?;
    let mut links = Vec::new();
    let mut left = MAX_TREE;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let Some(path) = entry.name()?.strip_prefix(TREE).map(str::to_string) else {
            continue;
        };
        let path: RepoPath = path
            .parse()
            .map_err(|_| Error::Foreign("a path that leaves the tree".into()))?;
        let target = into.join(path.as_str());
        if entry.is_symlink() {
            let mut content = Vec::new();
            entry.by_ref().take(MAX_LINK + 1).read_to_end(&mut content)?;
            if content.len() as u64 > MAX_LINK {
                return Err(Error::Foreign("a link whose target is too long".into()));
            }
            links.push((path, content));
            continue;
        }
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let written = io::copy(&mut entry.by_ref().take(left + 1), &mut File::create(&target)?)?;
        spend(&mut left, written, OF_TREE)?;
        if entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0) {
            std::fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
    }
    let mut laid = BTreeSet::new();
    for (path, bytes) in links {
        // A link below another link would be created outside, where the other one points.
        let mut parents = Path::new(path.as_str()).ancestors();
        if parents.any(|parent| laid.contains(parent)) {
            return Err(Error::Foreign("a path through a link".into()));
        }
        let target = into.join(path.as_str());
        laid.insert(PathBuf::from(path.as_str()));
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let to: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes.as_slice());
        std::os::unix::fs::symlink(to, &target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
