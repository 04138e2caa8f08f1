//! Reads a payload in one pass: what every event has, and what this one is about. Most of a payload is about neither,
//! and is skipped before.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, Visitor};

use super::payload::{Envelope, FIELDS, PayloadError, read};
use crate::domain::id::InstallationId;

/// One payload while it is read.
pub(super) struct Payload<'a> {
    body: &'a [u8],
    /// The fields that any event needs. `None` if the payload is unusual, or not JSON.
    kept: Option<Vec<u8>>,
    /// Whether events of this kind have an action.
    has_action: bool,
    envelope: Envelope,
}

impl<'a> Payload<'a> {
    pub(super) fn new(body: &'a [u8], has_action: bool) -> Self {
        Self {
            body,
            kept: greenlight_skim::skim(body, &FIELDS),
            has_action,
            envelope: Envelope::default(),
        }
    }

    pub(super) fn installation(&self) -> Option<InstallationId> {
        self.envelope.installation.as_ref().map(|installation| installation.id)
    }

    /// The action. Empty for an event without one.
    pub(super) fn action(&self) -> &str {
        self.envelope.action.as_deref().unwrap_or_default()
    }

    /// Reads the fields of an event. `None` if it has another action than these, whose fields may have any form. If none
    /// are named, all are of concern.
    ///
    /// # Errors
    /// When the payload is not JSON, or a required field is missing or has another form.
    pub(super) fn event<T: DeserializeOwned>(&mut self, of_concern: &[&str]) -> Result<Option<T>, PayloadError> {
        // Nearly all can be read in one pass; what cannot is read again to find out why.
        let (envelope, event) = match serde_json::from_slice(self.kept.as_deref().unwrap_or(self.body)) {
            Ok(Once { envelope, event }) => (envelope, Some(event)),
            Err(_) => (read(self.body)?, None),
        };
        self.envelope = envelope;
        if self.has_action && self.envelope.action.is_none() {
            return Err(PayloadError {
                field: "action".into(),
                reason: "missing".into(),
            });
        }
        if !of_concern.is_empty() && !of_concern.contains(&self.action()) {
            return Ok(None);
        }
        event.map_or_else(|| self.more(), Ok).map(Some)
    }

    /// Reads further fields.
    ///
    /// # Errors
    /// When one is missing or has another form.
    pub(super) fn more<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        let kept = self.kept.as_deref().and_then(|kept| serde_json::from_slice(kept).ok());
        // The whole payload says where the mistake is.
        kept.map_or_else(|| read(self.body), Ok)
    }
}

/// The fields that all events have, and those of one.
struct Once<T> {
    envelope: Envelope,
    event: T,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Once<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnceVisitor(PhantomData))
    }
}

struct OnceVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OnceVisitor<T> {
    type Value = Once<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Once<T>, M::Error> {
        let mut envelope = Envelope::default();
        let rest = EventFields {
            map,
            envelope: &mut envelope,
        };
        let event = T::deserialize(MapAccessDeserializer::new(rest))?;
        Ok(Once { envelope, event })
    }
}

/// The name of a field, which is copied only if it has escapes.
#[derive(Deserialize)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

