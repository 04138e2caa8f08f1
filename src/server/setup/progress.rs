//! How far the setup is. A code and an App's secrets are kept until they have been used and stored.

use secrecy::SecretString;
use url::Url;

use super::super::one_time::{SecretDigest, fingerprint};
use super::Keep;
use crate::github::manifest::{CreatedApp, NotCreated, Registrar, WantedApp};

#[derive(Default)]
pub(super) enum SetupProgress {
    #[default]
    Begun,
    /// The browser has the manifest. GitHub sends it back with this state.
    Sent { state: SecretDigest, wanted: WantedApp },
    /// GitHub sent a code.
    Returned { code: SecretString, wanted: WantedApp },
    /// GitHub handed out the secrets, which nobody can ask for again.
    Created { app: Box<CreatedApp>, wanted: WantedApp },
}

/// What went wrong, and how to continue.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("The answer does not belong to the form that this page sent last")]
    Forged,
    #[error("GitHub does not know the code: it was used, or is older than an hour")]
    Expired,
    #[error("GitHub did not hand out the App's key: {0}")]
    GitHub(String),
    #[error("GitHub's answer has no App in it")]
    Unreadable,
    #[error("The App's key cannot be stored: {0}")]
    Disk(String),
}

impl SetupProgress {
    pub(super) fn sent(state: &str, wanted: WantedApp) -> Self {
        Self::Sent {
            state: fingerprint(state),
            wanted,
        }
    }

    pub(super) fn has_something_to_lose(&self) -> bool {
        matches!(self, Self::Returned { .. } | Self::Created { .. })
    }

    /// Accepts a code with the state that was sent, once.
    pub(super) fn take_code(&mut self, state: &str, code: SecretString) -> Result<(), Trouble> {
        match std::mem::take(self) {
            Self::Sent { state: sent, wanted } if sent == fingerprint(state) => {
                *self = Self::Returned { code, wanted };
                Ok(())
            }
            other => {
                *self = other;
                Err(Trouble::Forged)
            }
        }
    }

    /// Gets the secrets and stores them. Returns the page on which the App is installed, and the secret that GitHub signs
    /// webhooks with.
    pub(super) async fn advance(
        &mut self,
        registrar: &Registrar,
        keep: &Keep,
    ) -> Result<(Url, Option<SecretString>), Trouble> {
        if let Self::Returned { code, wanted } = &*self {
            match registrar.convert(code).await {
                Ok(app) => {
                    *self = Self::Created {
                        app: Box::new(app),
                        wanted: wanted.clone(),
                    }
                }
                Err(NotCreated::Later(why)) => return Err(Trouble::GitHub(why)),
                Err(NotCreated::Expired) => return Err(self.begin_again(Trouble::Expired)),
                Err(NotCreated::Unreadable) => return Err(self.begin_again(Trouble::Unreadable)),
            }
        }
        let Self::Created { app, wanted } = &*self else {
            return Err(Trouble::Forged);
        };
        // Before anything else.
        keep(app, wanted).map_err(Trouble::Disk)?;
        let stored = (app.install.clone(), app.webhook_secret.clone());
        *self = Self::Begun;
        Ok(stored)
    }

    fn begin_again(&mut self, trouble: Trouble) -> Trouble {
        *self = Self::Begun;
        trouble
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::manifest::AppOwner;

    fn wanted() -> WantedApp {
        WantedApp {
            name: "green".into(),
            owner: AppOwner::Person,
            public: "https://bots.example".parse().unwrap(),
        }
    }

    #[test]
    fn a_state_counts_once_and_only_the_newest() {
        let mut progress = SetupProgress::default();
        assert!(progress.take_code("a", "code".into()).is_err(), "nothing was sent");
        progress = SetupProgress::sent("b", wanted());
        assert!(progress.take_code("a", "forged".into()).is_err());
        assert!(progress.take_code("", "forged".into()).is_err());
        assert!(!progress.has_something_to_lose());
        progress.take_code("b", "code".into()).unwrap();
        assert!(progress.take_code("b", "another".into()).is_err());
        assert!(progress.has_something_to_lose());
    }
}
