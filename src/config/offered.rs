//! The values of flags that are one of a few words, for completions and the help.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

/// Takes any text, and offers these values to shells and in the help. The settings refuse other values: they say the
/// same about a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered(pub(super) &'static [&'static str]);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// The values of `--sandbox`.
pub(super) const SANDBOXES: &[&str] = &["auto", "native", "bubblewrap", "docker", "podman", "landlock", "none"];

#[cfg(test)]
mod tests {
    use super::super::environment::Environment;
    use super::super::flags::Flags;
    use super::super::settings::Settings;
    use crate::sandbox::Backend;

    #[test]
    fn every_value_that_is_offered_is_known_and_others_are_left_to_the_settings() {
        let command = || <Flags as clap::Args>::augment_args(clap::Command::new("greenlight"));
        let parsed = |flag: &str, value: &str| {
            let words = ["greenlight", flag, value];
            let matches = command().try_get_matches_from(words).unwrap();
            <Flags as clap::FromArgMatches>::from_arg_matches(&matches).unwrap()
        };
        let environment = Environment::default();
        let mut seen = 0;
        for argument in command().get_arguments() {
            let flag = format!("--{}", argument.get_long().unwrap());
            let takes = |value: &str| {
                let sandbox = parsed(&flag, value).sandbox.sandbox;
                let is_sandbox = sandbox.is_none_or(|name| name == "auto" || name.parse::<Backend>().is_ok());
                let settings = Settings::new(parsed(&flag, value), &environment);
                is_sandbox && settings.is_ok()
            };
            for value in argument.get_possible_values() {
                assert!(takes(value.get_name()), "{flag} {}", value.get_name());
                seen += 1;
            }
        }
        assert_eq!(seen, 17);
        assert_eq!(parsed("--sandbox", "some").sandbox.sandbox.as_deref(), Some("some"));
    }
}
