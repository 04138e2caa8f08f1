//! How greenlight and a driver communicate: through two named pipes in a directory that is mounted into the sandbox.
//! Code in the session may forge everything that arrives, so it is bounded, and no more trusted than the code's
//! output.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use super::language::Language;

/// The longest value or error text of a cell, in bytes.
pub(super) const MAX_VALUE: usize = 64 << 10;

/// The longest line: base64, after a number and a word.
const MAX_LINE: usize = MAX_VALUE / 3 * 4 + 64;

/// How many bytes that are not an answer may arrive before one.
const MAX_STRANGE: usize = 1 << 20;

/// The number of the driver's initial message.
const HELLO: u64 = 0;

/// A driver's report on how a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    Error,
    Interrupted,
}

/// A driver's answer.
#[derive(Debug)]
pub(super) struct DriverReply {
    pub(super) status: Status,
    pub(super) value: String,
}

/// A driver's message while a cell runs.
#[derive(Debug)]
pub(super) enum Heard {
    /// The cell's code runs from now on, and can be interrupted.
    Begun,
    Answer(DriverReply),
    /// Code of the cell calls greenlight, and waits for the answer. The driver assigns the number; the text is
    /// untrusted, and at most [`MAX_VALUE`] bytes long.
    Call {
        number: u64,
        text: String,
    },
}

/// greenlight's ends of the two pipes.
pub(super) struct Channel {
    language: Language,
    /// Only greenlight can list the parent, so others cannot enter the directory without knowing its name.
    _parent: TempDir,
    directory: PathBuf,
    requests: pipe::Sender,
    responses: pipe::Receiver,
    /// Additional handles of both pipes, so that neither reports its end before the driver has opened it.
    held_open: Option<[File; 2]>,
    last: u64,
    unread: Vec<u8>,
}

impl Channel {
    /// Creates the directory with the driver and the pipes, readable for any user that the sandbox runs the command
    /// as.
    pub(super) fn create(language: Language) -> io::Result<Self> {
        let parent = tempfile::tempdir()?;
        fs::set_permissions(&parent, Permissions::from_mode(0o711))?;
        let directory = parent.path().join(ulid::Ulid::new().to_string());
        fs::create_dir(&directory)?;
        fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
        let (name, driver) = language.driver();
        fs::write(directory.join(name), driver)?;
        fs::set_permissions(directory.join(name), Permissions::from_mode(0o644))?;
        let [requests, responses] = pipes(&directory);
        let held_open = [make_pipe(&requests)?, make_pipe(&responses)?];
        Ok(Self {
            language,
            _parent: parent,
            requests: pipe::OpenOptions::new().open_sender(requests)?,
            responses: pipe::OpenOptions::new().open_receiver(responses)?,
            directory,
            held_open: Some(held_open),
            last: HELLO,
            unread: Vec::new(),
        })
    }

    /// The directory to mount.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Waits until the driver has opened both pipes; from then on nobody else can.
    ///
    /// # Errors
    /// When something other than the driver answers.
    pub(super) async fn greet(&mut self) -> io::Result<()> {
        if self.held_open.is_some() {
            self.heard(HELLO).await?;
            for pipe in pipes(&self.directory) {
                // Unconfined code may have removed it.
                let _ = fs::remove_file(pipe);
            }
            self.held_open = None;
        }
        Ok(())
    }

    /// The line that requests running a cell.
    pub(super) fn request(&mut self, code: &str) -> String {
        self.last += 1;
        format!("{} {}\n", self.last, self.language.encode(code))
    }

    /// The line that answers a call of the cell.
    pub(super) fn reply(number: u64, text: &str) -> String {
        format!("={number} {}\n", STANDARD.encode(text))
    }

    /// Sends one line, or nothing, and waits for a message about the last cell. If this is dropped midway, the channel
    /// can only be used to wait for the same message.
    ///
    /// # Errors
    /// When the driver has closed its side, or sends neither an answer nor a call.
    pub(super) async fn exchange(&mut self, line: &str) -> io::Result<Heard> {
        self.requests.write_all(line.as_bytes()).await?;
        self.heard(self.last).await
    }

