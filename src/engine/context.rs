//! What a step knows about its pull request: fetched once, and again if something happened to it.
//!
//! What a step only needs to know comes from here. What must be true at the moment of use (a person's permission, the
//! head before code is executed, posted or landed) is asked again there, with the client.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::interrupt::Watch;
use super::worktree::{self, Configured};
use super::{App, Broken};
use crate::domain::branch_rule::BranchRule;
use crate::domain::id::{Account, CommitSha, InstallationId, PullRequestId};
use crate::domain::run::Run;
use crate::github::{BeforeReview, Client, Error, PullRequest, WorkflowRun};

/// A pull request as it was when this step began, and the client to reach it.
pub struct Context<'a> {
    pub app: &'a App,
    pub client: Client,
    pub installation: Option<InstallationId>,
    pub pull_request: PullRequest,
    pub me: Account,
    /// Whether this process may work on code here. If not, such steps are left to a process with a worker.
    pub may_work: bool,
    /// The configuration of the default branch, if it was read beside the pull request.
    of_default: Option<Configured>,
    /// The failed workflow run that led to this step, if GitHub described it.
    failed_run: Option<WorkflowRun>,
    known: Arc<Known>,
    watch: Arc<Watch>,
}

/// What was asked in this step.
#[derive(Default)]
struct Known {
    config: OnceCell<Configured>,
    merge_base: OnceCell<((CommitSha, CommitSha), Option<CommitSha>)>,
    branch_rules: OnceCell<Vec<BranchRule>>,
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
            of_default,
            failed_run: None,
            known: Arc::default(),
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
            of_default: self.of_default.clone(),
            failed_run: self.failed_run.clone(),
            known: Arc::clone(&self.known),
            watch: Arc::clone(&self.watch),
        };
        if self.watch.was_touched() {
            now.watch = Arc::new(self.app.interrupts.watch(self.id()));
            if let Ok(fetched) = self.client.pull_request(self.id()).await {
                now.pull_request = fetched;
                // The base may be another one.
                (now.known, now.of_default) = (Arc::default(), None);
            }
        }
        now
    }

    /// The same context, with the failed workflow run as GitHub described it in the event that led here.
    pub(super) fn with_failed_run(self, failed_run: Option<WorkflowRun>) -> Self {
        Self { failed_run, ..self }
    }

    /// The failed workflow run with this id, if GitHub described it already.
    pub(super) fn failed_run(&self, id: u64) -> Option<&WorkflowRun> {
        self.failed_run.as_ref().filter(|run| run.id == id)
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
        Ok(self.known.config.get_or_try_init(read).await?.clone())
    }

    /// The merge base of a run, asked once a step. It never changes.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub(super) async fn merge_base(&self, run: &Run) -> Result<Option<CommitSha>, Broken> {
        let of = (run.started.base.clone(), run.started.head.clone());
        let ask = async || self.client.merge_base(&self.id().repository, &of.0, &of.1).await;
        let known = self
            .known
            .merge_base
            .get_or_try_init(async || Ok::<_, Error>((of.clone(), ask().await?)));
        let (asked, found) = known.await?;
        match *asked == of {
            true => Ok(found.clone()),
            false => Ok(ask().await?),
        }
    }

    /// The pull request right before a review is posted. `None` if GitHub does not say it in one answer. Without rules,
    /// they are not asked again in this step.
    pub(super) async fn before_review(&self) -> Option<BeforeReview> {
        let asked = self.client.before_review(self.id()).await;
        let before = asked
            .inspect_err(|error| tracing::debug!(%error, "what precedes a review is asked over REST"))
            .ok()?;
        if !before.may_have_rules {
            let _known_already = self.known.branch_rules.set(Vec::new());
        }
        Some(before)
    }

    /// The rules of the head's branch, asked once a step. GitHub itself checks them when a commit lands.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub(super) async fn branch_rules(&self) -> Result<&[BranchRule], Broken> {
        let Some(repository) = &self.pull_request.head_repository else {
            return Ok(&[]);
        };
        let ask = || self.client.branch_rules(repository, &self.pull_request.head_branch);
        Ok(self.known.branch_rules.get_or_try_init(ask).await?)
    }
}