/// An object whose fields of the envelope are taken out as they pass. `serde`'s own `flatten` would copy all others.
struct EventFields<'a, M> {
    map: M,
    envelope: &'a mut Envelope,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for EventFields<'_, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        while let Some(FieldName(key)) = self.map.next_key()? {
            match &*key {
                "action" if self.envelope.action.is_some() => return Err(M::Error::duplicate_field("action")),
                "action" => self.envelope.action = self.map.next_value()?,
                "installation" if self.envelope.installation.is_some() => {
                    return Err(M::Error::duplicate_field("installation"));
                }
                "installation" => self.envelope.installation = self.map.next_value()?,
                _ => return seed.deserialize(CowStrDeserializer::new(key)).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use greenlight_skim::{Fields, skim};
    use serde_json::{Value, json};

    use super::super::payload::PATHS;
    use super::super::{is_of_concern, parse};

    /// Real payloads, each with the name of its event, and some for fields that those do not have.
    fn payloads() -> Vec<(String, Value)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/webhooks");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let of_file = |path: std::path::PathBuf| {
            let kind = path.file_stem()?.to_str()?.to_string();
            let all: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            Some(all.into_iter().map(move |payload| (kind.clone(), payload)))
        };
        files.filter_map(of_file).flatten().chain(invented()).collect()
    }

    fn invented() -> Vec<(String, Value)> {
        let repository = json!({ "id": 1, "full_name": "acme/rail" });
        let sha = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
        let checks = json!({
            "id": 5, "name": "test", "conclusion": "failure", "head_sha": sha, "head_branch": "change",
            "app": { "slug": "ci" }, "head_repository": { "owner": { "login": "ada" } },
            "workflow_id": 6, "path": ".github/workflows/test.yml", "event": "pull_request",
            "pull_requests": [{ "number": 1, "base": { "repo": { "id": 2 } } }],
        });
        let of_checks = |kind: &str| {
            let payload = json!({ "action": "completed", kind: checks, "repository": repository });
            (kind.to_string(), payload)
        };
        let comment = |change: fn(&mut Value)| {
            let mut payload = json!({
                "action": "created", "repository": repository, "issue": { "number": 1, "pull_request": {} },
                "comment": { "id": 7, "body": "/greenlight fix", "user": { "login": "mia", "id": 3, "type": "User" } },
                "sender": { "login": "mia", "id": 3, "type": "User" },
            });
            change(&mut payload);
            ("issue_comment".to_string(), payload)
        };
        let retargeted = json!({
            "action": "edited", "repository": repository, "changes": { "base": {} },
            "pull_request": { "number": 1, "head": { "sha": sha } },
        });
        let status = json!({ "id": 9, "sha": sha, "state": "error", "context": "ci/build", "repository": repository });
        vec![
            of_checks("check_run"),
            of_checks("check_suite"),
            of_checks("workflow_run"),
            comment(|_| ()),
            comment(|payload| payload["comment"]["user"]["type"] = "Bot".into()),
            comment(|payload| payload["comment"]["performed_via_github_app"] = json!({})),
            comment(|payload| payload["sender"]["type"] = "Bot".into()),
            ("pull_request".into(), retargeted),
            ("status".into(), status),
        ]
    }

    /// What an event says. `received` is always different.
    fn fact(kind: &str, body: &[u8]) -> String {
        let read = parse(kind, body);
        format!(
            "{:?}",
            read.map(|event| event.map(|event| (event.installation, event.fact)))
        )
    }

    #[test]
    fn what_is_skipped_first_changes_no_event() {
        let mut number = 0;
        for (kind, payload) in payloads() {
            let mut unusual = payload.clone();
            // Too deep for the skimming, which then leaves everything to the reader.
            unusual["deep"] = (0..200).fold(Value::Null, |inner, _| Value::from(vec![inner]));
            let (body, unusual) = (payload.to_string(), unusual.to_string());
            assert!(skim(unusual.as_bytes(), &Fields::new(&PATHS)).is_none());
            assert_eq!(fact(&kind, body.as_bytes()), fact(&kind, unusual.as_bytes()), "{kind}");
            number += 1;
        }
        assert!(number > 100, "{number}");
    }

    #[test]
    fn every_path_is_read_in_some_payload() {
        let of_concern = payloads().into_iter().filter(|(kind, _)| is_of_concern(kind));
        let payloads: Vec<(String, String, String)> = of_concern
            .map(|(kind, payload)| {
                let body = payload.to_string();
                let fact = fact(&kind, body.as_bytes());
                (kind, body, fact)
            })
            .collect();
        let is_idle = |path: &&str| {
            let others: Vec<&str> = PATHS.into_iter().filter(|other| other != path).collect();
            let others = Fields::new(&others);
            payloads.iter().all(|(kind, body, whole)| {
                let kept = skim(body.as_bytes(), &others);
                kept.is_none_or(|kept| fact(kind, &kept) == *whole)
            })
        };
        let idle: Vec<&str> = PATHS.into_iter().filter(is_idle).collect();
        assert_eq!(idle, [""; 0]);
    }
}
