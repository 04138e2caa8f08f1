//! Reads a payload in one pass: what every event has, and what this one is about.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, Visitor};

use super::payload::{Envelope, PayloadError, read};
use crate::domain::id::InstallationId;

/// One payload while it is read.
pub(super) struct Payload<'a> {
    body: &'a [u8],
    /// Whether events of this kind have an action.
    has_action: bool,
    envelope: Envelope,
}

impl<'a> Payload<'a> {
    pub(super) fn new(body: &'a [u8], has_action: bool) -> Self {
        Self {
            body,
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
        let (envelope, event) = match serde_json::from_slice(self.body) {
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
        read(self.body)
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
