//! Reads what `go` says when it cannot build or load packages: the compiler, vet, and the search for modules.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, location};
use regex::Regex;

use crate::text::pattern;

static COMPILER: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:vet: |go: )?(\S+\.go|\S*go\.(?:mod|work)):(\d+):(?:\d+:)? (.+)$"));

/// Something on the way to the module, not the module.
const NOT_TO_BE_HAD: [&str; 7] = [
    "module lookup disabled by GOPROXY",
    "dial tcp",
    "proxyconnect tcp",
    "no such host",
    "i/o timeout",
    "TLS handshake",
    "C compiler \"",
];
/// The code asks for a package that no module of the project has.
const MISSING: [&str; 6] = [
    "no required module provides package",
    "cannot find module providing package",
    "missing go.sum entry for module providing package",
    "is not in std",
    "is not in GOROOT",
    "cannot find package",
];
/// Another Go is needed than the one that is there.
const OTHER_GO: [&str; 3] = ["GOTOOLCHAIN=local", "toolchain not available", "download go1."];

pub(super) fn read(text: &str, parsed: &mut ParsedRun) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let said = COMPILER.as_ref().and_then(|compiler| compiler.captures(line));
        let message = match &said {
            Some(said) => said.get(3).map_or("", |message| message.as_str()),
            None => line,
        };
        let has = |marks: &[&str]| marks.iter().any(|mark| message.contains(mark));
        if has(&MISSING) {
            parsed.anomaly = Some(Anomaly::MissingModule);
        } else if has(&NOT_TO_BE_HAD) || (line.starts_with("go: ") && has(&OTHER_GO)) {
            parsed.anomaly = parsed.anomaly.or(Some(Anomaly::Environment));
            continue;
        }
        if said.is_none() && !is_error_of_go(line) {
            continue;
        }
        let mut whole = line.to_string();
        // What the compiler has and wants stands below, further in.
        while let Some(more) = lines.next_if(|more| more.starts_with('\t') && whole.len() < 2_000) {
            whole.push('\n');
            whole.push_str(more);
        }
        let place = said.as_ref().and_then(|said| location(&said[1], &said[2]));
        parsed.diagnose(message.trim_start_matches("go: "), place, &whole);
    }
}

/// `go: …`, where it is more than news.
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
    let Some(said) = line.strip_prefix("go: ") else {
        return false;
    };
    !NEWS.iter().any(|news| said.starts_with(news))
}
