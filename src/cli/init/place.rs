//! Where a checkout of `greenlight init` is, as git says it: the top of the repository, its branches, and the server that
//! hosts it.

use std::path::PathBuf;

use super::super::Exit;
use crate::git::{self, HostedRemote, LocalRepository};

/// Well-known servers that are not GitHub, by domain: all hosts below it count.
const DOMAINS: [(&str, &str); 14] = [
    ("gitlab.com", "GitLab"),
    ("salsa.debian.org", "GitLab"),
    ("framagit.org", "GitLab"),
    ("bitbucket.org", "Bitbucket"),
    ("codeberg.org", "Codeberg"),
    ("gitea.com", "Gitea"),
    ("gitee.com", "Gitee"),
    ("sr.ht", "SourceHut"),
    ("dev.azure.com", "Azure DevOps"),
    ("visualstudio.com", "Azure DevOps"),
    ("launchpad.net", "Launchpad"),
    ("sourceforge.net", "SourceForge"),
    ("savannah.gnu.org", "Savannah"),
    ("huggingface.co", "Hugging Face"),
];

/// How the hosts of other servers usually begin, and people's own names for hosts in the settings of SSH.
const BEGINNINGS: [(&str, &str); 6] = [
    ("gitlab", "GitLab"),
    ("bitbucket", "Bitbucket"),
    ("codeberg", "Codeberg"),
    ("gitea", "Gitea"),
    ("forgejo", "Forgejo"),
    ("gerrit", "Gerrit"),
];

/// Where the repository is hosted, as far as its remote says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// github.com.
    GitHub,
    /// A host that only the settings of SSH know, taken for github.com.
    Alias(String),
    /// GitHub Enterprise Cloud with data residency: a subdomain of ghe.com.
    Cloud(String),
    /// GitHub Enterprise Server, unless it is no GitHub at all.
    Enterprise(String),
    /// A server of another kind, and which.
    Other(String, &'static str),
    /// There is no remote, or it names no host.
    Unknown,
}

/// What git says about a folder.
pub(super) struct Place {
    /// The top of the repository, or the folder itself.
    pub(super) root: PathBuf,
    pub(super) server: Server,
    /// The name of the remote that the server is from.
    pub(super) remote: Option<String>,
    pub(super) default_branch: Option<String>,
    pub(super) current_branch: Option<String>,
    outside: Option<Outside>,
    /// What a person should know.
    pub(super) note: Option<String>,
}

/// Why a folder does not count as a part of a repository.
enum Outside {
    /// There is none.
    Nowhere(String),
    /// git does not read it.
    Unreadable(String),
}

impl Place {
    /// Asks git about a folder.
    pub(super) fn of(named: PathBuf) -> Self {
        match LocalRepository::open(&named) {
            Ok(repository) => {
                let root = repository.work_tree().unwrap_or(&named).to_path_buf();
                let hosted = repository.hosted();
                Self {
                    server: Server::at(hosted.as_ref()),
                    remote: hosted.map(|remote| remote.name),
                    default_branch: repository.default_branch(),
                    current_branch: repository.current_branch(),
                    outside: None,
                    note: (root != named).then(|| format!("the repository begins at {}", root.display())),
                    root,
                }
            }
            Err(error) => Self {
                note: Some(format!("{error}, so the files are for the folder itself")),
                outside: Some(match error {
                    git::Error::OfAnotherUser(_) => Outside::Unreadable(error.to_string()),
                    _ => Outside::Nowhere(error.to_string()),
                }),
                root: named,
                server: Server::Unknown,
                remote: None,
                default_branch: None,
                current_branch: None,
            },
        }
    }

