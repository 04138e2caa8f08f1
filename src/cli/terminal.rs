//! Terminal input and output: text without strangers' control characters, and questions only if somebody can answer.

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Exit, paint, redrawn, wrap};
use crate::config::settings::{LogFormat, Settings};
use crate::domain::redact::{redact, visible, without_commands};

/// How long the work has to stop after a request.
const GRACE: Duration = Duration::from_secs(3);
/// The maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 8 << 10;

/// Whether progress and notes are left out.
static IS_QUIET: AtomicBool = AtomicBool::new(false);
/// The first error of standard output.
static UNPRINTED: OnceLock<String> = OnceLock::new();
/// Whether logging was started.
static IS_LOGGING: AtomicBool = AtomicBool::new(false);

/// Leaves out progress and notes from now on.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

pub(super) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints one line of progress, or a note, to standard error, unless `--quiet` was given.
pub(super) fn mention(line: &str) {
    if !is_quiet() {
        tell(line);
    }
}

/// Prints one line to standard error that nobody may miss: an error, a warning, or a part of a question. A closed pipe is
/// ignored.
pub(super) fn tell(line: &str) {
    tell_exactly(&fitting(&redact(&visible(line)), &std::io::stderr()));
}

/// The text in lines that fit a terminal. Elsewhere lines stay as they are.
fn fitting(text: &str, stream: &impl std::os::fd::AsFd) -> String {
    wrap::wrapped(text, columns(stream).unwrap_or(0))
}

/// The same with greenlight's own values, such as the link of a page. Never use it for other text.
pub(super) fn tell_exactly(line: &str) {
    let line = visible(line);
    let line = without_commands(&line);
    let _nobody_listens = redrawn::suspended(|| writeln!(std::io::stderr().lock(), "{line}"));
}

/// Prints text to standard output: the result.
pub(super) fn show(text: &str) {
    show_exactly(&fitting(&redact(&visible(text)), &std::io::stdout()));
}

/// Prints text to standard output that contains greenlight's own values, such as a token of the demo. Never use it
/// for other text.
pub(super) fn show_exactly(text: &str) {
    print(&without_commands(&visible(text)));
}

/// Prints a workflow command to standard output. Never use it for text from others.
pub(super) fn command(command: &str) {
    print(command);
}

/// The beginning of a line that fits on one line of the terminal that standard error is.
pub(super) fn on_one_line(line: &str) -> String {
    match columns(&std::io::stderr()) {
        Some(columns) if line.chars().count() > columns => {
            let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
            kept + "…"
        }
        _ => line.to_string(),
    }
}

/// Whether standard output is a terminal with fewer columns than these.
pub(super) fn is_narrower_than(wanted: usize) -> bool {
    columns(&std::io::stdout()).is_some_and(|columns| columns < wanted)
}

/// The width of a terminal. `None` if it is unknown, or there is no terminal.
fn columns(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Prints greenlight's own text to standard output exactly. Never use it for text from others.
pub(super) fn print(text: &str) {
    let printed = redrawn::suspended(|| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    });
    if let Err(error) = printed {
        note_unprinted(error);
    }
}

/// Notes that a part of the result could not be printed. A reader who has seen enough closes the pipe, which is no error.
fn note_unprinted(error: std::io::Error) {
    if error.kind() != std::io::ErrorKind::BrokenPipe {
        let _noted_before = UNPRINTED.set(error.to_string());
    }
}

/// Why a part of the result could not be printed, if it could not.
pub(super) fn unprinted() -> Option<&'static str> {
    UNPRINTED.get().map(String::as_str)
}

/// Prints code to standard output. Characters that hide or reorder text are escaped. Nothing is redacted, because a
/// person approves this code, and it comes from their own checkout.
pub(super) fn show_code(code: &str) {
    show_exactly(&escaped(&code.replace("\r\n", "\n"), |c| {
        c.escape_unicode().to_string()
    }));
}

/// Prints a coloured diff, escaped as by [`show_code`].
pub(super) fn show_diff(diff: &str) {
    let text = escaped(&diff.replace("\r\n", "\n"), |c| c.escape_unicode().to_string());
    let text = visible(&text);
    let text = without_commands(&text);
    print(&match paint::is_wanted(&std::io::stdout()) {
        true => paint::diff(&text),
        false => text.into_owned(),
    });
}

/// Prints a part of the demo's story, with wrapped lines and coloured changes.
pub(super) fn show_story(text: &str) {
    let text = redact(&visible(text));
    let text = without_commands(&text);
    let text = fitting(&text, &std::io::stdout());
    print(&match paint::is_wanted(&std::io::stdout()) {
        true => paint::story(&text),
        false => text,
    });
}

/// Prints one line of such code to standard error, before a question.
pub(super) fn tell_code(line: &str) {
    tell_exactly(&escaped(line, |c| c.escape_unicode().to_string()));
}

/// Prints a JSON document to standard output, on one line. Strings are redacted, except for patches that a script
/// applies. Control characters are escaped.
pub(super) fn show_document(document: &Value) {
    let document = rewritten(document, &redact);
    // Outside of strings, JSON has no such characters. Inside of strings, this is the JSON escape.
    let units = |c: char| {
        c.encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect()
    };
    show_exactly(&escaped(&document.to_string(), units));
}

