//! What has to hold for any input. The tests run it on the seeds.
//!
//! An input is some texts with a NUL between any two, so that seeds can be read and written by hand.

use std::fs;
use std::ops::Range;
use std::time::Duration;

use greenlight::domain::anchor::{
    Cut, DiffFile, Suggestion, VisibleLines, added_lines, apply, cut, parse_hunks, proves, read_block,
};
use greenlight::domain::command;
use greenlight::domain::id::RepoPath;
use greenlight::domain::patch::{Blob, FileChange, Patch};
use greenlight::github::webhook;

mod pumped;
mod strangers;

pub use pumped::pumped;
pub use strangers::{bundle, log, manifest, packets, report, settings, workflow};

/// What any input may take, and what each byte may add.
const LEAST_TIME: Duration = Duration::from_millis(500);
const TIME_PER_BYTE: Duration = Duration::from_micros(20);
/// So many lines of a file are made up above those that a diff shows.
const MOST_LINES: usize = 5_000;

/// Takes the first text as the diff of a file. The second is what a patch makes of the file; the third is the file, or
/// one is made up that the diff fits to.
pub fn diff(input: &[u8]) {
    in_time(input.len(), || check_diff(input));
}

fn check_diff(input: &[u8]) {
    let mut texts = input.split(|byte| *byte == 0);
    let diff = String::from_utf8_lossy(texts.next().unwrap_or_default());
    let after = texts.next().unwrap_or_default();
    let Ok(hunks) = parse_hunks(&diff) else {
        assert!(added_lines(&diff).is_empty());
        return;
    };
    check_hunks(&hunks, &diff);
    let before = texts.next().map_or_else(|| made_up(&hunks), <[u8]>::to_vec);
    check_cut(&before, after, hunks);
}

/// Takes the texts as a file, as the replacement of some of its lines, as which ones, and as a comment.
pub fn suggestion(input: &[u8]) {
    in_time(input.len(), || check_suggestion(input));
}

fn check_suggestion(input: &[u8]) {
    let mut texts = input.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut text = || texts.next().unwrap_or_default().into_owned();
    let (file, replacement, lines, comment) = (text(), text(), text(), text());
    let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok()).unwrap_or(1);
    let mut lines = lines.split('-');
    let suggestion = Suggestion {
        path: path(),
        start_line: number(lines.next()),
        line: number(lines.next()),
        replacement,
    };
    check_apply(&suggestion, file.as_bytes());
    // What the engine never suggests need not survive.
    let is_plain = |text: &str| (text.is_empty() || text.ends_with('\n')) && !text.contains('\r');
    if is_plain(&suggestion.replacement) {
        assert_eq!(read_block(&suggestion.block()).as_ref(), Some(&suggestion.replacement));
    }
    if let Some(replacement) = read_block(&comment).filter(|text| is_plain(text)) {
        let again = Suggestion {
            replacement,
            ..suggestion
        };
        assert_eq!(read_block(&again.block()), Some(again.replacement));
    }
}

/// Takes any text as a comment.
pub fn comment(input: &[u8]) {
    let body = String::from_utf8_lossy(input);
    let commands = in_time(body.len(), || command::parse(&body));
    assert!(commands.len() <= command::MAXIMUM_COMMANDS + 1);
}

/// Takes the name of an event and, after a NUL, the payload of its delivery.
pub fn payload(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let kind = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let payload = parts.next().unwrap_or_default();
    let read = in_time(payload.len(), || webhook::parse(&kind, payload));
    assert!(read.is_err() || webhook::is_of_concern(&kind) || read == Ok(None));
}

/// Runs a parser, which may take so long for so many bytes: far more than a linear one needs, and far less than a
/// quadratic one.
fn in_time<T>(bytes: usize, parse: impl FnOnce() -> T) -> T {
    let begun = processor_time();
    let parsed = parse();
    let taken = processor_time().saturating_sub(begun);
    let allowed = LEAST_TIME + TIME_PER_BYTE * u32::try_from(bytes).unwrap();
    assert!(taken <= allowed, "{bytes} bytes took {taken:?}");
    parsed
}

