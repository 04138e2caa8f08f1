//! Reads errors from `go` about packages that it cannot build or load: from the compiler, vet and module resolution.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, location};
use regex::Regex;

use crate::text::pattern;

static COMPILER: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:vet: |go: )?(\S+\.go|\S*go\.(?:mod|work)):(\d+):(?:\d+:)? (.+)$"));

/// The module exists but could not be fetched.
const UNAVAILABLE: [&str; 7] = [
    "module lookup disabled by GOPROXY",
    "dial tcp",
    "proxyconnect tcp",
    "no such host",
    "i/o timeout",
    "TLS handshake",
    "C compiler \"",
];
/// The code imports a package that no module of the project provides.
const MISSING: [&str; 6] = [
    "no required module provides package",
    "cannot find module providing package",
    "missing go.sum entry for module providing package",
    "is not in std",
    "is not in GOROOT",
    "cannot find package",
];
/// A different version of Go is needed.
const OTHER_GO: [&str; 3] = ["GOTOOLCHAIN=local", "toolchain not available", "download go1."];

/// A module that was not downloaded, and cannot be: the cache for it is read-only here.
fn is_unwritable_cache(message: &str) -> bool {
    message.contains("/mod/cache/download/") && message.ends_with(": read-only file system")
}

pub(super) fn read(text: &str, parsed: &mut ParsedRun) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let error = COMPILER.as_ref().and_then(|compiler| compiler.captures(line));
        let message = match &error {
            Some(error) => error.get(3).map_or("", |message| message.as_str()),
            None => line,
        };
        let has = |marks: &[&str]| marks.iter().any(|mark| message.contains(mark));
        if has(&MISSING) {
            parsed.anomaly = Some(Anomaly::MissingModule);
        } else if has(&UNAVAILABLE) || is_unwritable_cache(message) || (line.starts_with("go: ") && has(&OTHER_GO)) {
            parsed.anomaly = parsed.anomaly.or(Some(Anomaly::Environment));
            continue;
        }
        if error.is_none() && !is_error_of_go(line) {
            continue;
        }
        let mut whole = line.to_string();
        // Indented lines below the error say what the compiler has and wants.
        while let Some(more) = lines.next_if(|more| more.starts_with('\t') && whole.len() < 2_000) {
            whole.push('\n');
            whole.push_str(more);
        }
        let place = error.as_ref().and_then(|error| location(&error[1], &error[2]));
        parsed.diagnose(message.trim_start_matches("go: "), place, &whole);
    }
}

/// Whether a `go: …` line is an error rather than progress.
fn is_error_of_go(line: &str) -> bool {
    const NEWS: [&str; 8] = [
        "downloading ",
        "finding ",
        "found ",
        "added ",
        "extracting ",
        "upgraded ",
        "warning: ",
        "errors parsing ",
    ];
    let Some(message) = line.strip_prefix("go: ") else {
        return false;
    };
    !NEWS.iter().any(|news| message.starts_with(news))
}
