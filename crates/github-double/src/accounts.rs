//! Who there is on the double: accounts, Apps, and anyone who holds a token.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// One account: a person, an organisation or a bot.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) id: u64,
    pub(super) login: String,
    pub(super) kind: &'static str,
}

/// A GitHub App: greenlight's own, or the one behind GitHub Actions.
#[derive(Debug, Clone)]
pub(super) struct App {
    pub(super) id: u64,
    pub(super) slug: String,
    pub(super) name: String,
    pub(super) permissions: BTreeMap<String, String>,
    /// Its installations, each with the account whose repositories it reaches.
    pub(super) installations: Vec<(u64, String)>,
}

impl App {
    /// The login under which the App writes.
    pub(super) fn bot(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

/// Who holds a token.
#[derive(Debug, Clone)]
pub(super) enum Holder {
    /// An installation of an App, with the permissions of this one token and the repositories it is limited to.
    Installation {
        slug: String,
        /// Which one. `None` for the token of a workflow.
        id: Option<u64>,
        permissions: BTreeMap<String, String>,
        repositories: Option<Vec<u64>>,
    },
    /// A person's own token, with the scopes of a classic one, separated by commas.
    Person { login: String, scopes: &'static str },
    /// A person's fine-grained token, for these repositories alone, with these permissions there. Public repositories it
    /// reads as anybody does.
    /// <https://docs.github.com/en/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens>
    FineGrained {
        login: String,
        repositories: Vec<u64>,
        permissions: BTreeMap<String, String>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) holder: Holder,
    pub(super) expires_at: Timestamp,
}
