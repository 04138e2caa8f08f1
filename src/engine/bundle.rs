//! A run in one file: what was asked for, its journal with everything that was said, and the tree it began on, so that
//! it can be gone through again offline.
//!
//! A ZIP archive: `manifest.json`, `journal.jsonl` with one [`Step`] a line, and the files of the tree below `tree/`.
//! Reading one believes nothing of it: sizes, counts and paths are bounded, and the tree has to have the name that the
//! manifest gives it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::agent::{Model as _, Speech};
use crate::checkout::Checkout;
use crate::domain::id::{CommitSha, RepoPath};
use crate::domain::memory::Memory;
use crate::domain::mode::Mode;
use crate::domain::patch::FileMode;
use crate::domain::run::{Run, Step};
use crate::git;
use crate::openai::OpenAi;

use super::desk::Desk;

/// The version of the format.
const VERSION: u32 = 1;
const MANIFEST: &str = "manifest.json";
const JOURNAL: &str = "journal.jsonl";
const TREE: &str = "tree/";
/// The bounds of what is written and read, in bytes and entries.
const MAX_TREE: u64 = 256 << 20;
const MAX_FILES: usize = 100_000;
const MAX_JOURNAL: u64 = 256 << 20;
const MAX_LINE: u64 = 64 << 20;
const MAX_MANIFEST: u64 = 64 << 20;

/// What a run began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    /// The version of greenlight that wrote it.
    pub greenlight: String,
    pub mode: Mode,
    pub head: CommitSha,
    /// git's name of the tree below `tree/`.
    pub tree: String,
    /// The model's name; none for the built-in engine.
    pub model: Option<String>,
    /// How it acts, and how much it can be told, in tokens.
    pub speech: Speech,
    pub context: u64,
    /// `greenlight.toml` in full, as it was in force.
    pub config: String,
    /// The test command, as a person would type it.
    pub command: String,
    /// The lines that the pull request changed, by file.
    pub changed: std::collections::BTreeMap<RepoPath, Vec<std::ops::RangeInclusive<u32>>>,
    /// git's name of the tree that was proposed, where one was.
    pub proposed_tree: Option<String>,
    /// What the repository had taught about this failure.
    #[serde(default)]
    pub memory: Memory,
    /// Whether nobody was there to be asked for what the model may not do by itself.
    #[serde(default)]
    pub asks_nobody: bool,
}

impl Manifest {
    /// The version that this program writes.
    pub fn of_this_version() -> (u32, String) {
        (VERSION, env!("CARGO_PKG_VERSION").into())
    }
}