    /// Waits for a message about the cell with this number; messages about others are late or forged.
    async fn heard(&mut self, number: u64) -> io::Result<Heard> {
        let mut strange = 0;
        while strange < MAX_STRANGE {
            let line = self.line().await?;
            match parse(&line, self.language) {
                Some((about, heard)) if about == number => return Ok(heard),
                _ => strange += line.len() + 1,
            }
        }
        Err(io::Error::other("too much output that is not an answer"))
    }

    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.unread, rest);
                line.pop();
                return Ok(line);
            }
            if self.unread.len() > MAX_LINE {
                return Err(io::Error::other("an answer is too long"));
            }
            self.unread.reserve(16 << 10);
            if self.responses.read_buf(&mut self.unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn pipes(directory: &Path) -> [PathBuf; 2] {
    ["requests", "responses"].map(|name| directory.join(name))
}

fn make_pipe(path: &Path) -> io::Result<File> {
    mkfifoat(CWD, path, Mode::from_raw_mode(0o666))?;
    // Independent of the umask.
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    File::options().read(true).write(true).open(path)
}

fn parse(line: &[u8], language: Language) -> Option<(u64, Heard)> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let about = number(words.next()?)?;
    let status = match words.next()? {
        b"run" => return Some((about, Heard::Begun)),
        b"ok" => Status::Ok,
        b"err" => Status::Error,
        b"int" => Status::Interrupted,
        b"call" if language.has_calls() => return Some((about, call(words.next()?)?)),
        _ => return None,
    };
    let value = language.decode(words.next().unwrap_or_default())?;
    let value = bounded(&value);
    Some((about, Heard::Answer(DriverReply { status, value })))
}

/// A call: its number, and its text in base64.
fn call(words: &[u8]) -> Option<Heard> {
    let at = words.iter().position(|byte| *byte == b' ')?;
    let text = bounded(&STANDARD.decode(&words[at + 1..]).ok()?);
    Some(Heard::Call {
        number: number(&words[..at])?,
        text,
    })
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn bounded(value: &[u8]) -> String {
    let mut value = String::from_utf8_lossy(value).into_owned();
    value.truncate(value.floor_char_boundary(MAX_VALUE));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, Status, &str)>) {
        let parsed = parse(line.as_bytes(), Language::Python);
        let seen = parsed.and_then(|(number, heard)| match heard {
            Heard::Answer(answer) => Some((number, answer.status, answer.value)),
            Heard::Begun | Heard::Call { .. } => None,
        });
        assert_eq!(
            seen,
            expected.map(|(number, status, value)| (number, status, value.to_owned()))
        );
    }

    #[test]
    fn a_call_has_a_number_and_a_text() {
        let parsed = |line: &str, language| match parse(line.as_bytes(), language) {
            Some((7, Heard::Call { number, text })) => Some((number, text)),
            _ => None,
        };
        assert_eq!(parsed("7 call 3 NDI=", Language::Python), Some((3, "42".into())));
        for line in [
            "7 call",
            "7 call 3",
            "7 call x NDI=",
            "7 call 3 #",
            "8 call 3 NDI=",
            "7 call -3 NDI=",
        ] {
            assert_eq!(parsed(line, Language::Python), None, "{line}");
        }
        assert_eq!(parsed("7 call 3 NDI=", Language::Bash), None);
    }

    #[test]
    fn a_cell_begins() {
        assert!(matches!(parse(b"7 run", Language::Bash), Some((7, Heard::Begun))));
        assert!(parse(b"run", Language::Bash).is_none());
    }

    #[test]
    fn invalid_answers_are_ignored() {
        check("7 ok NDI=", Some((7, Status::Ok, "42")));
        check("7 err ", Some((7, Status::Error, "")));
        check("7 int", Some((7, Status::Interrupted, "")));
        check("7 ok /w==", Some((7, Status::Ok, "\u{fffd}")));
        for line in ["", "7", "7 yes", "x ok", "-1 ok", "7 ok #", "99999999999999999999 ok"] {
            check(line, None);
        }
    }
}
