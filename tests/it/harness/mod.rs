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

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use greenlight::sandbox::{Backend, Choice, Sandbox};
use greenlight::suite::Stores;
use tokio::sync::OnceCell;

/// How long a busy machine may take for something that must happen.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits for an effect that nothing announces. Fails if it never comes.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so().await {
            look.tick().await;
        }
    });
    assert!(waited.await.is_ok(), "{what}: not within {PATIENCE:?}");
}

/// An HTTP client with the cryptography that greenlight uses.
pub(crate) fn http() -> reqwest::ClientBuilder {
    greenlight_crypto::install();
    reqwest::Client::builder()
}

/// The sandbox of this machine, tried once. If the machine cannot confine code, the tests fail and say why.
pub(crate) async fn sandbox() -> Sandbox {
    static SANDBOX: OnceCell<Sandbox> = OnceCell::const_new();
    let detect = async || {
        let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
        Sandbox::detect(Choice::Auto, helper).await.unwrap()
    };
    SANDBOX.get_or_init(detect).await.clone()
}

/// Folders for build output that stay, for all tests and for the next time that they run.
pub(crate) fn stores() -> Stores {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Stores {
        repository: kept.join("go-library"),
        everyone: kept.join("everyone"),
    }
}

/// Lets a new data folder use what all others share, so that not every test compiles Go's library.
pub(crate) fn shares_everyones_store(data: &Path) {
    let (installed, everyone) = (data.join("installed"), stores().everyone);
    std::fs::create_dir_all(&everyone).unwrap();
    std::fs::create_dir(&installed).unwrap();
    symlink(everyone, installed.join("everyone")).unwrap();
}

/// No confinement, as a user may explicitly choose.
pub(crate) async fn unconfined() -> Sandbox {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_greenlight"));
    Sandbox::detect(Choice::Only(Backend::None), helper).await.unwrap()
}
