//! Apps that are being registered from a manifest: what was shown, and what was handed out. [`super::manifests`] has the
//! rules.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

/// What is under way.
#[derive(Default)]
pub(super) struct Manifests {
    /// Manifests that were shown to the person, by the number in the form.
    pub(super) shown: HashMap<String, FormShown>,
    /// Codes that were not used yet, by when they were made.
    pub(super) codes: HashMap<String, Timestamp>,
    pub(super) webhook_secret: String,
    pub(super) setup_url: String,
}

#[derive(Clone)]
pub(super) struct FormShown {
    pub(super) manifest: Value,
    pub(super) state: String,
}
