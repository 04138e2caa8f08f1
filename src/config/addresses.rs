//! URLs in settings: which ones are accepted, and error messages for the others.

use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::settings_error::SettingsError;

/// GitHub's URL, which receives a token with write access. Unencrypted connections are allowed only to this machine.
///
/// # Errors
/// When the URL is not HTTP(S), or would send the token unencrypted to another machine.
pub(super) fn github_url(text: &str) -> Result<Url, SettingsError> {
    server_url("GREENLIGHT_GITHUB_API_URL", text)
}

/// The URL of a server that receives a token, from this setting. Unencrypted connections are allowed only to this
/// machine.
///
/// # Errors
/// When the URL is not HTTP(S), or would send the token unencrypted to another machine.
pub fn server_url(setting: &'static str, text: &str) -> Result<Url, SettingsError> {
    let url = base_url(setting, text)?;
    if url.scheme() == "https" || is_loopback(&url) {
        return Ok(url);
    }
    let problem = "is not encrypted, so the token would be sent in clear text";
    Err(SettingsError::new(setting, problem, "use its https:// address"))
}

/// Whether this is a URL of this machine, which other machines cannot reach.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A URL that paths can be appended to. Errors do not repeat it, because URLs may contain passwords.
///
/// # Errors
/// When the URL is not HTTP(S), or has parts other than scheme, host, port and path.
pub(super) fn base_url(setting: &'static str, text: &str) -> Result<Url, SettingsError> {
    let wrong = |problem: &str| {
        SettingsError::new(
            setting,
            problem,
            "use a URL such as https://host/path, without anything after the path",
        )
    };
    let mut url = Url::parse(text.trim()).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("is not an http or https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a user name or password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a `?` or `#` part"));
    }
    let path = url.path().trim_end_matches('/').to_string();
    url.set_path(&path);
    Ok(url)
}

/// Where the journal of a service is.
#[derive(Debug, Clone)]
pub enum JournalAddress {
    /// An SQLite file of this process. It need not exist yet.
    File(PathBuf),
    /// The URL of a PostgreSQL database, which several processes may share. Secret, because it contains a password.
    Postgres(SecretString),
}

/// The journal in `sqlite://relative`, `sqlite:///absolute`, `sqlite:path` or `postgres://user@host/database`, parsed
/// like sqlx does.
///
/// # Errors
/// When the URL is for another database, or contains more than a path.
pub(super) fn journal(url: &SecretString) -> Result<JournalAddress, SettingsError> {
    let wrong = |problem: &str| {
        SettingsError::new(
            "GREENLIGHT_DATABASE_URL",
            problem,
            "use sqlite:// and the path of a file, or postgres://user@host/database",
        )
    };
    let text = url.expose_secret();
    let (scheme, rest) = text.split_once(':').ok_or_else(|| wrong("is not a URL"))?;
    match scheme {
        "sqlite" => {}
        "postgres" | "postgresql" => {
            let parsed = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
            if !is_on_this_machine(&parsed) && !parsed.query_pairs().any(|(name, _)| name == "sslmode") {
                let remedy = "add `?sslmode=verify-full`, or `?sslmode=disable` on a network that only you use";
                let problem = "does not say whether the connection to another machine is encrypted";
                return Err(SettingsError::new("GREENLIGHT_DATABASE_URL", problem, remedy));
            }
            return Ok(JournalAddress::Postgres(url.clone()));
        }
        _ => return Err(wrong("is neither an SQLite nor a PostgreSQL URL")),
    }
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path.starts_with(":memory:") {
        return Err(wrong("names no file, but a journal must survive a restart"));
    }
    if path.contains('?') {
        return Err(wrong("has options after a `?`, which are not understood"));
    }
    let path = percent_encoding::percent_decode_str(path).decode_utf8();
    path.map(|path| JournalAddress::File(PathBuf::from(path.as_ref())))
        .map_err(|_| wrong("is not UTF-8"))
}

/// Whether a URL of PostgreSQL names a Unix socket or a loopback address.
fn is_on_this_machine(url: &Url) -> bool {
    let host = url.query_pairs().find(|(name, _)| name == "host").map(|(_, host)| host);
    let host = host.unwrap_or_else(|| url.host_str().unwrap_or_default().to_string().into());
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.starts_with('/') || host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_an_encrypted_line_or_stays_here() {
        for good in [
            "https://api.github.com",
            "https://github.example.com/api/v3/",
            "http://127.0.0.1:4000",
            "http://localhost:4000/api/v3",
            "http://[::1]:4000",
        ] {
            assert!(github_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://github.example.com/api/v3",
            "http://localhost.example.com",
            "http://10.0.0.1",
            "ftp://api.github.com",
            "api.github.com",
            "file:///etc/passwd",
            "https://api.github.com?token=sesame",
            "https://me:sesame@api.github.com",
            "",
        ] {
            let error = github_url(bad).unwrap_err().to_string();
            assert!(
                error.starts_with("GREENLIGHT_GITHUB_API_URL is ") || error.contains(" has "),
                "{bad}: {error}"
            );
            assert!(!error.contains("sesame"), "{error}");
        }
    }

    #[test]
    fn a_slash_at_the_end_means_nothing() {
        let url = |text| base_url("GREENLIGHT_MODEL_BASE_URL", text).unwrap().to_string();
        assert_eq!(url("http://gpu.example:11434/v1/"), "http://gpu.example:11434/v1");
        assert_eq!(url(" https://models.example "), "https://models.example/");
    }

    fn path(url: &str) -> Result<String, SettingsError> {
        journal(&SecretString::from(url)).map(|address| match address {
            JournalAddress::File(path) => path.display().to_string(),
            JournalAddress::Postgres(_) => "PostgreSQL".into(),
        })
    }

    #[test]
    fn a_password_goes_to_another_machine_only_as_somebody_decided() {
        for good in [
            "postgres://me:sesame@localhost/greenlight",
            "postgresql://me@127.0.0.1:5432/greenlight",
            "postgres://me@[::1]/greenlight",
            "postgres://me@localhost/greenlight?host=/run/postgresql",
            "postgres://me:sesame@db/greenlight?sslmode=verify-full",
            "postgres://me:sesame@db/greenlight?sslmode=disable",
        ] {
            assert_eq!(path(good).unwrap(), "PostgreSQL", "{good}");
        }
        for bad in [
            "postgres://me:sesame@db/greenlight",
            "postgres://me:sesame@10.0.0.1/greenlight?application_name=sslmode",
            "postgres://me:sesame@localhost/greenlight?host=db",
            "postgres://me:sesame@[/greenlight",
        ] {
            let error = path(bad).unwrap_err().to_string();
            assert!(
                error.contains("GREENLIGHT_DATABASE_URL") && !error.contains("sesame"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_file_of_the_journal() {
        assert_eq!(
            path("sqlite:///var/lib/greenlight/journal.db").unwrap(),
            "/var/lib/greenlight/journal.db"
        );
        assert_eq!(path("sqlite://journal.db").unwrap(), "journal.db");
        assert_eq!(path("sqlite:a%20b.db").unwrap(), "a b.db");
        for bad in [
            "",
            "journal.db",
            "mysql://x/y",
            "sqlite://",
            "sqlite::memory:",
            "sqlite://x.db?mode=ro",
        ] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }
}
