//! Guesses which branch a local checkout came from, most likely first.

use git2::{Branch, Repository};

use super::LocalRepository;

/// The usual names of default branches.
pub(super) const USUAL: [&str; 2] = ["main", "master"];

/// A branch that the checked-out one may have come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The short name, such as `origin/main`.
    pub name: String,
    /// The full name, which is unambiguous.
    pub reference: String,
}

impl Upstream {
    fn new(reference: &str) -> Option<Self> {
        let name = reference
            .strip_prefix("refs/remotes/")
            .or(reference.strip_prefix("refs/heads/"))?;
        Some(Self {
            name: name.into(),
            reference: reference.into(),
        })
    }
}

impl LocalRepository {
    /// The candidates in this order: the remote's default branch, the branch that the current one follows, and then
    /// branches of this repository with a usual name, or that its configuration calls the default. The checked-out
    /// branch itself is excluded.
    pub fn upstreams(&self) -> Vec<Upstream> {
        let Ok(repository) = Repository::open(&self.git) else {
            return Vec::new();
        };
        let head = repository.head().ok().filter(git2::Reference::is_branch);
        let current = head.as_ref().and_then(|head| head.name().ok().map(str::to_string));
        let default = repository.find_reference("refs/remotes/origin/HEAD").ok();
        let default = default.and_then(|head| Some(head.symbolic_target().ok()??.to_string()));
        let followed = head
            .and_then(|head| Branch::wrap(head).upstream().ok())
            .and_then(|branch| branch.get().name().ok().map(str::to_string));
        let configured = repository.config().ok();
        let configured = configured.and_then(|config| config.get_string("init.defaultBranch").ok());
        let remote = USUAL.map(|name| format!("refs/remotes/origin/{name}"));
        let local = configured.into_iter().chain(USUAL.map(String::from));
        let local = local.map(|name| format!("refs/heads/{name}"));
        let mut all: Vec<Upstream> = Vec::new();
        for reference in default.into_iter().chain(remote).chain(followed).chain(local) {
            let is_there = repository.find_reference(&reference).is_ok();
            if !is_there || current.as_ref() == Some(&reference) {
                continue;
            }
            all.extend(Upstream::new(&reference).filter(|upstream| !all.contains(upstream)));
        }
        all
    }
}
