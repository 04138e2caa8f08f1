//! References in the git data API, and the consequences of moving a branch.

use git2::{ObjectType, Oid};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::answer::RestAnswer;
use super::paging::page;
use super::route::RouteCall;
use super::state::{Happening, Holder, Repository, State};
use super::{branch_rules, contents, objects, pulls, store};

pub(super) fn show(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let name = format!("refs/{}", call.capture("ref"));
    Ok(RestAnswer::ok(
        object(call.state, repository, &name).ok_or_else(RestAnswer::not_found)?,
    ))
}

/// Every reference whose name begins with the path's prefix; possibly empty.
pub(super) fn matching(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let repository = call.repository()?;
    let beginning = format!("refs/{}", call.capture("ref"));
    let mut names: Vec<String> = repository
        .git
        .references()?
        .filter_map(|reference| reference.ok()?.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with(&beginning))
        .collect();
    names.sort();
    let shown: Vec<Value> = names
        .iter()
        .filter_map(|name| object(call.state, repository, name))
        .collect();
    Ok(page(call, shown))
}

pub(super) fn create(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let (name, sha) = (call.text("ref")?, call.text("sha")?);
    if !name.starts_with("refs/") || name.matches('/').count() < 2 {
        return Err(RestAnswer::invalid(
            "Reference name must start with 'refs/' and have at least two slashes.",
        ));
    }
    if !git2::Reference::is_valid_name(&name) || is_hidden(&name) {
        return Err(RestAnswer::invalid(&format!("{name} is not a valid ref name.")));
    }
    let repository = call.repository()?;
    let id = existing(repository, &name, &sha)?;
    if repository.git.find_reference(&name).is_ok() {
        return Err(RestAnswer::invalid("Reference already exists"));
    }
    let main = store::tip(&repository.git, super::names::DEFAULT_BRANCH);
    check_workflows(call, (repository, &name), main, id)?;
    call.repository()?
        .git
        .reference(&name, id, false, "created through the API")?;
    let repository = call.repository()?;
    Ok(RestAnswer::created(
        object(call.state, repository, &name).ok_or_else(RestAnswer::not_found)?,
    ))
}

/// Moves a reference. Without `force`, only a fast-forward is allowed.
pub(super) fn update(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let name = format!("refs/{}", call.capture("ref"));
    let sha = call.text("sha")?;
    let force = call.body["force"].as_bool().unwrap_or(false);
    let id = call.repository_id()?;
    let after = allowed_move(call, id, (&name, &sha), force)?;
    let login = call.login();
    call.state.move_reference(id, &name, after, &login)?;
    let repository = call.repository()?;
    Ok(RestAnswer::ok(
        object(call.state, repository, &name).ok_or_else(RestAnswer::not_found)?,
    ))
}

/// The commit that a reference may be moved to, for all requests that move references.
pub(super) fn allowed_move(
    call: &RouteCall<'_>,
    repository: u64,
    (name, sha): (&str, &str),
    force: bool,
) -> Result<Oid, RestAnswer> {
    let repository = call.state.repository(repository).ok_or_else(RestAnswer::not_found)?;
    let reference = repository.git.find_reference(name).ok();
    let Some(before) = reference.and_then(|reference| reference.target()) else {
        return Err(RestAnswer::invalid("Reference does not exist"));
    };
    if is_hidden(name) {
        return Err(RestAnswer::invalid("Reference cannot be updated"));
    }
    let after = existing(repository, name, sha)?;
    let forward = before == after || repository.git.graph_descendant_of(after, before).unwrap_or(false);
    if !force && !forward {
        return Err(RestAnswer::invalid("Update is not a fast forward"));
    }
    check_workflows(call, (repository, name), Some(before), after)?;
    match branch_rules::refusal(call, repository, name, after) {
        Some(why) => Err(RestAnswer::invalid(&why)),
        None => Ok(after),
    }
}

pub(super) fn remove(call: &mut RouteCall<'_>) -> Result<RestAnswer, RestAnswer> {
    let name = format!("refs/{}", call.capture("ref"));
    let repository = call.repository()?;
    let found = repository.git.find_reference(&name).ok().filter(|_| !is_hidden(&name));
    let mut found = found.ok_or_else(|| RestAnswer::invalid("Reference does not exist"))?;
    found.delete()?;
    drop(found);
    let (repository, login) = (repository.id, call.login());
    if let Some(branch) = name.strip_prefix("refs/heads/") {
        for (base, number) in call.state.pulls_from(repository, branch) {
            call.state.close(base, number, &login);
        }
    }
    Ok(RestAnswer::empty(204))
}

/// Whether a reference is one of `refs/pull/*`, which only GitHub may change.
fn is_hidden(name: &str) -> bool {
    name.starts_with("refs/pull/")
}

