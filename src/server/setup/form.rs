//! The fields of the form, and their mistakes.

use serde::Deserialize;

use super::CheckUrl;
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
    pub(super) fn read(&self, check_url: &CheckUrl) -> Result<WantedApp, String> {
        let name = self.name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
            return Err("A name has 1 to 34 characters.".into());
        }
        let owner = match self.owner.as_str() {
            "person" => AppOwner::Person,
            "organization" => AppOwner::Organization(login(self.organization.trim())?),
            _ => return Err("Say whose App it is.".into()),
        };
        let public_url = self.public_url.trim();
        if public_url.len() > MAX_URL {
            return Err(format!("A public URL has at most {MAX_URL} characters."));
        }
        let public = check_url(public_url)?;
        Ok(WantedApp {
            name: name.into(),
            owner,
            public,
        })
    }
}

fn login(text: &str) -> Result<String, String> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match (1..=MAX_LOGIN).contains(&text.len()) && text.bytes().all(is_fine) {
        true => Ok(text.into()),
        false if text.is_empty() => Err("Fill in the organization's login, or choose that the App is yours.".into()),
        false => Err(
            "That is not the login of an organization: it is the part of its URL after the host, and has letters, \
                      digits and hyphens."
                .into(),
        ),
    }
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

    fn read(filled: &Filled) -> Result<WantedApp, String> {
        let check: CheckUrl = Box::new(|text| text.parse().map_err(|_| "no URL".into()));
        filled.read(&check)
    }

    #[test]
    fn what_is_filled_in_cannot_change_where_the_form_goes() {
        let wanted = read(&filled(" green ", " acme-inc ", " https://bots.example/ ")).unwrap();
        assert_eq!(wanted.owner, AppOwner::Organization("acme-inc".into()));
        assert_eq!(wanted.webhook().as_str(), "https://bots.example/webhook");
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
                read(&filled("green", organization, "https://bots.example")).is_err(),
                "{organization}"
            );
        }
        // Without a script, the browser cannot ask for it.
        let unnamed = read(&filled("green", " ", "https://bots.example")).unwrap_err();
        assert!(unnamed.contains("organization's login"), "{unnamed}");
        for url in ["", "bots.example", &format!("https://bots.example/{}", "x".repeat(300))] {
            assert!(read(&filled("green", "acme", url)).is_err(), "{url}");
        }
        for name in ["", " ", &"x".repeat(35), "a\nb"] {
            assert!(read(&filled(name, "acme", "https://bots.example")).is_err(), "{name:?}");
        }
    }
}