    /// Whether files for GitHub can have an effect here.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(super) fn is_for_github(&self) -> Result<(), Exit> {
        if let Some(problem) = &self.outside {
            return Err(Exit::Usage(match problem {
                Outside::Nowhere(problem) => format!(
                    "{problem}, so nothing was written: run this in a checkout of your repository, or run `git init` \
                     first. `--force` writes the files to this folder anyway"
                ),
                Outside::Unreadable(problem) => format!("nothing was written: {problem}"),
            }));
        }
        let Server::Other(host, kind) = &self.server else {
            return Ok(());
        };
        Err(Exit::Usage(format!(
            "the remote `{}` is at {host}, which is {kind}. The Action and the App work with GitHub only, so nothing was \
             written. Local commands such as `greenlight fix` work in any checkout; if the repository is on GitHub, too, \
             `--force` writes the files for github.com",
            self.remote.as_deref().unwrap_or("origin")
        )))
    }

    /// Where it is hosted, in words.
    pub(super) fn words(&self) -> String {
        let server = match &self.server {
            Server::GitHub => "github.com".into(),
            Server::Alias(host) => format!("{host}, assuming that it is github.com in your settings of SSH"),
            Server::Cloud(host) => format!("{host}, GitHub Enterprise Cloud"),
            Server::Enterprise(host) => format!("{host}, assuming GitHub Enterprise Server"),
            Server::Other(host, kind) => format!("{host}, which is {kind}; assuming github.com"),
            Server::Unknown if self.remote.is_some() => "not on a server; assuming github.com".into(),
            Server::Unknown => "none; assuming github.com".into(),
        };
        let usual = self.remote.as_ref().filter(|name| *name != "origin");
        let name = usual.map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let branch = match &self.default_branch {
            Some(branch) => format!("default branch `{branch}`"),
            None => "default branch unknown".into(),
        };
        format!("{server}{name}, {branch}")
    }
}

impl Server {
    fn at(remote: Option<&HostedRemote>) -> Self {
        let Some((remote, host)) = remote.and_then(|remote| Some((remote, remote.host.clone()?))) else {
            return Self::Unknown;
        };
        // People with several accounts give the host other names in their settings of SSH: `github.com-work`.
        let is_github = ["github.com", "www.github.com", "ssh.github.com"].contains(&host.as_str());
        if is_github || host.starts_with("github.com-") {
            return Self::GitHub;
        }
        if let Some(kind) = other(&host) {
            return Self::Other(host, kind);
        }
        match host {
            host if remote.is_ssh && !host.contains('.') => Self::Alias(host),
            host if host.ends_with(".ghe.com") => Self::Cloud(host),
            host => Self::Enterprise(host),
        }
    }
}

/// What a server is that is not GitHub, as far as its name says.
fn other(host: &str) -> Option<&'static str> {
    let mut domains = DOMAINS.iter();
    let of_domain = domains.find(|(domain, _)| {
        let before = host.strip_suffix(domain);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    let mut beginnings = BEGINNINGS.iter();
    let of_beginning = || {
        beginnings.find(|(beginning, _)| {
            let rest = host.strip_prefix(beginning);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
        })
    };
    of_domain.or_else(of_beginning).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, is_ssh: bool) -> Server {
        let name = "origin".into();
        let host = Some(host.into());
        Server::at(Some(&HostedRemote { name, host, is_ssh }))
    }

    #[test]
    fn servers_by_their_hosts() {
        for host in ["github.com", "ssh.github.com", "github.com-work"] {
            assert_eq!(at(host, true), Server::GitHub);
        }
        assert_eq!(at("acme.ghe.com", false), Server::Cloud("acme.ghe.com".into()));
        for host in [
            "github.example.org",
            "notgithub.com",
            "github.com.evil.org",
            "ghe.com",
            "mygitlab.com",
            "gitlabs.example.org",
        ] {
            assert_eq!(at(host, false), Server::Enterprise(host.into()));
            assert_eq!(at(host, true), Server::Enterprise(host.into()));
        }
        assert_eq!(Server::at(None), Server::Unknown);
    }

    #[test]
    fn other_servers_are_not_taken_for_github() {
        for (host, kind) in [
            ("gitlab.com", "GitLab"),
            ("altssh.gitlab.com", "GitLab"),
            ("gitlab.example.org", "GitLab"),
            ("gitlab-work", "GitLab"),
            ("bitbucket.org", "Bitbucket"),
            ("codeberg.org", "Codeberg"),
            ("git.sr.ht", "SourceHut"),
            ("ssh.dev.azure.com", "Azure DevOps"),
        ] {
            assert_eq!(at(host, true), Server::Other(host.into(), kind));
        }
    }

    #[test]
    fn a_host_without_a_dot_is_a_name_in_the_settings_of_ssh() {
        assert_eq!(at("github-work", true), Server::Alias("github-work".into()));
        // Over HTTPS it is a server in somebody's own network.
        assert_eq!(at("github", false), Server::Enterprise("github".into()));
    }
}
