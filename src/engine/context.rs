//! What a step knows about its pull request: fetched once, and again if something happened to it.
//!
//! Whatever a step only needs to know comes from here. What must be true at the moment of use (a person's permission,
//! the head before code is executed, posted or landed) is asked again with the client, there.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::interrupt::Watch;
use super::worktree::{self, Configured};
use super::{App, Broken};
use crate::domain::id::{Account, InstallationId, PullRequestId};
use crate::github::{Client, PullRequest};

/// A pull request as it was when this step began, and the client to reach it.
pub struct Context<'a> {
    pub app: &'a App,
    pub client: Client,
    pub installation: Option<InstallationId>,
    pub pull_request: PullRequest,
    pub me: Account,
    /// Whether this process may work on code here. If not, such steps are left to a process with a worker.
    pub may_work: bool,
    config: Arc<OnceCell<Configured>>,
    /// The configuration of the default branch, if it was read beside the pull request.
    of_default: Option<Configured>,
    watch: Arc<Watch>,
}

impl<'a> Context<'a> {
    /// Fetches the pull request.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn of(app: &'a App, installation: Option<InstallationId>, id: &PullRequestId) -> Result<Self, Broken> {
        Self::fetch(app, installation, id, false).await
    }

    /// Fetches the pull request and, beside it, the configuration that this step is going to need.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub(super) async fn with_config(
        app: &'a App,
        installation: Option<InstallationId>,
        id: &PullRequestId,
    ) -> Result<Self, Broken> {
        Self::fetch(app, installation, id, true).await
    }

    async fn fetch(
        app: &'a App,
        mut installation: Option<InstallationId>,
        id: &PullRequestId,
        needs_config: bool,
    ) -> Result<Self, Broken> {
        let watch = Arc::new(app.interrupts.watch(id));
        let me = app.github.me().await?.clone();
        let mut client = app.github.client(installation, &id.repository).await?;
        let (mut found, of_default) = match client.ready().await {
            Ok(()) if needs_config => {
                // Without an answer, it is asked again where it is needed.
                let of_default = worktree::config_of_default(&client, &id.repository);
                let (found, of_default) = tokio::join!(client.pull_request(id), of_default);
                (found, of_default.ok())
            }
            Ok(()) => (client.pull_request(id).await, None),
            Err(error) => (Err(error), None),
        };
        let named = found.as_ref().map(|found| &found.id.repository);
        if let Some(now) = app.github.transferred((installation, &id.repository), named).await? {
            (client, installation) = (app.github.client(Some(now), &id.repository).await?, Some(now));
            found = client.pull_request(id).await;
        }
        let pull_request = found?;
        let name = &pull_request.id.repository.name;
        if !app.allow_list.allows(name) {
            return Err(Broken::NotAllowed(name.clone()));
        }
        app.journal.know(&pull_request.id.repository, installation).await?;
        // After a rename, the earlier name may belong to another repository.
        let of_default = of_default.filter(|_| *name == id.repository.name);
        Ok(Self {
            app,
            client,
            installation,
            pull_request,
            me,
            may_work: true,
            config: Arc::default(),
            of_default,
            watch,
        })
    }

    /// The same context, with the pull request fetched again if something happened to it since. Keeps the old state
    /// if GitHub does not answer.
    pub(super) async fn up_to_date(&self) -> Self {
        let mut now = Self {
            app: self.app,
            client: self.client.clone(),
            installation: self.installation,
            pull_request: self.pull_request.clone(),
            me: self.me.clone(),
            may_work: self.may_work,
            config: Arc::clone(&self.config),
            of_default: self.of_default.clone(),
            watch: Arc::clone(&self.watch),
        };
        if self.watch.was_touched() {
            now.watch = Arc::new(self.app.interrupts.watch(self.id()));
            if let Ok(fetched) = self.client.pull_request(self.id()).await {
                now.pull_request = fetched;
                // The base may be another one.
                (now.config, now.of_default) = (Arc::default(), None);
            }
        }
        now
    }

    pub fn id(&self) -> &PullRequestId {
        &self.pull_request.id
    }

    /// The configuration, read once a step.
    ///
    /// # Errors
    /// When GitHub cannot be reached; a mistake in a file is `Ok(Err(what is wrong))`.
    pub(super) async fn config(&self) -> Result<Configured, Broken> {
        let read = || worktree::config_with(&self.client, &self.pull_request, self.of_default.clone());
        Ok(self.config.get_or_try_init(read).await?.clone())
    }
}
