//! Which values are equal, which are not, and reading the data of older versions.

use serde_json::json;

use super::super::super::run::{Consent, End, Origin};
use super::*;

fn repository(id: Option<u64>, name: &str) -> Repository {
    Repository {
        id: id.map(RepositoryId),
        name: name.parse().unwrap(),
    }
}

fn account(id: Option<u64>, login: &str) -> Account {
    Account {
        id: id.map(AccountId),
        ..Account::new(login)
    }
}

#[test]
fn a_renamed_repository_is_the_same_and_one_that_takes_its_name_is_not() {
    let before = repository(Some(5), "acme/old");
    let after = repository(Some(5), "acme/new");
    let stranger = repository(Some(6), "acme/old");
    assert_eq!(before, after);
    assert_eq!(before.key(), after.key());
    assert_ne!(before, stranger);
    assert_ne!(before.key(), stranger.key());
    assert!(before.may_be(&after) && !before.may_be(&stranger));
}

#[test]
fn a_name_alone_is_never_taken_for_an_id() {
    let known = repository(Some(5), "acme/old");
    let named = repository(None, "Acme/Old");
    assert_ne!(known, named);
    assert_ne!(known.key(), named.key());
    assert!(known.may_be(&named));
    assert_eq!(named, repository(None, "acme/old"));
    assert_eq!(named.key(), repository(None, "acme/old").key());
}

#[test]
fn a_renamed_account_is_the_same_and_one_that_takes_its_login_is_not() {
    let (before, after) = (account(Some(1), "ada"), account(Some(1), "lovelace"));
    assert!(before.is(&after));
    assert!(!before.is(&account(Some(2), "ada")));
    assert!(before.is(&account(None, "Ada")));
    assert!(!before.is(&account(None, "bob")));
}

#[test]
fn what_names_alone_were_written_as_is_read_and_ids_are_written_beside_the_names() {
    let old: PullRequestId = serde_json::from_value(json!({ "repository": "o/r", "number": 1 })).unwrap();
    assert_eq!(old.repository, repository(None, "o/r"));
    let new = PullRequestId {
        repository: repository(Some(5), "o/r"),
        number: 1,
    };
    let written = json!({ "repository": "o/r", "repository_id": 5, "number": 1 });
    assert_eq!(serde_json::to_value(&new).unwrap(), written);
    assert_eq!(serde_json::from_value::<PullRequestId>(written).unwrap(), new);

    let old: Origin = serde_json::from_value(json!({ "comment": { "id": 7, "by": "ada" } })).unwrap();
    let by = account(None, "ada");
    assert_eq!(old, Origin::Comment { id: 7, by });
    let old: Consent = serde_json::from_value(json!({ "config": { "author": "ada" } })).unwrap();
    let author = account(None, "ada");
    assert_eq!(old, Consent::Config { author });
    let new = Consent::Config {
        author: account(Some(1), "ada"),
    };
    let written = json!({ "config": { "author": "ada", "author_id": 1 } });
    assert_eq!(serde_json::to_value(&new).unwrap(), written);
    assert_eq!(serde_json::from_value::<Consent>(written).unwrap(), new);

    for old in [json!({ "cancelled": { "by": null } }), json!({ "cancelled": {} })] {
        assert_eq!(serde_json::from_value::<End>(old).unwrap(), End::Cancelled { by: None });
    }
    let by = Some(account(Some(1), "ada"));
    let new = End::Cancelled { by };
    let written = json!({ "cancelled": { "by": "ada", "by_id": 1 } });
    assert_eq!(serde_json::to_value(&new).unwrap(), written);
    assert_eq!(serde_json::from_value::<End>(written).unwrap(), new);
}
