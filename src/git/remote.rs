//! What a local repository's configuration and references say about its remote: its name, its host, its default branch.

use git2::Repository;

use super::LocalRepository;

/// Where a remote is hosted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedRemote {
    /// The name of the remote: `origin`, or that of the only one.
    pub name: String,
    /// The host, in lower case and without a port. `None` if the remote is a folder.
    pub host: Option<String>,
    /// Whether it is reached over SSH, whose settings may give the host another name.
    pub is_ssh: bool,
}

impl LocalRepository {
    /// `owner/name` from the URL of the remote `origin`, if it ends in one.
    pub fn origin(&self) -> Option<String> {
        let address = self.address_of("origin")?;
        let mut parts = address.rsplit(['/', ':']);
        let (name, owner) = (parts.next()?, parts.next()?);
        Some(format!("{owner}/{name}"))
    }

    /// The address of the remote `origin` over HTTPS, without credentials, as a job of CI has it. `None` if it is not
    /// hosted.
    pub fn origin_address(&self) -> Option<String> {
        let address = self.address_of("origin")?;
        let (host, _) = host(&address)?;
        let (_, path) = match address.split_once("://") {
            Some((_, rest)) => rest.split_once('/')?,
            None => address.split_once(':')?,
        };
        Some(format!("https://{host}/{}", path.trim_start_matches('/')))
    }

    /// The remote `origin` and where it is hosted; without an `origin`, the only remote. `None` if there is neither.
    pub fn hosted(&self) -> Option<HostedRemote> {
        let name = self.main_remote()?;
        let place = self.address_of(&name).and_then(|address| host(&address));
        Some(HostedRemote {
            name,
            is_ssh: place.as_ref().is_some_and(|(_, is_ssh)| *is_ssh),
            host: place.map(|(host, _)| host),
        })
    }

    /// The default branch: that of the remote, else `main` or `master` there or here, else the checked-out one if there
    /// is no branch yet. `None` if none of these says which it is.
    pub fn default_branch(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remotes = format!("refs/remotes/{}/", self.main_remote().as_deref().unwrap_or("origin"));
        let remote = repository.find_reference(&format!("{remotes}HEAD")).ok();
        let remote = remote.and_then(|head| {
            let target = head.symbolic_target().ok()??;
            target.strip_prefix(&remotes).map(String::from)
        });
        let usual = |folder: &str| {
            let mut usual = super::branches::USUAL.into_iter();
            let found = usual.find(|name| repository.find_reference(&format!("{folder}{name}")).is_ok());
            found.map(String::from)
        };
        let first = || {
            let has_branches = repository.branches(None).ok()?.next().is_some();
            self.current_branch().filter(|_| !has_branches)
        };
        remote
            .or_else(|| usual(&remotes))
            .or_else(|| usual("refs/heads/"))
            .or_else(first)
    }

    /// The checked-out branch, even if it has no commit yet.
    pub fn current_branch(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let head = repository.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target.strip_prefix("refs/heads/").map(String::from)
    }

    /// The name of the remote that counts.
    fn main_remote(&self) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remotes = repository.remotes().ok()?;
        let names: Vec<&str> = remotes.iter().flatten().flatten().collect();
        match names.as_slice() {
            names if names.contains(&"origin") => Some("origin".into()),
            [one] => Some((*one).into()),
            _ => None,
        }
    }

    /// The URL of a remote, without `.git` at its end.
    fn address_of(&self, remote: &str) -> Option<String> {
        let repository = Repository::open(&self.git).ok()?;
        let remote = repository.find_remote(remote).ok()?;
        let address = remote.url().ok()?.trim_end_matches('/').trim_end_matches(".git");
        Some(address.to_owned())
    }
}

/// The host in a URL, or in the short form of SSH: `git@host:owner/name`; and whether that is SSH.
fn host(address: &str) -> Option<(String, bool)> {
    let (authority, is_ssh) = match address.split_once("://") {
        Some(("file", _)) => return None,
        Some((scheme, rest)) => (rest.split('/').next()?, scheme.contains("ssh")),
        // As in git, a slash before the first colon means a path.
        None => {
            let host = address.split_once(':').map(|(host, _)| host);
            (host.filter(|host| !host.contains('/'))?, true)
        }
    };
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    (!host.is_empty() && host.chars().all(is_name)).then_some((host, is_ssh))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_origin_has_no_credentials() {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(directory.path()).unwrap();
        let local = LocalRepository::open(directory.path()).unwrap();
        assert_eq!(local.origin_address(), None);
        repository.remote("origin", "https://github.com/a/b").unwrap();
        for (address, expected) in [
            ("https://github.com/a/b.git", Some("https://github.com/a/b")),
            (
                "https://ada:secret@github.example.org:8443/a/b/",
                Some("https://github.example.org/a/b"),
            ),
            ("git@github.com:a/b.git", Some("https://github.com/a/b")),
            ("ssh://git@gitlab.com:22/a/b/c.git", Some("https://gitlab.com/a/b/c")),
            ("/srv/git/a", None),
        ] {
            repository.remote_set_url("origin", address).unwrap();
            assert_eq!(local.origin_address().as_deref(), expected, "{address}");
        }
    }

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
            let found = host(address);
            assert_eq!(found.as_ref().map(|(host, _)| host.as_str()), expected, "{address}");
            let is_ssh = !address.starts_with("http");
            assert!(found.is_none_or(|(_, over)| over == is_ssh), "{address}");
        }
    }
}
