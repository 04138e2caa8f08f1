//! Why the App needs each permission and event, for the person who is asked for them.

/// What greenlight does with a permission.
pub(super) fn permission(name: &str) -> &'static str {
    match name {
        "actions" => "read the logs of failed jobs, and run them again when somebody asks for it",
        "checks" => "see which checks fail, and show its own work as a check",
        "contents" => "read the code, and commit a fix once a maintainer approved it",
        "issues" => "read commands in comments, and answer them",
        "metadata" => "find the repository; GitHub gives this permission to every App",
        "pull_requests" => "read pull requests, and suggest fixes in reviews",
        "statuses" => "see failures that CI systems report as commit statuses",
        _ => "",
    }
}

/// What greenlight learns from an event.
pub(super) fn event(name: &str) -> &'static str {
    match name {
        "check_run" => "a check failed, or somebody pressed a button of greenlight's own check",
        "check_suite" => "all checks of a commit are done, or somebody runs them again",
        "issue_comment" => "somebody commented, perhaps with a command",
        "pull_request" => "a pull request was opened, changed, given a label or closed",
        "pull_request_review_comment" => "somebody answered a suggestion",
        "status" => "a CI system reported a failure as a commit status",
        "workflow_run" => "a workflow of GitHub Actions is done",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::own_app::{EVENTS, PERMISSIONS};

    #[test]
    fn everything_that_is_asked_for_has_a_reason() {
        for (name, _) in PERMISSIONS {
            assert_ne!(permission(name), "", "{name}");
        }
        for name in EVENTS {
            assert_ne!(event(name), "", "{name}");
        }
    }
}
