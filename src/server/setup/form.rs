//! The fields of the form, and their mistakes.

use serde::Deserialize;
use url::Url;

use crate::github::manifest::{AppOwner, WantedApp};

/// GitHub's limits.
const MAX_NAME: usize = 34;
const MAX_LOGIN: usize = 100;
const MAX_URL: usize = 300;

/// What a person filled in.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct Filled {
    pub(super) name: String,
    /// `person` or `organization`.
    pub(super) owner: String,
    pub(super) organization: String,
    pub(super) public_url: String,
}

impl Default for Filled {
    fn default() -> Self {
        Self {
            name: "greenlight".into(),
            owner: "organization".into(),
            organization: String::new(),
            public_url: String::new(),
        }
    }
}

impl Filled {
    /// The App, or the first mistake.
    pub(super) fn read(&self) -> Result<WantedApp, &'static str> {
        let name = self.name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            return Err("A name has 1 to 34 characters.");
        }
        let owner = match self.owner.as_str() {
            "person" => AppOwner::Person,
            "organization" => AppOwner::Organization(login(self.organization.trim())?),
            _ => return Err("Say whose App it is."),
        };
        Ok(WantedApp {
            name: name.into(),
            owner,
            public: public_url(self.public_url.trim())?,
        })
    }
}

fn login(text: &str) -> Result<String, &'static str> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match (1..=MAX_LOGIN).contains(&text.len()) && text.bytes().all(is_fine) {
        true => Ok(text.into()),
        false => Err("Fill in the organisation's login, as in its URL: letters, digits and hyphens."),
    }
}

fn public_url(text: &str) -> Result<Url, &'static str> {
    const WRONG: &str = "The public URL looks like https://greenlight.example.com, without anything after the path.";
    let mut url: Url = text.parse().map_err(|_| WRONG)?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_whole = url.query().is_none() && url.fragment().is_none() && url.host().is_some();
    if text.len() > MAX_URL || !matches!(url.scheme(), "https" | "http") || !is_plain || !is_whole {
        return Err(WRONG);
    }
    let path = url.path().trim_end_matches('/').to_string();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(name: &str, organization: &str, public_url: &str) -> Filled {
        Filled {
            name: name.into(),
            owner: "organization".into(),
            organization: organization.into(),
            public_url: public_url.into(),
        }
    }

    #[test]
    fn what_is_filled_in_cannot_change_where_the_form_goes() {
        let read = filled(" green ", " acme-inc ", "https://bots.example/green/")
            .read()
            .unwrap();
        assert_eq!(read.owner, AppOwner::Organization("acme-inc".into()));
        assert_eq!(read.webhook().as_str(), "https://bots.example/green/webhook");
        for organization in [
            "",
            "../../x",
            "acme/../..",
            "acme?state=x",
            "acme#",
            "a b",
            &"x".repeat(101),
        ] {
            assert!(
                filled("green", organization, "https://bots.example").read().is_err(),
                "{organization}"
            );
        }
        for url in [
            "",
            "bots.example",
            "ftp://bots.example",
            "javascript:alert(1)",
            "https://me:sesame@bots.example",
            "https://bots.example/?a=b",
            "https://bots.example/#a",
            &format!("https://bots.example/{}", "x".repeat(300)),
        ] {
            assert!(filled("green", "acme", url).read().is_err(), "{url}");
        }
        for name in ["", " ", &"x".repeat(35), "a\nb"] {
            assert!(filled(name, "acme", "https://bots.example").read().is_err(), "{name:?}");
        }
    }
}
