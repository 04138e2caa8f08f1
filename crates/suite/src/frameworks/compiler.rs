//! gcc, clang, javac, MSBuild, their linkers, CMake and make: parses their diagnostics, no matter what called them.

use std::sync::LazyLock;

use greenlight_readers::{Anomaly, ParsedRun, Printed, location};
use regex::Regex;

use crate::framework::Ecosystem;
use crate::frameworks::spec::{FrameworkKind, Spec};
use crate::install;
use crate::text::pattern;

pub(super) const SPEC: Spec = Spec {
    name: "a compiler",
    ecosystem: Ecosystem::Any,
    kind: FrameworkKind::Compiler,
    is_compiled: true,
    installers: install::plan::ALL,
    is_program: |line| {
        let compilers = ["gcc", "g++", "cc", "c++", "clang", "clang++", "javac"];
        compilers.contains(&line.program())
    },
    is_check: |line| line.program() == "go" && line.subcommand() == "build",
    parse,
    marks: &[
        ": error: ",
        ": fatal error: ",
        "undefined reference to",
        ": error CS",
        "\nCMake Error",
        "cannot find -l",
    ],
    ..Spec::NEW
};

/// `path:line:column: error: text`; javac has no column.
static DIAGNOSTIC: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^((?:[A-Za-z]:)?[^\s:][^:]*):(\d+):(?:\d+:)? (fatal error|error|warning|note): (.+)$"));
/// `path(12,5): error CS1002: ; expected [project]`.
static MSBUILD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^\s*([^\s(][^(]*?)(?:\((\d+)(?:,\d+){0,3}\))?\s*: (error|warning) ([A-Z]{2,10}\d+): (.+?)(?: \[[^\[\]]+\])?$",
    )
});
/// `/usr/bin/ld: path:line: undefined reference to …`, where each part is optional.
static LINKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:\S*\bld(?:\.\w+)?(?:\[\d+\])?: )?(?:(\S+?):(?:(\d+)|\([^)]*\))?:? ?)?(?:error: )?((?:undefined (?:reference to|symbol:?)|multiple definition of|cannot find) .+)$",
    )
});
static CMAKE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^CMake Error(?: at ([^\s:]+):(\d+) \((\w+)\)| in ([^\s:]+))?:(.*)$"));
static MAKE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:\S*/)?[gn]?make(?:\[\d+\])?: (?:\*\*\* (.+)|(\S+): No such file or directory)$"));
/// How compilers report a missing file or library.
const MISSING: [&str; 4] = [
    ": No such file or directory",
    "' file not found",
    "cannot find -l",
    "error: package ",
];
/// Maximum number of lines kept of one diagnostic.
const MAX_LINES: usize = 40;
/// Maximum number of lines before a diagnostic that say how the compiler got there.
const MAX_BEFORE: usize = 10;

/// A diagnostic and the lines around it.
struct Open<'a> {
    name: String,
    place: Option<(String, String)>,
    lines: Vec<&'a str>,
    /// Whether a blank line or an unindented line ends it.
    is_indented: bool,
}

fn parse(printed: &Printed<'_>) -> ParsedRun {
    let mut parsed = ParsedRun::default();
    diagnostics(printed.text, &mut parsed);
    parsed
}