/// The object that a reference should point to: a commit for a branch, any object for other references.
fn existing(repository: &Repository, name: &str, sha: &str) -> Result<Oid, RestAnswer> {
    let id = Some(sha)
        .filter(|sha| sha.len() == 40)
        .and_then(|sha| Oid::from_str(sha).ok());
    let id = id.ok_or_else(|| {
        RestAnswer::invalid("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    })?;
    let object = repository
        .git
        .find_object(id, None)
        .map_err(|_| RestAnswer::invalid("Object does not exist"))?;
    if name.starts_with("refs/heads/") && object.kind() != Some(ObjectType::Commit) {
        return Err(RestAnswer::invalid("Object is not a commit"));
    }
    Ok(id)
}

/// An App without the `workflows` permission may not move a branch across a change of a workflow.
fn check_workflows(
    call: &RouteCall<'_>,
    (repository, name): (&Repository, &str),
    before: Option<Oid>,
    after: Oid,
) -> Result<(), RestAnswer> {
    let Some(Holder::Installation { permissions, .. }) = &call.holder else {
        return Ok(());
    };
    if permissions.contains_key("workflows") || !name.starts_with("refs/heads/") {
        return Ok(());
    }
    let git = &repository.git;
    let workflows = |commit: Oid| {
        let tree = git.find_commit(commit).ok()?.tree().ok()?;
        tree.get_path(std::path::Path::new(".github/workflows"))
            .ok()
            .map(|entry| entry.id())
    };
    if before.and_then(workflows) == workflows(after) {
        Ok(())
    } else {
        Err(RestAnswer::not_accessible())
    }
}

/// `git-ref`.
fn object(state: &State, repository: &Repository, name: &str) -> Option<Value> {
    let id = repository.git.find_reference(name).ok()?.target()?;
    let kind = repository.git.find_object(id, None).ok()?.kind()?.str();
    let api = format!("{}/repos/{}/git", state.api(), repository.full_name());
    Some(json!({
        "ref": name,
        "node_id": objects::node(&format!("Ref{name}:"), repository.id),
        "url": format!("{api}/{}", utf8_percent_encode(name, contents::IN_PATH)),
        "object": { "type": kind, "sha": id.to_string(), "url": format!("{api}/{kind}s/{id}") },
    }))
}

impl State {
    /// Moves a reference to a commit, and updates the open pull requests of a branch.
    pub(super) fn move_reference(
        &mut self,
        repository: u64,
        name: &str,
        to: Oid,
        sender: &str,
    ) -> Result<(), git2::Error> {
        let Some(here) = self.repository(repository) else {
            return Ok(());
        };
        let found = here.git.find_reference(name).ok();
        let before = found.and_then(|reference| reference.target());
        here.git.reference(name, to, true, "moved")?;
        if name.starts_with("refs/heads/") && before != Some(to) {
            self.note_move(repository, name, (before, to), sender);
        }
        let Some(branch) = name.strip_prefix("refs/heads/") else {
            return Ok(());
        };
        for (base, number) in self.pulls_from(repository, branch) {
            self.synchronize(base, number, to, sender)?;
        }
        Ok(())
    }

    /// The open pull requests of a branch, each with the repository it was opened in.
    fn pulls_from(&self, repository: u64, branch: &str) -> Vec<(u64, u64)> {
        self.repositories
            .iter()
            .flat_map(|base| base.pulls.values().map(move |pull| (base.id, pull)))
            .filter(|(_, pull)| pull.open && pull.head_repository == repository && pull.head_branch == branch)
            .map(|(base, pull)| (base, pull.number))
            .collect()
    }

    /// Sets the new head of a pull request and sends `pull_request.synchronize`.
    fn synchronize(&mut self, base: u64, number: u64, head: Oid, sender: &str) -> Result<(), git2::Error> {
        let now = self.now();
        let Some(pull) = self.pull_mut(base, number) else {
            return Ok(());
        };
        let before = std::mem::replace(&mut pull.head, head);
        if before == head {
            return Ok(());
        }
        pull.updated_at = now;
        self.show_commits(base, number)?;
        let mut payload = self.pull_payload("synchronize", base, number);
        payload["before"] = json!(before.to_string());
        payload["after"] = json!(head.to_string());
        self.notify("pull_request", base, sender, payload);
        Ok(())
    }

    /// Adds the new commits of a pull request to its conversation, and updates `refs/pull/N/head`.
    pub(super) fn show_commits(&mut self, base: u64, number: u64) -> Result<(), git2::Error> {
        let Some((repository, pull)) = self.repository(base).zip(self.pull(base, number)) else {
            return Ok(());
        };
        repository
            .git
            .reference(&format!("refs/pull/{number}/head"), pull.head, true, "head")?;
        let commits = pulls::commits_of(repository, pull)?;
        let fresh = commits
            .into_iter()
            .filter(|id| !pull.timeline.contains(&Happening::Commit(*id)));
        for id in fresh.collect::<Vec<_>>() {
            self.happened(base, number, Happening::Commit(id));
        }
        Ok(())
    }

    /// The common part of all `pull_request` payloads.
    pub(super) fn pull_payload(&self, action: &str, base: u64, number: u64) -> Value {
        let found = self.repository(base).zip(self.pull(base, number));
        let shown = found.map(|(repository, pull)| pulls::full(self, repository, pull));
        json!({ "action": action, "number": number, "pull_request": shown })
    }

    /// Closes a pull request and sends `pull_request.closed`.
    pub(super) fn close(&mut self, base: u64, number: u64, sender: &str) {
        let now = self.now();
        let Some(pull) = self.pull_mut(base, number) else {
            return;
        };
        pull.open = false;
        pull.updated_at = now;
        pull.timeline.push(Happening::Closed);
        let payload = self.pull_payload("closed", base, number);
        self.notify("pull_request", base, sender, payload);
    }
}
