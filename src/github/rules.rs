//! The rules of a branch. They are fetched so that nobody is asked to approve a commit that the rules reject.

use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::error::Error;
use super::escaped;
use crate::domain::branch_rule::{BranchRule, Demand, Operator, Pattern};
use crate::domain::id::RepositoryName;

/// How many rules of one branch are read. GitHub allows 75 rulesets per repository, and as many per organisation.
const MAX_RULES: usize = 500;
/// For how many rulesets a bypass is looked up.
const MAX_RULESETS: usize = 20;

/// `repository-rule-detailed`.
#[derive(Deserialize)]
struct RuleWire {
    r#type: String,
    #[serde(default)]
    ruleset_source: String,
    ruleset_id: Option<u64>,
    #[serde(default)]
    parameters: Value,
}

impl Client {
    /// The active rules of a branch for a direct commit, except those that this client may bypass. Empty if GitHub
    /// does not list any: an Enterprise Server may be too old for them.
    /// <https://docs.github.com/en/rest/repos/rules#get-rules-for-a-branch>
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn branch_rules(&self, repository: &RepositoryName, branch: &str) -> Result<Vec<BranchRule>, Error> {
        let branch = escaped(branch).replace('/', "%2F");
        let listed = self
            .get_all::<RuleWire>(&format!("/repos/{repository}/rules/branches/{branch}"))
            .await;
        let listed = match listed {
            Err(error @ (Error::Refused { .. } | Error::Unreadable { .. })) => {
                tracing::info!(%error, "the rules of the branch are unknown");
                return Ok(Vec::new());
            }
            listed => listed?,
        };
        let mut passed: Vec<(u64, bool)> = Vec::new();
        let mut rules = Vec::new();
        for wire in listed.into_iter().take(MAX_RULES) {
            let Some(demand) = wire.demand() else { continue };
            if let Some(id) = wire.ruleset_id {
                let known = passed.iter().find(|(ruleset, _)| *ruleset == id).map(|(_, may)| *may);
                let may = match known {
                    Some(may) => may,
                    None if passed.len() >= MAX_RULESETS => false,
                    None => self.may_bypass(repository, id).await?,
                };
                passed.push((id, may));
                if may {
                    continue;
                }
            }
            rules.push(BranchRule {
                demand,
                source: wire.ruleset_source,
            });
        }
        Ok(rules)
    }

    /// Whether this client is on the bypass list of a ruleset. Without a list, the ruleset applies.
    /// <https://docs.github.com/en/rest/repos/rules#get-a-repository-ruleset>
    async fn may_bypass(&self, repository: &RepositoryName, ruleset: u64) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Ruleset {
            current_user_can_bypass: Option<String>,
        }
        match self
            .get::<Ruleset>(&format!("/repos/{repository}/rulesets/{ruleset}"))
            .await
        {
            Ok(ruleset) => Ok(matches!(
                ruleset.current_user_can_bypass.as_deref(),
                Some("always" | "exempt")
            )),
            Err(Error::Refused { .. } | Error::Unreadable { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether GitHub signs the commits of this client that name no author. It does so for Apps and workflows, but
    /// not for people, whose tokens are recognised by their prefixes.
    /// <https://docs.github.com/en/authentication/managing-commit-signature-verification/about-commit-signature-verification#signature-verification-for-bots>
    pub fn is_signed_for(&self) -> bool {
        use secrecy::ExposeSecret as _;
        let is_personal = |token: &str| {
            ["ghp_", "gho_", "ghu_", "github_pat_"]
                .iter()
                .any(|of| token.starts_with(of))
        };
        !self
            .token
            .as_ref()
            .is_some_and(|token| is_personal(token.expose_secret()))
    }
}

impl RuleWire {
    /// `None` for a rule that does not concern a new commit on an existing branch, or that only GitHub can check.
    fn demand(&self) -> Option<Demand> {
        Some(match self.r#type.as_str() {
            "update" => Demand::NoUpdate,
            "pull_request" => Demand::PullRequest,
            "merge_queue" => Demand::MergeQueue,
            "required_deployments" => Demand::Deployments,
            "workflows" => Demand::Workflows,
            "code_scanning" => Demand::CodeScanning,
            "required_signatures" => Demand::Signatures,
            "required_status_checks" => {
                let checks = self.parameters["required_status_checks"].as_array();
                let name = |check: &Value| check["context"].as_str().map(str::to_string);
                Demand::StatusChecks(checks.into_iter().flatten().filter_map(name).collect())
            }
            "commit_message_pattern" => Demand::Message(Pattern {
                operator: match self.parameters["operator"].as_str()? {
                    "starts_with" => Operator::StartsWith,
                    "ends_with" => Operator::EndsWith,
                    "contains" => Operator::Contains,
                    "regex" => Operator::Regex,
                    _ => return None,
                },
                pattern: self.parameters["pattern"].as_str()?.to_string(),
                negate: self.parameters["negate"].as_bool().unwrap_or(false),
            }),
            _ => return None,
        })
    }
}
