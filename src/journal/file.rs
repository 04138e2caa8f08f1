//! The steps of a run on a checkout, in a file on this machine. Only one process uses it at a time, and its steps
//! survive a crash.
//!
//! The first line contains the format and identifies the checkout. Every other line is a step.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::format::{self, FORMAT, Newer, Unread};
use super::{Error, activity_log, ended};
use crate::domain::run::{Run, Started, Step};
use crate::private;

/// A larger file is not resumed, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// The journal of one run on a checkout.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    /// Locked while it is open. The lock ends with the process, even if that is killed.
    file: Mutex<File>,
}

/// The result of opening a file.
#[derive(Debug)]
pub enum Opened {
    /// With the run in the file, if it can be resumed: it is about this checkout, and not over.
    Mine(RunFile, Option<Box<Run>>),
    /// Another process works on it.
    InUse,
    /// A newer version of greenlight wrote it. It is left alone.
    Newer(Newer),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Identifies the content of the checkout and the request.
    checkout: String,
    /// The folder of the checkout, to show in lists. Earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

impl RunFile {
    /// Opens the file for this process alone.
    ///
    /// # Errors
    /// When the file cannot be opened or read.
    pub fn open(path: &Path, checkout: &str) -> io::Result<Opened> {
        private::folder(path.parent().unwrap_or(Path::new(".")))?;
        let mut file = private::file().read(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Opened::InUse),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut text = String::new();
        if file.metadata()?.len() <= MAX_FILE && file.read_to_string(&mut text).is_err() {
            text.clear();
        }
        // The process was killed while it wrote a line without an end.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        let run = match interrupted(&text, checkout) {
            Ok(run) => run,
            Err(newer) => return Ok(Opened::Newer(newer)),
        };
        if run.is_some() {
            file.set_len(text.len() as u64)?;
            file.seek(SeekFrom::End(0))?;
        }
        let journal = Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        };
        Ok(Opened::Mine(journal, run.map(Box::new)))
    }

    /// Begins a run, replacing the content of the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&self, started: Started, (checkout, folder): (&str, &Path)) -> Result<Run, Error> {
        let header = Header {
            format: FORMAT,
            checkout: checkout.into(),
            folder: folder.to_str().map(PathBuf::from),
        };
        let text = format::line(&header)? + &format::line(&Step::Started(Box::new(started.clone())))?;
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.sync_data()
        };
        self.with(write)?;
        Ok(Run::start(started))
    }

    /// Appends a step, and applies it to the run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&self, run: &mut Run, step: Step) -> Result<(), Error> {
        let line = format::line(&step)?;
        // Transcript and search steps come by the hundred, and losing one costs little, so they are not synced to
        // disk.
        let is_worth_waiting = !matches!(step, Step::Said(_) | Step::Searched(_) | Step::Spent(_));
        self.with(|file| {
            file.write_all(line.as_bytes())?;
            if is_worth_waiting { file.sync_data() } else { Ok(()) }
        })?;
        activity_log::tell(run, &step);
        run.take(step);
        Ok(())
    }

    /// Every step so far.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn steps(&self) -> Result<Vec<Step>, Error> {
        let mut text = String::new();
        self.with(|file| {
            file.seek(SeekFrom::Start(0))?;
            file.read_to_string(&mut text)?;
            Ok(())
        })?;
        let steps = format::steps(&text).map(serde_json::from_str);
        steps
            .collect::<Result<_, _>>()
            .map_err(|error| Error::Broken(error.to_string()))
    }

    /// Moves the file of a run that is over to the folder of such runs, so that it is listed but not resumed. If that
    /// fails, removes it.
    ///
    /// # Errors
    /// When it can be neither moved nor removed.
    pub fn end(self, run: &Run, ended: &Path) -> io::Result<()> {
        ended::keep(&self.path, (ended, run.id())).or_else(|_| std::fs::remove_file(&self.path))
    }

    fn with<T>(&self, act: impl FnOnce(&mut File) -> io::Result<T>) -> Result<T, Error> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut file).map_err(|error| Error::Broken(format!("{}: {error}", self.path.display())))
    }
}

