//! Parses a `greenlight.toml`, and explains its mistakes.
//!
//! [`super::repository`] defines its fields.

mod message;

use std::fmt;
use std::ops::Range;

use serde::Deserialize as _;
use toml::de::{DeTable, DeValue, Deserializer};

use self::message::{in_words, instead, printable, wrong_word};
use super::repository::{FILE_NAME, RepoConfig};

/// More than a hundred times the size of the example; a larger file is a mistake.
const MAX_BYTES: usize = 256 * 1024;

/// How many mistakes are looked for in one file.
const MAX_MISTAKES: usize = 50;

impl RepoConfig {
    /// The text of a file.
    ///
    /// # Errors
    /// When it has another encoding, such as UTF-16, which some programs on Windows write.
    pub fn decoded(bytes: &[u8]) -> Result<String, ConfigError> {
        let has_mark = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        if has_mark || bytes.contains(&0) {
            return Err(ConfigError::whole(
                "the file is not UTF-8 text, and may be UTF-16; save it as UTF-8".into(),
            ));
        }
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Parses the text of a `greenlight.toml`.
    ///
    /// # Errors
    /// The first unknown field or invalid value, with its line.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        check_size(text)?;
        toml::from_str(text).map_err(|error| ConfigError::new(text, error))
    }

    /// All mistakes of a `greenlight.toml`, the first fifty. While its syntax is wrong, only those are listed.
    pub fn mistakes(text: &str) -> Vec<ConfigError> {
        if let Err(error) = check_size(text) {
            return vec![error];
        }
        let (mut table, wrong) = DeTable::parse_recoverable(text);
        let wrong = wrong.into_iter().take(MAX_MISTAKES);
        let mut mistakes: Vec<ConfigError> = wrong.map(|error| ConfigError::new(text, error)).collect();
        let has_syntax = mistakes.is_empty();
        while has_syntax && mistakes.len() < MAX_MISTAKES {
            let Err(error) = Self::deserialize(Deserializer::from(table.clone())) else {
                break;
            };
            let place = error.span();
            mistakes.push(ConfigError::new(text, error));
            // The next mistake shows once this one is gone.
            if !place.is_some_and(|place| remove(table.get_mut(), &place)) {
                break;
            }
        }
        mistakes.sort_by_key(|mistake| mistake.line);
        mistakes
    }
}

fn check_size(text: &str) -> Result<(), ConfigError> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    Err(ConfigError::whole(format!("the file is larger than {MAX_BYTES} bytes")))
}

/// Removes the entry whose key or value is at this place. Tables are as deep as the parser allows.
fn remove(table: &mut DeTable<'_>, place: &Range<usize>) -> bool {
    let holds = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let is_it = match value.get_mut() {
            _ if key.span() == *place => true,
            DeValue::Table(inner) => {
                if remove(inner, place) {
                    return true;
                }
                false
            }
            _ => holds(value.span()),
        };
        if is_it {
            found = Some(key.get_ref().to_string());
            break;
        }
    }
    found.is_some_and(|key| table.remove(key.as_str()).is_some())
}

/// A mistake in a `greenlight.toml`. Text quoted from the file is bounded and on one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// From 1.
    pub line: Option<usize>,
    /// As in `limits.turns`.
    pub field: Option<String>,
    pub problem: String,
    /// The accepted words, if the value must be one of them.
    pub known: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.line.is_some() { " " } else { "" };
        write!(f, "{FILE_NAME}{space}{}", self.place())
    }
}

impl ConfigError {
    /// A mistake that is not at one place.
    fn whole(problem: String) -> Self {
        Self {
            line: None,
            field: None,
            problem,
            known: Vec::new(),
        }
    }

    /// The error without the name of the file: "line 2, `limits.token`: there is no such field".
    pub(super) fn place(&self) -> String {
        let line = self.line.map(|line| format!("line {line}")).unwrap_or_default();
        let field = self
            .field
            .as_ref()
            .map(|field| format!(", `{field}`"))
            .unwrap_or_default();
        format!("{line}{field}: {}", self.problem)
    }