/// Collects the errors of all these tools from a text, each with the lines around it.
pub(super) fn diagnostics(text: &str, parsed: &mut ParsedRun) {
    let mut before: Vec<&str> = Vec::new();
    let mut open: Option<Open<'_>> = None;
    let mut make: Option<&str> = None;
    for line in text.lines() {
        if leads_in(line) {
            close(parsed, open.take());
            if before.len() < MAX_BEFORE {
                before.push(line);
            }
            continue;
        }
        if let Some(found) = DIAGNOSTIC.as_ref().and_then(|pattern| pattern.captures(line)) {
            if &found[3] != "note" {
                close(parsed, open.take());
                if found[3].ends_with("error") {
                    open = Some(opened(&found[4], Some((&found[1], &found[2])), &mut before, line));
                }
                before.clear();
                continue;
            }
        } else if let Some(found) = MSBUILD.as_ref().and_then(|pattern| pattern.captures(line)) {
            close(parsed, open.take());
            if &found[3] == "error" {
                let place = found.get(2).map(|line| (&found[1], line.as_str()));
                let name = format!("{}: {}", &found[4], &found[5]);
                close(parsed, Some(opened(&name, place, &mut Vec::new(), line.trim_start())));
            }
            continue;
        } else if let Some(found) = CMAKE.as_ref().and_then(|pattern| pattern.captures(line)) {
            close(parsed, open.take());
            let place = found
                .get(1)
                .zip(found.get(2))
                .map(|(path, line)| (path.as_str(), line.as_str()));
            open = Some(Open {
                is_indented: true,
                ..opened(found[5].trim(), place, &mut before, line)
            });
            continue;
        } else if let Some(found) = LINKER.as_ref().and_then(|pattern| pattern.captures(line)) {
            close(parsed, open.take());
            let place = found
                .get(1)
                .zip(found.get(2))
                .map(|(path, line)| (path.as_str(), line.as_str()));
            close(parsed, Some(opened(&found[3], place, &mut before, line)));
            before.clear();
            continue;
        } else if MAKE.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            close(parsed, open.take());
            make = make.or(Some(line));
            continue;
        }
        continue_with(parsed, &mut open, line);
    }
    close(parsed, open);
    if parsed.diagnostics.is_empty() {
        only_make(parsed, make);
    } else if parsed.diagnostics.iter().all(|found| is_missing(&found.message)) {
        parsed.anomaly = Some(Anomaly::MissingModule);
    }
}

/// Whether a line introduces the diagnostic after it by saying where the compiler was.
fn leads_in(line: &str) -> bool {
    line.starts_with("In file included from ")
        || line.starts_with("                 from ")
        || line.ends_with(": At top level:")
        || line.ends_with(": At global scope:")
        || line.ends_with("required from here")
        || line.contains(": In function ")
        || line.contains(": In member function ")
        || line.contains(": In instantiation of ")
        || line.contains(": in function ")
}

fn opened<'a>(name: &str, place: Option<(&str, &str)>, before: &mut Vec<&'a str>, line: &'a str) -> Open<'a> {
    let mut lines = std::mem::take(before);
    lines.push(line);
    Open {
        name: name.to_string(),
        place: place.map(|(path, line)| (path.to_string(), line.to_string())),
        lines,
        is_indented: false,
    }
}

fn continue_with<'a>(parsed: &mut ParsedRun, open: &mut Option<Open<'a>>, line: &'a str) {
    let Some(diagnostic) = open else { return };
    let ends = if diagnostic.is_indented {
        !line.is_empty() && !line.starts_with(' ')
    } else {
        // `3 errors` from javac, `1 warning and 2 errors generated.` from clang, and the commands of make.
        line.starts_with("make") || line.ends_with(" generated.") || line.ends_with(" errors") || line == "1 error"
    };
    if ends {
        close(parsed, open.take());
    } else if diagnostic.lines.len() < MAX_LINES {
        if diagnostic.name.is_empty() {
            diagnostic.name = line.trim().to_string();
        }
        diagnostic.lines.push(line);
    }
}

fn close(parsed: &mut ParsedRun, open: Option<Open<'_>>) {
    if let Some(open) = open {
        let place = open.place.and_then(|(path, line)| location(&path, &line));
        parsed.diagnose(&open.name, place, &open.lines.join("\n"));
    }
}

fn is_missing(message: &str) -> bool {
    let is_error = |line: &str| line.contains("error: ") || line.contains("cannot find -l");
    let mut errors = message.lines().filter(|line| is_error(line));
    errors.any(|line| MISSING.iter().any(|mark| line.contains(mark)))
}

/// If only make reports an error, either make itself failed, or a command failed without printing a reason.
fn only_make(parsed: &mut ParsedRun, line: Option<&str>) {
    let found = line.and_then(|line| Some((line, MAKE.as_ref()?.captures(line)?)));
    match found {
        Some((_, found)) if found.get(2).is_some() => parsed.anomaly = Some(Anomaly::Environment),
        Some((line, found)) if found[1].contains("No rule to make target") => parsed.diagnose(&found[1], None, line),
        _ => {}
    }
}
