//! The history of greenlight's own comments: an approval means what its author could read at that time.

use jiff::{SignedDuration, Timestamp};

use super::super::{Broken, Context};
use crate::domain::gate::Gate;
use crate::domain::id::{Account, Login};
use crate::domain::reply;
use crate::github::{Actor, Revision};

/// The account of the token of every workflow. Only a workflow of the repository can post as it.
/// <https://docs.github.com/en/actions/concepts/security/github_token>
const WORKFLOWS: &str = "github-actions[bot]";

/// All revisions of greenlight's own comments on a pull request.
pub(super) struct Announced {
    /// The revisions of each comment, newest first.
    comments: Vec<Vec<Revision>>,
    /// The bot accounts that greenlight uses now or used with another token.
    bots: Vec<Login>,
    me: Account,
}

impl Announced {
    /// Reads the history of the sticky comment.
    pub(super) async fn load(context: &Context<'_>) -> Result<Self, Broken> {
        let runs = context.app.journal.runs_of(context.id()).await?;
        // The journal is no proof of greenlight's earlier accounts, but nobody can post as somebody else's bot.
        let before = runs.into_iter().filter_map(|run| run.started.writes_as);
        let mut announced = Self {
            comments: Vec::new(),
            bots: before.chain([Login::new(WORKFLOWS)]).collect(),
            me: context.me.clone(),
        };
        announced.bots.retain(|login| login.as_str().ends_with("[bot]"));
        let is_own = |account: &Account, is_bot: bool| announced.is_own(account, is_bot);
        let client = &context.client;
        let comments = client
            .marked_comments(context.id(), is_own, reply::STICKY_MARKER)
            .await?;
        for comment in comments {
            announced
                .comments
                .push(client.revisions(&context.id().repository, comment).await?);
        }
        Ok(announced)
    }

    fn is_own(&self, account: &Account, is_bot: bool) -> bool {
        account.is(&self.me) || (is_bot && self.bots.contains(&account.login))
    }

    /// Whether greenlight's comment showed a request at this moment, unedited by people, and for no longer than it is
    /// valid.
    pub(super) fn showed(&self, gate: &Gate, at: Timestamp, stands: SignedDuration) -> bool {
        self.comments.iter().any(|revisions| {
            // GitHub's times are whole seconds, so any revision of the same second may have been read.
            let was_read = |place: usize, revision: &Revision| {
                let until = place.checked_sub(1).map(|newer| revisions[newer].from);
                revision.from <= at && until.is_none_or(|until| until >= at)
            };
            // The comment is greenlight's own. With another token, greenlight edits it as another App, which the
            // owners of the repository permitted. A revision by a person does not count.
            let is_shown = |revision: &Revision| {
                let is_app = |by: &Actor| by.is_bot || self.is_own(&by.account, by.is_bot);
                revision.by.as_ref().is_some_and(is_app) && reply::shows(&revision.body, gate)
            };
            let was_shown = revisions
                .iter()
                .enumerate()
                .any(|(place, revision)| was_read(place, revision) && is_shown(revision));
            let first = revisions.iter().rfind(|revision| is_shown(revision));
            let stands_until = first.and_then(|first| first.from.checked_add(stands).ok());
            was_shown && stands_until.is_some_and(|until| at <= until)
        })
    }
}
