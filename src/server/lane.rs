//! Decides which lane a piece of work goes through, and what else it has to wait for.
//!
//! Work that only answers or only stops something has separate lanes, beside the one that may be busy for hours, and
//! needs no worker.

use super::work::Work;
use super::workers::Share;
use crate::domain::command::{self, Command, CommandError};
use crate::domain::event::{Comment, Event, Fact};
use crate::domain::id::{PullRequestId, Repository};
use crate::journal::{Class, Waiting};
use crate::metrics::LaneKind;

/// The lane of a piece of work, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// The work of a lane is done one piece after the other.
    pub(super) lane: String,
    pub(super) needs: Needs,
    /// A command in it stops the active run at once, although the rest has to wait.
    pub(super) stops_first: bool,
}

/// What a piece of work waits for, besides its turn in the lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Needs {
    /// It reads something and answers.
    Answering,
    /// It stops something.
    Stopping,
    /// It records what happened; its consequences may need a worker.
    Noting,
    /// It may work for hours.
    Worker(Share),
}

impl Needs {
    /// How it is counted.
    pub(super) fn kind(&self) -> LaneKind {
        match self {
            Self::Answering => LaneKind::Answering,
            Self::Stopping => LaneKind::Stopping,
            Self::Noting => LaneKind::Noting,
            Self::Worker(_) => LaneKind::Worker,
        }
    }
}

impl Route {
    /// Where the work of an event waits, if several processes share the journal.
    pub(super) fn waiting(&self, event: &Event) -> Waiting {
        let pull_request = self.lane.split(' ').next().filter(|key| key.contains('#'));
        let stops = matches!(
            event.fact,
            Fact::PullRequestPushed { .. } | Fact::PullRequestClosed { .. } | Fact::PullRequestRetargeted { .. }
        );
        Waiting {
            lane: self.lane.clone(),
            class: match &self.needs {
                Needs::Answering | Needs::Stopping | Needs::Noting => Class::Light,
                Needs::Worker(share) if share.is_asked_for => Class::Asked,
                Needs::Worker(_) => Class::Unasked,
            },
            repository: event.repository().map(Repository::key).unwrap_or_default(),
            pull_request: pull_request.unwrap_or_default().to_string(),
            owner: event
                .repository()
                .map(|repository| repository.name.owner().to_ascii_lowercase())
                .unwrap_or_default(),
            interrupts: stops || self.stops_first || self.needs == Needs::Stopping,
            is_small: match &self.needs {
                Needs::Worker(share) => share.is_small,
                _ => true,
            },
        }
    }

    /// Reads the commands of a comment, which takes milliseconds, so it must not run on the threads that answer
    /// webhooks.
    pub(super) fn of(work: &Work) -> Self {
        match work {
            Work::Resume(run) => match run.started.pull_request() {
                Some(id) => {
                    // What has ended is only announced.
                    let needs = worker(&id.repository, run.is_asked_for());
                    Self::plain(id.key(), sized(needs, run.end.is_some()))
                }
                None => Self::plain("checkouts".into(), Needs::Noting),
            },
            Work::Stop(event) => match &event.fact {
                Fact::CommentCreated(comment) => Self::stopping(&comment.pull_request),
                _ => Self::plain("pings".into(), Needs::Noting),
            },
            Work::Delivery(_, event) => Self::of_event(event),
        }
    }

    /// The route of an event worth recording. `None` for comments without a command.
    pub(super) fn of_concern(event: &Event) -> Option<Self> {
        let Fact::CommentCreated(comment) = &event.fact else {
            return Some(Self::of_event(event));
        };
        let commands = command::parse(&comment.body);
        let is_of_concern = !comment.author_is_bot && !commands.is_empty();
        is_of_concern.then(|| Self::of_comment(comment, &commands))
    }

    fn of_comment(comment: &Comment, commands: &[Result<Command, CommandError>]) -> Self {
        let given: Vec<&Command> = commands.iter().flatten().collect();
        Self::of_commands(&comment.pull_request, &given)
    }

    pub(super) fn of_event(event: &Event) -> Self {
        match &event.fact {
            Fact::CommentCreated(comment) => Self::of_comment(comment, &command::parse(&comment.body)),
            Fact::CommandGiven {
                pull_request, command, ..
            } => Self::of_commands(pull_request, &[command]),
            Fact::PullRequestPushed { pull_request, .. }
            | Fact::PullRequestClosed { pull_request }
            | Fact::PullRequestRetargeted { pull_request } => Self::plain(pull_request.key(), Needs::Noting),
            // Not everyone who may label has write access.
            Fact::PullRequestLabelled { pull_request, .. } => {
                Self::plain(pull_request.key(), worker(&pull_request.repository, false))
            }
            Fact::ChecksFailed(checks) => match checks.pull_requests.as_slice() {
                [number] => {
                    let id = in_repository(&checks.repository, *number);
                    Self::plain(id.key(), worker(&checks.repository, false))
                }
                _ => Self::plain(format!("{} {}", checks.repository.key(), checks.head), Needs::Noting),
            },
            Fact::ButtonPressed {
                repository,
                pull_requests,
                identifier,
                ..
            } => match pull_requests.as_slice() {
                [number] if identifier.starts_with("reject:") => Self::stopping(&in_repository(repository, *number)),
                [number] => {
                    let needs = sized(worker(repository, true), identifier.starts_with("approve:"));
                    Self::plain(in_repository(repository, *number).key(), needs)
                }
                _ => Self::plain(repository.key(), Needs::Noting),
            },
            Fact::InstallationChanged { .. } | Fact::Pinged => Self::plain("pings".into(), Needs::Noting),
        }
    }

