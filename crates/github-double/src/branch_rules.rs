//! The rules for commits on a branch: rulesets, and classic branch protection. Both APIs that move branches check
//! them.
//!
//! GitHub lists rulesets for a branch, and says whether the caller may bypass them. It does not list classic
//! protection. <https://docs.github.com/en/rest/repos/rules#get-rules-for-a-branch>

use git2::Oid;
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::names::HOME;
use super::paging::page;
use super::protection::{Demand, Protection};
use super::route::{Needs, Route, RouteCall, get};
use super::state::{Holder, Repository, State};
use super::{Double, objects};

pub(super) const ROUTES: &[Route] = &[
    get(
        "/repos/{owner}/{repo}/rules/branches/{branch}",
        Needs::Read(&["metadata"]),
        of_branch,
    ),
    get(
        "/repos/{owner}/{repo}/rulesets/{ruleset_id}",
        Needs::Read(&["metadata"]),
        show,
    ),
];

impl Double {
    /// Protects a branch of the home repository from now on, in addition to existing protections.
    pub fn protect(&self, protection: Protection) {
        self.shared.lock().protections.push(protection);
    }
}

/// Why a branch may not move to a commit, in GitHub's words. `None` if it may.
///
/// dependabot-core and others recognise these messages:
/// <https://github.com/dependabot/dependabot-core/blob/main/common/lib/dependabot/pull_request_updater/github.rb>
pub(super) fn refusal(call: &RouteCall<'_>, repository: &Repository, name: &str, to: Oid) -> Option<String> {
    let branch = name.strip_prefix("refs/heads/").filter(|_| repository.id == HOME)?;
    let protections = call.state.protections.iter();
    let standing = protections.filter(|one| {
        let is_bypassed = is_bypassed_by(one, call);
        one.branch == branch && !is_bypassed
    });
    let mut broken: Vec<String> = Vec::new();
    for protection in standing {
        let violations = protection.demands.iter();
        let violations: Vec<String> = violations
            .filter_map(|demand| violation(call.state, repository, demand, to))
            .collect();
        if !violations.is_empty() && !protection.is_ruleset {
            return Some(violations.join(" "));
        }
        broken.extend(violations);
    }
    (!broken.is_empty()).then(|| format!("Repository rule violations found\n\n{}\n\n", broken.join("\n\n")))
}

/// Whether the caller may bypass the protection.
fn is_bypassed_by(protection: &Protection, call: &RouteCall<'_>) -> bool {
    let is_ours = matches!(&call.holder, Some(Holder::Installation { slug, .. }) if *slug == call.state.app().slug);
    protection.is_bypassed_by_the_app && is_ours
}

fn violation(state: &State, repository: &Repository, demand: &Demand, to: Oid) -> Option<String> {
    let commit = repository.git.find_commit(to).ok()?;
    let message = commit.message().unwrap_or_default();
    match demand {
        Demand::Update => Some("Cannot update this protected ref.".into()),
        Demand::PullRequest => Some("Changes must be made through a pull request.".into()),
        Demand::MergeQueue => Some("Changes must be made through the merge queue".into()),
        Demand::StatusCheck(name) => {
            let passed = state.check_runs.values().any(|run| {
                let is_it = run.head == to && run.name == *name;
                is_it && run.conclusion.as_deref() == Some("success")
            });
            (!passed).then(|| format!("Required status check \"{name}\" is expected."))
        }
        Demand::Signatures => {
            (!state.verified.contains(&to)).then(|| "Commits must have verified signatures.".into())
        }
        Demand::MessageStart(start) => {
            let fits = message.starts_with(start);
            (!fits).then(|| format!("Commit message must start with a matching pattern: {start}"))
        }
        Demand::Message(pattern) => {
            let fits = regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(message));
            (!fits).then(|| format!("Commit message must match a given regex pattern: {pattern}"))
        }
        Demand::Path(path) => {
            let at = |commit: &git2::Commit<'_>| {
                let tree = commit.tree().ok()?;
                tree.get_path(std::path::Path::new(path)).ok().map(|entry| entry.id())
            };
            let before = commit.parent(0).ok().and_then(|parent| at(&parent));
            (before != at(&commit)).then(|| format!("Changes to restricted files: {path}"))
        }
        Demand::NotAuthorized => Some(
            "You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information.".into(),
        ),
        Demand::Queued => Some(
            "A pull request for this branch has been added to a merge queue. Branches that are queued for merging cannot be updated. To modify this branch, dequeue the associated pull request.".into(),
        ),
    }
}

