//! A terminal with a person: the program reads what the test types, and the test reads what the program shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::PATIENCE;

pub(crate) struct Terminal {
    pub(crate) child: Child,
    keyboard: File,
    screen: mpsc::UnboundedReceiver<Vec<u8>>,
    /// Everything shown so far.
    shown: Vec<u8>,
    read_to: usize,
}

impl Terminal {
    /// Starts a command with all three streams on a new terminal.
    pub(crate) fn start(mut command: Command) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let slave: OwnedFd = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).unwrap();
        command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        let child = command.spawn().unwrap();
        drop(command);
        let keyboard = File::from(master);
        let mut camera = keyboard.try_clone().unwrap();
        let (sender, screen) = mpsc::unbounded_channel();
        // Reading fails once the program has closed its side; then the sender is dropped, too.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = camera.read(&mut buffer) {
                let _ = sender.send(buffer[..length].to_vec());
            }
        });
        Self {
            child,
            keyboard,
            screen,
            shown: Vec::new(),
            read_to: 0,
        }
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits until this is shown, after the previously awaited text.
    pub(crate) async fn shows(&mut self, part: &str) {
        loop {
            let mut windows = self.shown[self.read_to..].windows(part.len());
            if let Some(at) = windows.position(|window| window == part.as_bytes()) {
                self.read_to += at + part.len();
                return;
            }
            let more = tokio::time::timeout(PATIENCE, self.screen.recv()).await;
            let Ok(Some(bytes)) = more else {
                panic!("{part:?} was not shown:\n{}", String::from_utf8_lossy(&self.shown));
            };
            self.shown.extend(bytes);
        }
    }

    /// The next line, once it is whole.
    pub(crate) async fn line(&mut self) -> String {
        let from = self.read_to;
        self.shows("\n").await;
        String::from_utf8_lossy(&self.shown[from..self.read_to])
            .trim()
            .to_string()
    }

    /// Waits for the end. Returns the exit code and everything that was shown.
    pub(crate) async fn ends(mut self) -> (Option<i32>, String) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it does not end:\n{}", String::from_utf8_lossy(&self.shown)));
        while let Some(bytes) = self.screen.recv().await {
            self.shown.extend(bytes);
        }
        (
            status.unwrap().code(),
            String::from_utf8_lossy(&self.shown).into_owned(),
        )
    }
}
