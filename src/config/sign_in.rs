//! Settings of the page that people sign in to with GitHub.

use secrecy::SecretString;
use url::Url;

use super::addresses::{base_url, is_loopback};
use super::environment::Environment;
use super::flags::SignInFlags;
use super::secrets::CLIENT_SECRET;
use super::settings_error::SettingsError;
use super::stored_app::StoredSettings;

const CLIENT_ID: &str = "GREENLIGHT_CLIENT_ID";
const PUBLIC_URL: &str = "GREENLIGHT_PUBLIC_URL";

/// How people sign in.
#[derive(Debug, Clone)]
pub struct SignInSettings {
    /// The client id of the GitHub App.
    pub client_id: String,
    pub client_secret: SecretString,
    /// Where people reach greenlight: https unless it is this machine, without a path.
    pub public_url: Url,
}

impl SignInSettings {
    /// `None` without a client secret.
    ///
    /// # Errors
    /// When there is a client secret, and something else is missing or wrong.
    pub(super) fn new(flags: SignInFlags, environment: &Environment) -> Result<Option<Self>, SettingsError> {
        let text = |flag: Option<String>, name: &str| {
            flag.filter(|value| !value.is_empty())
                .or_else(|| environment.get(name).map(String::from))
        };
        let secret = CLIENT_SECRET.read(flags.client_secret_file.as_deref(), environment)?;
        let public_url = text(flags.public_url, PUBLIC_URL);
        let public_url = public_url.map(|text| self::public_url(&text)).transpose()?;
        let client_id = text(flags.client_id, CLIENT_ID);
        let client_id = client_id.map(|text| self::client_id(&text)).transpose()?;
        let Some(client_secret) = secret else { return Ok(None) };
        let missing = |setting, remedy| {
            let problem = "is not set, but a client secret is, with which people sign in to the page";
            SettingsError::new(setting, problem, remedy)
        };
        Ok(Some(Self {
            client_id: client_id.ok_or_else(|| {
                missing(
                    CLIENT_ID,
                    "set it to the client ID shown on the settings page of the GitHub App",
                )
            })?,
            client_secret,
            public_url: public_url.ok_or_else(|| {
                missing(
                    PUBLIC_URL,
                    "set it to the address at which people reach greenlight, such as https://greenlight.example.org",
                )
            })?,
        }))
    }
}

impl SignInSettings {
    /// Those of the App that the setup page created. `None` if nobody can sign in at its address.
    pub(super) fn stored(app: &StoredSettings, client_secret: SecretString) -> Option<Self> {
        Some(Self {
            client_id: client_id(&app.client_id).ok()?,
            client_secret,
            public_url: public_url(app.public_url.as_str()).ok()?,
        })
    }
}

fn client_id(text: &str) -> Result<String, SettingsError> {
    let text = text.trim();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !text.is_empty() && text.len() <= 100 && text.bytes().all(is_plain) {
        return Ok(text.into());
    }
    let remedy = "set it to the client ID, such as Iv23li…, shown on the settings page of the GitHub App";
    Err(SettingsError::new(CLIENT_ID, "is not a client ID", remedy))
}

/// The public URL of an App at this GitHub, by the same rules as `GREENLIGHT_PUBLIC_URL`. GitHub has to reach it, too.
///
/// # Errors
/// When it cannot be used.
pub fn public_url_for(text: &str, github: &Url) -> Result<Url, SettingsError> {
    let url = public_url(text)?;
    if is_loopback(&url) && !is_loopback(github) {
        let problem = "is one of this machine, which GitHub cannot reach";
        let remedy = "set it to an address such as https://greenlight.example.org";
        return Err(SettingsError::new(PUBLIC_URL, problem, remedy));
    }
    Ok(url)
}

/// An origin. Cookies and codes of a sign-in go there, so the connection is encrypted unless it stays on this machine.
fn public_url(text: &str) -> Result<Url, SettingsError> {
    let url = base_url(PUBLIC_URL, text)?;
    let wrong = |problem| {
        let remedy = "set it to an address such as https://greenlight.example.org";
        SettingsError::new(PUBLIC_URL, problem, remedy)
    };
    if url.scheme() != "https" && !is_loopback(&url) {
        return Err(wrong(
            "is not encrypted, so others could read and change what people see",
        ));
    }
    if url.path() != "/" {
        return Err(wrong("has a path, but the page needs a host or port to itself"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<SignInSettings>, SettingsError> {
        SignInSettings::new(SignInFlags::default(), &pairs.iter().copied().collect())
    }

    #[test]
    fn without_a_client_secret_nobody_signs_in() {
        assert!(read(&[]).unwrap().is_none());
        assert!(
            read(&[(CLIENT_ID, "Iv23liAbc"), (PUBLIC_URL, "https://g.example")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn with_a_client_secret_the_rest_is_needed() {
        let secret = ("GREENLIGHT_CLIENT_SECRET", "sesame");
        let whole = [secret, (CLIENT_ID, "Iv23liAbc"), (PUBLIC_URL, "https://g.example/")];
        let settings = read(&whole).unwrap().unwrap();
        assert_eq!(settings.client_secret.expose_secret(), "sesame");
        assert_eq!(settings.public_url.as_str(), "https://g.example/");
        for (missing, names) in [(1, CLIENT_ID), (2, PUBLIC_URL)] {
            let mut pairs = whole.to_vec();
            pairs.remove(missing);
            let error = read(&pairs).unwrap_err().to_string();
            assert!(error.contains(names) && !error.contains("sesame"), "{error}");
        }
    }

    #[test]
    fn the_public_url_is_encrypted_or_of_this_machine() {
        for good in [
            "https://g.example",
            "https://g.example:8443",
            "http://127.0.0.1:8080",
            "http://localhost:1",
        ] {
            assert!(public_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://g.example",
            "https://g.example/page",
            "https://me:p@g.example",
            "g.example",
            "https://g.example/?a",
        ] {
            assert!(public_url(bad).unwrap_err().to_string().contains(PUBLIC_URL), "{bad}");
        }
    }

    #[test]
    fn github_has_to_reach_its_app() {
        let (hub, here) = ("https://api.github.com", "http://127.0.0.1:4000");
        let check = |url, github: &str| public_url_for(url, &github.parse().unwrap());
        assert!(check("https://g.example", hub).is_ok() && check("http://127.0.0.1:8080", here).is_ok());
        for (url, github, part) in [
            ("https://localhost:8080", hub, "GitHub cannot reach"),
            ("http://127.0.0.1:8080", hub, "GitHub cannot reach"),
            ("http://g.example", here, "not encrypted"),
            ("https://g.example/sub", here, "has a path"),
        ] {
            let error = check(url, github).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
    }
}
