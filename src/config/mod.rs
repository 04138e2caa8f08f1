//! greenlight's configuration: flags, environment variables, and a repository's `greenlight.toml`.
//!
//! This is the only room that reads the environment of the process. It does not act on settings: it reads and checks
//! a value and passes it on, and an error says how to set the value correctly. The two sources never mix.
//! Credentials, model and allow-list come from the operator ([`settings`]), never from a repository. Settings that a
//! repository makes for itself come from its base branch ([`repository`]) and its default branch ([`stricter`]),
//! never from a head.

pub mod addresses;
pub mod allow_list;
pub mod environment;
mod field_schema;
pub mod flags;
mod model;
mod offered;
pub mod otlp;
pub mod parse;
pub mod protect;
pub mod repository;
pub mod retention;
pub mod schema;
pub mod secrets;
pub mod settings;
mod settings_error;
mod show;
pub mod sign_in;
pub mod stored_app;
pub mod stricter;
mod values;
mod worker;

pub use allow_list::AllowList;
pub use parse::ConfigError;
pub use repository::{Execution, RepoConfig};
pub use settings::Settings;
pub use settings_error::SettingsError;
