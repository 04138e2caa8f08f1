//! What greenlight is told before it starts: flags and environment, and a repository's `greenlight.toml`.
//!
//! This is the only room that reads the environment of the process. Nothing here acts on a setting: a value is read,
//! checked and handed on, and a bad one is named together with the way to set it. The two sources never mix:
//! credentials, model and allow-list come from the operator ([`settings`]), never from a repository, and
//! what a repository may decide about itself comes from its base branch ([`repository`]) and its default branch
//! ([`stricter`]), never from a head.

mod addresses;
pub mod allow_list;
pub mod environment;
pub mod flags;
mod model;
pub mod parse;
pub mod protect;
pub mod repository;
pub mod retention;
pub mod secrets;
pub mod settings;
mod settings_error;
mod show;
pub mod stricter;
mod values;

pub use allow_list::AllowList;
pub use parse::ConfigError;
pub use repository::{Execution, RepoConfig};
pub use settings::Settings;
pub use settings_error::SettingsError;