/// What a run began with, and what it came to so far.
///
/// # Errors
/// When a file of the tree cannot be read.
pub async fn manifest(
    run: &Run,
    desk: &Desk,
    model: Option<&(OpenAi, String)>,
    memory: &Memory,
) -> Result<Manifest, git::Error> {
    let (version, greenlight) = Manifest::of_this_version();
    let mut pristine = desk.checkout.clone();
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
        // It was asked before, and remembers.
        Some((model, _)) => (model.speech(), model.context()),
        None => (Speech::default(), crate::agent::DEFAULT_CONTEXT),
    };
    Ok(Manifest {
        version,
        greenlight,
        mode: run.started.mode.clone(),
        head: run.started.head.clone(),
        tree,
        model: model.map(|(_, name)| name.clone()),
        speech,
        context,
        config: desk.config.to_string(),
        command: run
            .reproduced
            .as_ref()
            .map(|(before, _)| before.command.clone())
            .unwrap_or_default(),
        changed: desk.changed.clone(),
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
    #[error("it is not a bundle of greenlight: {0}")]
    Foreign(String),
    #[error("it is larger than {0} MiB")]
    TooLarge(u64),
    #[error("the tree in it is {actual}, and the run began on {expected}: it was changed")]
    OtherTree { expected: String, actual: String },
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Checkout(#[from] crate::checkout::Error),
}

impl From<zip::result::ZipError> for Error {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Foreign(error.to_string())
    }
}

/// Writes a bundle beside its place and moves it there, so that what is there is whole.
///
/// # Errors
/// When the disk is full, or the tree too large to be kept.
pub fn write(file: &Path, manifest: &Manifest, steps: &[Step], tree: &Checkout) -> Result<(), Error> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut place = tempfile::NamedTempFile::new_in(folder)?;
    let mut writer = ZipWriter::new(place.as_file_mut());
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    writer.start_file(MANIFEST, options)?;
    serde_json::to_writer_pretty(&mut writer, manifest).map_err(io::Error::from)?;
    writer.start_file(JOURNAL, options)?;
    for step in steps {
        serde_json::to_writer(&mut writer, step).map_err(io::Error::from)?;
        writer.write_all(b"\n")?;
    }
    let mut left = MAX_TREE;
    let mut pristine = tree.clone();
    pristine.reset();
    for path in pristine.paths() {
        let name = format!("{TREE}{path}");
        if let Some(blob) = pristine.read_original(path) {
            spend(&mut left, blob.bytes.len() as u64)?;
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
            spend(&mut left, source.metadata()?.len())?;
            writer.start_file(name, options)?;
            io::copy(&mut source, &mut writer)?;
        }
    }
    writer.finish()?;
    place.persist(file).map_err(|error| error.error)?;
    Ok(())
}

fn spend(left: &mut u64, bytes: u64) -> Result<(), Error> {
    *left = left.checked_sub(bytes).ok_or(Error::TooLarge(MAX_TREE >> 20))?;
    Ok(())
}

/// Reads a bundle, and lays its tree out in an empty directory.
///
/// # Errors
/// When it is none, is too large, or its tree is not the one that the run began on.
pub fn read(file: &Path, into: &Path) -> Result<(Manifest, Vec<Step>, Checkout), Error> {
    let mut archive = ZipArchive::new(BufReader::new(File::open(file)?))?;
    if archive.len() > MAX_FILES {
        return Err(Error::Foreign(format!("more than {MAX_FILES} entries")));
    }
    let manifest: Manifest = serde_json::from_reader(archive.by_name(MANIFEST)?.take(MAX_MANIFEST))
        .map_err(|error| Error::Foreign(error.to_string()))?;
    if manifest.version != VERSION {
        let wanted = format!("version {}, and this program reads version {VERSION}", manifest.version);
        return Err(Error::Foreign(wanted));
    }
    let mut lines = BufReader::new(archive.by_name(JOURNAL)?.take(MAX_JOURNAL));
    let mut steps = Vec::new();
    loop {
        let mut line = String::new();
        if lines.by_ref().take(MAX_LINE).read_line(&mut line)? == 0 {
            break;
        }
        steps.push(serde_json::from_str(&line).map_err(|error| Error::Foreign(error.to_string()))?);
    }
    drop(lines);
    lay_out(&mut archive, into)?;
    let tree = Checkout::exported(into, &[])?;
    let actual = git::tree_name(&tree)?;
    if actual != manifest.tree {
        let expected = manifest.tree;
        return Err(Error::OtherTree { expected, actual });
    }
    Ok((manifest, steps, tree))
}

