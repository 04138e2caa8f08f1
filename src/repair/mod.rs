//! Fixes without a model.

mod candidates;
mod evidence;
mod language;
mod localise;
mod outline;
mod syntax;
mod templates;
mod test_code;
