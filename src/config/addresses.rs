//! URLs in settings: which ones are accepted, and error messages for the others.

use std::path::PathBuf;

use url::Url;

use super::settings_error::SettingsError;

/// GitHub's URL, which receives a token with write access. Unencrypted connections are allowed only to this machine.
///
/// # Errors
/// When the URL is not HTTP(S), or would send the token unencrypted to another machine.
pub(super) fn github_url(text: &str) -> Result<Url, SettingsError> {
    let url = base_url("GREENLIGHT_GITHUB_API_URL", text)?;
    let this_machine = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if url.scheme() == "https" || this_machine {
        return Ok(url);
    }
    let problem = "is not encrypted, so the token would be sent in clear text";
    Err(SettingsError::new(
        "GREENLIGHT_GITHUB_API_URL",
        problem,
        "use its https:// address",
    ))
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

/// The path in `sqlite://relative`, `sqlite:///absolute` or `sqlite:path`, parsed like sqlx does.
///
/// # Errors
/// When the URL is for another database, or contains more than a path.
pub(super) fn sqlite_path(url: &str) -> Result<PathBuf, SettingsError> {
    let wrong = |problem: &str| {
        SettingsError::new(
            "GREENLIGHT_DATABASE_URL",
            problem,
            "use sqlite:// and the path of a file",
        )
    };
    let (scheme, rest) = url.split_once(':').ok_or_else(|| wrong("is not a URL"))?;
    match scheme {
        "sqlite" => {}
        "postgres" | "postgresql" => {
            return Err(wrong(
                "is a PostgreSQL URL, but this version keeps its journal in SQLite",
            ));
        }
        _ => return Err(wrong("is not an SQLite URL")),
    }
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path.starts_with(":memory:") {
        return Err(wrong("names no file, but a journal must survive a restart"));
    }
    if path.contains('?') {
        return Err(wrong("has options after a `?`, which are not understood"));
    }
    let path = percent_encoding::percent_decode_str(path).decode_utf8();
    path.map(|path| PathBuf::from(path.as_ref()))
        .map_err(|_| wrong("is not UTF-8"))
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

    #[test]
    fn the_file_of_the_journal() {
        let path = |text| sqlite_path(text).map(|path| path.display().to_string());
        assert_eq!(
            path("sqlite:///var/lib/greenlight/journal.db").unwrap(),
            "/var/lib/greenlight/journal.db"
        );
        assert_eq!(path("sqlite://journal.db").unwrap(), "journal.db");
        assert_eq!(path("sqlite:a%20b.db").unwrap(), "a b.db");
        let error = path("postgres://me:sesame@db/greenlight").unwrap_err().to_string();
        assert!(
            error.contains("keeps its journal in SQLite") && !error.contains("sesame"),
            "{error}"
        );
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
