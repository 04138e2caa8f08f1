//! Read access for tests: what a person would see on GitHub's pages, and what clients did.

use git2::Oid;
use serde_json::Value;

use super::names::HOME;
use super::play::known;
use super::state::{CheckRun, Happening, Repository, Review, ReviewComment, State};
use super::{Delivery, Double, DoubleError, RecordedExchange, pulls, store, threads};

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The login of the person or bot.
    pub who: String,
    /// What they did.
    pub what: What,
}

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A comment in the conversation.
    Commented(CommentView),
    /// A review with its comments.
    Reviewed(ReviewView),
    /// A reply in the thread of a review comment.
    Replied(LineComment),
    /// A check run was created.
    Checked(CheckRunView),
    /// A commit was pushed.
    Committed(CommitView),
    /// The pull request was closed.
    Closed,
}

/// A comment in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    /// GitHub's id of the comment.
    pub id: u64,
    /// The author's login.
    pub author: String,
    /// Its Markdown.
    pub body: String,
    /// The content and the login of each, such as `("eyes", "greenlight[bot]")`.
    pub reactions: Vec<(String, String)>,
    /// Whether it was edited later.
    pub edited: bool,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// GitHub's id of the review.
    pub id: u64,
    /// The author's login.
    pub author: String,
    /// `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED` or `PENDING`.
    pub state: String,
    /// The SHA of the commit that it was made on.
    pub commit: String,
    /// Its Markdown, without the comments.
    pub body: String,
    /// Its comments on lines of the diff.
    pub comments: Vec<LineComment>,
}

/// A comment on lines of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineComment {
    /// GitHub's id of the comment.
    pub id: u64,
    /// The author's login.
    pub author: String,
    /// The file's path in the head.
    pub path: String,
    /// `LEFT` for lines of the base, `RIGHT` for lines of the head.
    pub side: String,
    /// The first and last line when it was written.
    pub original: (u32, u32),
    /// The first and last line now. `None` if the comment is outdated.
    pub lines: Option<(u32, u32)>,
    /// The part of the diff that is shown above it.
    pub hunk: String,
    /// Its Markdown.
    pub body: String,
    /// The reason why it is hidden, such as `RESOLVED`. `None` if it is not.
    pub minimized: Option<String>,
    /// The content and the login of each.
    pub reactions: Vec<(String, String)>,
}

/// A check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunView {
    /// GitHub's id of the check run.
    pub id: u64,
    /// The name that its App gave it.
    pub name: String,
    /// The slug of its App.
    pub app: String,
    /// The SHA of its commit.
    pub head: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// For example `success` or `failure`, once it is completed.
    pub conclusion: Option<String>,
    /// The heading of its page.
    pub title: Option<String>,
    /// Markdown below the heading.
    pub summary: Option<String>,
    /// Markdown below the summary.
    pub text: Option<String>,
    /// The id that its App gave it.
    pub external_id: Option<String>,
    /// Annotations, as they were sent.
    pub annotations: Vec<Value>,
    /// Buttons, as they were sent.
    pub actions: Vec<Value>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitView {
    /// Its SHA, 40 hexadecimal digits.
    pub sha: String,
    /// The author's name.
    pub author: String,
    /// The whole message.
    pub message: String,
    /// The SHAs of its parents.
    pub parents: Vec<String>,
    /// Whether GitHub would show it as "Verified".
    pub verified: bool,
}

impl Double {
    /// The conversation tab of a pull request, oldest first.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn conversation(&self, number: u64) -> Result<Vec<Entry>, DoubleError> {
        let state = self.shared.lock();
        let pull = known(&state, number)?;
        Ok(pull
            .timeline
            .iter()
            .filter_map(|what| entry(&state, &pull.author, *what))
            .collect())
    }

    /// The comments of the conversation.
    pub fn comments(&self, number: u64) -> Vec<CommentView> {
        let state = self.shared.lock();
        let happened = state.pull(HOME, number).map(|pull| pull.timeline.as_slice());
        let ids = happened.unwrap_or_default().iter().filter_map(|what| match what {
            Happening::Comment(id) => Some(*id),
            _ => None,
        });
        ids.filter_map(|id| comment_view(&state, id)).collect()
    }

    /// The reviews with their comments, without those that only wrap a reply.
    pub fn reviews(&self, number: u64) -> Vec<ReviewView> {
        let state = self.shared.lock();
        let Some(pull) = state.pull(HOME, number) else {
            return Vec::new();
        };
        let shown = |review: &&Review| pull.timeline.contains(&Happening::Review(review.id));
        state
            .reviews
            .values()
            .filter(shown)
            .map(|review| review_view(&state, review))
            .collect()
    }

    /// All check runs of a commit, oldest first.
    pub fn check_runs(&self, sha: &str) -> Vec<CheckRunView> {
        let state = self.shared.lock();
        state
            .check_runs
            .values()
            .filter(|run| run.head.to_string() == sha)
            .map(check_view)
            .collect()
    }

    /// The SHA of a pull request's head.
    ///
    /// # Errors
    /// When there is no such pull request.
    pub fn head(&self, number: u64) -> Result<String, DoubleError> {
        Ok(known(&self.shared.lock(), number)?.head.to_string())
    }

    /// The SHA that a reference of the repository points to, such as `refs/greenlight/proposals/1`.
    pub fn reference(&self, name: &str) -> Option<String> {
        let state = self.shared.lock();
        let found = state.repository(HOME)?.git.find_reference(name).ok()?.target();
        found.map(|id| id.to_string())
    }

    /// A file at the head of a pull request.
    pub fn file(&self, number: u64, path: &str) -> Option<Vec<u8>> {
        let state = self.shared.lock();
        let head = state.pull(HOME, number)?.head;
        store::file_at(&state.repository(HOME)?.git, head, path)
    }

    /// A file at a branch, tag or SHA of the repository.
    pub fn file_at(&self, name: &str, path: &str) -> Option<Vec<u8>> {
        let state = self.shared.lock();
        let git = &state.repository(HOME)?.git;
        store::file_at(git, store::resolve(git, name)?, path)
    }

    /// The commits of a pull request, oldest first.
    ///
    /// # Errors
    /// When there is no such pull request, or git fails.
    pub fn commits(&self, number: u64) -> Result<Vec<CommitView>, DoubleError> {
        let state = self.shared.lock();
        let pull = known(&state, number)?;
        let Some(home) = state.repository(HOME) else {
            return Ok(Vec::new());
        };
        let ids = pulls::commits_of(home, &pull)?;
        Ok(ids.into_iter().filter_map(|id| commit_view(&state, home, id)).collect())
    }

    /// Every exchange so far, oldest first; only the last 4096 are kept.
    pub fn requests(&self) -> Vec<RecordedExchange> {
        self.shared.lock().recorder.exchanges()
    }

    /// Client requests that GitHub's API does not support: unknown routes and unknown body keys.
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().recorder.violations()
    }

    /// Requests to routes that the double does not have.
    pub fn unmatched(&self) -> Vec<String> {
        self.violations()
            .into_iter()
            .filter(|line| line.starts_with("unknown route"))
            .collect()
    }

    /// Every delivery so far, oldest first, including those that were not sent because no webhook is set.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.log.all()
    }

    /// The last delivery of an event, such as `issue_comment`.
    pub fn last_delivery(&self, event: &str) -> Option<Delivery> {
        self.deliveries()
            .into_iter()
            .rev()
            .find(|delivery| delivery.event == event)
    }
}

