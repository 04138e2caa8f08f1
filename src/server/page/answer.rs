//! Approve, reject and cancel on the page of a run, for people who signed in.
//!
//! Each form is bound to the session by its token, and to what was shown by the digest of the request. The permission
//! is asked now, and the answer takes the path of every other answer. The page then says what became of it.

use axum::Extension;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::answers::{Answering, NotTaken};
use super::notice::seal;
use super::sign_in::SignInDoor;
use super::viewer::Viewer;
use super::{Missing, Shelf};
use crate::domain::command::{Command, MAXIMUM_TEXT};
use crate::domain::id::{DeliveryId, PullRequestId};

/// What a form carries.
#[derive(Deserialize)]
pub(super) struct Given {
    csrf: String,
    /// The digest of the request that was shown.
    digest: Option<String>,
    reason: Option<String>,
}

type At = State<(SignInDoor, Shelf)>;
type GivenForm = Result<Form<Given>, FormRejection>;

/// Which answer.
#[derive(Clone, Copy)]
enum AnswerKind {
    Approve,
    Reject,
    Cancel,
}

pub(super) async fn post_approve(
    at: At,
    viewer: Extension<Viewer>,
    Path((id, gate)): Path<(String, String)>,
    headers: HeaderMap,
    form: GivenForm,
) -> Result<Response, Missing> {
    take(at, viewer, (AnswerKind::Approve, id, gate), headers, form).await
}

pub(super) async fn post_reject(
    at: At,
    viewer: Extension<Viewer>,
    Path((id, gate)): Path<(String, String)>,
    headers: HeaderMap,
    form: GivenForm,
) -> Result<Response, Missing> {
    take(at, viewer, (AnswerKind::Reject, id, gate), headers, form).await
}

pub(super) async fn post_cancel(
    at: At,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    headers: HeaderMap,
    form: GivenForm,
) -> Result<Response, Missing> {
    take(at, viewer, (AnswerKind::Cancel, id, String::new()), headers, form).await
}

async fn take(
    State((door, shelf)): At,
    Extension(viewer): Extension<Viewer>,
    (verb, id, gate): (AnswerKind, String, String),
    headers: HeaderMap,
    form: GivenForm,
) -> Result<Response, Missing> {
    let person = viewer.person().ok_or(Missing::Nothing)?;
    let Form(given) = form.map_err(|_| Missing::Forged)?;
    if !door.is_own_form(&headers, person, &given.csrf) {
        return Err(Missing::Forged);
    }
    let row = shelf.find(id).await?;
    let (reached, permission) = shelf
        .permission_now(person, (row.installation, &row.repository))
        .await?;
    let view = shelf.folds.view(shelf.queue.app(), &row).await?;
    let run = &*view.run;
    let on = run.started.pull_request().cloned().ok_or(Missing::Nothing)?;
    let asked = run.gates.iter().find(|asked| asked.gate.id.to_string() == gate);
    let back_with = |said: &str, more: &str| {
        let gate = asked
            .map(|asked| format!("&gate={}", asked.gate.id))
            .unwrap_or_default();
        let seal = seal(person, said);
        let to = format!("/runs/{}?said={said}{gate}{more}&seal={seal}", run.id());
        Ok(Redirect::to(&to).into_response())
    };
    let back = |said: &str| back_with(said, "");
    if !permission.may_approve() {
        return back("forbidden");
    }
    // Accounts change their logins: what is recorded names the account as it is called now.
    let by = reached.client.renamed_account(&person.account).await?;
    let Some(by) = by else { return back("forbidden") };
    let repository = reached.repository.clone();
    let on = PullRequestId { repository, ..on };
    let answering = Answering {
        queue: &shelf.queue,
        client: &reached.client,
        by: &by,
        run,
        on: &on,
        place: "page",
    };
    let given = match (verb, asked) {
        (AnswerKind::Cancel, _) => ("cancel", answering.cancel().await),
        (_, None) => return Err(Missing::Nothing),
        (_, Some(asked)) if given.digest.as_ref() != Some(&asked.gate.digest) => return back("changed"),
        (AnswerKind::Approve, Some(asked)) => {
            let gate = Some(asked.gate.id.clone());
            ("approve", answering.answer(asked, Command::Approve { gate }).await)
        }
        (AnswerKind::Reject, Some(asked)) => {
            let reason = given
                .reason
                .map(|reason| reason.replace("\r\n", "\n").trim().to_string());
            let reason = reason.filter(|reason| !reason.is_empty());
            if reason.as_ref().is_some_and(|text| text.chars().count() > MAXIMUM_TEXT) {
                return back("long");
            }
            let gate = Some(asked.gate.id.clone());
            (
                "reject",
                answering.answer(asked, Command::Reject { gate, reason }).await,
            )
        }
    };
    match given {
        (verb, Ok(DeliveryId(id))) => {
            let nth = id.rsplit(' ').next().unwrap_or_default();
            back_with(verb, &format!("&delivery={nth}"))
        }
        // The page shows who was faster, or what else became of it.
        (verb, Err(NotTaken::Closed | NotTaken::Over)) => back(verb),
        (_, Err(NotTaken::Moved(_))) => back("moved"),
        (_, Err(NotTaken::Twice)) => back("twice"),
        (_, Err(NotTaken::Busy)) => back("busy"),
        (_, Err(NotTaken::GitHub(error))) => Err(error.into()),
        (_, Err(NotTaken::Journal(error))) => Err(error.into()),
    }
}
