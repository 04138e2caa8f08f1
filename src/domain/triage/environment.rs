//! Signs that the machine, not the code, makes a test fail.
//!
//! They are claims of the code under test, so they can only make greenlight do less. They do not count if the merge
//! base is green on the same machine: then the pull request itself needs what is missing.

use serde::{Deserialize, Serialize};

use super::super::test_run::{Outcome, TestRun};
use super::program;

/// What the machine lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    MissingTool,
    /// A module or package that is not installed.
    MissingModule,
    Network,
    /// A service, such as a database, that only CI has.
    Service,
    /// A package registry that is down, or limits requests.
    Registry,
    Disk,
    Memory,
}

impl Cause {
    /// `it needs the network, which tests do not have`, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::MissingTool => "it needs a program that is missing on this machine",
            Self::MissingModule => "it needs a module that is not installed on this machine",
            Self::Network => "it needs the network, which tests do not have",
            Self::Service => "it needs a service that CI starts and this machine does not have",
            Self::Registry => "a package registry did not answer",
            Self::Disk => "the disk was full",
            Self::Memory => "it ran out of memory",
        }
    }
}

/// Phrases, in lower case, with which clients report that nothing listens where a service should be.
const NO_SERVICE: [&str; 8] = [
    "connection refused",
    "econnrefused",
    "could not connect to server",
    "can't connect to",
    "connection to server at",
    "failed to connect to",
    "error connecting to",
    "no servers found",
];

/// How many bytes at the end of a text are searched. The cause of a failure is usually there.
const MAX_SEARCHED: usize = 64 << 10;

/// npm's registry. Lock files and notices name it, too, so it is blamed only if the line reports a problem.
const REGISTRY: &str = "registry.npmjs.org";
/// Words, in lower case, of lines that report a problem.
const COMPLAINS: [&str; 10] = [
    "failed",
    "error",
    "err!",
    "enotfound",
    "eai_again",
    "econn",
    "etimedout",
    "timed out",
    "timeout",
    "trouble",
];

/// Phrases in lower case, and what they mean; the most specific come first. The codes are those of getaddrinfo(3),
/// errno(3), libuv and HTTP, as common clients print them.
const MARKS: [(&str, Cause); 31] = [
    ("could not fetch url https://pypi", Cause::Registry),
    ("429 too many requests", Cause::Registry),
    ("503 service unavailable", Cause::Registry),
    ("no space left on device", Cause::Disk),
    ("enospc", Cause::Disk),
    ("disk quota exceeded", Cause::Disk),
    ("cannot allocate memory", Cause::Memory),
    ("enomem", Cause::Memory),
    ("javascript heap out of memory", Cause::Memory),
    ("java.lang.outofmemoryerror", Cause::Memory),
    ("memory allocation of", Cause::Memory),
    ("std::bad_alloc", Cause::Memory),
    ("could not resolve host", Cause::Network),
    ("eai_again", Cause::Network),
    ("enotfound", Cause::Network),
    ("enetunreach", Cause::Network),
    ("ehostunreach", Cause::Network),
    ("temporary failure in name resolution", Cause::Network),
    ("name or service not known", Cause::Network),
    ("nodename nor servname provided", Cause::Network),
    ("no address associated with hostname", Cause::Network),
    ("failed to lookup address information", Cause::Network),
    ("getaddrinfo failed", Cause::Network),
    ("no such host", Cause::Network),
    ("server misbehaving", Cause::Network),
    ("network is unreachable", Cause::Network),
    ("no route to host", Cause::Network),
    ("unknownhostexception", Cause::Network),
    ("command not found", Cause::MissingTool),
    (": executable file not found in $path", Cause::MissingTool),
    (": not found\n", Cause::MissingTool),
];

/// Phrases, in lower case, of lines in which frameworks show the two sides of an assertion. A suite about HTTP or
/// host names expects the very phrases of the other list.
const COMPARES: [&str; 8] = [
    "assert",
    "expected",
    "received:",
    "actual",
    "to equal",
    "left:",
    "right:",
    "got:",
];

/// The end of a text, where the cause of a failure usually is.
fn end(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MAX_SEARCHED);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The program that a text reports as missing.
pub(super) fn program(text: &str) -> Option<String> {
    let text = end(text);
    let is_telling = |line: &&str| {
        let line = line.to_lowercase();
        !COMPARES.iter().any(|word| line.contains(word))
    };
    text.lines().rev().filter(is_telling).find_map(program::missing)
}

/// The cause that a text names. `None` if it names none, or only as an expected or actual value of an assertion.
pub fn claimed(text: &str) -> Option<Cause> {
    if program(text).is_some() {
        return Some(Cause::MissingTool);
    }
    let text = end(text).to_lowercase().replace("unexpected", "");
    let is_telling = |line: &&str| !COMPARES.iter().any(|word| line.contains(word));
    let lines: Vec<&str> = text.lines().filter(is_telling).collect();
    let blames_registry = |line: &&str| line.contains(REGISTRY) && COMPLAINS.iter().any(|word| line.contains(word));
    if lines.iter().any(blames_registry) {
        return Some(Cause::Registry);
    }
    let text = lines.join("\n") + "\n";
    let found = MARKS.iter().find(|(mark, _)| has_word(&text, mark));
    found.map(|(_, cause)| *cause)
}

/// Whether a text says that a service cannot be reached, be it by address or by name.
pub(super) fn lacks_service(text: &str) -> bool {
    if claimed(text) == Some(Cause::Network) {
        return true;
    }
    let text = end(text).to_lowercase();
    let is_telling = |line: &&str| !COMPARES.iter().any(|word| line.contains(word));
    let mut lines = text.lines().filter(is_telling);
    lines.any(|line| NO_SERVICE.iter().any(|mark| line.contains(mark)))
}

/// Whether a text has a mark as a whole word: `ModuleNotFoundError` does not contain `ENOTFOUND`.
fn has_word(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let goes_on = |inside: Option<char>, outside: Option<char>| {
            [inside, outside]
                .into_iter()
                .all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
        };
        let (before, after) = (&text[..at], &text[at + mark.len()..]);
        !goes_on(mark.chars().next(), before.chars().next_back())
            && !goes_on(mark.chars().next_back(), after.chars().next())
    })
}

/// The cause that a whole run names, by its outcome or in its last lines.
pub(super) fn of_run(run: &TestRun) -> Option<Cause> {
    match run.outcome {
        Outcome::OutOfMemory => Some(Cause::Memory),
        Outcome::DidNotStart => Some(claimed(&run.tail).unwrap_or(Cause::MissingTool)),
        // A build without its compiler says so, instead of reporting errors in the code.
        Outcome::DidNotBuild | Outcome::MissingModule => program_of_run(run).map(|_| Cause::MissingTool),
        // These outcomes are about code, no matter what else was printed before.
        Outcome::Failed | Outcome::Flagged | Outcome::Passed => None,
        _ => claimed(&run.tail),
    }
}

/// The program that a run reports as missing.
pub(super) fn program_of_run(run: &TestRun) -> Option<String> {
    let messages = run.failures.iter().map(|failure| failure.message.as_str());
    messages.chain([run.tail.as_str()]).find_map(program)
}
