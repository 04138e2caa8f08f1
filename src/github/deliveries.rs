//! Deliveries that failed. GitHub never retries them automatically, but it can list them.
//! <https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries>

use std::collections::{BTreeMap, HashSet};

use http::header;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::error::Error;
use super::{GitHub, webhook};
use crate::domain::event::{Comment, CommentPlace, Event, Fact};
use crate::domain::id::{Account, AccountId, DeliveryId, Login, PullRequestId};

/// How many attempts a page lists, and how many pages are read.
const PER_PAGE: usize = 100;
const MAX_PAGES: usize = 50;

/// One attempt to deliver an event.
#[derive(Debug, Clone, Deserialize)]
pub struct Attempt {
    id: u64,
    /// The value of `X-GitHub-Delivery`, which is the same for every attempt.
    guid: String,
    pub delivered_at: Timestamp,
    /// `OK`, or what went wrong, in GitHub's words.
    pub status: String,
    /// The status of the answer; 0 if there was none.
    #[serde(default)]
    pub status_code: i64,
    pub event: String,
}

impl Attempt {
    pub fn is_ok(&self) -> bool {
        self.status == "OK"
    }
}

/// A delivery whose attempts all failed, or that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    pub id: DeliveryId,
    attempt: u64,
    event: String,
}

impl GitHub {
    /// Whether GitHub lists deliveries for these credentials.
    pub fn is_app(&self) -> bool {
        self.as_app().is_some()
    }

    /// The deliveries since a moment that never arrived, or that are among `unread`, oldest first. Only an App can
    /// list them; for a token the list is empty.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn missed(&self, since: Timestamp, unread: &HashSet<DeliveryId>) -> Result<Vec<Missed>, Error> {
        let Some(app) = self.as_app() else {
            return Ok(Vec::new());
        };
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut route = format!("/app/hook/deliveries?per_page={PER_PAGE}");
            if let Some(cursor) = &cursor {
                route = format!("{route}&cursor={cursor}");
            }
            let (page, headers) = app.get_with_headers::<Vec<Attempt>>(&route).await?;
            let is_old = page.iter().any(|attempt| attempt.delivered_at < since);
            attempts.extend(page.into_iter().filter(|attempt| attempt.delivered_at >= since));
            let link = headers.get(header::LINK).and_then(|link| link.to_str().ok());
            cursor = link.and_then(next_cursor);
            if is_old || cursor.is_none() {
                break;
            }
        }
        Ok(without_success(attempts, unread))
    }

    /// Fetches a missed delivery. `None` if it does not concern greenlight. It comes over TLS with the App's own
    /// token, so there is no signature to check.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn read_missed(&self, missed: &Missed) -> Result<Option<Event>, Error> {
        #[derive(Deserialize)]
        struct Delivered {
            request: Request,
        }
        #[derive(Deserialize)]
        struct Request {
            payload: Value,
        }
        let Some(app) = self.as_app().filter(|_| webhook::is_of_concern(&missed.event)) else {
            return Ok(None);
        };
        let route = format!("/app/hook/deliveries/{}", missed.attempt);
        let Some(delivered) = app.get_optional::<Delivered>(&route).await? else {
            return Ok(None);
        };
        let payload = delivered.request.payload.to_string();
        webhook::parse(&missed.event, payload.as_bytes()).or_else(|error| {
            tracing::warn!(delivery.id = missed.id.0, %error, "a missed payload cannot be read");
            Ok(None)
        })
    }
}

/// Takes attempts, newest first, and returns the deliveries without a successful one, oldest first. An attempt that
/// was acknowledged but not read does not count as successful.
fn without_success(attempts: Vec<Attempt>, unread: &HashSet<DeliveryId>) -> Vec<Missed> {
    let arrived: HashSet<String> = attempts
        .iter()
        .filter(|attempt| attempt.is_ok() && !unread.contains(&DeliveryId(attempt.guid.clone())))
        .map(|attempt| attempt.guid.clone())
        .collect();
    let mut missed = BTreeMap::new();
    let mut seen = HashSet::new();
    for attempt in attempts.into_iter().rev() {
        let is_new = !arrived.contains(&attempt.guid) && seen.insert(attempt.guid.clone());
        if is_new {
            let Attempt { id, guid, event, .. } = attempt;
            missed.insert(
                id,
                Missed {
                    id: DeliveryId(guid),
                    attempt: id,
                    event,
                },
            );
        }
    }
    missed.into_values().collect()
}