/// The document with rewritten strings, except for patches that a script applies.
pub(super) fn rewritten(document: &Value, rewrite: &dyn Fn(&str) -> String) -> Value {
    let mut document = document.clone();
    rewrite_strings(&mut document, rewrite);
    document
}

/// Members of documents that contain a patch, or a suggestion with its fingerprint.
const EXACT: [&str; 5] = ["body", "code", "patch", "remainder", "unproved_edits"];

fn rewrite_strings(value: &mut Value, rewrite: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = rewrite(text),
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite_strings(value, rewrite)),
        Value::Object(members) => {
            let members = members.iter_mut().filter(|(name, _)| !EXACT.contains(&name.as_str()));
            members.for_each(|(_, value)| rewrite_strings(value, rewrite));
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

/// Awaits a piece of work. If somebody asks the process to end, the work is cancelled and gets a moment to stop.
pub(super) async fn unless_stopped(work: impl Future<Output = Result<(), Exit>>, cancel: &CancellationToken) -> Exit {
    let result = until_stopped(unless_cancelled(work, cancel), cancel).await;
    result.err().unwrap_or(Exit::Done)
}

/// Awaits a piece of work that ends soon after it is cancelled. It is cancelled if somebody asks the process to end.
pub(super) async fn until_stopped<T>(work: impl Future<Output = T>, cancel: &CancellationToken) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = stopped() => cancel.cancel(),
    }
    work.await
}

/// Awaits a piece of work. If it is cancelled, it gets a moment to stop.
pub(super) async fn unless_cancelled<T>(
    work: impl Future<Output = Result<T, Exit>>,
    cancel: &CancellationToken,
) -> Result<T, Exit> {
    let cancelled = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        result = work => result,
        () = cancelled => Err(Exit::Stopped),
    }
}

/// Resolves when somebody asks this process to end, with ctrl-c or `kill`. Signals are caught from this call on, even
/// before the future is polled.
pub(super) fn stopped() -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async move {
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
        }
    }
}

/// Resolves when the signal arrives. One that cannot be caught ends the process anyway.
async fn received(signal: std::io::Result<tokio::signal::unix::Signal>) {
    match signal {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// Whether somebody can be asked.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether somebody sees all output, and can answer.
pub(super) fn somebody_reads_and_types() -> bool {
    somebody_is_there() && std::io::stdout().is_terminal()
}

/// Whether somebody sees progress.
pub(super) fn somebody_watches() -> bool {
    std::io::stderr().is_terminal()
}

/// Asks a question, and reads one line. `None` at the end of input.
pub(super) async fn ask(question: &str) -> Option<String> {
    // Input from before the question is not an answer to it.
    let _not_a_terminal = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    let _nobody_listens = redrawn::suspended(|| {
        let mut error = std::io::stderr().lock();
        write!(error, "{} ", fitting(question, &error)).and_then(|()| error.flush())
    });
    let unanswered = Unanswered;
    let (answer, answered) = tokio::sync::oneshot::channel();
    // A separate thread, because the runtime would wait for its own threads at the end, until somebody presses Enter.
    std::thread::spawn(move || {
        let mut line = String::new();
        let mut bounded = std::io::Read::take(std::io::stdin().lock(), MAX_ANSWER as u64);
        let _nobody_waits = answer.send(match std::io::BufRead::read_line(&mut bounded, &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_string()),
        });
    });
    let answer = answered.await.ok()?;
    std::mem::forget(unanswered);
    answer
}

/// A question. If it is dropped, what is printed next begins a line.
struct Unanswered;

impl Drop for Unanswered {
    fn drop(&mut self) {
        let _nobody_listens = redrawn::suspended(|| writeln!(std::io::stderr().lock()));
    }
}

/// Standard error for log events. Each one is a single write.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = redact(&String::from_utf8_lossy(event));
        redrawn::suspended(|| std::io::stderr().lock().write_all(text.as_bytes()))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Starts logging to standard error, once in a process.
pub(super) fn start_logging(settings: &Settings, default_filter: Option<&str>) {
    use tracing_subscriber::EnvFilter;
    if IS_LOGGING.swap(true, Ordering::Relaxed) {
        return;
    }
    // These libraries log bodies, and those contain code.
    let filter = default_filter
        .filter(|_| settings.log == "info")
        .unwrap_or(&settings.log);
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let quiet = [
        "async_openai=off",
        "octocrab=off",
        "hyper=warn",
        "rmcp=error",
        "sqlx=warn",
    ];
    // Lines for people name what they are about, and no more. What machines read has it on every line.
    let context = match settings.log_format {
        LogFormat::Json => "greenlight::context=error",
        LogFormat::Text => "greenlight::context=off",
    };
    let filter = quiet
        .iter()
        .chain([&context])
        .filter_map(|directive| directive.parse().ok())
        .fold(filter, EnvFilter::add_directive);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Log);
    let started = match settings.log_format {
        LogFormat::Json => builder.json().with_span_list(false).try_init(),
        LogFormat::Text => builder
            .with_target(false)
            .with_ansi(paint::is_wanted(&std::io::stderr()))
            .try_init(),
    };
    if let Err(error) = started {
        tell(&format!("logging could not be started: {error}"));
    }
}