    pub(super) fn new(text: &str, mut error: toml::de::Error) -> Self {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            before.matches('\n').count() + 1
        });
        let mut message = error.message().to_string();
        let written = error.span().and_then(|span| text.get(span));
        if let Some(key) = written.filter(|_| message == "duplicate key") {
            message = format!("the key {} is there twice", key.trim());
        }
        // Without its input, the error ends with the path of keys instead of an excerpt.
        error.set_input(None);
        let shown = error.to_string();
        let path = shown.strip_prefix(error.message()).unwrap_or_default().trim();
        let path = path
            .strip_prefix("in `")
            .and_then(|path| path.strip_suffix('`'))
            .map(printable);

        let (field, problem, known) = match wrong_word(&message) {
            None => (path, in_words(&message), Vec::new()),
            Some((written, known)) if message.starts_with("unknown field") => {
                let field = path.map_or(written.clone(), |path| format!("{path}.{written}"));
                (
                    Some(field),
                    format!(
                        "there is no such field; {}",
                        instead(&written, &known, "the fields are")
                    ),
                    known,
                )
            }
            Some((written, known)) => (
                path,
                format!(
                    "{written:?} is not a valid value; {}",
                    instead(&written, &known, "use one of")
                ),
                known,
            ),
        };
        Self {
            line,
            field,
            problem,
            known,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::repository::{Execution, Trigger};

    #[test]
    fn a_file_in_another_encoding_is_called_that() {
        let text: Vec<u8> = "execution = 1".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [[&[0xff, 0xfe], text.as_slice()].concat(), text] {
            let error = RepoConfig::decoded(&bytes).unwrap_err().to_string();
            assert!(error.contains("save it as UTF-8"), "{error}");
        }
        // A comment in an old encoding harms nobody.
        assert!(RepoConfig::parse(&RepoConfig::decoded(b"# caf\xe9\n").unwrap()).is_ok());
    }

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
    fn the_fields_of_the_file_are_used() {
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
        // Fields that a table leaves out have their defaults, so a stranger's pull requests cost no more than those.
        assert_eq!(config.limits.day.turns, RepoConfig::default().limits.day.turns);
        assert!(config.limits.day.turns.is_some() && config.limits.pull_request.tokens.is_some());
        assert_eq!((config.sandbox.memory, config.sandbox.processes), (512 << 20, 1024));
        assert_eq!(config.sandbox.network, ["pypi.org"]);
        assert!(config.protect.paths.covers(&"migrations/1.sql".parse().unwrap()));
    }

    #[test]
    fn a_typo_is_answered_with_line_field_and_what_was_meant() {
        let messages = [
            "\nexcution = \"approve\"",
            "[limits]\nturns = 3\ntoken = 5",
            "[limits.day]\ncost = 5",
            "[limit]\nturns = 3",
            "[repair]\ncandidate = 3",
            "[trigger]\nci = true\nexecution = \"approve\"",
            "execution = \"Sandbox\"",
            "execution = \"always\"",
            "[sandbox]\nrequire = [\"memmory\"]",
        ]
        .map(error)
        .join("\n");
        insta::assert_snapshot!(messages, @r#"
        greenlight.toml line 2, `excution`: there is no such field; did you mean `execution`?
        greenlight.toml line 3, `limits.token`: there is no such field; did you mean `tokens`?
        greenlight.toml line 2, `limits.day.cost`: there is no such field; the fields are `turns`, `tokens`, `cost_usd`, `wall`, `patch_lines`
        greenlight.toml line 1, `limit`: there is no such field; did you mean `limits`?
        greenlight.toml line 2, `repair.candidate`: there is no such field; did you mean `candidates`?
        greenlight.toml line 3, `trigger.execution`: there is no such field; the fields are `ci`, `label`
        greenlight.toml line 1, `execution`: "Sandbox" is not a valid value; did you mean `sandbox`?
        greenlight.toml line 1, `execution`: "always" is not a valid value; use one of `approve`, `sandbox`
        greenlight.toml line 2, `sandbox.require`: "memmory" is not a valid value; did you mean `memory`?
        "#);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_named() {
        let messages = [
            "[limits]\n\nturns = \"many\"",
            "[sandbox]\nnetwork = [\n  \"pypi.org\",\n  5,\n]",
            "limits = 5",
            "[test]\ntimeout = 600",
            "[test]\ntimeout = \"600\"",
            "[sandbox]\nmemory = \"2GB\"",
            "[sandbox]\nnetwork = [\"https://pypi.org\"]",
            "[protect]\npaths = [\"[z\"]",
            "[limits\nturns = 3",
            "ci = true\nci = true",
        ]
        .map(error)
        .join("\n");
        insta::assert_snapshot!(messages, @r#"
        greenlight.toml line 3, `limits.turns`: it has to be a whole number, not the string "many"
        greenlight.toml line 4, `sandbox.network`: it has to be a string, not the integer '5'
        greenlight.toml line 1, `limits`: it has to be a table, not the integer '5'
        greenlight.toml line 2, `test.timeout`: it has to be a string, not the integer '600'
        greenlight.toml line 2, `test.timeout`: "600" is not a duration such as "90s", "10m" or "24h"
        greenlight.toml line 2, `sandbox.memory`: "2GB" is not a size such as "512MiB" or "2GiB"
        greenlight.toml line 2, `sandbox.network`: "https://pypi.org" is not a full host name such as "pypi.org", without scheme, port, path or asterisk
        greenlight.toml line 2, `protect.paths`: "[z" is not a pattern: unclosed character class; missing ']'
        greenlight.toml line 1: unclosed table, expected ']'
        greenlight.toml line 2: the key ci is there twice
        "#);
    }

    #[test]
    fn every_mistake_is_listed_once() {
        let text = "excution = \"approve\"\nlimits.turns = 0\n[test]\ntimeout = \"1s\"\ncomand = \"x\"\n\
                    [sandbox]\nnetwork = [\n  \"pypi.org\",\n  5,\n]\nmemory = \"2GB\"\n\
                    trigger = { ci = 1, label = 2 }\n[nonsense]\na = 1\n";
        let mistakes: Vec<String> = RepoConfig::mistakes(text).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(mistakes.join("\n"), @r#"
        greenlight.toml line 1, `excution`: there is no such field; did you mean `execution`?
        greenlight.toml line 2, `limits.turns`: 0 is not between 1 and 200
        greenlight.toml line 5, `test.comand`: there is no such field; did you mean `command`?
        greenlight.toml line 9, `sandbox.network`: it has to be a string, not the integer '5'
        greenlight.toml line 11, `sandbox.memory`: "2GB" is not a size such as "512MiB" or "2GiB"
        greenlight.toml line 12, `sandbox.trigger`: there is no such field; the fields are `memory`, `processes`, `disk`, `network`, `require`
        greenlight.toml line 13, `nonsense`: there is no such field; the fields are `execution`, `trigger`, `test`, `triage`, `repair`, `gate`, `limits`, `protect`, `sandbox`, `worker`
        "#);
        assert_eq!(RepoConfig::mistakes("[limits]\nturns = 3\n"), []);
        assert_eq!(RepoConfig::mistakes(&"#".repeat(300_000)).len(), 1);
        let many: String = (0..1_000).map(|number| format!("a{number} = 1\n")).collect();
        assert_eq!(RepoConfig::mistakes(&many).len(), MAX_MISTAKES);
        let text = "a = \n[limits]\nturns = 0\nturns = 4\nb = \n";
        let of_syntax: Vec<Option<usize>> = RepoConfig::mistakes(text).iter().map(|mistake| mistake.line).collect();
        assert_eq!(of_syntax, [Some(1), Some(4), Some(5)]);
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
            ("repair", "candidates = 0"),
            ("repair", "candidates = 1_000_001"),
            ("repair", "wall = \"0s\""),
            ("repair", "wall = \"7h\""),
            ("repair", "before_model = \"7h\""),
            ("gate", "expires = \"31days\""),
            ("gate", "expires = \"0s\""),
            ("gate", "approvers = 0"),
            ("test", "timeout = \"3h\""),
            ("test", "command = \" \""),
            ("test", "command = \"\"\"a\nb\"\"\""),
            (
                "trigger",
                "label = \"a label with more than the fifty characters it may have\"",
            ),
            ("sandbox", "memory = \"63MiB\""),
            ("sandbox", "disk = \"17TiB\""),
            ("sandbox", "processes = 1"),
            ("sandbox", "network = [\"169.254.169.254\"]"),
        ] {
            let message = error(&format!("[{section}]\n{bad}"));
            let field = bad.split(' ').next().unwrap();
            assert!(
                message.starts_with(&format!("greenlight.toml line 2, `{section}.{field}`: ")),
                "{message}"
            );
        }
    }

    #[test]
    fn hostile_text_is_repeated_on_one_bounded_line() {
        let message = error(&format!("\"`\\n@everyone{}\" = 1", "x".repeat(5_000)));
        assert!(
            message.len() < 600 && !message.contains('\n') && message.matches('`').count().is_multiple_of(2),
            "{message}"
        );
        assert!(error(&"#".repeat(300_000)).contains("larger than"));
    }
}
