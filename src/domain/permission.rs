//! Who may do what. Only [`authorize`] makes an [`Authorized`].

mod request;

pub use request::{Approve, Cancel, Reject, Request, Retry, Status, Undo};
use serde::{Deserialize, Serialize};

use super::gate::Refusal;
use super::id::Account;

/// What GitHub says a person may do in a repository, fetched live.
/// <https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Admin,
    /// `maintain` is reported as `write` too.
    Write,
    /// `triage` is reported as `read`.
    Read,
    None,
}

impl Permission {
    /// Whether this is write access, which every command needs that runs or lands something.
    pub fn may_approve(self) -> bool {
        matches!(self, Self::Admin | Self::Write)
    }
}

/// Proof that a person had permission to ask for something when they asked. Only [`authorize`] makes one:
///
/// ```compile_fail,E0451
/// use greenlight::domain::id::Account;
/// use greenlight::domain::permission::{Approve, Authorized};
///
/// let forged = Authorized { request: Approve { gate: None }, by: Account::new("eve") };
/// ```
///
/// Nor can an authorization for one thing be used for another:
///
/// ```compile_fail,E0308
/// use greenlight::domain::permission::{Approve, Authorized, Status};
///
/// fn approve(_: Authorized<Approve>) {}
/// fn look(request: Authorized<Status>) {
///     approve(request);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorized<T> {
    request: T,
    by: Account,
}

impl<T> Authorized<T> {
    pub fn by(&self) -> &Account {
        &self.by
    }

    pub fn request(&self) -> &T {
        &self.request
    }
}

/// Lets a request pass if its author is a person and has write access now.
///
/// # Errors
/// The refusal to post.
pub fn authorize<T>(request: T, by: &Account, is_bot: bool, permission: Permission) -> Result<Authorized<T>, Refusal> {
    if is_bot {
        return Err(Refusal::IsBot);
    }
    if !permission.may_approve() {
        return Err(Refusal::NeedsWriteAccess {
            login: by.login.clone(),
        });
    }
    Ok(Authorized {
        request,
        by: by.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_people_with_write_access_pass() {
        let ada = Account::new("ada");
        for (permission, bot, passes) in [
            (Permission::Admin, false, true),
            (Permission::Write, false, true),
            (Permission::Read, false, false),
            (Permission::None, false, false),
            (Permission::Admin, true, false),
        ] {
            assert_eq!(
                authorize((), &ada, bot, permission).is_ok(),
                passes,
                "{permission:?} {bot}"
            );
        }
    }
}
