//! What a repository decides about itself: `greenlight.toml` of the base branch.
//!
//! Credentials, the model and the allow-list are deliberately not in it, see [`super::settings`]. The commented form
//! of this file is `greenlight.example.toml`.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::protect::Protected;
use super::values::{command, duration, hosts, label, money, size, some_duration, some_money, some_whole, whole};

/// Where the configuration lies in a repository.
pub const FILE_NAME: &str = "greenlight.toml";
/// More than a hundred times the example; a larger file is somebody's mistake.
const MAX_BYTES: usize = 256 * 1024;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The configuration of one repository.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepoConfig {
    pub execution: Execution,
    pub trigger: Trigger,
    pub test: Test,
    pub gate: Gate,
    pub limits: Limits,
    pub protect: Protect,
    pub sandbox: Sandbox,
}

/// When code may run before anybody approved it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// Never.
    #[default]
    Approve,
    /// In the sandbox, for pull requests whose author has write access. A commit still needs an approval.
    Sandbox,
}

/// What starts a run besides a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trigger {
    /// Answer red CI on pull requests.
    pub ci: bool,
    /// Answer when this label is added; none if the file has an empty one.
    #[serde(deserialize_with = "label")]
    pub label: Option<String>,
}

/// How the tests are run; what is left out is found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Test {
    /// Runs the tests, as one line of shell.
    #[serde(deserialize_with = "command")]
    pub command: Option<String>,
    /// Installs what the tests need, as one line of shell.
    #[serde(deserialize_with = "command")]
    pub install: Option<String>,
    /// How long one test run may take.
    #[serde(deserialize_with = "duration::<_, 1, { 2 * HOUR }>")]
    pub timeout: Duration,
}

/// How a green light is given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gate {
    /// How long a gate stays open.
    #[serde(deserialize_with = "duration::<_, MINUTE, { 30 * DAY }>")]
    pub expires: Duration,
    /// How many people with write access must approve.
    #[serde(deserialize_with = "whole::<_, _, 1, 10>")]
    pub approvers: u32,
}

/// What one run may use up.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Round-trips to the model.
    #[serde(deserialize_with = "whole::<_, _, 1, 200>")]
    pub turns: u32,
    /// Tokens read and written by the model.
    #[serde(deserialize_with = "whole::<_, _, 1_000, 100_000_000>")]
    pub tokens: u64,
    /// Money for the model, in US dollars.
    #[serde(deserialize_with = "money::<_, 1_000>")]
    pub cost_usd: f64,
    /// Time from start to proposal, without the time a gate is open.
    #[serde(deserialize_with = "duration::<_, MINUTE, { 6 * HOUR }>")]
    pub wall: Duration,
    /// Removed plus added lines of a proposal.
    #[serde(deserialize_with = "whole::<_, _, 1, 10_000>")]
    pub patch_lines: u32,
    /// The same, for all runs of the repository within 24 hours.
    pub day: DayLimits,
}

/// What all runs of a repository may use up within 24 hours; none means that only the limits of each run count.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DayLimits {
    #[serde(deserialize_with = "some_whole::<_, _, 1, 1_000_000>")]
    pub turns: Option<u32>,
    #[serde(deserialize_with = "some_whole::<_, _, 1_000, 100_000_000_000>")]
    pub tokens: Option<u64>,
    #[serde(deserialize_with = "some_money::<_, 1_000_000>")]
    pub cost_usd: Option<f64>,
    #[serde(deserialize_with = "some_duration::<_, MINUTE, { 1_000 * HOUR }>")]
    pub wall: Option<Duration>,
    #[serde(deserialize_with = "some_whole::<_, _, 1, 1_000_000>")]
    pub patch_lines: Option<u32>,
}

/// What a proposal must leave alone.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Protect {
    /// Added to the built-in ones.
    pub paths: Protected,
}

/// What the code under test may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Bytes of memory, over all processes.
    #[serde(deserialize_with = "size::<_, 64, { 1 << 20 }>")]
    pub memory: u64,
    /// Processes and threads at one time.
    #[serde(deserialize_with = "whole::<_, _, 8, 65_536>")]
    pub processes: u32,
    /// Bytes written to disk.
    #[serde(deserialize_with = "size::<_, 64, { 16 << 20 }>")]
    pub disk: u64,
    /// Host names that a gate may grant during installation.
    #[serde(deserialize_with = "hosts")]
    pub network: Vec<String>,
}

