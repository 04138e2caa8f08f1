//! The GitHub App that the setup page created: its file in the data folder, which only greenlight may read.
//!
//! The file is written once. To set up another App, somebody moves it away.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::settings_error::SettingsError;

/// The name of the file.
const NAME: &str = "github-app.json";
/// Much larger than any key.
const MAX_BYTES: u64 = 64 << 10;

/// An App and its secrets.
#[derive(Debug, Clone)]
pub struct StoredApp {
    pub settings: StoredSettings,
    pub client_secret: SecretString,
    pub webhook_secret: Option<SecretString>,
    pub private_key: SecretString,
}

/// What is not secret about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSettings {
    pub app_id: u64,
    pub slug: String,
    pub client_id: String,
    /// The GitHub that it belongs to.
    pub github_api_url: Url,
    /// Where GitHub and people reach greenlight.
    pub public_url: Url,
}

#[derive(Deserialize)]
struct OnDisk {
    #[serde(flatten)]
    settings: StoredSettings,
    client_secret: SecretString,
    webhook_secret: Option<SecretString>,
    private_key: SecretString,
}

impl StoredApp {
    /// The file in this data folder.
    pub fn file(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// Reads the file. `None` if there is no such file.
    ///
    /// # Errors
    /// When it cannot be read. No part of it is in the error.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, SettingsError> {
        let path = Self::file(folder);
        let unusable = |why: &str| {
            let problem = format!("contains {}, but greenlight cannot read it: {why}", path.display());
            let remedy = "restore it from a backup, or delete it and create a new App; with GREENLIGHT_APP_ID and \
                          GREENLIGHT_PRIVATE_KEY_FILE set, it is not used";
            SettingsError::new("GREENLIGHT_DATA_DIR", problem, remedy)
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&error.to_string())),
        };
        // The mode of what was opened, not of what has the name by now.
        let mode = file.metadata().map_err(|error| unusable(&error.to_string()))?;
        closed_to_others(&path, mode.permissions().mode())?;
        let mut text = String::new();
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(|error| unusable(&error.to_string()))?;
        let OnDisk {
            settings,
            client_secret,
            webhook_secret,
            private_key,
        } = serde_json::from_str(&text).map_err(|_| unusable("it is damaged"))?;
        Ok(Some(Self {
            settings,
            client_secret,
            webhook_secret,
            private_key,
        }))
    }

    /// Writes the file, all of it or nothing. After this it survives a power failure.
    ///
    /// # Errors
    /// When there is one already, which stays as it is, or when it cannot be written.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        let mut content = serde_json::to_value(&self.settings)?;
        content["client_secret"] = json!(self.client_secret.expose_secret());
        content["webhook_secret"] = json!(self.webhook_secret.as_ref().map(secrecy::ExposeSecret::expose_secret));
        content["private_key"] = json!(self.private_key.expose_secret());
        // Temporary files have mode 0600 from the beginning.
        let mut file = tempfile::Builder::new().prefix(".github-app-").tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec_pretty(&content)?)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(Self::file(folder))
            .map_err(|error| error.error)?;
        fs::File::open(folder)?.sync_all()
    }
}

/// Refuses a key that others can read, as ssh does.
fn closed_to_others(path: &Path, mode: u32) -> Result<(), SettingsError> {
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = path.display();
    let problem = format!(
        "contains {path} with mode {:04o}: other users may have read the App's key and its secrets",
        mode & 0o7777
    );
    let remedy = format!("run `chmod 600 '{path}'`, and replace the key on GitHub if somebody else uses this machine");
    Err(SettingsError::new("GREENLIGHT_DATA_DIR", problem, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(id: u64) -> StoredApp {
        StoredApp {
            settings: StoredSettings {
                app_id: id,
                slug: "green".into(),
                client_id: "Iv1".into(),
                github_api_url: "https://ghe.example/api/v3".parse().unwrap(),
                public_url: "https://bots.example".parse().unwrap(),
            },
            client_secret: "client-sesame".into(),
            webhook_secret: Some("hook-sesame".into()),
            private_key: "key-sesame".into(),
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_by_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        assert!(StoredApp::read(folder.path()).unwrap().is_none());
        app(7).keep(folder.path()).unwrap();
        let read = StoredApp::read(folder.path()).unwrap().unwrap();
        assert_eq!(read.settings, app(7).settings);
        assert_eq!(read.private_key.expose_secret(), "key-sesame");
        assert_eq!(read.client_secret.expose_secret(), "client-sesame");
        assert_eq!(read.webhook_secret.unwrap().expose_secret(), "hook-sesame");
        let mode = fs::metadata(StoredApp::file(folder.path()))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    fn set_mode(folder: &Path, mode: u32) {
        fs::set_permissions(StoredApp::file(folder), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        app(7).keep(folder.path()).unwrap();
        for open in [0o640, 0o604, 0o620, 0o660, 0o644, 0o777] {
            set_mode(folder.path(), open);
            let error = StoredApp::read(folder.path()).unwrap_err().to_string();
            let repair = format!("chmod 600 '{}'", StoredApp::file(folder.path()).display());
            assert!(
                error.contains(&repair) && !error.contains("sesame"),
                "{open:o}: {error}"
            );
        }
        for closed in [0o600, 0o400] {
            set_mode(folder.path(), closed);
            assert_eq!(StoredApp::read(folder.path()).unwrap().unwrap().settings.app_id, 7);
        }
    }

    #[test]
    fn an_app_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        app(7).keep(folder.path()).unwrap();
        let refused = app(8).keep(folder.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(StoredApp::read(folder.path()).unwrap().unwrap().settings.app_id, 7);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_file_is_named_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        for damaged in [
            r#"{"app_id":"sesame"}"#,
            r#"{"app_id":1,"slug":"a","client_id":"b","github_api_url":"sesame"}"#,
            "",
        ] {
            fs::write(StoredApp::file(folder.path()), damaged).unwrap();
            set_mode(folder.path(), 0o600);
            let error = StoredApp::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(NAME) && !error.contains("sesame"), "{error}");
        }
    }
}
