//! What greenlight's own App needs on GitHub, and what it has: permissions, events, webhook and installations.
//!
//! What is missing is decided elsewhere. <https://docs.github.com/en/rest/apps>

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::GitHub;
pub use super::deliveries::Attempt;
use super::error::Error;

/// The permissions that the App needs, with GitHub's names and levels.
pub const PERMISSIONS: [(&str, &str); 7] = [
    ("actions", "write"),
    ("checks", "write"),
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("statuses", "read"),
];

/// The events that the App subscribes to. Those about its installation are always sent.
pub const EVENTS: [&str; 7] = [
    "check_run",
    "check_suite",
    "issue_comment",
    "pull_request",
    "pull_request_review_comment",
    "status",
    "workflow_run",
];

/// How many attempts are looked at.
const ATTEMPTS: usize = 30;

/// How the App is set up.
#[derive(Debug, Clone)]
pub struct AppSetup {
    pub app: Registration,
    /// `None` without a webhook.
    pub webhook: Option<WebhookConfig>,
    /// The last attempts to deliver an event, newest first.
    pub attempts: Vec<Attempt>,
    pub installations: Vec<AppInstallation>,
    pub pages: Pages,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Registration {
    pub id: u64,
    pub slug: String,
    pub owner: Option<Owner>,
    html_url: Option<String>,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
}

/// A person, an organisation or an enterprise.
#[derive(Debug, Clone, Deserialize)]
pub struct Owner {
    login: Option<String>,
    /// The name of an enterprise, which has no login.
    slug: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct WebhookConfig {
    pub url: Option<String>,
    pub content_type: Option<String>,
    /// Asterisks, if there is one.
    secret: Option<String>,
    /// A number in a text, or a number.
    #[serde(default)]
    insecure_ssl: Value,
}

#[derive(Debug, Clone, Deserialize)]
pub struct AppInstallation {
    id: u64,
    pub account: Option<Owner>,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    #[serde(default)]
    pub events: Vec<String>,
    suspended_at: Option<String>,
}

/// The pages on which people change the setup.
#[derive(Debug, Clone)]
pub struct Pages {
    /// The settings of the App.
    pub settings: Url,
    /// Where the App is installed.
    pub install: Url,
    web: Url,
}

impl GitHub {
    /// How the App is set up. `None` with a token.
    ///
    /// # Errors
    /// When GitHub cannot be reached or refuses the credentials.
    pub async fn app_setup(&self) -> Result<Option<AppSetup>, Error> {
        let Some(client) = self.as_app() else {
            return Ok(None);
        };
        let app: Registration = client.get("/app").await?;
        let deliveries = format!("/app/hook/deliveries?per_page={ATTEMPTS}");
        Ok(Some(AppSetup {
            pages: Pages::of(&app, &self.web_url("")),
            app,
            webhook: client.get_optional("/app/hook/config").await?,
            attempts: client.get_optional(&deliveries).await?.unwrap_or_default(),
            installations: client.get_all("/app/installations").await?,
        }))
    }
}

impl Owner {
    pub fn name(&self) -> &str {
        let name = self.login.as_deref().or(self.slug.as_deref());
        name.unwrap_or("an unknown account")
    }

    /// The path of this owner's settings.
    fn settings(&self) -> String {
        match (&self.login, &self.slug, self.kind.as_deref()) {
            (Some(login), _, Some("Organization")) => format!("organizations/{login}/settings"),
            (None, Some(slug), _) => format!("enterprises/{slug}/settings"),
            _ => "settings".into(),
        }
    }
}

impl WebhookConfig {
    pub fn has_secret(&self) -> bool {
        self.secret.as_ref().is_some_and(|secret| !secret.is_empty())
    }

    pub fn verifies_certificate(&self) -> bool {
        self.insecure_ssl != 1 && self.insecure_ssl != "1"
    }
}

impl AppInstallation {
    pub fn is_suspended(&self) -> bool {
        self.suspended_at.is_some()
    }

    pub fn name(&self) -> &str {
        self.account.as_ref().map_or("an unknown account", Owner::name)
    }
}

impl Pages {
    pub(super) fn of(app: &Registration, web: &Url) -> Self {
        let owner = app.owner.as_ref().map_or_else(|| "settings".into(), Owner::settings);
        let settings = below(web, &format!("{owner}/apps/{}", app.slug));
        // On Enterprise Server the path is different. A page of another host is not shown.
        let shown = app.html_url.as_ref().and_then(|page| page.parse::<Url>().ok());
        let shown = shown.filter(|page| page.origin() == web.origin());
        let shown = shown.unwrap_or_else(|| below(web, &format!("apps/{}", app.slug)));
        Self {
            settings,
            install: below(&shown, "installations/new"),
            web: web.clone(),
        }
    }

    /// The part of the App's settings with this name.
    pub fn part(&self, name: &str) -> Url {
        below(&self.settings, name)
    }

    /// The settings of an installation.
    pub fn installation(&self, installation: &AppInstallation) -> Url {
        let owner = installation.account.as_ref();
        let owner = owner.map_or_else(|| "settings".into(), Owner::settings);
        below(&self.web, &format!("{owner}/installations/{}", installation.id))
    }
}

/// A page below another one, without query and fragment.
pub(super) fn below(page: &Url, path: &str) -> Url {
    let mut url = page.clone();
    url.set_path(&format!("{}/{path}", page.path().trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pages(web: &str, owner: &Value, html_url: &str) -> Pages {
        let app = json!({ "id": 1, "slug": "green", "owner": owner, "html_url": html_url });
        Pages::of(&serde_json::from_value(app).unwrap(), &web.parse().unwrap())
    }

    #[test]
    fn pages_belong_to_the_owner_and_the_server() {
        let hub = "https://github.com";
        for (web, owner, html_url, settings, install) in [
            (
                hub,
                json!({ "login": "acme", "type": "Organization" }),
                "https://github.com/apps/green",
                "https://github.com/organizations/acme/settings/apps/green",
                "https://github.com/apps/green/installations/new",
            ),
            (
                hub,
                json!({ "login": "ada", "type": "User" }),
                "https://evil.example/apps/green?x#y",
                "https://github.com/settings/apps/green",
                "https://github.com/apps/green/installations/new",
            ),
            (
                "https://ghe.example/",
                json!({ "slug": "all", "name": "All" }),
                "https://ghe.example/github-apps/green",
                "https://ghe.example/enterprises/all/settings/apps/green",
                "https://ghe.example/github-apps/green/installations/new",
            ),
            (
                hub,
                json!({ "login": "../../x?y", "type": "Organization" }),
                "",
                "https://github.com/x%3Fy/settings/apps/green",
                "https://github.com/apps/green/installations/new",
            ),
        ] {
            let pages = pages(web, &owner, html_url);
            assert_eq!(
                (pages.settings.as_str(), pages.install.as_str()),
                (settings, install),
                "{owner}"
            );
        }
    }

    #[test]
    fn certificates_are_verified_unless_github_says_otherwise() {
        for (value, verified) in [
            (json!("0"), true),
            (json!(0), true),
            (json!(null), true),
            (json!("1"), false),
            (json!(1), false),
        ] {
            let config = json!({ "url": "https://x", "insecure_ssl": value });
            let config: WebhookConfig = serde_json::from_value(config).unwrap();
            assert_eq!(config.verifies_certificate(), verified, "{value}");
            assert!(!config.has_secret());
        }
    }
}
