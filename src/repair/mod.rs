//! Fixes without a model.

mod language;
mod outline;
mod syntax;
mod templates;
mod test_code;