/// What this thread has used of the processor; what else goes on on the machine is no part of it.
/// <https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat>
fn processor_time() -> Duration {
    let used = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = used.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn path() -> RepoPath {
    "file".parse().unwrap()
}

fn right(hunk: &VisibleLines) -> Range<u64> {
    let start = u64::from(hunk.new_start);
    start..start + hunk.right.len() as u64
}

fn check_hunks(hunks: &[VisibleLines], diff: &str) {
    let mut end = 0;
    let mut added = Vec::new();
    for hunk in hunks {
        let lines = right(hunk);
        assert!(
            lines.is_empty() || lines.start >= end.max(1),
            "{hunk:?} is not below {end}"
        );
        end = end.max(lines.end);
        let mut last = 0;
        for run in &hunk.added {
            let run = u64::from(*run.start())..u64::from(*run.end()) + 1;
            assert!(lines.start <= run.start && run.end <= lines.end && last < run.start && !run.is_empty());
            last = run.end;
        }
        assert!(!hunk.right.iter().any(|line| line.contains('\n')));
        added.extend(hunk.added.clone());
    }
    assert_eq!(added_lines(diff), added);
    assert!(hunks.iter().map(|hunk| hunk.right.len()).sum::<usize>() < diff.split('\n').count().max(1));
}

/// A file of which the diff could be.
fn made_up(hunks: &[VisibleLines]) -> Vec<u8> {
    let mut lines: Vec<&str> = Vec::new();
    for hunk in hunks.iter().filter(|hunk| !hunk.right.is_empty()) {
        let above = (hunk.new_start as usize).saturating_sub(1);
        if above > MOST_LINES {
            break;
        }
        while lines.len() < above {
            lines.push("between");
        }
        lines.extend(hunk.right.iter().map(String::as_str));
    }
    lines
        .iter()
        .flat_map(|line| [line, "\n"])
        .collect::<String>()
        .into_bytes()
}

fn check_cut(before: &[u8], after: &[u8], hunks: Vec<VisibleLines>) {
    let change = FileChange {
        before: Some(Blob::regular(before)),
        after: Some(Blob::regular(after)),
    };
    let patch = Patch::new([(path(), change)]);
    let diff = [DiffFile { path: path(), hunks }];
    let cut = cut(&patch, &diff);
    assert!(proves(&cut, &patch));
    let Cut {
        suggestions, remainder, ..
    } = cut;
    let committed = apply(&suggestions, &path(), before).unwrap();
    match remainder.files().next() {
        None => assert_eq!(committed, after),
        Some((_, rest)) => {
            assert_eq!(rest.before, Some(Blob::regular(committed)));
            assert_eq!(rest.after, Some(Blob::regular(after)));
        }
    }
    let mut end = 0;
    for suggestion in suggestions {
        let lines = u64::from(suggestion.start_line)..u64::from(suggestion.line) + 1;
        assert!(lines.start > end && !lines.is_empty(), "{suggestion:?} overlaps");
        end = lines.end - 1;
        let mut shown = diff[0].hunks.iter().map(right);
        assert!(shown.any(|shown| shown.start <= lines.start && lines.end <= shown.end));
        assert_eq!(read_block(&suggestion.block()), Some(suggestion.replacement));
    }
}

/// Whatever a suggestion does, it does nothing to other lines.
fn check_apply(suggestion: &Suggestion, before: &[u8]) {
    let Ok(after) = apply(std::slice::from_ref(suggestion), &suggestion.path, before) else {
        return;
    };
    let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    assert_ne!(after, before);
    assert!(after.starts_with(&lines[..suggestion.start_line as usize - 1].concat()));
    assert!(after.ends_with(&lines[suggestion.line as usize..].concat()));
}
