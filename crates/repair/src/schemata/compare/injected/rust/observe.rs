//! Logs the arguments and results of an observed function.

use super::digest::{Digest, SHOWN};
use super::greenlight_std::cell::Cell;
use super::greenlight_std::panic::{AssertUnwindSafe, catch_unwind};
use super::greenlight_std::prelude::v1::*;
use super::greenlight_std::sync::atomic::{AtomicUsize, Ordering};
use super::greenlight_std::{env, format, fs, io, process, thread_local};
use super::means::get;

// Maximum number of logged calls of this function, and of digested bytes of all values.
const MOST_CALLS: usize = 2_000;
const MOST_SHOWN: usize = 1 << 25;
// Maximum number of bytes read from the logs of earlier runs.
const MOST_READ: u64 = 1 << 23;

static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! { static QUIET: Cell<bool> = const { Cell::new(false) } }

pub fn quietly<R, F: FnOnce() -> R>(work: F) -> Option<R> {
    if QUIET.try_with(|quiet| quiet.replace(true)).unwrap_or(true) {
        return None;
    }
    let done = catch_unwind(AssertUnwindSafe(work));
    let _ = QUIET.try_with(|quiet| quiet.set(false));
    done.ok()
}

fn number(name: &str) -> usize {
    get(name).and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// The number of candidates that are tried with generated inputs; 0 if calls are only logged.
pub fn varied() -> usize {
    static VARIED: AtomicUsize = AtomicUsize::new(usize::MAX);
    let varied = VARIED.load(Ordering::Relaxed);
    if varied != usize::MAX {
        return varied;
    }
    VARIED.store(number("GREENLIGHT_VARY"), Ordering::Relaxed);
    number("GREENLIGHT_VARY")
}

pub fn varies() -> bool {
    varied() > 0
}

pub fn choice() -> u32 {
    static CHOSEN: AtomicUsize = AtomicUsize::new(usize::MAX);
    let chosen = CHOSEN.load(Ordering::Relaxed);
    if chosen != usize::MAX && varied() == 0 {
        return chosen as u32;
    }
    let chosen = number("GREENLIGHT_SWITCH");
    CHOSEN.store(chosen, Ordering::Relaxed);
    chosen as u32
}

pub fn say(text: &str) {
    if let Some(path) = env::var_os("GREENLIGHT_OBSERVE") {
        if let Ok(mut file) = fs::OpenOptions::new().append(true).create(true).open(path) {
            let _ = io::Write::write_all(&mut file, text.as_bytes());
        }
    }
}

pub fn said() -> String {
    let mut text = String::new();
    if let Some(path) = env::var_os("GREENLIGHT_OBSERVE") {
        if let Ok(file) = fs::File::open(path) {
            let _ = io::Read::read_to_string(&mut io::Read::take(file, MOST_READ), &mut text);
        }
    }
    text
}

pub fn once<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

pub struct Call {
    function: usize,
    serial: usize,
    is_done: bool,
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_done {
            self.end("panic s");
        }
    }
}

impl Call {
    fn end(&self, result: &str) {
        say(&format!(
            "< {} {} {} {}\n",
            process::id(),
            self.function,
            self.serial,
            result
        ));
    }
}

pub fn enter(function: usize, show: &dyn Fn(&mut Digest)) -> Option<Call> {
    if varied() > 0 || env::var_os("GREENLIGHT_OBSERVE").is_none() {
        return None;
    }
    if CALLS.load(Ordering::Relaxed) > MOST_CALLS {
        return None;
    }
    quietly(|| {
        let serial = CALLS.fetch_add(1, Ordering::Relaxed);
        if serial >= MOST_CALLS || SHOWN.load(Ordering::Relaxed) > MOST_SHOWN {
            CALLS.store(MOST_CALLS + 1, Ordering::Relaxed);
            say(&format!("! {} {}\n", process::id(), function));
            return None;
        }
        let shown = Digest::of(show).text();
        say(&format!("> {} {} {} {}\n", process::id(), function, serial, shown));
        Some(Call {
            function: function,
            serial: serial,
            is_done: false,
        })
    })
    .and_then(|call| call)
}

pub fn leave(call: Option<Call>, show: &dyn Fn(&mut Digest)) {
    if let Some(mut call) = call {
        if let Some(shown) = quietly(|| Digest::of(show).text()) {
            call.is_done = true;
            call.end(&shown);
        }
    }
}