    fn of_commands(pull_request: &PullRequestId, commands: &[&Command]) -> Self {
        let answers = |command: &&Command| matches!(command, Command::Help | Command::Status | Command::Config);
        let stops = |command: &&Command| matches!(command, Command::Cancel | Command::Reject { .. });
        if commands.iter().all(answers) {
            return Self::plain(format!("{} answers", pull_request.key()), Needs::Answering);
        }
        if commands.iter().all(|command| answers(command) || stops(command)) {
            return Self::stopping(pull_request);
        }
        // An explanation is a run of a model that is independent of other runs.
        let explains = |command: &&Command| matches!(command, Command::Explain);
        // What was approved lands, most of the time.
        let is_small =
            |command: &&Command| matches!(command, Command::Explain | Command::Approve { .. } | Command::Undo);
        let lane = if commands.iter().all(|command| answers(command) || explains(command)) {
            format!("{} explanations", pull_request.key())
        } else {
            pull_request.key()
        };
        Self {
            stops_first: commands.contains(&&Command::Cancel),
            ..Self::plain(
                lane,
                sized(worker(&pull_request.repository, true), commands.iter().all(is_small)),
            )
        }
    }

    fn stopping(pull_request: &PullRequestId) -> Self {
        Self::plain(format!("{} stops", pull_request.key()), Needs::Stopping)
    }

    fn plain(lane: String, needs: Needs) -> Self {
        Self {
            lane,
            needs,
            stops_first: false,
        }
    }
}

/// All lanes of a pull request.
pub(super) fn lanes_of(pull_request: &PullRequestId) -> [String; 4] {
    let key = pull_request.key();
    ["", " answers", " stops", " explanations"].map(|aside| format!("{key}{aside}"))
}

/// Whether an event may concern several pull requests, because GitHub does not name exactly one.
pub(super) fn is_of_several(event: &Event) -> bool {
    match &event.fact {
        Fact::ChecksFailed(checks) => checks.pull_requests.len() != 1,
        Fact::ButtonPressed { pull_requests, .. } => pull_requests.len() != 1,
        _ => false,
    }
}

fn in_repository(repository: &Repository, number: u64) -> PullRequestId {
    PullRequestId {
        repository: repository.clone(),
        number,
    }
}

fn worker(repository: &Repository, is_asked_for: bool) -> Needs {
    Needs::Worker(Share {
        repository: repository.clone(),
        is_asked_for,
        is_small: false,
    })
}

/// The same need for a worker, and whether for a short time.
fn sized(needs: Needs, is_small: bool) -> Needs {
    match needs {
        Needs::Worker(share) => Needs::Worker(Share { is_small, ..share }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::CommentPlace;
    use crate::domain::id::{Account, DeliveryId};

    fn route(body: &str) -> Route {
        let comment = Comment {
            pull_request: in_repository(&"a/b".parse().unwrap(), 7),
            id: 1,
            place: CommentPlace::Conversation,
            author: Account::new("mia"),
            author_is_bot: false,
            body: body.into(),
            head: None,
            written: None,
        };
        let event = Event {
            installation: None,
            received: jiff::Timestamp::UNIX_EPOCH,
            fact: Fact::CommentCreated(comment),
        };
        Route::of(&Work::Delivery(DeliveryId("d".into()), Box::new(event)))
    }

    #[test]
    fn commands_that_stop_or_answer_have_their_lanes() {
        for (body, lane, needs) in [
            ("/greenlight help", "a/b#7 answers", Needs::Answering),
            (
                "/greenlight status\n/greenlight config",
                "a/b#7 answers",
                Needs::Answering,
            ),
            ("/greenlight hepl", "a/b#7 answers", Needs::Answering),
            ("/greenlight cancel", "a/b#7 stops", Needs::Stopping),
            ("/greenlight reject too slow", "a/b#7 stops", Needs::Stopping),
            ("/greenlight help\n/greenlight cancel", "a/b#7 stops", Needs::Stopping),
        ] {
            let route = route(body);
            assert_eq!((route.lane.as_str(), &route.needs), (lane, &needs), "{body}");
            assert!(!route.stops_first, "{body}");
        }
        for (body, lane, stops_first) in [
            ("/greenlight explain", "a/b#7 explanations", false),
            ("/greenlight fix", "a/b#7", false),
            ("/greenlight cancel\n/greenlight fix", "a/b#7", true),
        ] {
            let route = route(body);
            assert_eq!((route.lane.as_str(), route.stops_first), (lane, stops_first), "{body}");
            assert!(matches!(route.needs, Needs::Worker(_)), "{body}");
        }
    }

    #[test]
    fn what_lands_or_explains_is_small_and_fixes_are_large() {
        for (body, small) in [
            ("/greenlight approve", true),
            ("/greenlight undo\n/greenlight explain", true),
            ("/greenlight fix", false),
            ("/greenlight approve\n/greenlight fix", false),
        ] {
            let Needs::Worker(share) = route(body).needs else {
                panic!("no worker: {body}");
            };
            assert_eq!(share.is_small, small, "{body}");
        }
    }
}
