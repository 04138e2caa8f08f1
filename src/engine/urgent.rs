//! Which events are handled even if only the kept part of GitHub's rate limit is left.

use crate::domain::command::{self, Command};
use crate::domain::event::{Event, Fact};

/// Whether an event may stop something, or answer a request. Reads the commands of a comment, which takes
/// milliseconds.
pub(super) async fn is_urgent(event: &Event) -> bool {
    match &event.fact {
        Fact::CommentCreated(comment) if !comment.author_is_bot => {
            let body = comment.body.clone();
            let parsing = tokio::task::spawn_blocking(move || command::parse(&body));
            let commands = parsing.await.unwrap_or_default();
            commands.iter().flatten().any(answers_or_stops)
        }
        Fact::CommandGiven { command, .. } => answers_or_stops(command),
        Fact::ButtonPressed { .. }
        | Fact::PullRequestPushed { .. }
        | Fact::PullRequestClosed { .. }
        | Fact::PullRequestRetargeted { .. } => true,
        _ => false,
    }
}

fn answers_or_stops(command: &Command) -> bool {
    matches!(
        command,
        Command::Approve { .. } | Command::Reject { .. } | Command::Cancel | Command::Undo
    )
}
