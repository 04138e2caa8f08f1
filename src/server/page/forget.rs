//! Forgets what was learned about a repository, for people who may approve there.

use axum::Extension;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use jiff::Timestamp;
use serde::Deserialize;

use super::notice::seal;
use super::repository::named;
use super::sign_in::SignInDoor;
use super::viewer::Viewer;
use super::{Missing, Shelf};

/// The longest id of an entry.
const MAX_ENTRY: usize = 64;

/// What the form carries.
#[derive(Deserialize)]
pub(super) struct Forgetting {
    csrf: String,
    /// The id of a fix or a rejection. Empty for everything.
    entry: String,
}

pub(super) async fn post_forget(
    State((door, shelf)): State<(SignInDoor, Shelf)>,
    Extension(viewer): Extension<Viewer>,
    Path(name): Path<(String, String)>,
    headers: HeaderMap,
    form: Result<Form<Forgetting>, FormRejection>,
) -> Result<Response, Missing> {
    let person = viewer.person().ok_or(Missing::Nothing)?;
    let Form(Forgetting { csrf, entry }) = form.map_err(|_| Missing::Forged)?;
    if !door.is_own_form(&headers, person, &csrf) {
        return Err(Missing::Forged);
    }
    let is_plain = entry.len() <= MAX_ENTRY && entry.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_plain {
        return Err(Missing::Nothing);
    }
    let repository = named((&shelf, &viewer), &name).await?;
    let (reached, permission) = shelf.permission_now(person, (None, &repository)).await?;
    let back = |said: &str| {
        let seal = seal(person, said);
        let to = format!("/repositories/{}?said={said}&seal={seal}", repository.name);
        Ok(Redirect::to(&to).into_response())
    };
    // Accounts change their logins: what is recorded names the account as it is called now.
    let by = match permission.may_approve() {
        true => reached.client.renamed_account(&person.account).await?,
        false => None,
    };
    let Some(by) = by else { return back("forbidden") };
    let (journal, now) = (&shelf.queue.app().journal, Timestamp::now());
    let entry = Some(entry.as_str()).filter(|entry| !entry.is_empty());
    // What is not remembered cannot be forgotten, so nobody can fill the journal.
    let remembered = shelf
        .learned
        .of(journal, &repository)
        .await?
        .recalled(&journal.forgotten(&repository).await?);
    if entry.is_none_or(|entry| remembered.entries.iter().any(|known| known.id == entry)) {
        journal.forget_entry(&repository, entry, (&by, now)).await?;
        tracing::info!(%repository, login = %by, entry = entry.unwrap_or("everything"), "what was learned was forgotten");
    }
    back("forgotten")
}
