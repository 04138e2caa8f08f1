//! The accounts and Apps of the double, and the holders of its tokens.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// One account: a person, an organisation or a bot.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) id: u64,
    pub(super) login: String,
    pub(super) kind: &'static str,
}

/// A GitHub App: greenlight's own, or another one, such as GitHub Actions.
#[derive(Debug, Clone)]
pub(super) struct App {
    pub(super) id: u64,
    pub(super) slug: String,
    pub(super) name: String,
    pub(super) permissions: BTreeMap<String, String>,
    /// The permissions that the owners of its installations have not accepted yet.
    pub(super) unaccepted: Vec<String>,
    /// The events that it subscribes to.
    pub(super) events: Vec<String>,
    /// Its installations, each with the account whose repositories it can access.
    pub(super) installations: Vec<(u64, String)>,
}

impl App {
    /// The login of the App's bot account.
    pub(super) fn bot(&self) -> String {
        format!("{}[bot]", self.slug)
    }

    /// The permissions of its installations: a new one counts when their owners have accepted it.
    /// <https://docs.github.com/en/apps/maintaining-github-apps/modifying-a-github-app-registration#about-github-app-permission-updates>
    pub(super) fn accepted(&self) -> BTreeMap<String, String> {
        let mut accepted = self.permissions.clone();
        accepted.retain(|name, _| !self.unaccepted.contains(name));
        accepted
    }
}

/// The holder of a token.
#[derive(Debug, Clone)]
pub(super) enum Holder {
    /// An installation of an App, with the permissions of this token and the repositories it is limited to.
    Installation {
        slug: String,
        /// The installation's id. `None` for the token of a workflow.
        id: Option<u64>,
        permissions: BTreeMap<String, String>,
        repositories: Option<Vec<u64>>,
    },
    /// A person with a classic token, and its scopes, separated by commas.
    Person { login: String, scopes: &'static str },
    /// A person with a fine-grained token, which has these permissions only in these repositories. It can read public
    /// repositories, as anybody can.
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
