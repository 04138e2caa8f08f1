//! The sources of secrets: a variable, or a file named by a variable or a flag; never an argument.
//!
//! Secrets are kept in a [`SecretString`], which is never printed, and no error repeats any part of them.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::environment::Environment;
use super::settings_error::SettingsError;

/// Much larger than any key or token.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// The sources of one secret.
pub(super) struct SecretSource {
    variable: &'static str,
    file_variable: &'static str,
    flag: &'static str,
    /// The variable that other tools read as well.
    common: Option<&'static str>,
    /// Whether leading and trailing spaces belong to it.
    exact: bool,
}

pub(super) const PRIVATE_KEY: SecretSource = SecretSource {
    variable: "GREENLIGHT_PRIVATE_KEY",
    file_variable: "GREENLIGHT_PRIVATE_KEY_FILE",
    flag: "--private-key-file",
    common: None,
    exact: false,
};
pub(super) const GITHUB_TOKEN: SecretSource = SecretSource {
    variable: "GREENLIGHT_GITHUB_TOKEN",
    file_variable: "GREENLIGHT_GITHUB_TOKEN_FILE",
    flag: "--github-token-file",
    common: Some("GITHUB_TOKEN"),
    exact: false,
};
pub(super) const WEBHOOK_SECRET: SecretSource = SecretSource {
    variable: "GREENLIGHT_WEBHOOK_SECRET",
    file_variable: "GREENLIGHT_WEBHOOK_SECRET_FILE",
    flag: "--webhook-secret-file",
    common: None,
    exact: true,
};
pub(super) const METRICS_TOKEN: SecretSource = SecretSource {
    variable: "GREENLIGHT_METRICS_TOKEN",
    file_variable: "GREENLIGHT_METRICS_TOKEN_FILE",
    flag: "--metrics-token-file",
    common: None,
    exact: false,
};
pub(super) const CLIENT_SECRET: SecretSource = SecretSource {
    variable: "GREENLIGHT_CLIENT_SECRET",
    file_variable: "GREENLIGHT_CLIENT_SECRET_FILE",
    flag: "--client-secret-file",
    common: None,
    exact: false,
};
pub(super) const MODEL_API_KEY: SecretSource = SecretSource {
    variable: "GREENLIGHT_MODEL_API_KEY",
    file_variable: "GREENLIGHT_MODEL_API_KEY_FILE",
    flag: "--model-api-key-file",
    common: Some("OPENAI_API_KEY"),
    exact: false,
};

impl SecretSource {
    /// The file that contains this secret, if it is in a file.
    pub(super) fn place(&self, flag: Option<&Path>, environment: &Environment) -> Option<PrivatePath> {
        let named = || environment.get(self.file_variable).map(PathBuf::from);
        let path = flag.map(Path::to_path_buf).or_else(named)?;
        Some(PrivatePath::new(self.file_variable, path))
    }

    /// The secret from the first source that has it: the file named by the flag, the variable, the file named by the
    /// variable, the common variable.
    ///
    /// # Errors
    /// When a file cannot be read, both variables are set, or the value cannot be a secret of this kind.
    pub(super) fn read(
        &self,
        flag: Option<&Path>,
        environment: &Environment,
    ) -> Result<Option<SecretString>, SettingsError> {
        let (own, file) = (environment.get(self.variable), environment.get(self.file_variable));
        let text = match (flag, own, file) {
            (Some(path), _, _) => self.read_file(path, self.flag)?,
            (None, Some(_), Some(_)) => {
                let problem = format!("is set, and {} too", self.file_variable);
                return Err(SettingsError::new(self.variable, problem, "set only one of the two"));
            }
            (None, Some(value), None) => value.into(),
            (None, None, Some(path)) => self.read_file(Path::new(path), self.file_variable)?,
            (None, None, None) => match self.common.and_then(|name| environment.get(name)) {
                Some(value) => value.into(),
                None => return Ok(None),
            },
        };
        let secret = if self.exact { text.as_str() } else { text.trim() };
        // A newline inside a token would end an HTTP header early. Only a PEM file has several lines.
        let one_line = self.variable != PRIVATE_KEY.variable;
        if one_line && secret.contains(char::is_control) {
            let problem = "contains a control character, which no such secret has";
            return Err(SettingsError::new(self.variable, problem, "copy it again as one line"));
        }
        Ok((!secret.is_empty()).then(|| SecretString::from(secret)))
    }

    /// Reads a file without the line end that editors and `echo` append. Errors name the setting that named the file.
    fn read_file(&self, path: &Path, named_by: &'static str) -> Result<String, SettingsError> {
        let unreadable = |reason: &dyn fmt::Display| {
            let problem = format!("names {}, which cannot be used: {reason}", path.display());
            let remedy = format!("name a readable file, or put the value into {}", self.variable);
            SettingsError::new(named_by, problem, remedy)
        };
        let mut text = String::new();
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        let read = file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text);
        let size = read.map_err(|error| unreadable(&error))?;
        if size as u64 > MAX_SECRET_BYTES {
            return Err(unreadable(&"it is too large for a secret"));
        }
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.trim().is_empty() {
            return Err(unreadable(&"it is empty"));
        }
        Ok(line.into())
    }

    /// An error that says that the secret is needed, and how to set it.
    pub(super) fn missing(&self, what: &str) -> SettingsError {
        let remedy = format!("set it to {what}, or {} to a file with it", self.file_variable);
        SettingsError::new(self.variable, "is not set", remedy)
    }
}

