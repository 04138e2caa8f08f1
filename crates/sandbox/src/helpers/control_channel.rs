//! The supervisor's incoming messages: from greenlight over one socket, from init over the other. It has only one
//! thread, because a process with several threads cannot make all namespaces.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::wire::{INTERRUPT, Progress, read_frame};

/// How long the rest of a message may take after its beginning: both sides write a message at once.
const MESSAGE: Duration = Duration::from_secs(1);

pub(crate) enum Event {
    /// greenlight cancelled the run, or died.
    Abandoned,
    /// greenlight wants to interrupt the command.
    Interrupted,
    Init(Progress),
    InitIsGone,
    /// No message arrived in the given time.
    Silence,
}

pub(crate) struct ControlChannel<'a> {
    control: &'a UnixStream,
    progress: &'a UnixStream,
}

impl<'a> ControlChannel<'a> {
    pub(crate) fn of(control: &'a UnixStream, progress: &'a UnixStream) -> anyhow::Result<Self> {
        progress.set_read_timeout(Some(MESSAGE)).context("listen to init")?;
        Ok(Self { control, progress })
    }

    /// The next event, or [`Event::Silence`] after `patience`. Messages from init come first, because the command may
    /// already have ended.
    pub(crate) fn next(&self, patience: Duration) -> anyhow::Result<Event> {
        // A deadline too far ahead to be represented means none.
        let deadline = Instant::now().checked_add(patience);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut sources = [
                PollFd::new(self.progress, PollFlags::IN),
                PollFd::new(self.control, PollFlags::IN),
            ];
            match poll(&mut sources, left.as_ref()) {
                Ok(0) => return Ok(Event::Silence),
                Err(Errno::INTR) => continue,
                heard => heard.context("listen")?,
            };
            let [from_init, from_greenlight] = sources.map(|source| !source.revents().is_empty());
            if from_init {
                return Ok(read_frame(self.progress).map_or(Event::InitIsGone, Event::Init));
            }
            if from_greenlight {
                let mut byte = [0];
                let (mut control, interrupt) = (self.control, [INTERRUPT]);
                return Ok(match control.read(&mut byte) {
                    Ok(1) if byte == interrupt => Event::Interrupted,
                    _ => Event::Abandoned,
                });
            }
        }
    }
}
