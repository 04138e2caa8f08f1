//! The module that is injected into an observed function of a project. It compiles in every edition, and uses no code
//! of the project.

extern crate std as greenlight_std;

mod digest;
#[cfg_attr(greenlight_safe, path = "safe_means.rs")]
mod means;
mod observe;
mod shown;
mod vary;

pub use self::digest::Digest;
pub use self::observe::{choice, enter, leave, once, varies};
pub use self::shown::shown;
pub use self::vary::{like, vary};

pub type Text = self::greenlight_std::string::String;
pub type Many<T> = self::greenlight_std::vec::Vec<T>;
