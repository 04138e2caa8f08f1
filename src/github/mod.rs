//! Speaks with GitHub: what its webhooks say.

pub mod webhook;
