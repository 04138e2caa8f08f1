//! The foundation of the stories.

pub(crate) mod browser;
pub(crate) mod collector;
pub(crate) mod gullible;
pub(crate) mod model;
pub(crate) mod openapi;
pub(crate) mod postgres;
pub(crate) mod rest;
pub(crate) mod site;
pub(crate) mod story;
pub(crate) mod whole;

use std::path::PathBuf;

use greenlight::sandbox::{Backend, Choice, Sandbox};
use tokio::sync::OnceCell;

/// The sandbox of this machine, tried once. If the machine cannot confine code, the tests fail and say why.
pub(crate) async fn sandbox() -> Sandbox {
    static SANDBOX: OnceCell<Sandbox> = OnceCell::const_new();
    let detect = async || {
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
        Sandbox::detect(Choice::Auto, helper).await.unwrap()
    };
    SANDBOX.get_or_init(detect).await.clone()
}

/// No confinement, as a user may explicitly choose.
pub(crate) async fn unconfined() -> Sandbox {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
    Sandbox::detect(Choice::Only(Backend::None), helper).await.unwrap()
}