/// The folder of the checkout that the steps in `text` are about, if its first line names it.
pub fn folder_of(text: &str) -> Option<PathBuf> {
    serde_json::from_str::<Header>(text.lines().next()?).ok()?.folder
}

/// The run in a file, if it can be resumed.
fn interrupted(text: &str, checkout: &str) -> Result<Option<Run>, Newer> {
    let header = text.lines().next().map(serde_json::from_str::<Header>);
    let run = match format::fold(text) {
        Ok(run) => run,
        Err(Unread::Newer(newer)) => return Err(newer),
        Err(Unread::NoStart) => return Ok(None),
    };
    let is_of_checkout = header.is_some_and(|header| header.is_ok_and(|header| header.checkout == checkout));
    let can_be_resumed = is_of_checkout && run.end.is_none() && run.unreadable.is_none();
    Ok(can_be_resumed.then_some(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::CommitSha;
    use crate::domain::mode::Mode;
    use crate::domain::run::{Consent, End, Origin, Subject};

    fn started() -> Started {
        Started {
            run: crate::domain::id::RunId("local-1".into()),
            subject: Subject::Checkout,
            installation: None,
            head: CommitSha::none(),
            base: CommitSha::none(),
            base_branch: None,
            origin: Origin::CommandLine,
            consent: Consent::CommandLine,
            asks_first: false,
            mode: Mode::Debug,
            asks_about_tests: false,
            asks_nobody: false,
            approvers: 1,
            gate_seconds: 60,
            writes_as: None,
            at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    fn open(path: &Path, checkout: &str) -> (RunFile, Option<Box<Run>>) {
        match RunFile::open(path, checkout).unwrap() {
            Opened::Mine(journal, run) => (journal, run),
            other => panic!("{other:?}"),
        }
    }

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.run.jsonl");
        (folder, path)
    }

    #[test]
    fn a_run_is_resumed_after_a_kill_in_the_middle_of_a_line() {
        let (_folder, path) = file();
        let (journal, nothing) = open(&path, "a");
        assert!(nothing.is_none());
        let mut run = journal.begin(started(), ("a", Path::new("/src/a"))).unwrap();
        journal
            .append(&mut run, Step::Said(serde_json::json!({ "note": "x" })))
            .unwrap();
        assert!(matches!(RunFile::open(&path, "a").unwrap(), Opened::InUse));
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"said\":{\"no"].concat()).unwrap();
        let (journal, resumed) = open(&path, "a");
        let mut resumed = resumed.unwrap();
        assert_eq!((resumed.said.len(), resumed.length), (1, 2));
        journal.append(&mut resumed, Step::NeedsExecution).unwrap();
        assert_eq!(journal.steps().unwrap().len(), 3);
        drop(journal);
        assert_eq!(open(&path, "a").1.unwrap().length, 3);
    }

    #[test]
    fn another_checkout_and_a_run_that_is_over_are_not_resumed() {
        let (_folder, path) = file();
        let (journal, _) = open(&path, "a");
        let mut run = journal.begin(started(), ("a", Path::new("/src/a"))).unwrap();
        drop(journal);
        assert!(open(&path, "b").1.is_none());
        let (journal, resumed) = open(&path, "a");
        assert_eq!(resumed.unwrap().started.subject, Subject::Checkout);
        journal.append(&mut run, Step::Ended(End::Written)).unwrap();
        drop(journal);
        assert!(open(&path, "a").1.is_none());
        let newer = format!("{{\"format\":{},\"checkout\":\"a\"}}\n{{\"later\":1}}\n", FORMAT + 1);
        std::fs::write(&path, newer).unwrap();
        assert!(matches!(RunFile::open(&path, "a").unwrap(), Opened::Newer(_)));
    }
}
