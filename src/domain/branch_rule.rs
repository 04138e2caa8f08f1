//! The rules of a branch, as far as they decide whether a commit can be pushed to it directly.
//!
//! GitHub checks everything else: it refuses to move the branch.

use regex::RegexBuilder;

/// A pattern whose compiled size exceeds this many bytes is left to GitHub.
const MAX_PATTERN: usize = 1 << 20;

/// One active rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchRule {
    pub demand: Demand,
    /// The repository or organisation that the ruleset belongs to, as GitHub names it.
    pub source: String,
}

/// What a rule demands of a commit.
/// <https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/available-rules-for-rulesets>
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    /// Nobody may move the branch.
    NoUpdate,
    PullRequest,
    MergeQueue,
    /// Checks with these names must have passed on the commit. A new commit has none yet.
    StatusChecks(Vec<String>),
    Deployments,
    Workflows,
    CodeScanning,
    Signatures,
    Message(Pattern),
}

/// A rule for the text of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub operator: Operator,
    pub pattern: String,
    /// Whether the text must not match.
    pub negate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    StartsWith,
    EndsWith,
    Contains,
    Regex,
}

/// A commit to be put on a branch.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    pub message: &'a str,
    /// Whether GitHub signs it.
    pub is_signed: bool,
}

impl BranchRule {
    /// Why this rule refuses a commit, in GitHub's words where they are known. `None` if it may pass.
    fn against(&self, commit: &NewCommit<'_>) -> Option<String> {
        Some(match &self.demand {
            Demand::NoUpdate => "Cannot update this protected ref.".into(),
            Demand::PullRequest => "Changes must be made through a pull request.".into(),
            Demand::MergeQueue => "Changes must be made through the merge queue.".into(),
            Demand::StatusChecks(names) => match names.as_slice() {
                [] => return None,
                [name] => format!("Required status check \"{name}\" is expected."),
                names => format!(
                    "{} required status checks are expected: {}.",
                    names.len(),
                    names.join(", ")
                ),
            },
            Demand::Deployments => "Commits must be deployed to the required environments.".into(),
            Demand::Workflows => "Required workflows must pass.".into(),
            Demand::CodeScanning => "Code scanning results are expected.".into(),
            Demand::Signatures if commit.is_signed => return None,
            Demand::Signatures => "Commits must have verified signatures.".into(),
            Demand::Message(pattern) if pattern.takes(commit.message) => return None,
            Demand::Message(Pattern {
                operator,
                pattern,
                negate,
            }) => {
                let must = if *negate { "must not" } else { "must" };
                let how = match operator {
                    Operator::StartsWith => "start with",
                    Operator::EndsWith => "end with",
                    Operator::Contains => "contain",
                    Operator::Regex => "match the regex pattern",
                };
                format!("The commit message {must} {how}: {pattern}")
            }
        })
    }
}

impl Pattern {
    /// Whether this text may pass. It passes if the answer depends on how GitHub reads the pattern.
    fn takes(&self, text: &str) -> bool {
        let pattern = self.pattern.as_str();
        let readings = match self.operator {
            Operator::StartsWith => vec![text.starts_with(pattern)],
            Operator::EndsWith => vec![text.trim_end().ends_with(pattern)],
            Operator::Contains => vec![text.contains(pattern)],
            Operator::Regex => {
                let reading = |multi_line| {
                    let built = RegexBuilder::new(pattern)
                        .multi_line(multi_line)
                        .size_limit(MAX_PATTERN)
                        .build();
                    built.ok().map(|regex| regex.is_match(text))
                };
                [false, true].into_iter().filter_map(reading).collect()
            }
        };
        readings.is_empty() || readings.contains(&!self.negate)
    }
}

/// Why the rules of a branch refuse a commit, one line for each rule. `None` if it may pass.
pub fn refusal(rules: &[BranchRule], commit: &NewCommit<'_>) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for rule in rules {
        let line = rule.against(commit).map(|why| match rule.source.as_str() {
            "" => why,
            source => format!("{why} (a rule of {source})"),
        });
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(operator: Operator, pattern: &str, negate: bool) -> Demand {
        let pattern = pattern.into();
        Demand::Message(Pattern {
            operator,
            pattern,
            negate,
        })
    }

    #[track_caller]
    fn check(demand: Demand, expected: Option<&str>) {
        let rule = BranchRule {
            demand,
            source: "acme/rail".into(),
        };
        let commit = NewCommit {
            message: "Give change back\n\nGreenlight-Run: r1",
            is_signed: true,
        };
        let expected = expected.map(|why| format!("{why} (a rule of acme/rail)"));
        assert_eq!(refusal(&[rule.clone(), rule], &commit), expected);
    }

    #[test]
    fn known_refusals_are_listed_one_per_line() {
        check(
            Demand::PullRequest,
            Some("Changes must be made through a pull request."),
        );
        check(
            Demand::MergeQueue,
            Some("Changes must be made through the merge queue."),
        );
        check(
            Demand::StatusChecks(vec!["ci".into()]),
            Some("Required status check \"ci\" is expected."),
        );
        check(Demand::StatusChecks(Vec::new()), None);
        check(Demand::Signatures, None);
        let unsigned = NewCommit {
            message: "",
            is_signed: false,
        };
        let rule = BranchRule {
            demand: Demand::Signatures,
            source: "acme".into(),
        };
        let why = "Commits must have verified signatures. (a rule of acme)";
        assert_eq!(refusal(&[rule], &unsigned).as_deref(), Some(why));
    }

    #[test]
    fn a_message_is_matched_against_its_pattern() {
        use Operator::{Contains, EndsWith, Regex, StartsWith};
        check(message(StartsWith, "Give", false), None);
        check(
            message(StartsWith, "fix:", false),
            Some("The commit message must start with: fix:"),
        );
        check(message(EndsWith, "r1", false), None);
        check(
            message(Contains, "Run", true),
            Some("The commit message must not contain: Run"),
        );
        check(message(Contains, "JIRA", true), None);
        check(
            message(Regex, "^[A-Z]+-[0-9]+ ", false),
            Some("The commit message must match the regex pattern: ^[A-Z]+-[0-9]+ "),
        );
        // It passes however GitHub reads the end of a line.
        check(message(Regex, "back$", false), None);
        check(message(Regex, "back$", true), None);
        // GitHub decides about patterns that this machine cannot compile.
        check(message(Regex, "(?=x)", false), None);
        check(message(Regex, "((a{1000}){1000}){1000}", false), None);
    }
}