impl Default for Trigger {
    fn default() -> Self {
        Self {
            ci: true,
            label: Some("greenlight".into()),
        }
    }
}

impl Default for Test {
    fn default() -> Self {
        Self {
            command: None,
            install: None,
            timeout: Duration::from_secs(10 * MINUTE),
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            expires: Duration::from_secs(DAY),
            approvers: 1,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 30,
            tokens: 400_000,
            cost_usd: 2.0,
            wall: Duration::from_secs(30 * MINUTE),
            patch_lines: 200,
            day: DayLimits::default(),
        }
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            processes: 256,
            disk: 4 << 30,
            network: Vec::new(),
        }
    }
}

impl RepoConfig {
    /// Reads the text of a `greenlight.toml`.
    ///
    /// # Errors
    /// The first thing in it that is not understood or out of bounds, with its line and field.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_BYTES {
            return Err(ConfigError {
                line: None,
                field: None,
                problem: format!("the file is larger than {MAX_BYTES} bytes"),
                known: Vec::new(),
            });
        }
        toml::from_str(text).map_err(|error| ConfigError::new(text, error))
    }
}

/// What is wrong with a `greenlight.toml`. Everything in it that the file wrote is bounded and on one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// From 1.
    pub line: Option<usize>,
    /// As in `limits.turns`.
    pub field: Option<String>,
    pub problem: String,
    /// What could have stood there instead, if only certain words can.
    pub known: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FILE_NAME)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", `{field}`")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl ConfigError {
    fn new(text: &str, mut error: toml::de::Error) -> Self {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            before.matches('\n').count() + 1
        });
        let message = error.message().to_string();
        // Without its input the error ends in the path of keys instead of an excerpt.
        error.set_input(None);
        let shown = error.to_string();
        let path = shown.strip_prefix(&message).unwrap_or_default().trim();
        let path = path.strip_prefix("in `").and_then(|path| path.strip_suffix('`')).map(printable);

        let (field, problem, known) = match wrong_word(&message) {
            None => (path, printable(&message), Vec::new()),
            Some((written, known)) if message.starts_with("unknown field") => {
                let field = path.map_or(written.clone(), |path| format!("{path}.{written}"));
                (Some(field), format!("there is no such field; {}", instead(&written, &known)), known)
            }
            Some((written, known)) => {
                (path, format!("{written:?} is none of its values; {}", instead(&written, &known)), known)
            }
        };
        Self {
            line,
            field,
            problem,
            known,
        }
    }
}

/// Takes apart what serde says of a field or value it does not know: "unknown field `a`, expected one of `b`, `c`".
fn wrong_word(message: &str) -> Option<(String, Vec<String>)> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    let (written, expected) = message.rsplit_once(", expected ")?;
    let (_, written) = written.split_once('`')?;
    let known = expected.split('`').skip(1).step_by(2).map(String::from).collect();
    Some((printable(written.trim_end_matches('`')), known))
}

/// "did you mean" for a near miss, otherwise all there is.
fn instead(written: &str, known: &[String]) -> String {
    let distance = |word: &String| strsim::damerau_levenshtein(&written.to_lowercase(), word);
    let near = known.iter().filter(|word| distance(word) <= 1.max(word.len() / 3));
    match near.min_by_key(|word| distance(word)) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("there is `{}`", known.join("`, `")),
    }
}

