//! Splits an event into one for each pull request that it concerns.

use super::{App, Broken, checks_failed};
use crate::domain::event::{Event, Fact, FailedChecks};

/// Splits an event that names several pull requests, or none, into one for each pull request that it concerns, so
/// that each is handled in its lane.
///
/// # Errors
/// When GitHub has to be asked for the pull requests, and cannot be reached.
pub async fn split(app: &App, event: Event) -> Result<Vec<Event>, Broken> {
    let numbers: Vec<u64> = match &event.fact {
        Fact::ChecksFailed(checks) => {
            let ids = checks_failed::pull_requests(app, event.installation, checks).await?;
            ids.into_iter().map(|id| id.number).collect()
        }
        Fact::ButtonPressed {
            repository,
            pull_requests,
            head,
            ..
        } if pull_requests.is_empty() => {
            let client = app.github.client(event.installation, repository).await?;
            let found = client.pull_requests_at(repository, head).await?;
            found.into_iter().map(|pull_request| pull_request.id.number).collect()
        }
        Fact::ButtonPressed { pull_requests, .. } => pull_requests.clone(),
        _ => return Ok(vec![event]),
    };
    let of_one = |number| {
        let mut event = event.clone();
        if let Fact::ChecksFailed(FailedChecks { pull_requests, .. }) | Fact::ButtonPressed { pull_requests, .. } =
            &mut event.fact
        {
            *pull_requests = vec![number];
        }
        event
    };
    Ok(numbers.into_iter().map(of_one).collect())
}