/// Writes the files first and the links last, so that nothing is ever written through a link.
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
        let is_link = entry.is_symlink();
        let mut bytes = Vec::new();
        entry.by_ref().take(left + 1).read_to_end(&mut bytes)?;
        spend(&mut left, bytes.len() as u64)?;
        if is_link {
            links.push((path, bytes));
            continue;
        }
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&target, bytes)?;
        if entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0) {
            std::fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
    }
    let mut laid = BTreeSet::new();
    for (path, bytes) in links {
        // A link below a link would be made wherever that one leads.
        let mut parents = Path::new(path.as_str()).ancestors();
        if parents.any(|parent| laid.contains(parent)) {
            return Err(Error::Foreign("a path that leads through a link".into()));
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn manifest(tree: &Checkout) -> Manifest {
        let (version, greenlight) = Manifest::of_this_version();
        Manifest {
            version,
            greenlight,
            mode: Mode::Debug,
            head: "a".repeat(40).parse().unwrap(),
            tree: git::tree_name(tree).unwrap(),
            model: None,
            speech: Speech::Tools,
            context: 64_000,
            config: String::new(),
            command: "pytest".into(),
            changed: BTreeMap::from([("src/a.py".parse().unwrap(), vec![1..=3])]),
            proposed_tree: None,
            memory: Memory::default(),
            asks_nobody: false,
        }
    }

    fn tree(root: &Path) -> Checkout {
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.py"), "a = 1\n").unwrap();
        std::fs::write(root.join("run.sh"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(root.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("src/a.py", root.join("link")).unwrap();
        Checkout::exported(root, &[]).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let mut tree = tree(&place.path().join("tree"));
        let manifest = manifest(&tree);
        // Edits are told by the journal, not by the tree.
        tree.edit_text("src/a.py".parse().unwrap(), "a = 2\n");
        let steps = vec![Step::Announced, Step::Said(serde_json::json!({ "note": "x" }))];
        let file = place.path().join("run.zip");
        write(&file, &manifest, &steps, &tree).unwrap();
        let (read_manifest, read_steps, read_tree) = read(&file, &place.path().join("again")).unwrap();
        assert_eq!((read_manifest, read_steps), (manifest, steps));
        assert_eq!(read_tree.read_text("src/a.py").as_deref(), Some("a = 1\n"));
        assert_eq!(read_tree.paths().len(), 3);
    }

    #[test]
    fn a_changed_tree_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let tree = tree(&place.path().join("tree"));
        let other = Manifest {
            tree: "0".repeat(40),
            ..manifest(&tree)
        };
        let file = place.path().join("run.zip");
        write(&file, &other, &[], &tree).unwrap();
        let refused = read(&file, &place.path().join("again")).unwrap_err();
        assert!(matches!(refused, Error::OtherTree { .. }), "{refused}");
    }

    #[test]
    fn a_path_out_of_the_tree_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let tree = tree(&place.path().join("tree"));
        for name in ["tree/../../evil", "tree//etc/evil", "tree/.git/config"] {
            let file = place.path().join("run.zip");
            let mut writer = ZipWriter::new(File::create(&file).unwrap());
            let options = SimpleFileOptions::default();
            writer.start_file(MANIFEST, options).unwrap();
            serde_json::to_writer(&mut writer, &manifest(&tree)).unwrap();
            writer.start_file(JOURNAL, options).unwrap();
            writer.start_file(name, options).unwrap();
            writer.write_all(b"x").unwrap();
            writer.finish().unwrap();
            assert!(read(&file, &place.path().join("again")).is_err(), "{name}");
            assert!(!place.path().join("evil").exists());
        }
        // Whichever comes first: what is below a link is written nowhere.
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let file = place.path().join("run.zip");
        let mut writer = ZipWriter::new(File::create(&file).unwrap());
        let options = SimpleFileOptions::default();
        writer.start_file(MANIFEST, options).unwrap();
        serde_json::to_writer(&mut writer, &manifest(&tree)).unwrap();
        writer.start_file(JOURNAL, options).unwrap();
        writer
            .add_symlink("tree/a", outside.to_str().unwrap(), options)
            .unwrap();
        writer.add_symlink("tree/a/evil", "/etc/passwd", options).unwrap();
        writer.add_symlink("tree/a/deep/evil", "x", options).unwrap();
        writer.finish().unwrap();
        assert!(read(&file, &place.path().join("linked")).is_err());
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        std::fs::write(place.path().join("no.zip"), "no").unwrap();
        assert!(matches!(
            read(&place.path().join("no.zip"), place.path()),
            Err(Error::Foreign(_))
        ));
    }
}
