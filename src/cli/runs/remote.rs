//! Asks a `greenlight serve` over REST, with the caller's own GitHub token.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::StatusCode;
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::Exit;
use super::{MAX_LISTED, Shown};
use crate::config::addresses;
use crate::config::settings::{Credentials, Settings};
use crate::domain::id::RepositoryName;
use crate::summary::{RunSummary, Statistics};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 16 << 20;
const A_DAY: u64 = 24 * 60 * 60;
/// How many causes of an error are looked at.
const MAX_CAUSES: usize = 8;

pub(super) async fn list(
    settings: &Settings,
    server: &str,
    repository: Option<&RepositoryName>,
) -> Result<Vec<RunSummary>, Exit> {
    let repository = repository.ok_or_else(super::needs_repository)?;
    let path = format!("/runs?repository={repository}&limit={MAX_LISTED}");
    let mut answer = get(settings, server, &path).await?.ok_or_else(unseen)?;
    parsed(answer["runs"].take())
}

pub(super) async fn run(settings: &Settings, server: &str, id: &str) -> Result<Option<Shown>, Exit> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Ok(None);
    }
    let Some(mut answer) = get(settings, server, &format!("/runs/{id}")).await? else {
        return Ok(None);
    };
    Ok(Some(Shown {
        timeline: parsed(answer["timeline"].take())?,
        summary: parsed(answer)?,
    }))
}

pub(super) async fn statistics(
    settings: &Settings,
    server: &str,
    (repository, since): (&RepositoryName, Duration),
) -> Result<Statistics, Exit> {
    let days = since.as_secs().div_ceil(A_DAY).max(1);
    let path = format!("/stats?repository={repository}&days={days}");
    let mut answer = get(settings, server, &path).await?.ok_or_else(unseen)?;
    parsed(answer["statistics"].take())
}

/// `None` for what does not exist or the caller may not see.
async fn get(settings: &Settings, server: &str, path: &str) -> Result<Option<Value>, Exit> {
    let url = addresses::server_url("--server", server)?;
    let token = match settings.credentials() {
        Ok(Credentials::Token(token)) => token,
        Err(error) if error.setting != "GREENLIGHT_GITHUB_TOKEN" => return Err(error.into()),
        // An App cannot be used here, so no setting of one is named.
        _ => {
            let what = "a server wants your own GitHub token: set GREENLIGHT_GITHUB_TOKEN, or name a file with \
                        --github-token-file";
            return Err(Exit::Usage(what.into()));
        }
    };
    let url = format!("{}/api/v1{path}", url.as_str().trim_end_matches('/'));
    let broken = |error: &dyn std::fmt::Display| Exit::Usage(format!("{server} cannot be asked: {error}"));
    // A redirect would take the token elsewhere.
    greenlight_crypto::install();
    let client = reqwest::Client::builder()
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    let client = client.build().map_err(|error| broken(&error))?;
    let response = client.get(url).bearer_auth(token.expose_secret()).send().await;
    let response = response.map_err(|error| broken(&cause(&error)))?;
    let status = response.status();
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|error| broken(&cause(&error)))?);
        if body.len() > MAX_RESPONSE {
            return Err(broken(&"the answer is too long"));
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    match status {
        StatusCode::OK => Ok(Some(answer)),
        StatusCode::NOT_FOUND => Ok(None),
        status => {
            let why = answer["error"].as_str().unwrap_or("no greenlight answers there");
            Err(broken(&format!(
                "{status}: {}",
                why.chars().take(300).collect::<String>()
            )))
        }
    }
}

/// What is behind an error, such as a connection that was refused.
fn cause(error: &reqwest::Error) -> String {
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    // The first one names the address, which is known.
    causes
        .skip(1)
        .take(MAX_CAUSES)
        .last()
        .map_or_else(|| "no answer".into(), ToString::to_string)
}

fn unseen() -> Exit {
    Exit::Usage("there is no such repository on that server, or you may not see it".into())
}

fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, Exit> {
    let foreign = |_| Exit::Usage("the server's answer is not one of this version of greenlight".into());
    serde_json::from_value(value).map_err(foreign)
}