/// The cursor of the next page in a `Link` header.
fn next_cursor(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let address = next.split_once('<')?.1.split_once('>')?.0;
    let (_, query) = address.split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, cursor) = pairs.find(|(name, _)| name == "cursor")?;
    Some(url::form_urlencoded::byte_serialize(cursor.as_bytes()).collect())
}

#[derive(Deserialize)]
struct Written {
    id: u64,
    user: Option<Author>,
    body: Option<String>,
    created_at: Timestamp,
    performed_via_github_app: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Author {
    id: Option<AccountId>,
    login: Login,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Author {
    fn account(&self) -> Account {
        Account {
            id: self.id,
            login: self.login.clone(),
        }
    }
}

impl Client {
    /// The comments on a pull request since a run on it began, as if they were delivered now, for when GitHub lists
    /// no deliveries. The run began with the comment of this id, or with the first comment of `me`.
    ///
    /// # Errors
    /// When GitHub cannot be reached.
    pub async fn comments_since(
        &self,
        id: &PullRequestId,
        me: &Account,
        began_with: Option<u64>,
    ) -> Result<Vec<Event>, Error> {
        let route = |place: &str| format!("/repos/{}/{place}/{}/comments", id.repository, id.number);
        let conversation: Vec<Written> = self.get_all(&route("issues")).await?;
        let is_first = |comment: &&Written| match began_with {
            Some(id) => comment.id == id,
            None => comment.user.as_ref().is_some_and(|author| me.is(&author.account())),
        };
        let Some(since) = conversation.iter().find(is_first).map(|first| first.created_at) else {
            return Ok(Vec::new());
        };
        let review: Vec<Written> = self.get_all(&route("pulls")).await?;
        let placed = [
            (conversation, CommentPlace::Conversation),
            (review, CommentPlace::Review),
        ];
        let mut events = Vec::new();
        for (comments, place) in placed {
            let comments = comments.into_iter().filter(|comment| comment.created_at >= since);
            events.extend(comments.filter_map(|comment| comment.delivered(id, place)));
        }
        Ok(events)
    }
}

impl Written {
    fn delivered(self, id: &PullRequestId, place: CommentPlace) -> Option<Event> {
        let author = self.user?;
        let author_is_bot = author.kind.as_deref().is_some_and(|kind| kind != "User")
            || author.login.as_str().ends_with("[bot]")
            || self.performed_via_github_app.is_some();
        Some(Event {
            installation: None,
            received: Timestamp::now(),
            fact: Fact::CommentCreated(Comment {
                pull_request: id.clone(),
                id: self.id,
                place,
                author: author.account(),
                author_is_bot,
                body: self.body.unwrap_or_default(),
                head: None,
                written: Some(self.created_at),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(id: u64, guid: &str, status: &str) -> Attempt {
        Attempt {
            id,
            guid: guid.into(),
            delivered_at: Timestamp::UNIX_EPOCH,
            status: status.into(),
            status_code: 0,
            event: "issue_comment".into(),
        }
    }

    #[test]
    fn a_delivery_with_one_successful_attempt_is_not_missed() {
        let attempts = vec![
            attempt(9, "a", "OK"),
            attempt(8, "c", "Invalid HTTP Response: 503"),
            attempt(7, "c", "timed out"),
            attempt(6, "b", "failed to connect to host"),
            attempt(5, "a", "Invalid HTTP Response: 503"),
        ];
        let ids = |unread: &[&str]| -> Vec<String> {
            let unread = unread.iter().map(|id| DeliveryId((*id).into())).collect();
            let missed = without_success(attempts.clone(), &unread);
            missed.into_iter().map(|missed| missed.id.0).collect()
        };
        assert_eq!(ids(&[]), ["b", "c"]);
        assert_eq!(ids(&["a", "z"]), ["a", "b", "c"]);
    }

    #[test]
    fn the_next_page_is_read_from_the_link() {
        let link = "<https://api.github.com/app/hook/deliveries?per_page=100&cursor=v1_12%3D>; rel=\"next\"";
        assert_eq!(next_cursor(link).as_deref(), Some("v1_12%3D"));
        assert_eq!(next_cursor("<https://x/?cursor=a>; rel=\"prev\""), None);
    }
}
