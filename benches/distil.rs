//! How fast a log of 100 MB is distilled, and how much memory that takes, compared with a plain search for a word in
//! the same bytes. `cargo bench --bench distil`.

#![expect(clippy::unwrap_used, reason = "what is measured is known to be right")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::io::{self, Read};
use std::time::{Duration, Instant};

use greenlight::suite::{Distiller, GreenLog, distil};

const BYTES: usize = 100 << 20;
const TIMES: usize = 5;

fn main() {
    // Cargo asks for a list of benchmarks, or for another one: its own flags do not concern this one.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let searched = best(|| {
        let mut found = 0_u64;
        let mut chunk = vec![0; 64 << 10];
        let mut log = Log::new();
        let word = b"error";
        loop {
            match log.read(&mut chunk).unwrap() {
                0 => break,
                count => found += count_lines_with(&chunk[..count], word),
            }
        }
        found
    });
    let made = best(|| io::copy(&mut Log::new(), &mut io::sink()).unwrap());
    let before = peak();
    let distilled = best(|| {
        let distillate = distil(Log::new()).unwrap();
        assert!(distillate.excerpt.contains("assertion `left == right` failed"));
        distillate.excerpt.len() as u64
    });
    let after = peak();
    let beside = best(|| {
        let mut green = GreenLog::default();
        let mut log = Log::new();
        let mut chunk = vec![0; 64 << 10];
        while log.left > BYTES / 2 {
            let count = log.read(&mut chunk).unwrap();
            let _enough = green.take(&chunk[..count]);
        }
        let mut distiller = Distiller::default().beside(green);
        let mut log = Log::new();
        loop {
            match log.read(&mut chunk).unwrap() {
                0 => break,
                count => assert!(distiller.take(&chunk[..count]).is_continue()),
            }
        }
        distiller.finish().excerpt.len() as u64
    });
    println!("making the log alone:      {:6.0} MB/s", speed(made));
    println!("counting lines with a word: {:5.0} MB/s", speed(searched));
    println!("distilling:                {:6.0} MB/s", speed(distilled));
    println!("beside half a green log:   {:6.0} MB/s", speed(beside));
    println!(
        "peak memory (VmHWM): {before} KiB before, {after} KiB after distilling, {} KiB at the end",
        peak()
    );
}

fn speed(time: Duration) -> f64 {
    f64::from(u32::try_from(BYTES).unwrap()) / 1e6 / time.as_secs_f64()
}

fn best(mut work: impl FnMut() -> u64) -> Duration {
    let times = (0..TIMES).map(|_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed()
    });
    times.min().unwrap()
}

fn count_lines_with(chunk: &[u8], word: &[u8]) -> u64 {
    let lines = chunk.split(|byte| *byte == b'\n');
    lines
        .filter(|line| line.windows(word.len()).any(|part| part == word))
        .count() as u64
}

/// The peak memory usage of this process, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// A log of a build and its tests, generated while it is read: it is never in memory as a whole.
struct Log {
    left: usize,
    number: usize,
    line: Vec<u8>,
}

impl Log {
    fn new() -> Self {
        Self {
            left: BYTES,
            number: 0,
            line: Vec::new(),
        }
    }

    fn next_line(&mut self) -> String {
        self.number += 1;
        let number = self.number;
        let text = match number % 40 {
            0 => format!("\x1b[32m   Compiling\x1b[0m package-{number} v1.{}.0", number % 7),
            1 => format!("Downloading {number} kB\rDownloading {number} kB, done"),
            2 => "##[group]Environment".into(),
            3 => "##[endgroup]".into(),
            4 => format!(
                "src/module_{number}.rs:{}: note: the failed attempt is tried again",
                number % 90
            ),
            _ => format!(
                "test module_{}::case_{number} ... ok, and a word or two more of what it did",
                number % 300
            ),
        };
        let failure = "---- tests::adds stdout ----\nthread 'tests::adds' (7) panicked at src/lib.rs:3:5:\n\
                       assertion `left == right` failed\n  left: 1\n right: 2";
        let text = if self.number == 600_000 { failure.into() } else { text };
        text.lines()
            .map(|line| format!("2026-11-20T07:39:00.1688150Z {line}\n"))
            .collect()
    }
}

impl Read for Log {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.line.len() < into.len().min(self.left) {
            let line = self.next_line();
            self.line.extend_from_slice(line.as_bytes());
        }
        let count = into.len().min(self.left);
        into[..count].copy_from_slice(&self.line[..count]);
        self.line.drain(..count);
        self.left -= count;
        Ok(count)
    }
}