fn entry(state: &State, pull_author: &str, what: Happening) -> Option<Entry> {
    Some(match what {
        Happening::Commit(id) => {
            let commit = commit_view(state, state.repository(HOME)?, id)?;
            Entry {
                who: commit.author.clone(),
                what: What::Committed(commit),
            }
        }
        Happening::Comment(id) => {
            let comment = comment_view(state, id)?;
            Entry {
                who: comment.author.clone(),
                what: What::Commented(comment),
            }
        }
        Happening::Review(id) => {
            let review = review_view(state, state.reviews.get(&id)?);
            Entry {
                who: review.author.clone(),
                what: What::Reviewed(review),
            }
        }
        Happening::Reply(id) => {
            let comment = line_comment(state, state.review_comments.get(&id)?);
            Entry {
                who: comment.author.clone(),
                what: What::Replied(comment),
            }
        }
        Happening::CheckRun(id) => {
            let run = state.check_runs.get(&id)?;
            Entry {
                who: state.app_named(&run.app).bot(),
                what: What::Checked(check_view(run)),
            }
        }
        Happening::Closed => Entry {
            who: pull_author.into(),
            what: What::Closed,
        },
    })
}

fn reactions(state: &State, subject: u64) -> Vec<(String, String)> {
    let ours = state.reactions_to(subject);
    ours.map(|reaction| (reaction.content.clone(), reaction.login.clone()))
        .collect()
}

fn comment_view(state: &State, id: u64) -> Option<CommentView> {
    let comment = state.comments.get(&id)?;
    Some(CommentView {
        id,
        author: comment.author.clone(),
        body: comment.body.clone(),
        reactions: reactions(state, id),
        edited: state.edits.contains_key(&id),
    })
}

fn review_view(state: &State, review: &Review) -> ReviewView {
    let comments = state
        .review_comments
        .values()
        .filter(|comment| comment.review == review.id);
    ReviewView {
        id: review.id,
        author: review.author.clone(),
        state: review.state.clone(),
        commit: review.commit.to_string(),
        body: review.body.clone(),
        comments: comments.map(|comment| line_comment(state, comment)).collect(),
    }
}

fn line_comment(state: &State, comment: &ReviewComment) -> LineComment {
    let place = &comment.place;
    LineComment {
        id: comment.id,
        author: comment.author.clone(),
        path: place.path.clone(),
        side: place.side.clone(),
        original: (place.start_line.unwrap_or(place.line), place.line),
        lines: threads::current_lines(state, comment),
        hunk: place.hunk.clone(),
        body: comment.body.clone(),
        minimized: comment.minimized.clone(),
        reactions: reactions(state, comment.id),
    }
}

fn check_view(run: &CheckRun) -> CheckRunView {
    CheckRunView {
        id: run.id,
        name: run.name.clone(),
        app: run.app.clone(),
        head: run.head.to_string(),
        status: run.status.clone(),
        conclusion: run.conclusion.clone(),
        title: run.title.clone(),
        summary: run.summary.clone(),
        text: run.text.clone(),
        external_id: run.external_id.clone(),
        annotations: run.annotations.clone(),
        actions: run.actions.clone(),
    }
}

fn commit_view(state: &State, repository: &Repository, id: Oid) -> Option<CommitView> {
    let commit = repository.git.find_commit(id).ok()?;
    let author = commit.author();
    Some(CommitView {
        sha: id.to_string(),
        author: String::from_utf8_lossy(author.name_bytes()).into_owned(),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        parents: commit.parent_ids().map(|parent| parent.to_string()).collect(),
        verified: state.verified.contains(&id),
    })
}