/// Parses the key far enough to know that it is one. A secret store may have put it on one line with `\n`.
///
/// # Errors
/// When it is not a private key.
pub(super) fn private_key(key: &SecretString) -> Result<SecretString, SettingsError> {
    let text = key.expose_secret();
    let text = if text.contains('\n') {
        text.into()
    } else {
        text.replace("\\n", "\n")
    };
    match PrivateKeyDer::from_pem_slice(text.as_bytes()) {
        Ok(PrivateKeyDer::Pkcs1(_) | PrivateKeyDer::Pkcs8(_)) => Ok(text.into()),
        _ => Err(SettingsError::new(
            PRIVATE_KEY.variable,
            "is not an RSA private key in PEM format",
            "generate one on the settings page of the GitHub App and set GREENLIGHT_PRIVATE_KEY_FILE to the .pem file",
        )),
    }
}

/// A path that only greenlight may read, and the variable that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivatePath {
    pub setting: &'static str,
    pub path: PathBuf,
}

impl PrivatePath {
    pub(super) fn new(setting: &'static str, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { setting, path }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().copied().collect()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[track_caller]
    fn token(flag: Option<&Path>, pairs: &[(&str, &str)]) -> Option<String> {
        let secret = GITHUB_TOKEN.read(flag, &environment(pairs)).unwrap();
        secret.map(|secret| secret.expose_secret().to_string())
    }

    #[test]
    fn the_more_particular_place_wins() {
        let (common, own) = (("GITHUB_TOKEN", "common"), ("GREENLIGHT_GITHUB_TOKEN", "own"));
        let flagged = file("flag\n");
        let named = file("file\r\n");
        let named = ("GREENLIGHT_GITHUB_TOKEN_FILE", named.path().to_str().unwrap());
        assert_eq!(token(None, &[]), None);
        assert_eq!(token(None, &[common]).as_deref(), Some("common"));
        assert_eq!(
            token(None, &[common, ("GREENLIGHT_GITHUB_TOKEN", "")]).as_deref(),
            Some("common")
        );
        assert_eq!(token(None, &[common, own]).as_deref(), Some("own"));
        assert_eq!(token(None, &[common, named]).as_deref(), Some("file"));
        assert_eq!(token(Some(flagged.path()), &[common, own]).as_deref(), Some("flag"));
        let both = GITHUB_TOKEN.read(None, &environment(&[own, named])).unwrap_err();
        assert!(both.to_string().contains("set only one"), "{both}");
    }

    #[test]
    fn a_token_that_would_end_a_header_is_refused_without_showing_it() {
        let error = GITHUB_TOKEN
            .read(None, &environment(&[("GITHUB_TOKEN", "sesame\nX: y")]))
            .unwrap_err();
        assert!(!error.to_string().contains("sesame"), "{error}");
    }

    #[test]
    fn a_webhook_secret_keeps_its_spaces() {
        let pairs = [("GREENLIGHT_WEBHOOK_SECRET", " a b ")];
        let secret = WEBHOOK_SECRET.read(None, &environment(&pairs)).unwrap().unwrap();
        assert_eq!(secret.expose_secret(), " a b ");
    }

    #[test]
    fn a_file_that_is_missing_empty_or_endless_is_named() {
        let endless = WEBHOOK_SECRET
            .read(Some(Path::new("/dev/zero")), &environment(&[]))
            .unwrap_err();
        assert!(endless.to_string().contains("too large"), "{endless}");
        let empty = file("\n");
        let empty = WEBHOOK_SECRET.read(Some(empty.path()), &environment(&[])).unwrap_err();
        assert!(empty.to_string().contains("empty"), "{empty}");
        let missing = WEBHOOK_SECRET
            .read(Some(Path::new("/no/such")), &environment(&[]))
            .unwrap_err();
        assert_eq!(missing.setting, "--webhook-secret-file");
        assert!(missing.to_string().contains("GREENLIGHT_WEBHOOK_SECRET"), "{missing}");
    }

    #[test]
    fn a_key_may_come_from_a_file_or_from_a_secret_store() {
        let pem = |kind: &str, line: &str| format!("-----BEGIN {kind}-----{line}AAAA{line}-----END {kind}-----{line}");
        for good in [
            pem("RSA PRIVATE KEY", "\n"),
            pem("PRIVATE KEY", "\r\n"),
            pem("RSA PRIVATE KEY", "\\n"),
        ] {
            let key = private_key(&good.clone().into()).unwrap();
            assert!(
                key.expose_secret().contains("-----\n") || key.expose_secret().contains("-----\r\n"),
                "{good}"
            );
        }
        for bad in [
            pem("CERTIFICATE", "\n"),
            pem("EC PRIVATE KEY", "\n"),
            "sesame".into(),
            pem("PRIVATE KEY", ""),
        ] {
            let error = private_key(&bad.into()).unwrap_err().to_string();
            assert!(
                error.contains("GREENLIGHT_PRIVATE_KEY_FILE") && !error.contains("sesame"),
                "{error}"
            );
        }
    }
}
