//! Where the branch of a local checkout probably came from: names to compare it with, the surest first.

use git2::{Branch, Repository};

use super::LocalRepository;

/// Names of branches that others usually come from.
const USUAL: [&str; 2] = ["main", "master"];

/// A branch that the one that is checked out may have come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// As people name it: `origin/main`.
    pub name: String,
    /// In full, so that it can mean nothing else.
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
    /// The branches to look at, in this order: what the remote's own default is, what the branch follows, and then those
    /// of this repository that are usually called so, or that its configuration calls the default. The branch that is
    /// checked out is none of them.
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
