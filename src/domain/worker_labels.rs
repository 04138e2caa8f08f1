//! Labels of workers: what a machine has, and what the work on a repository needs.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The most labels that a worker has or a repository needs.
pub const MAX_LABELS: usize = 50;
/// The length of a label, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// The programs that run the tests of supported languages. A machine that has one has a label of the same name.
pub const PROGRAMS: [&str; 12] = [
    "python3", "node", "npm", "cargo", "go", "java", "mvn", "gradle", "dotnet", "ruby", "php", "cmake",
];

/// A set of labels such as `java` or `memory-16g`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerLabels(BTreeSet<String>);

/// A text that is no label, or too many of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLabel {
    #[error("{0:?} is not a label of at most {MAX_LABEL_BYTES} letters, digits, `.`, `_` and `-`, such as \"java-21\"")]
    Spelling(String),
    #[error("more than {MAX_LABELS} labels")]
    TooMany,
}

impl WorkerLabels {
    /// Labels are compared in lower case.
    ///
    /// # Errors
    /// When one of them is not a label, or there are too many.
    pub fn new<'a>(labels: impl IntoIterator<Item = &'a str>) -> Result<Self, BadLabel> {
        let mut all = BTreeSet::new();
        for label in labels {
            let is_label = (1..=MAX_LABEL_BYTES).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if !is_label {
                return Err(BadLabel::Spelling(label.chars().take(MAX_LABEL_BYTES).collect()));
            }
            all.insert(label.to_ascii_lowercase());
            if all.len() > MAX_LABELS {
                return Err(BadLabel::TooMany);
            }
        }
        Ok(Self(all))
    }

    /// The programs that tests need: the one that their command starts, and the one that runs their language.
    pub fn of_tests(program: Option<&str>, ecosystem: Option<&str>) -> Self {
        let runs = ecosystem.and_then(|ecosystem| {
            let (_, program) = [
                ("Rust", "cargo"),
                ("Python", "python3"),
                ("JavaScript", "node"),
                ("Go", "go"),
                ("Java", "java"),
                ("Ruby", "ruby"),
                ("PHP", "php"),
                (".NET", "dotnet"),
            ]
            .into_iter()
            .find(|(name, _)| *name == ecosystem)?;
            Some(program)
        });
        let known = program.filter(|program| PROGRAMS.contains(program));
        Self(known.into_iter().chain(runs).map(str::to_string).collect())
    }

    /// These labels, and the others.
    #[must_use]
    pub fn with(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// Those of the needed labels that are missing here.
    pub fn missing(&self, needs: &Self) -> Self {
        Self(needs.0.difference(&self.0).cloned().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for WorkerLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.0.iter().map(|label| format!("`{label}`")).collect();
        f.write_str(&quoted.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_compared_in_lower_case() {
        let has = WorkerLabels::new(["Linux", "java-21"]).unwrap();
        let needs = WorkerLabels::new(["JAVA-21", "gpu"]).unwrap();
        assert_eq!(has.missing(&needs).to_string(), "`gpu`");
        assert!(has.clone().with(&needs).missing(&needs).is_empty());
    }

    #[test]
    fn tests_need_their_command_and_their_language() {
        let needs = |program, ecosystem| WorkerLabels::of_tests(program, ecosystem).to_string();
        assert_eq!(needs(Some("mvn"), Some("Java")), "`java`, `mvn`");
        assert_eq!(needs(Some("pytest"), Some("Python")), "`python3`");
        assert_eq!(needs(Some("make"), None), "");
    }

    #[test]
    fn texts_that_are_no_labels_are_refused() {
        for text in ["", "a b", "a,b", "a\u{202e}b", "x\n", &"x".repeat(65)] {
            assert!(WorkerLabels::new([text]).is_err(), "{text:?}");
        }
        let many: Vec<String> = (0..=MAX_LABELS).map(|number| number.to_string()).collect();
        assert_eq!(
            WorkerLabels::new(many.iter().map(String::as_str)),
            Err(BadLabel::TooMany)
        );
    }
}
