//! What people see: text without control characters of strangers, and questions only where somebody can answer.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Exit, paint, progress, wrap};
use crate::domain::redact::{redact, visible, without_commands};

/// How long the work gets to stop alone once somebody asked for it.
const GRACE: Duration = Duration::from_secs(3);
/// Longest line of an answer that is read, in bytes.
const MAX_ANSWER: usize = 8 << 10;

/// One line to standard error: progress, or why it ended. A closed pipe is nobody's fault.
pub(super) fn tell(line: &str) {
    tell_exactly(&redact(&visible(line)));
}

fn tell_exactly(line: &str) {
    let line = visible(line);
    let line = without_commands(&line);
    let _nobody_listens = progress::suspended(|| writeln!(std::io::stderr().lock(), "{line}"));
}

/// Text to standard output: the result.
pub(super) fn show(text: &str) {
    show_exactly(&redact(&visible(text)));
}

/// Text to standard output that holds greenlight's own values, such as a token of the demo. Never for text of anybody else.
pub(super) fn show_exactly(text: &str) {
    print(&without_commands(&visible(text)));
}

/// A workflow command of greenlight's own to standard output. Never for text of anybody else.
pub(super) fn command(command: &str) {
    print(command);
}

/// How wide a terminal is. `None` where it does not say, or there is none.
fn columns(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn print(text: &str) {
    let _nobody_listens = progress::suspended(|| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    });
}

/// Code to standard output. What would hide or reorder text is shown as an escape, and nothing is redacted: this is what
/// somebody approves, and it comes from their own checkout.
pub(super) fn show_code(code: &str) {
    show_exactly(&escaped(&code.replace("\r\n", "\n"), |c| {
        c.escape_unicode().to_string()
    }));
}

/// A diff, as [`show_code`] shows code, with its colours.
pub(super) fn show_diff(diff: &str) {
    let text = escaped(&diff.replace("\r\n", "\n"), |c| c.escape_unicode().to_string());
    let text = visible(&text);
    let text = without_commands(&text);
    print(&match paint::is_wanted(&std::io::stdout()) {
        true => paint::diff(&text),
        false => text.into_owned(),
    });
}

/// A part of the demo's story: long lines continue at its rail, and changes have colours.
pub(super) fn show_story(text: &str) {
    let text = redact(&visible(text));
    let text = without_commands(&text);
    let text = wrap::wrapped(&text, columns(&std::io::stdout()).unwrap_or(0));
    print(&match paint::is_wanted(&std::io::stdout()) {
        true => paint::story(&text),
        false => text,
    });
}

/// One line of such code to standard error, where somebody is asked.
pub(super) fn tell_code(line: &str) {
    tell_exactly(&escaped(line, |c| c.escape_unicode().to_string()));
}

/// A JSON document to standard output, on one line. Each string is redacted, except for the patches that a script
/// applies; what a terminal must not see is escaped.
pub(super) fn show_document(document: &Value) {
    let mut document = document.clone();
    redact_strings(&mut document);
    // Outside of strings JSON has no such characters, and inside of them this is how it writes them.
    let units = |c: char| {
        c.encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect()
    };
    show_exactly(&escaped(&document.to_string(), units));
}

/// Members of documents that hold a patch, or a suggestion with its fingerprint.
const EXACT: [&str; 5] = ["body", "code", "patch", "remainder", "unproved_edits"];

fn redact_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(values) => values.iter_mut().for_each(redact_strings),
        Value::Object(members) => {
            let members = members.iter_mut().filter(|(name, _)| !EXACT.contains(&name.as_str()));
            members.for_each(|(_, value)| redact_strings(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        let mut bytes = [0; 4];
        let c_alone: &str = c.encode_utf8(&mut bytes);
        if visible(c_alone).is_empty() {
            escaped.push_str(&escape(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Does a piece of work to its end; once somebody asks this process to end, it is told so and gets a moment to stop
/// alone.
pub(super) async fn unless_stopped(work: impl Future<Output = Result<(), Exit>>, cancel: &CancellationToken) -> Exit {
    let stopped = async {
        stopped().await;
        cancel.cancel();
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        result = work => result.err().unwrap_or(Exit::Done),
        () = stopped => Exit::Stopped,
    }
}

/// Resolves when somebody asks this process to end: ctrl-c, or `kill`.
pub(super) async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupt = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _interrupted = interrupt.await;
        }
    }
}

/// Whether somebody can be asked.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether somebody sees everything, and can answer.
pub(super) fn somebody_reads_and_types() -> bool {
    somebody_is_there() && std::io::stdout().is_terminal()
}

/// Whether somebody sees what is told.
pub(super) fn somebody_watches() -> bool {
    std::io::stderr().is_terminal()
}

/// Asks, and reads one line; none at the end of input.
pub(super) async fn ask(question: &str) -> Option<String> {
    // What was typed before the question was asked is no answer to it.
    let _not_a_terminal = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    let _nobody_listens = progress::suspended(|| {
        let mut error = std::io::stderr().lock();
        write!(error, "{question} ").and_then(|()| error.flush())
    });
    let (answer, answered) = tokio::sync::oneshot::channel();
    // A separate thread: the runtime would wait for its own at the end, until somebody presses Enter.
    std::thread::spawn(move || {
        let mut line = String::new();
        let mut bounded = std::io::Read::take(std::io::stdin().lock(), MAX_ANSWER as u64);
        let _nobody_waits = answer.send(match std::io::BufRead::read_line(&mut bounded, &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_string()),
        });
    });
    answered.await.ok()?
}

/// Standard error for events, each of which arrives as one write.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = redact(&String::from_utf8_lossy(event));
        progress::suspended(|| std::io::stderr().lock().write_all(text.as_bytes()))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Starts logging to standard error.
pub(super) fn start_logging(settings: &crate::config::settings::Settings, default_filter: Option<&str>) {
    use tracing_subscriber::EnvFilter;
    // The client library logs bodies when it cannot read them; bodies hold code.
    let filter = default_filter
        .filter(|_| settings.log == "info")
        .unwrap_or(&settings.log);
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let quiet = ["async_openai=off", "octocrab=off", "hyper=warn", "sqlx=warn"];
    let filter = quiet
        .iter()
        .filter_map(|directive| directive.parse().ok())
        .fold(filter, EnvFilter::add_directive);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Log);
    let started = match settings.log_format {
        crate::config::settings::LogFormat::Json => builder.json().try_init(),
        crate::config::settings::LogFormat::Text => builder
            .with_target(false)
            .with_ansi(paint::is_wanted(&std::io::stderr()))
            .try_init(),
    };
    if let Err(error) = started {
        tell(&format!("logging could not be started: {error}"));
    }
}
