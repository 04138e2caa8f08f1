//! The configuration that counts for a pull request.

use super::super::Broken;
use crate::config::RepoConfig;
use crate::config::repository::FILE_NAME as CONFIG_FILE;
use crate::config::stricter::stricter;
use crate::domain::id::RepositoryName;
use crate::github::{Client, PullRequest};

/// What a file says, or what is wrong with it.
pub type Configured = Result<RepoConfig, String>;

/// Reads the configuration from the tip of the base branch. If that is not the default branch, the default branch's
/// configuration limits it: the author of a pull request chooses its base, and must not gain permissions by that. A
/// missing file means the defaults.
///
/// # Errors
/// When GitHub cannot be reached; a mistake in a file is `Ok(Err(what is wrong))`.
pub async fn config(client: &Client, pull_request: &PullRequest) -> Result<Configured, Broken> {
    config_with(client, pull_request, None).await
}

/// The same, where the default branch's configuration may have been read already.
///
/// # Errors
/// As for [`config`].
pub(in crate::engine) async fn config_with(
    client: &Client,
    pull_request: &PullRequest,
    of_default: Option<Configured>,
) -> Result<Configured, Broken> {
    let (repository, base) = (&pull_request.id.repository, pull_request.base_branch.as_str());
    let of_default = async {
        match of_default {
            Some(known) => Ok(known),
            None => config_of_default(client, repository).await,
        }
    };
    // GitHub names the default branch with every pull request.
    if pull_request.default_branch.as_deref() == Some(base) {
        return of_default.await;
    }
    let of_base = async { Ok(parsed(client.file(repository, CONFIG_FILE, base).await?)) };
    Ok(match tokio::try_join!(of_base, of_default)? {
        (Ok(of_base), Ok(of_default)) => Ok(stricter(&of_default, &of_base)),
        (Err(mistake), _) => Err(mistake),
        (_, Err(mistake)) => {
            let default = pull_request.default_branch.as_deref().unwrap_or("HEAD");
            Err(format!(
                "on `{default}`, the default branch, which also counts: {mistake}"
            ))
        }
    })
}

/// The configuration of the default branch, which always counts.
///
/// # Errors
/// As for [`config`].
pub(in crate::engine) async fn config_of_default(
    client: &Client,
    repository: &RepositoryName,
) -> Result<Configured, Broken> {
    Ok(parsed(client.default_file(repository, CONFIG_FILE).await?))
}

fn parsed(file: Option<Vec<u8>>) -> Configured {
    let Some(bytes) = file else {
        return Ok(RepoConfig::default());
    };
    RepoConfig::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| error.to_string())
}