/// The rulesets, with their ids.
fn rulesets(state: &State) -> impl Iterator<Item = (u64, &Protection)> {
    (1_u64..).zip(&state.protections).filter(|(_, one)| one.is_ruleset)
}

/// How many rules of rulesets apply to a branch.
pub(super) fn count(state: &State, repository: &Repository, branch: &str) -> usize {
    let here = rulesets(state).filter(|(_, one)| repository.id == HOME && one.branch == branch);
    here.flat_map(|(_, one)| one.demands.iter().filter_map(described))
        .count()
}

fn of_branch(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    if call.state.predates_rulesets {
        return Err(RestAnswer::not_found());
    }
    let repository = call.repository()?;
    let (source, is_home) = (repository.full_name(), repository.id == HOME);
    let branch = call.capture("branch");
    let here = rulesets(call.state).filter(|(_, one)| is_home && one.branch == branch);
    let rule = |number: u64, demand: &Demand| {
        let mut rule = described(demand)?;
        rule["ruleset_source_type"] = json!("Repository");
        rule["ruleset_source"] = json!(source);
        rule["ruleset_id"] = json!(number);
        Some(rule)
    };
    let rules: Vec<Value> = here
        .flat_map(|(number, one)| one.demands.iter().filter_map(move |demand| rule(number, demand)))
        .collect();
    Ok(page(call, rules))
}

fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let wanted = call.number("ruleset_id")?;
    let repository = call.repository()?;
    let found = rulesets(call.state).find(|(number, _)| *number == wanted && repository.id == HOME);
    let (number, ruleset) = found.ok_or_else(RestAnswer::not_found)?;
    let may_bypass = is_bypassed_by(ruleset, call);
    let rules: Vec<Value> = ruleset.demands.iter().filter_map(described).collect();
    Ok(RestAnswer::ok(json!({
        "id": number,
        "name": format!("rules of {}", ruleset.branch),
        "target": "branch",
        "source_type": "Repository",
        "source": repository.full_name(),
        "enforcement": "active",
        "current_user_can_bypass": if may_bypass { "always" } else { "never" },
        "node_id": objects::node("RepositoryRuleset", number),
        "conditions": { "ref_name": { "include": [format!("refs/heads/{}", ruleset.branch)], "exclude": [] } },
        "rules": rules,
        "created_at": objects::LONG_AGO,
        "updated_at": objects::LONG_AGO,
    })))
}

/// `repository-rule`. `None` for demands that a ruleset cannot make.
fn described(demand: &Demand) -> Option<Value> {
    Some(match demand {
        Demand::Update => json!({ "type": "update" }),
        Demand::PullRequest => json!({
            "type": "pull_request",
            "parameters": {
                "dismiss_stale_reviews_on_push": false,
                "require_code_owner_review": false,
                "require_last_push_approval": false,
                "required_approving_review_count": 1,
                "required_review_thread_resolution": false,
            },
        }),
        Demand::MergeQueue => json!({
            "type": "merge_queue",
            "parameters": {
                "check_response_timeout_minutes": 60,
                "grouping_strategy": "ALLGREEN",
                "max_entries_to_build": 5,
                "max_entries_to_merge": 5,
                "merge_method": "MERGE",
                "min_entries_to_merge": 1,
                "min_entries_to_merge_wait_minutes": 5,
            },
        }),
        Demand::StatusCheck(name) => json!({
            "type": "required_status_checks",
            "parameters": {
                "required_status_checks": [{ "context": name }],
                "strict_required_status_checks_policy": false,
            },
        }),
        Demand::Signatures => json!({ "type": "required_signatures" }),
        Demand::MessageStart(start) => message_pattern("starts_with", start),
        Demand::Message(pattern) => message_pattern("regex", pattern),
        Demand::Path(path) => {
            json!({ "type": "file_path_restriction", "parameters": { "restricted_file_paths": [path] } })
        }
        Demand::NotAuthorized | Demand::Queued => return None,
    })
}

fn message_pattern(operator: &str, pattern: &str) -> Value {
    json!({
        "type": "commit_message_pattern",
        "parameters": { "operator": operator, "pattern": pattern, "negate": false, "name": "" },
    })
}
