//! What people see: text without control characters of strangers, and questions only where somebody can answer.

use std::io::{IsTerminal as _, Write as _};

/// Longest line of an answer that is read, in bytes.
const MAX_ANSWER: usize = 8 << 10;

/// One line to standard error: progress, or why it ended. A closed pipe is nobody's fault.
pub(super) fn tell(line: &str) {
    let _nobody_listens = writeln!(std::io::stderr().lock(), "{}", crate::domain::redact::visible(line));
}

/// Text to standard output: the result.
pub(super) fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    let _nobody_listens = writeln!(out, "{}", crate::domain::redact::visible(text)).and_then(|()| out.flush());
}

/// Whether somebody can be asked.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and reads one line; none at the end of input.
pub(super) async fn ask(question: &str) -> Option<String> {
    let mut error = std::io::stderr().lock();
    let _nobody_listens = write!(error, "{question} ").and_then(|()| error.flush());
    drop(error);
    tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let mut bounded = std::io::Read::take(std::io::stdin().lock(), MAX_ANSWER as u64);
        match std::io::BufRead::read_line(&mut bounded, &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_string()),
        }
    })
    .await
    .ok()?
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
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match settings.log_format {
        crate::config::settings::LogFormat::Json => builder.json().try_init(),
        crate::config::settings::LogFormat::Text => builder
            .with_target(false)
            .with_ansi(std::io::stderr().is_terminal())
            .try_init(),
    };
    if let Err(error) = started {
        tell(&format!("logging could not be started: {error}"));
    }
}
