//! Which value is used when flags and environment disagree, and the messages about mistakes.

use secrecy::ExposeSecret as _;

use super::*;
use crate::config::flags::{GithubFlags, ModelFlags};

const PEM: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

fn settings(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::new(Flags::default(), &pairs.iter().copied().collect())
}

#[track_caller]
fn refused(pairs: &[(&str, &str)], setting: &str, part: &str) {
    let error = settings(pairs).unwrap_err();
    assert_eq!(error.setting, setting);
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn nothing_set_means_the_documented_defaults() {
    let settings = settings(&[]).unwrap();
    assert_eq!(settings.github_api_url.as_str(), "https://api.github.com/");
    assert_eq!(settings.allow_list, AllowList::All);
    assert_eq!((settings.log.as_str(), settings.log_format), ("info", LogFormat::Text));
    assert!(settings.model().is_none());
    let missing = settings.webhook_secret().unwrap_err().to_string();
    assert!(
        missing.starts_with("GREENLIGHT_WEBHOOK_SECRET is not set; set it to"),
        "{missing}"
    );
    let missing = settings.credentials().unwrap_err().to_string();
    assert!(
        missing.contains("GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE"),
        "{missing}"
    );
}

#[test]
fn flag_over_own_variable_over_common_variable() {
    let environment: Environment = [
        ("GITHUB_API_URL", "https://common.example"),
        ("GREENLIGHT_GITHUB_API_URL", "https://own.example"),
        ("OPENAI_BASE_URL", "http://common.example/v1"),
    ]
    .into_iter()
    .collect();
    let own = Settings::new(Flags::default(), &environment).unwrap();
    assert_eq!(own.github_api_url.as_str(), "https://own.example/");
    let flags = Flags {
        github: GithubFlags {
            github_api_url: Some("https://flag.example".into()),
            ..GithubFlags::default()
        },
        model: ModelFlags {
            model: Some("tiny".into()),
            ..ModelFlags::default()
        },
        ..Flags::default()
    };
    let flagged = Settings::new(flags, &environment).unwrap();
    assert_eq!(flagged.github_api_url.as_str(), "https://flag.example/");
    let model = flagged.model().unwrap();
    assert_eq!(
        (model.name.as_str(), model.base_url.as_str()),
        ("tiny", "http://common.example/v1")
    );
    assert_eq!(model.api_key.expose_secret(), "");
}

#[test]
fn an_app_wins_over_a_token_and_half_an_app_is_an_error() {
    let (id, key, token) = (
        ("GREENLIGHT_APP_ID", "7"),
        ("GREENLIGHT_PRIVATE_KEY", PEM),
        ("GITHUB_TOKEN", "t"),
    );
    let credentials = |pairs: &[_]| settings(pairs).unwrap().credentials();
    assert!(matches!(
        credentials(&[id, key, token]),
        Ok(Credentials::App { id: 7, .. })
    ));
    assert!(matches!(credentials(&[token]), Ok(Credentials::Token(_))));
    assert_eq!(credentials(&[id, token]).unwrap_err().setting, "GREENLIGHT_PRIVATE_KEY");
    assert_eq!(credentials(&[key, token]).unwrap_err().setting, "GREENLIGHT_APP_ID");
    let bad = credentials(&[id, ("GREENLIGHT_PRIVATE_KEY", "no key")]).unwrap_err();
    assert!(bad.to_string().contains("is not an RSA private key"), "{bad}");
    refused(
        &[("GREENLIGHT_APP_ID", "Iv1.8a61f9b3a7aba766")],
        "GREENLIGHT_APP_ID",
        "not the client ID",
    );
}

#[test]
fn wrong_settings_are_reported_at_the_start() {
    refused(
        &[("GREENLIGHT_REPOSITORIES", "octo")],
        "GREENLIGHT_REPOSITORIES",
        "`owner/name,owner/*`",
    );
    refused(&[("GREENLIGHT_LOG", "info,=")], "GREENLIGHT_LOG", "is not a filter");
    refused(
        &[("GREENLIGHT_LOG_FORMAT", "xml")],
        "GREENLIGHT_LOG_FORMAT",
        "`text` or `json`",
    );
    refused(
        &[("GREENLIGHT_MODEL_BASE_URL", "localhost:1234/v1")],
        "GREENLIGHT_MODEL_BASE_URL",
        "not an http",
    );
}

#[test]
fn the_journal_is_in_the_data_folder_by_default() {
    let folder = settings(&[("GREENLIGHT_DATA_DIR", "/srv/greenlight")]).unwrap();
    let file = |settings: &Settings| match settings.database().unwrap() {
        JournalAddress::File(file) => file,
        JournalAddress::Postgres(_) => panic!("not a file"),
    };
    assert_eq!(file(&folder), PathBuf::from("/srv/greenlight/greenlight.db"));
    let told = settings(&[("GREENLIGHT_DATABASE_URL", "sqlite:///tmp/j.db")]).unwrap();
    assert_eq!(file(&told), PathBuf::from("/tmp/j.db"));
    assert!(
        settings(&[("GREENLIGHT_DATA_DIR", "x")])
            .unwrap()
            .data_dir()
            .unwrap()
            .is_absolute()
    );
}

#[test]
fn a_dump_of_the_settings_shows_no_secret() {
    let all = [
        ("GREENLIGHT_PRIVATE_KEY", "sesame"),
        ("GREENLIGHT_GITHUB_TOKEN", "sesame"),
        ("GREENLIGHT_WEBHOOK_SECRET", "sesame"),
        ("GREENLIGHT_DATABASE_URL", "postgres://me:sesame@db/x"),
        ("GREENLIGHT_MODEL", "m"),
        ("GREENLIGHT_MODEL_API_KEY", "sesame"),
    ];
    let settings = settings(&all).unwrap();
    assert!(!format!("{settings:?} {:?}", settings.model()).contains("sesame"));
}

#[test]
fn retention_has_defaults_and_bounds() {
    let kept = |pairs: &[(&str, &str)]| settings(pairs).unwrap().retention;
    let days = |duration: std::time::Duration| duration.as_secs() / 86_400;
    let default = kept(&[("GREENLIGHT_RETENTION_RUNS", "")]);
    assert_eq!((days(default.deliveries), days(default.runs)), (30, 180));
    assert_eq!(default.mirrors, 32 << 30);
    let set = kept(&[
        ("GREENLIGHT_RETENTION_DELIVERIES", "72h"),
        ("GREENLIGHT_RETENTION_RUNS", "1y"),
        ("GREENLIGHT_RETENTION_MIRRORS", "4GiB"),
    ]);
    assert_eq!((days(set.deliveries), days(set.runs), set.mirrors), (3, 365, 4 << 30));
    for (setting, value, part) in [
        ("GREENLIGHT_RETENTION_DELIVERIES", "2d", "set it to 3 to 3650 days"),
        ("GREENLIGHT_RETENTION_DELIVERIES", "soon", "is not a duration"),
        ("GREENLIGHT_RETENTION_RUNS", "0s", "set it to 1 to 3650 days"),
        ("GREENLIGHT_RETENTION_RUNS", "4000d", "too long"),
        ("GREENLIGHT_RETENTION_MIRRORS", "4", "is not a size"),
        ("GREENLIGHT_RETENTION_MIRRORS", "1MiB", "set it to 4GiB to 64TiB"),
    ] {
        refused(&[(setting, value)], setting, part);
    }
}

#[test]
fn an_error_names_the_flag_or_variable_that_was_used() {
    let flags = Flags {
        model: ModelFlags {
            engine: Some("gpt".into()),
            ..ModelFlags::default()
        },
        ..Flags::default()
    };
    let error = Settings::new(flags, &Environment::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "--engine does not name an engine: \"gpt\"; set it to `auto`, `builtin` or `model`"
    );
    refused(
        &[("GREENLIGHT_ENGINE", "gpt")],
        "GREENLIGHT_ENGINE",
        "does not name an engine: \"gpt\"",
    );
    let flags = Flags {
        github: GithubFlags {
            private_key_file: Some("/nowhere.pem".into()),
            ..GithubFlags::default()
        },
        ..Flags::default()
    };
    let error = Settings::new(flags, &Environment::default()).unwrap_err();
    assert_eq!(error.setting, "--private-key-file");
    refused(
        &[("GREENLIGHT_PRIVATE_KEY_FILE", "/nowhere.pem")],
        "GREENLIGHT_PRIVATE_KEY_FILE",
        "names /nowhere.pem",
    );
}

/// An App in a data folder, and the settings of a service with that folder and these variables.
fn with_stored(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let folder = tempfile::tempdir().unwrap();
    let app = crate::config::stored_app::StoredApp {
        settings: crate::config::stored_app::StoredSettings {
            app_id: 7,
            slug: "green".into(),
            client_id: "Iv1".into(),
            github_api_url: "https://ghe.example/api/v3".parse().unwrap(),
            public_url: "https://bots.example".parse().unwrap(),
        },
        client_secret: "client-sesame".into(),
        webhook_secret: Some("stored-secret".into()),
        private_key: PEM.into(),
    };
    app.keep(folder.path()).unwrap();
    let data = [("GREENLIGHT_DATA_DIR", folder.path().to_str().unwrap())];
    let settings = settings(&[&data, pairs].concat()).unwrap();
    settings.with_stored_app()
}

#[test]
fn a_stored_app_counts_unless_the_environment_has_one() {
    let stored = with_stored(&[("GITHUB_TOKEN", "t")]).unwrap();
    assert!(matches!(stored.credentials().unwrap(), Credentials::App { id: 7, .. }));
    assert_eq!(stored.webhook_secret().unwrap().expose_secret(), "stored-secret");
    assert_eq!(stored.github_api_url.as_str(), "https://ghe.example/api/v3");
    let sign_in = stored.sign_in.unwrap();
    assert_eq!(
        (sign_in.client_id.as_str(), sign_in.public_url.as_str()),
        ("Iv1", "https://bots.example/")
    );
    let secret = with_stored(&[("GREENLIGHT_WEBHOOK_SECRET", "own")]).unwrap();
    assert_eq!(secret.webhook_secret().unwrap().expose_secret(), "own");
    let own = with_stored(&[("GREENLIGHT_APP_ID", "8"), ("GREENLIGHT_PRIVATE_KEY", PEM)]).unwrap();
    assert!(matches!(own.credentials().unwrap(), Credentials::App { id: 8, .. }));
    assert!(own.webhook_secret().is_err(), "half of another App");
    let elsewhere = with_stored(&[("GITHUB_API_URL", "https://api.github.com")]).unwrap_err();
    assert_eq!(elsewhere.setting, "GREENLIGHT_GITHUB_API_URL");
    assert!(!elsewhere.to_string().contains("sesame"), "{elsewhere}");
}

#[test]
fn an_app_may_be_created_only_where_nothing_about_one_is_set() {
    assert!(settings(&[("GITHUB_TOKEN", "t")]).unwrap().has_no_app());
    for (name, value) in [
        ("GREENLIGHT_APP_ID", "1"),
        ("GREENLIGHT_PRIVATE_KEY", PEM),
        ("GREENLIGHT_WEBHOOK_SECRET", "s"),
    ] {
        assert!(!settings(&[(name, value)]).unwrap().has_no_app(), "{name}");
    }
}
