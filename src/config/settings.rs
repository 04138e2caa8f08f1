//! The settings of whoever runs greenlight: credentials, model, allow-list, storage and logging.
//!
//! A flag wins over the environment, and a `GREENLIGHT_` variable over the common one of the same meaning. Secrets
//! come from a variable or from a file, and are neither shown nor part of an error. Nothing in here comes from a
//! repository.

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::addresses::{base_url, github_url, sqlite_path};
use super::allow_list::AllowList;
use super::environment::Environment;
use super::flags::Flags;
use super::secrets::{GITHUB_TOKEN, MODEL_API_KEY, PRIVATE_KEY, WEBHOOK_SECRET, private_key};

const GITHUB_API_URL: &str = "https://api.github.com";
const MODEL_BASE_URL: &str = "https://api.openai.com/v1";
const DATABASE_NAME: &str = "greenlight.db";

/// A setting that is missing or wrong, and how to set it. Never holds the value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {problem}; {remedy}")]
pub struct SettingsError {
    pub setting: &'static str,
    pub problem: String,
    pub remedy: String,
}

impl SettingsError {
    pub fn new(setting: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            setting,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// Everything that was set, checked as far as that goes without asking anybody.
///
/// What only some subcommands need is asked for by a method, which then says what is missing.
#[derive(Debug, Clone)]
pub struct Settings {
    /// REST base URL, without a `/` at the end unless it is the whole path.
    pub github_api_url: Url,
    pub allow_list: AllowList,
    /// A filter that `tracing_subscriber::EnvFilter` understands.
    pub log: String,
    pub log_format: LogFormat,
    /// The files that secrets were read from: nothing that runs untrusted code may show them.
    pub secret_files: Vec<PathBuf>,
    app_id: Option<u64>,
    private_key: Option<SecretString>,
    github_token: Option<SecretString>,
    webhook_secret: Option<SecretString>,
    /// Secret, because the URL of a database server has a password in it.
    database_url: Option<SecretString>,
    data_dir: Option<PathBuf>,
    model: Option<ModelSettings>,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The model that thinks.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Any OpenAI-compatible endpoint, up to and without `/chat/completions`; no `/` at the end.
    pub base_url: Url,
    pub name: String,
    /// Empty for servers that want none.
    pub api_key: SecretString,
}

/// What greenlight shows GitHub to be let in.
#[derive(Debug, Clone)]
pub enum Credentials {
    App { id: u64, key_pem: SecretString },
    Token(SecretString),
}

impl Settings {
    /// Puts flags, environment and defaults together.
    ///
    /// # Errors
    /// The first setting that is wrong. What is merely missing is no error here.
    pub fn new(flags: Flags, environment: &Environment) -> Result<Self, SettingsError> {
        let Flags {
            github,
            webhook,
            storage,
            model,
            log,
        } = flags;
        let text = |flag: Option<String>, names: &[&str]| {
            flag.filter(|value| !value.is_empty())
                .or_else(|| names.iter().find_map(|name| environment.get(name)).map(String::from))
        };
        let api_url = text(github.github_api_url, &["GREENLIGHT_GITHUB_API_URL", "GITHUB_API_URL"]);
        let model_url = text(model.model_base_url, &["GREENLIGHT_MODEL_BASE_URL", "OPENAI_BASE_URL"]);
        let model_url = model_url.as_deref().unwrap_or(MODEL_BASE_URL);
        let model_url = base_url("GREENLIGHT_MODEL_BASE_URL", model_url)?;
        let secret_files = [
            PRIVATE_KEY.file(github.private_key_file.as_deref(), environment),
            GITHUB_TOKEN.file(github.github_token_file.as_deref(), environment),
            WEBHOOK_SECRET.file(webhook.webhook_secret_file.as_deref(), environment),
            MODEL_API_KEY.file(model.model_api_key_file.as_deref(), environment),
        ];
        let model_key = MODEL_API_KEY.read(model.model_api_key_file.as_deref(), environment)?;
        let filter = text(log.log, &["GREENLIGHT_LOG"]).unwrap_or_else(|| "info".into());
        Ok(Self {
            github_api_url: github_url(api_url.as_deref().unwrap_or(GITHUB_API_URL))?,
            allow_list: allow_list(text(webhook.repositories, &["GREENLIGHT_REPOSITORIES"]).as_deref())?,
            log: log_filter(filter)?,
            log_format: log_format(text(log.log_format, &["GREENLIGHT_LOG_FORMAT"]).as_deref())?,
            app_id: app_id(text(github.app_id, &["GREENLIGHT_APP_ID"]).as_deref())?,
            secret_files: secret_files.into_iter().flatten().collect(),
            private_key: PRIVATE_KEY.read(github.private_key_file.as_deref(), environment)?,
            github_token: GITHUB_TOKEN.read(github.github_token_file.as_deref(), environment)?,
            webhook_secret: WEBHOOK_SECRET.read(webhook.webhook_secret_file.as_deref(), environment)?,
            database_url: text(storage.database_url, &["GREENLIGHT_DATABASE_URL"]).map(SecretString::from),
            data_dir: storage
                .data_dir
                .or_else(|| environment.get("GREENLIGHT_DATA_DIR").map(PathBuf::from)),
            model: text(model.model, &["GREENLIGHT_MODEL"]).map(|name| ModelSettings {
                base_url: model_url,
                name,
                api_key: model_key.unwrap_or_default(),
            }),
        })
    }

    /// The credentials; an App wins over a token, which a workflow always has.
    ///
    /// # Errors
    /// When there are none, or only half of an App's.
    pub fn credentials(&self) -> Result<Credentials, SettingsError> {
        match (self.app_id, &self.private_key, &self.github_token) {
            (Some(id), Some(key), _) => Ok(Credentials::App {
                id,
                key_pem: private_key(key)?,
            }),
            (Some(_), None, _) => Err(PRIVATE_KEY.missing("the private key of the GitHub App")),
            (None, Some(_), _) => Err(SettingsError::new(
                "GREENLIGHT_APP_ID",
                "is not set, but a private key is",
                "set it to the App ID shown on the settings page of the GitHub App",
            )),
            (None, None, Some(token)) => Ok(Credentials::Token(token.clone())),
            (None, None, None) => Err(SettingsError::new(
                "GREENLIGHT_GITHUB_TOKEN",
                "is not set, and no GitHub App either",
                "set it to a token, or GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE to those of a GitHub App",
            )),
        }
    }

    /// The secret that GitHub signs webhooks with.
    ///
    /// # Errors
    /// When there is none: without it anybody could command greenlight.
    pub fn webhook_secret(&self) -> Result<SecretString, SettingsError> {
        let missing = || WEBHOOK_SECRET.missing("the secret that the webhook is registered with");
        self.webhook_secret.clone().ok_or_else(missing)
    }

    /// The model, or none for the built-in repair engine alone.
    pub fn model(&self) -> Option<ModelSettings> {
        self.model.clone()
    }

    /// The folder for mirrors and the journal, as an absolute path; it need not exist yet.
    ///
    /// # Errors
    /// When none is set and the platform has no place for one, as for an account without a home.
    pub fn data_dir(&self) -> Result<PathBuf, SettingsError> {
        let platform = || {
            let places = choose_native_strategy().ok()?;
            Some(places.data_dir().join("greenlight"))
        };
        let path = self.data_dir.clone().or_else(platform).ok_or_else(|| {
            let problem = "is not set, and this account has no home folder to take instead";
            SettingsError::new(
                "GREENLIGHT_DATA_DIR",
                problem,
                "set it to a folder that greenlight may write to",
            )
        })?;
        std::path::absolute(&path).map_err(|error| {
            let problem = format!("is no usable path: {error}");
            SettingsError::new(
                "GREENLIGHT_DATA_DIR",
                problem,
                "set it to the absolute path of a folder",
            )
        })
    }

    /// The file of the journal; it need not exist yet.
    ///
    /// # Errors
    /// When the URL is none of SQLite's, or there is no data folder to put the default into.
    pub fn database(&self) -> Result<PathBuf, SettingsError> {
        match &self.database_url {
            None => Ok(self.data_dir()?.join(DATABASE_NAME)),
            Some(url) => sqlite_path(url.expose_secret()),
        }
    }
}

fn app_id(text: Option<&str>) -> Result<Option<u64>, SettingsError> {
    let wrong = |_| {
        let problem = "is no number";
        let remedy = "set it to the App ID (not the client ID) shown on the settings page of the GitHub App";
        SettingsError::new("GREENLIGHT_APP_ID", problem, remedy)
    };
    text.map(|text| text.trim().parse().map_err(wrong)).transpose()
}

fn allow_list(text: Option<&str>) -> Result<AllowList, SettingsError> {
    let remedy = "list repositories as `owner/name,owner/*`, or unset it to work for all of the installation";
    let wrong = |problem| SettingsError::new("GREENLIGHT_REPOSITORIES", problem, remedy);
    text.map_or(Ok(AllowList::All), |text| AllowList::parse(text).map_err(wrong))
}

fn log_filter(filter: String) -> Result<String, SettingsError> {
    match tracing_subscriber::EnvFilter::try_new(&filter) {
        Ok(_) => Ok(filter),
        Err(error) => Err(SettingsError::new(
            "GREENLIGHT_LOG",
            format!("is no filter: {error}"),
            "use one such as `info` or `warn,greenlight=debug`",
        )),
    }
}

fn log_format(text: Option<&str>) -> Result<LogFormat, SettingsError> {
    match text {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(_) => Err(SettingsError::new(
            "GREENLIGHT_LOG_FORMAT",
            "is no format",
            "use `text` or `json`",
        )),
    }
}

#[cfg(test)]
mod tests {
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
        assert!(bad.to_string().contains("is no RSA private key"), "{bad}");
        refused(
            &[("GREENLIGHT_APP_ID", "Iv1.8a61f9b3a7aba766")],
            "GREENLIGHT_APP_ID",
            "not the client ID",
        );
    }

    #[test]
    fn what_is_wrong_is_said_at_the_start() {
        refused(
            &[("GREENLIGHT_REPOSITORIES", "octo")],
            "GREENLIGHT_REPOSITORIES",
            "`owner/name,owner/*`",
        );
        refused(&[("GREENLIGHT_LOG", "info,=")], "GREENLIGHT_LOG", "is no filter");
        refused(
            &[("GREENLIGHT_LOG_FORMAT", "xml")],
            "GREENLIGHT_LOG_FORMAT",
            "`text` or `json`",
        );
        refused(
            &[("GREENLIGHT_MODEL_BASE_URL", "localhost:1234/v1")],
            "GREENLIGHT_MODEL_BASE_URL",
            "no http",
        );
    }

    #[test]
    fn the_journal_is_in_the_data_folder_unless_told_otherwise() {
        let folder = settings(&[("GREENLIGHT_DATA_DIR", "/srv/greenlight")]).unwrap();
        assert_eq!(
            folder.database().unwrap(),
            PathBuf::from("/srv/greenlight/greenlight.db")
        );
        let told = settings(&[("GREENLIGHT_DATABASE_URL", "sqlite:///tmp/j.db")]).unwrap();
        assert_eq!(told.database().unwrap(), PathBuf::from("/tmp/j.db"));
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
}
