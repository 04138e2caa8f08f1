//! Error messages for settings that are missing or wrong.

/// A setting that is missing or wrong, and how to set it. Never contains the value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {problem}; {remedy}")]
pub struct SettingsError {
    pub setting: &'static str,
    pub problem: String,
    pub remedy: String,
}

impl SettingsError {
    pub fn new(setting: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            setting,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// The same error, naming the flag if a flag made the setting.
    pub(super) fn told_of(self, given: &[(&'static str, &'static str)]) -> Self {
        let flag = given.iter().find(|(variable, _)| *variable == self.setting);
        Self {
            setting: flag.map_or(self.setting, |(_, flag)| flag),
            ..self
        }
    }
}
