//! CI systems other than GitHub Actions: commit statuses, check runs of another App, and "Re-run" in the Checks tab.

use serde_json::json;

use super::ci::head_of;
use super::names::{HOME, OTHER_CI};
use super::state::{Repository, Status};
use super::{Double, DoubleError, checks, objects};

impl Double {
    /// Another CI system reports a commit status on the head of a pull request; delivers `status`, which names no
    /// pull request.
    /// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#status>
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn report_status(
        &self,
        number: u64,
        (context, status): (&str, &str),
        login: &str,
    ) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let head = head_of(state, number)?;
            let (id, now) = (state.fresh_id(), state.now());
            let sha = head.commit.to_string();
            state.statuses.push(Status {
                id,
                repository: HOME,
                commit: head.commit,
                context: context.into(),
                state: status.into(),
                at: now.clone(),
            });
            let home = state.repository(HOME);
            let payload = json!({
                "id": id,
                "sha": sha,
                "name": home.map(Repository::full_name),
                "target_url": "https://ci.example/1",
                "avatar_url": null,
                "context": context,
                "description": null,
                "state": status,
                "commit": home.map(|home| objects::short_commit(home, head.commit)),
                // Only branches of the repository itself, not those of forks.
                "branches": if head.repository == HOME {
                    json!([{ "name": head.branch, "commit": { "sha": sha }, "protected": false }])
                } else {
                    json!([])
                },
                "created_at": now,
                "updated_at": now,
            });
            state.notify("status", HOME, login, payload);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Another CI system reports the check runs `names` on the head of a pull request, all with this conclusion;
    /// delivers `check_run.created` and `check_run.completed` for each, and then `check_suite.completed`. For the
    /// head of a fork they name neither a pull request nor a branch. Returns the id of the last check run.
    /// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_suite>
    ///
    /// # Errors
    /// When there is no such pull request.
    pub async fn report_checks(&self, number: u64, names: &[&str], conclusion: &str) -> Result<u64, DoubleError> {
        let last = self.change(|state| {
            let head = head_of(state, number)?;
            let mut last = 0;
            for name in names {
                let mut check = checks::blank(state, HOME, head.commit, name, OTHER_CI);
                check.status = "completed".into();
                check.conclusion = Some(conclusion.into());
                check.completed_at = Some(state.now());
                last = checks::add(state, check).id;
            }
            Ok::<_, DoubleError>(last)
        })?;
        self.delivered().await;
        Ok(last)
    }

    /// Presses "Re-run" of a check run in the Checks tab; delivers `check_run.rerequested`.
    /// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_run>
    ///
    /// # Errors
    /// When there is no such check run.
    pub async fn rerequest(&self, check_run: u64, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let run = state.check_runs.get(&check_run).cloned();
            let run = run.ok_or(DoubleError::Missing {
                what: "check run",
                id: check_run,
            })?;
            checks::notify(state, "rerequested", &run, Some((None, login)));
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }

    /// Presses "Re-run all checks" of the App that made this check run; delivers `check_suite.rerequested`.
    /// <https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_suite>
    ///
    /// # Errors
    /// When there is no such check run.
    pub async fn rerequest_suite(&self, check_run: u64, login: &str) -> Result<(), DoubleError> {
        self.act(login, |state| {
            let run = state.check_runs.get(&check_run).cloned();
            let run = run.ok_or(DoubleError::Missing {
                what: "check run",
                id: check_run,
            })?;
            checks::notify_suite(state, "rerequested", &run, login);
            Ok(())
        })?;
        self.delivered().await;
        Ok(())
    }
}
