//! The configuration that counts for a pull request.

use super::super::Broken;
use crate::config::RepoConfig;
use crate::config::repository::FILE_NAME as CONFIG_FILE;
use crate::config::stricter::stricter;
use crate::domain::id::RepositoryName;
use crate::github::{Client, PullRequest};

/// Reads the configuration from the tip of the base branch. If that is not the default branch, the default branch's
/// configuration limits it: the author of a pull request chooses its base, and must not gain permissions by that. A
/// missing file means the defaults.
///
/// # Errors
/// When GitHub cannot be reached; a mistake in a file is `Ok(Err(what is wrong))`.
pub async fn config(client: &Client, pull_request: &PullRequest) -> Result<Result<RepoConfig, String>, Broken> {
    let (repository, base) = (&pull_request.id.repository, pull_request.base_branch.as_str());
    let of_base = match read(client, repository, base).await? {
        Ok(config) => config,
        Err(mistake) => return Ok(Err(mistake)),
    };
    // GitHub names the default branch with every pull request.
    let default = pull_request.default_branch.as_deref().unwrap_or("HEAD");
    if default == base {
        return Ok(Ok(of_base));
    }
    Ok(match read(client, repository, default).await? {
        Ok(of_default) => Ok(stricter(&of_default, &of_base)),
        Err(mistake) => Err(format!(
            "on `{default}`, the default branch, which also counts: {mistake}"
        )),
    })
}

async fn read(
    client: &Client,
    repository: &RepositoryName,
    branch: &str,
) -> Result<Result<RepoConfig, String>, Broken> {
    let file = client.file(repository, CONFIG_FILE, branch).await?;
    let Some(bytes) = file else {
        return Ok(Ok(RepoConfig::default()));
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(RepoConfig::parse(&text).map_err(|error| error.to_string()))
}
