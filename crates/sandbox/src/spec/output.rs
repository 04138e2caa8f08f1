//! The result of a run, and bounded capture of its output streams, independent of the backend.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::Duration;
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The result of one run. Its outcome and output are claims of untrusted code.
#[derive(Debug, Clone)]
pub struct Output {
    /// How the run ended.
    pub outcome: Outcome,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// The output on standard error.
    pub stderr: Captured,
    /// CPU time of all processes together, to a hundredth of a second.
    pub cpu: Duration,
    /// Peak memory in bytes of all processes together. On machines that cannot count it, it is sampled and may be too
    /// low.
    pub peak_memory: u64,
    /// The time from the start of the command to the death of its last process.
    pub wall: Duration,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    Signalled(i32),
    /// The wall clock limit was reached.
    TimedOut,
    /// The memory limit was reached.
    OutOfMemory,
    /// A file or the workspace exceeded its limit.
    DiskLimit,
    /// The caller cancelled.
    Cancelled,
    /// The command never ran; the reason is for people.
    DidNotStart(String),
}

impl fmt::Display for Outcome {
    /// Text after a subject, as in `it exited with 1`. For a command that never started, it includes the reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with {code}"),
            Self::Signalled(signal) => write!(f, "was killed by signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::OutOfMemory => f.write_str("ran out of memory"),
            Self::DiskLimit => f.write_str("reached the disk limit"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::DidNotStart(reason) => write!(f, "did not start: {reason}"),
        }
    }
}

/// The start and the end of an output stream.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// Empty if everything fits into the head.
    pub tail: Vec<u8>,
    /// How many bytes were written in total.
    pub total: u64,
}

impl Captured {
    /// How many bytes were dropped between head and tail.
    pub fn omitted(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// The stream as text, with a line that replaces the dropped bytes.
    pub fn text(&self) -> String {
        match self.omitted() {
            0 => String::from_utf8_lossy(&[self.head.as_slice(), &self.tail].concat()).into_owned(),
            omitted => format!(
                "{}\n[... {omitted} bytes left out ...]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&self.tail)
            ),
        }
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// Keeps a bounded part of a stream while it is drained.
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Capture {
    pub(crate) fn keeping(bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit: bytes - bytes / 2,
            tail_limit: bytes / 2,
            total: 0,
        }
    }

    /// Reads to the end of the stream. If this is dropped midway, the bytes read so far are kept.
    pub(crate) async fn drain(&mut self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 64 << 10];
        // A read error of a pipe means the same as its end: nothing more will come.
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            self.push(&buffer[..length]);
        }
    }

    /// Reads what is in a pipe now, without what is written to it later.
    pub(crate) fn take_what_is_there(&mut self, stream: &impl AsFd) -> io::Result<()> {
        let mut left = usize::try_from(rustix::io::ioctl_fionread(stream)?).unwrap_or(usize::MAX);
        let mut buffer = vec![0; left.min(64 << 10)];
        while left > 0 {
            let most = left.min(buffer.len());
            match rustix::io::read(stream, &mut buffer[..most]) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => break,
                Ok(length) => {
                    self.push(&buffer[..length]);
                    left -= length;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (to_head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(to_head);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into(),
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keep: usize, chunks: &[&str], head: &str, tail: &str, omitted: u64) {
        let mut capture = Capture::keeping(keep);
        for chunk in chunks {
            capture.push(chunk.as_bytes());
        }
        let captured = capture.finish();
        assert_eq!(
            (captured.head.as_slice(), captured.tail.as_slice()),
            (head.as_bytes(), tail.as_bytes())
        );
        assert_eq!(captured.omitted(), omitted);
        assert_eq!(
            captured.total,
            chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>()
        );
    }

    #[test]
    fn the_start_and_the_end_are_kept() {
        check(8, &[], "", "", 0);
        check(8, &["abc"], "abc", "", 0);
        check(8, &["abcdefgh"], "abcd", "efgh", 0);
        check(8, &["abcdefghi"], "abcd", "fghi", 1);
        check(8, &["ab", "cd", "ef", "gh", "ij", "kl"], "abcd", "ijkl", 4);
        check(5, &["abcdefghij"], "abc", "ij", 5);
        check(0, &["abc"], "", "", 3);
        check(1, &["abc"], "a", "", 2);
    }

    #[test]
    fn the_text_names_what_was_left_out() {
        let captured = Captured {
            head: b"start".into(),
            tail: b"end".into(),
            total: 100,
        };
        assert_eq!(captured.text(), "start\n[... 92 bytes left out ...]\nend");
    }

    #[test]
    fn a_character_across_head_and_tail_stays_whole() {
        let mut capture = Capture::keeping(4);
        capture.push("aäb".as_bytes());
        assert_eq!(capture.finish().text(), "aäb");
    }
}