/// Text of the file as it may be repeated in a comment: one line, no code marks, at most 200 characters.
fn printable(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c });
    clean.take(200).collect::<String>().trim().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn error(text: &str) -> String {
        RepoConfig::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(RepoConfig::parse(""), Ok(RepoConfig::default()));
        assert_eq!(RepoConfig::parse("[limits]\n"), Ok(RepoConfig::default()));
    }

    #[test]
    fn what_is_written_is_what_counts() {
        let config = RepoConfig::parse(
            "execution = \"sandbox\"\ntrigger = { ci = false, label = \"\" }\n[test]\ncommand = \"pytest -q\"\n\
             [limits]\ncost_usd = 1\nwall = \"1h 30m\"\n[limits.day]\ntokens = 2_000_000\n\
             [sandbox]\nmemory = \"512MiB\"\nnetwork = [\"PyPI.org\"]\n[protect]\npaths = [\"migrations/**\"]\n",
        )
        .unwrap();
        assert_eq!(config.execution, Execution::Sandbox);
        assert_eq!(config.trigger, Trigger { ci: false, label: None });
        assert_eq!(config.test.command.as_deref(), Some("pytest -q"));
        assert_eq!((config.limits.turns, config.limits.cost_usd), (30, 1.0));
        assert_eq!(config.limits.wall, Duration::from_secs(5400));
        assert_eq!(config.limits.day.tokens, Some(2_000_000));
        assert_eq!((config.sandbox.memory, config.sandbox.processes), (512 << 20, 256));
        assert_eq!(config.sandbox.network, ["pypi.org"]);
        assert!(config.protect.paths.covers(&"migrations/1.sql".parse().unwrap()));
    }

    #[test]
    fn a_typo_is_answered_with_line_field_and_what_was_meant() {
        insta::assert_snapshot!(error("\nexcution = \"approve\""), @"");
        insta::assert_snapshot!(error("[limits]\nturns = 3\ntoken = 5"), @"");
        insta::assert_snapshot!(error("[limits.day]\ncost = 5"), @"");
        insta::assert_snapshot!(error("[limit]\nturns = 3"), @"");
        insta::assert_snapshot!(error("[trigger]\nci = true\nexecution = \"approve\""), @"");
        insta::assert_snapshot!(error("execution = \"Sandbox\""), @"");
        insta::assert_snapshot!(error("execution = \"always\""), @"");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named() {
        insta::assert_snapshot!(error("[limits]\n\nturns = \"many\""), @"");
        insta::assert_snapshot!(error("[sandbox]\nnetwork = [\n  \"pypi.org\",\n  5,\n]"), @"");
        insta::assert_snapshot!(error("limits = 5"), @"");
        insta::assert_snapshot!(error("[test]\ntimeout = 600"), @"");
        insta::assert_snapshot!(error("[test]\ntimeout = \"600\""), @"");
        insta::assert_snapshot!(error("[sandbox]\nmemory = \"2GB\""), @"");
        insta::assert_snapshot!(error("[sandbox]\nnetwork = [\"https://pypi.org\"]"), @"");
        insta::assert_snapshot!(error("[protect]\npaths = [\"[z\"]"), @"");
        insta::assert_snapshot!(error("[limits\nturns = 3"), @"");
        insta::assert_snapshot!(error("ci = true\nci = true"), @"");
    }

    #[test]
    fn bounds_hold() {
        for (section, bad) in [
            ("limits", "turns = 0"),
            ("limits", "turns = 201"),
            ("limits", "turns = -1"),
            ("limits", "tokens = 9_000_000_000_000_000_000"),
            ("limits", "cost_usd = -0.5"),
            ("limits", "cost_usd = nan"),
            ("limits", "cost_usd = inf"),
            ("limits", "wall = \"1s\""),
            ("limits", "patch_lines = 0"),
            ("limits.day", "turns = 0"),
            ("gate", "expires = \"31days\""),
            ("gate", "expires = \"0s\""),
            ("gate", "approvers = 0"),
            ("test", "timeout = \"3h\""),
            ("test", "command = \" \""),
            ("test", "command = \"\"\"a\nb\"\"\""),
            ("trigger", "label = \"a label with more than the fifty characters it may have\""),
            ("sandbox", "memory = \"63MiB\""),
            ("sandbox", "disk = \"17TiB\""),
            ("sandbox", "processes = 1"),
            ("sandbox", "network = [\"169.254.169.254\"]"),
        ] {
            let message = error(&format!("[{section}]\n{bad}"));
            let field = bad.split(' ').next().unwrap();
            assert!(message.starts_with(&format!("greenlight.toml line 2, `{section}.{field}`: ")), "{message}");
        }
    }

    #[test]
    fn hostile_text_is_repeated_on_one_bounded_line() {
        let message = error(&format!("\"`\\n@everyone{}\" = 1", "x".repeat(5_000)));
        assert!(message.len() < 600 && !message.contains('\n') && message.matches('`').count() % 2 == 0, "{message}");
        assert!(error(&"#".repeat(300_000)).contains("larger than"));
    }
}
