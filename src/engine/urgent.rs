//! Which events are handled even if only the kept part of GitHub's rate limit is left.

use crate::domain::command::{self, Command, CommandError};
use crate::domain::event::{Event, Fact};

/// Whether an event may stop something, or answer a request.
pub(super) async fn is_urgent(event: &Event) -> bool {
    match &event.fact {
        Fact::CommentCreated(comment) if !comment.author_is_bot => {
            let commands = commands_in(comment.body.clone()).await;
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

/// The commands in a comment. They are read elsewhere than on the threads that answer, because it takes milliseconds.
pub(super) async fn commands_in(body: String) -> Vec<Result<Command, CommandError>> {
    let parsing = tokio::task::spawn_blocking(move || command::parse(&body));
    parsing.await.unwrap_or_default()
}

fn answers_or_stops(command: &Command) -> bool {
    matches!(
        command,
        Command::Approve { .. } | Command::Reject { .. } | Command::Cancel | Command::Undo
    )
}
