//! Where requests go and which headers they carry. This module reads no environment variables and sends nothing.

use async_openai::config::Config;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::InvalidSettings;

/// Where requests go and which headers they carry. Unlike async-openai's own configuration it reads no environment
/// variables.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    base: String,
    query: Vec<(String, String)>,
    /// The base URL for messages, without credentials and query.
    pub(super) shown: String,
    headers: HeaderMap,
    api_key: SecretString,
}

impl Endpoint {
    pub(super) fn new(mut url: Url, api_key: SecretString) -> Result<Self, InvalidSettings> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidSettings::Url);
        }
        let query = url.query_pairs().into_owned().collect();
        url.set_query(None);
        url.set_fragment(None);
        let base = url.as_str().trim_end_matches('/').to_string();
        let mut headers = HeaderMap::new();
        let key = api_key.expose_secret().trim();
        if !key.is_empty() {
            let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| InvalidSettings::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let shown = format!(
            "{}://{}{}",
            url.scheme(),
            &url[url::Position::BeforeHost..url::Position::AfterPort],
            url.path().trim_end_matches('/')
        );
        Ok(Self {
            base,
            query,
            shown,
            headers,
            api_key,
        })
    }

    /// An endpoint's message without the key, in case it repeats the key.
    pub(super) fn without_key(&self, message: &str) -> String {
        let key = self.api_key.expose_secret().trim();
        if key.is_empty() {
            message.into()
        } else {
            message.replace(key, "[redacted]")
        }
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.api_key
    }
}
