//! What the supervisor hears: from greenlight over the one socket, from init over the other. It has one thread, because
//! namespaces and threads do not go together.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::wire::{INTERRUPT, Progress, read_frame};

/// How long the rest of a message may take once it has begun: both sides write theirs at once.
const MESSAGE: Duration = Duration::from_secs(1);

pub(crate) enum Event {
    /// greenlight cancels, or is dead.
    Abandoned,
    /// greenlight wants the command to be interrupted.
    Interrupted,
    Init(Progress),
    InitIsGone,
    /// Nothing was heard in the time that was given.
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

    /// The next event, or the silence after so long. What init says comes first: it may have ended alone already.
    pub(crate) fn next(&self, patience: Duration) -> anyhow::Result<Event> {
        // Too far ahead to be written down is as good as never.
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
