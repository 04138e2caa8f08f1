//! The workflow commands of a step: stray ones in the log are disabled, and a failure becomes an annotation.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use super::{Exit, terminal};
use crate::domain::redact;

/// The variables that `action.yml` sets from an input with a different name.
const RENAMED: [(&str, &str); 1] = [("GREENLIGHT_GITHUB_TOKEN", "github-token")];

/// The other variables that `action.yml` sets from an input.
const FROM_INPUTS: [&str; 10] = [
    "GREENLIGHT_ENGINE",
    "GREENLIGHT_MODEL",
    "GREENLIGHT_MODEL_BASE_URL",
    "GREENLIGHT_MODEL_API_KEY",
    "GREENLIGHT_MODEL_FALLBACKS",
    "GREENLIGHT_MODEL_API",
    "GREENLIGHT_MODEL_TOOLS",
    "GREENLIGHT_MODEL_PRICES",
    "GREENLIGHT_MODEL_CONTEXT",
    "GREENLIGHT_LOG",
];

/// Longer messages are cut, in characters. The log has the whole text.
const MAX_MESSAGE: usize = 2_000;

/// While this exists, the runner ignores workflow commands of this step. Lines such as `::set-output …` are commands
/// to it, and logs quote strangers. The token that ends the silence is random.
pub(super) struct Silence(String);

impl Silence {
    pub(super) fn begin() -> Self {
        let word = ulid::Ulid::new().to_string();
        terminal::command(&format!("::stop-commands::{word}"));
        Self(word)
    }

    /// Makes the error an annotation of the workflow run. The commands are disabled again before the error is logged.
    pub(super) fn report(self, exit: Exit) -> Exit {
        let exit = exit.reworded(with_inputs);
        if let Some(reason) = exit.reason() {
            terminal::command(&format!("::{}::", self.0));
            terminal::command(&format!("::error title=greenlight::{}", escaped(reason)));
            Self::begin();
        }
        exit
    }
}

/// Escapes text as the message of a command. It may quote strangers, and must stay on its line.
fn escaped(text: &str) -> String {
    let text: String = redact::visible(text).chars().take(MAX_MESSAGE).collect();
    let mut escaped = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '%' => escaped.push_str("%25"),
            '\n' => escaped.push_str("%0A"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Replaces the names of variables by those of the inputs they come from, because people set inputs.
fn with_inputs(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let (mut renamed, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = rest.find("GREENLIGHT_") {
        let (before, name_and_more) = rest.split_at(start);
        let end = name_and_more.find(|c| !is_part(c)).unwrap_or(name_and_more.len());
        let (name, after) = name_and_more.split_at(end);
        renamed.push_str(before);
        match input(name).filter(|_| !before.ends_with(is_part)) {
            Some(input) => renamed.push_str(&format!("the input `{input}` ({name})")),
            None => renamed.push_str(name),
        }
        rest = after;
    }
    renamed + rest
}

fn input(variable: &str) -> Option<String> {
    let renamed = RENAMED.iter().find(|(name, _)| *name == variable);
    let own = || {
        let name = variable.strip_prefix("GREENLIGHT_")?;
        FROM_INPUTS
            .contains(&variable)
            .then(|| name.to_lowercase().replace('_', "-"))
    };
    renamed.map(|(_, input)| (*input).to_owned()).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_that_the_action_sets_has_its_input() {
        let action = include_str!("../../action.yml");
        let lines = action
            .lines()
            .filter_map(|line| line.trim().split_once(": ${{ inputs."));
        let mut seen = 0;
        for (variable, rest) in lines.filter(|(name, _)| name.starts_with("GREENLIGHT_")) {
            let expected = rest.split(' ').next();
            assert_eq!(input(variable).as_deref(), expected, "{variable}");
            seen += 1;
        }
        assert_eq!(seen, RENAMED.len() + FROM_INPUTS.len());
    }

    #[test]
    fn an_input_is_called_by_its_name() {
        for (text, expected) in [
            (
                "GREENLIGHT_ENGINE does not name an engine",
                "the input `engine` (GREENLIGHT_ENGINE) does not name an engine",
            ),
            ("set GREENLIGHT_MODEL.", "set the input `model` (GREENLIGHT_MODEL)."),
            ("GREENLIGHT_DATA_DIR stays", "GREENLIGHT_DATA_DIR stays"),
            ("MY_GREENLIGHT_MODEL GREENLIGHT_", "MY_GREENLIGHT_MODEL GREENLIGHT_"),
        ] {
            assert_eq!(with_inputs(text), expected);
        }
    }

    #[test]
    fn a_message_stays_on_its_line() {
        assert_eq!(escaped("100%\r\n::set-env name=X::y\n"), "100%25%0A::set-env name=X::y");
        assert_eq!(escaped(&"\n".repeat(9_999)), "");
        assert!(escaped(&"x\n".repeat(9_999)).len() <= 3 * MAX_MESSAGE);
    }
}
