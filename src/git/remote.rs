//! What a local repository's configuration and references say about the remote `origin`: its name, its host, its default
//! branch.

use git2::Repository;

use super::LocalRepository;

impl LocalRepository {
    /// `owner/name` from the URL of the remote `origin`, if it ends in one.
    pub fn origin(&self) -> Option<String> {
        let address = self.origin_address()?;
        let mut parts = address.rsplit(['/', ':']);
        let (name, owner) = (parts.next()?, parts.next()?);
        Some(format!("{owner}/{name}"))
    }

    /// The host of the remote `origin`, in lower case and without a port. `None` if the remote is a folder, or there is
    /// none.
    pub fn origin_host(&self) -> Option<String> {
        host(&self.origin_address()?)
    }

    /// The default branch: that of the remote, else a local `main` or `master`, else the checked-out one.
    pub fn default_branch(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remote = repository.find_reference("refs/remotes/origin/HEAD").ok();
        let remote = remote.and_then(|head| {
            let target = head.symbolic_target().ok()??;
            target.strip_prefix("refs/remotes/origin/").map(String::from)
        });
        let local = || {
            let mut usual = super::branches::USUAL.into_iter();
            let found = usual.find(|name| repository.find_reference(&format!("refs/heads/{name}")).is_ok());
            found.map(String::from)
        };
        remote.or_else(local).or_else(|| self.current_branch())
    }

    /// The checked-out branch, even if it has no commit yet.
    pub fn current_branch(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let head = repository.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target.strip_prefix("refs/heads/").map(String::from)
    }

    /// The URL of the remote `origin`, without `.git` at its end.
    fn origin_address(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remote = repository.find_remote("origin").ok()?;
        let address = remote.url().ok()?.trim_end_matches('/').trim_end_matches(".git");
        Some(address.to_owned())
    }
}

/// The host in a URL, or in the short form of SSH: `git@host:owner/name`.
fn host(address: &str) -> Option<String> {
    let authority = match address.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split('/').next()?,
        // As in git, a slash before the first colon means a path.
        None => address
            .split_once(':')
            .map(|(host, _)| host)
            .filter(|host| !host.contains('/'))?,
    };
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    (!host.is_empty() && host.chars().all(is_name)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_remotes() {
        for (address, expected) in [
            ("https://github.com/a/b", Some("github.com")),
            (
                "https://ada:secret@GitHub.example.org:8443/a/b",
                Some("github.example.org"),
            ),
            ("ssh://git@ssh.github.com:443/a/b", Some("ssh.github.com")),
            ("git@github.com:a/b", Some("github.com")),
            ("github.com-work:a/b", Some("github.com-work")),
            ("/srv/git/a", None),
            ("../a:b", None),
            ("file:///srv/git/a", None),
            ("https:///a", None),
            ("https://a\u{202e}b\n/c", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
    }
}
