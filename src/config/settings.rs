//! The operator's settings: credentials, model, allow-list, storage and logging.
//!
//! A flag takes precedence over the environment, and a `GREENLIGHT_` variable over the common one with the same
//! meaning. Secrets come from a variable or a file, and are never printed or part of an error. No setting in here
//! comes from a repository.

mod show;

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use secrecy::SecretString;
use url::Url;

use super::addresses::{self, JournalAddress, github_url};
use super::allow_list::AllowList;
use super::environment::Environment;
use super::flags::Flags;
pub use super::model::ModelSettings;
use super::retention::Retention;
use super::secrets::{
    CLIENT_SECRET, GITHUB_TOKEN, METRICS_TOKEN, MODEL_API_KEY, PRIVATE_KEY, PrivatePath, WEBHOOK_SECRET, private_key,
};
use super::settings_error::SettingsError;
pub use super::sign_in::SignInSettings;
use super::stored_app::StoredApp;
use crate::domain::model::Who;

const GITHUB_API_URL: &str = "https://api.github.com";
const DATABASE_NAME: &str = "greenlight.db";

/// All settings, validated as far as possible without network access.
///
/// Settings that only some subcommands need have methods, whose errors say what is missing.
#[derive(Debug, Clone)]
pub struct Settings {
    /// REST base URL, without a `/` at the end unless it is the whole path.
    pub github_api_url: Url,
    /// Whether somebody set it.
    names_github: bool,
    pub allow_list: AllowList,
    /// A filter that `tracing_subscriber::EnvFilter` understands.
    pub log: String,
    pub log_format: LogFormat,
    /// The files that secrets and prices were read from.
    named_files: Vec<PrivatePath>,
    /// The name of the wanted sandbox; `None` for the best one.
    pub sandbox: Option<String>,
    /// Where to look for a container engine first.
    pub docker_socket: Option<PathBuf>,
    app_id: Option<u64>,
    private_key: Option<SecretString>,
    github_token: Option<SecretString>,
    webhook_secret: Option<SecretString>,
    metrics_token: Option<SecretString>,
    /// How people sign in to the page. `None` if nobody does.
    pub sign_in: Option<SignInSettings>,
    /// Secret, because the URL of a database server contains a password.
    database_url: Option<SecretString>,
    /// The folder that each run is written to.
    pub bundles: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    /// What is deleted, and when.
    pub retention: Retention,
    /// The settings that were made by flags: the variable of each, and the flag.
    given: Vec<(&'static str, &'static str)>,
    engine: Who,
    model: Option<ModelSettings>,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// How greenlight authenticates to GitHub.
#[derive(Debug, Clone)]
pub enum Credentials {
    App { id: u64, key_pem: SecretString },
    Token(SecretString),
}

impl Settings {
    /// Combines flags, environment and defaults.
    ///
    /// # Errors
    /// The first setting that is wrong. A missing setting is not an error here.
    pub fn new(flags: Flags, environment: &Environment) -> Result<Self, SettingsError> {
        let given = flags.given();
        let settings = Self::put_together(flags, environment).map_err(|error| error.told_of(&given))?;
        Ok(Self { given, ..settings })
    }

    fn put_together(flags: Flags, environment: &Environment) -> Result<Self, SettingsError> {
        let Flags {
            github,
            webhook,
            metrics,
            sign_in,
            record,
            storage,
            retention,
            model,
            sandbox,
            log,
        } = flags;
        let text = |flag: Option<String>, names: &[&str]| {
            flag.filter(|value| !value.is_empty())
                .or_else(|| names.iter().find_map(|name| environment.get(name)).map(String::from))
        };
        let api_url = text(github.github_api_url, &["GREENLIGHT_GITHUB_API_URL", "GITHUB_API_URL"]);
        let prices = model.model_prices.clone();
        let prices = prices.or_else(|| environment.get("GREENLIGHT_MODEL_PRICES").map(PathBuf::from));
        let named_files = [
            PRIVATE_KEY.place(github.private_key_file.as_deref(), environment),
            GITHUB_TOKEN.place(github.github_token_file.as_deref(), environment),
            WEBHOOK_SECRET.place(webhook.webhook_secret_file.as_deref(), environment),
            METRICS_TOKEN.place(metrics.metrics_token_file.as_deref(), environment),
            CLIENT_SECRET.place(sign_in.client_secret_file.as_deref(), environment),
            MODEL_API_KEY.place(model.model_api_key_file.as_deref(), environment),
            prices.map(|path| PrivatePath::new("GREENLIGHT_MODEL_PRICES", path)),
        ];
        let filter = text(log.log, &["GREENLIGHT_LOG"]).unwrap_or_else(|| "info".into());
        Ok(Self {
            github_api_url: github_url(api_url.as_deref().unwrap_or(GITHUB_API_URL))?,
            names_github: api_url.is_some(),
            allow_list: allow_list(text(webhook.repositories, &["GREENLIGHT_REPOSITORIES"]).as_deref())?,
            log: log_filter(filter)?,
            log_format: log_format(text(log.log_format, &["GREENLIGHT_LOG_FORMAT"]).as_deref())?,
            app_id: app_id(text(github.app_id, &["GREENLIGHT_APP_ID"]).as_deref())?,
            named_files: named_files.into_iter().flatten().collect(),
            sandbox: text(sandbox.sandbox, &["GREENLIGHT_SANDBOX"]).filter(|name| name != "auto"),
            docker_socket: sandbox
                .docker_socket
                .or_else(|| environment.get("GREENLIGHT_DOCKER_SOCKET").map(PathBuf::from)),
            private_key: PRIVATE_KEY.read(github.private_key_file.as_deref(), environment)?,
            github_token: GITHUB_TOKEN.read(github.github_token_file.as_deref(), environment)?,
            webhook_secret: WEBHOOK_SECRET.read(webhook.webhook_secret_file.as_deref(), environment)?,
            metrics_token: METRICS_TOKEN.read(metrics.metrics_token_file.as_deref(), environment)?,
            sign_in: SignInSettings::new(sign_in, environment)?,
            database_url: text(storage.database_url, &["GREENLIGHT_DATABASE_URL"]).map(SecretString::from),
            bundles: record
                .bundles
                .or_else(|| environment.get("GREENLIGHT_BUNDLES").map(PathBuf::from)),
            data_dir: storage
                .data_dir
                .or_else(|| environment.get("GREENLIGHT_DATA_DIR").map(PathBuf::from)),
            retention: Retention::new(retention, environment)?,
            given: Vec::new(),
            engine: engine(text(model.engine.clone(), &["GREENLIGHT_ENGINE"]).as_deref())?,
            model: ModelSettings::new(model, environment)?,
        })
    }

    /// The credentials. An App takes precedence over a token, because a workflow always has a token.
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
                "set it to a token, or GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE to those of a GitHub App; \
                 `greenlight serve` without any of them, and without GREENLIGHT_WEBHOOK_SECRET, opens a page that creates \
                 the App",
            )),
        }
    }

    /// The same settings with the App that the setup page stored, unless they have an App themselves.
    ///
    /// # Errors
    /// When its file cannot be used, or it belongs to another GitHub.
    pub fn with_stored_app(self) -> Result<Self, SettingsError> {
        if self.app_id.is_some() || self.private_key.is_some() {
            return Ok(self);
        }
        let folder = self.data_dir()?;
        let Some(app) = StoredApp::read(&folder)? else {
            return Ok(self);
        };
        let sign_in = SignInSettings::stored(&app.settings, app.client_secret);
        let theirs = app.settings.github_api_url;
        if self.names_github && self.github_api_url != theirs {
            let file = StoredApp::file(&folder);
            let problem = format!(
                "is {}, but the App in {} is of {theirs}",
                self.github_api_url,
                file.display()
            );
            let remedy = "unset it, or set GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE to another App";
            return Err(SettingsError::new("GREENLIGHT_GITHUB_API_URL", problem, remedy).told_of(&self.given));
        }
        Ok(Self {
            github_api_url: theirs,
            app_id: Some(app.settings.app_id),
            private_key: Some(app.private_key),
            webhook_secret: self.webhook_secret.or(app.webhook_secret),
            sign_in: self.sign_in.or(sign_in),
            ..self
        })
    }

    /// Whether nothing about an App is set, so that one may be created.
    pub fn has_no_app(&self) -> bool {
        self.app_id.is_none() && self.private_key.is_none() && self.webhook_secret.is_none()
    }

    /// The secret that GitHub signs webhooks with.
    ///
    /// # Errors
    /// When there is none: without it anybody could command greenlight.
    pub fn webhook_secret(&self) -> Result<SecretString, SettingsError> {
        let missing = || WEBHOOK_SECRET.missing("the secret that the webhook is registered with");
        self.webhook_secret.clone().ok_or_else(missing)
    }

    /// The token for reading the metrics from other machines.
    pub fn metrics_token(&self) -> Option<SecretString> {
        self.metrics_token.clone()
    }

    /// The model; `None` for the built-in repair engine alone.
    pub fn model(&self) -> Option<ModelSettings> {
        self.model.clone()
    }

    /// Who makes a fix.
    pub fn engine(&self) -> Who {
        self.engine
    }

    /// The folder for mirrors and the journal, as an absolute path; it need not exist yet.
    ///
    /// # Errors
    /// When none is set and the platform has no default, as for an account without a home folder.
    pub fn data_dir(&self) -> Result<PathBuf, SettingsError> {
        let platform = || {
            let places = choose_native_strategy().ok()?;
            Some(places.data_dir().join("greenlight"))
        };
        let path = self.data_dir.clone().or_else(platform).ok_or_else(|| {
            let problem = "is not set, and this account has no home folder to use instead";
            SettingsError::new(
                "GREENLIGHT_DATA_DIR",
                problem,
                "set it to a folder that greenlight may write to",
            )
        })?;
        std::path::absolute(&path).map_err(|error| {
            let problem = format!("is not a usable path: {error}");
            SettingsError::new(
                "GREENLIGHT_DATA_DIR",
                problem,
                "set it to the absolute path of a folder",
            )
        })
    }

    /// Everything that code under test must not read: files with secrets or prices, the data folder, the journal, and
    /// bundles.
    ///
    /// # Errors
    /// When one of these settings is wrong.
    pub fn private_places(&self) -> Result<Vec<PrivatePath>, SettingsError> {
        let mut places = self.named_files.clone();
        places.push(PrivatePath::new("GREENLIGHT_DATA_DIR", self.data_dir()?));
        if let JournalAddress::File(file) = self.database()? {
            places.push(PrivatePath::new("GREENLIGHT_DATABASE_URL", file));
        }
        places.extend(
            self.bundles
                .as_ref()
                .map(|path| PrivatePath::new("GREENLIGHT_BUNDLES", path)),
        );
        Ok(places)
    }

    /// Where the journal is; an SQLite file in the data folder if nothing is set.
    ///
    /// # Errors
    /// When the URL is for another database, or there is no data folder for the default.
    pub fn database(&self) -> Result<JournalAddress, SettingsError> {
        match &self.database_url {
            None => Ok(JournalAddress::File(self.data_dir()?.join(DATABASE_NAME))),
            Some(url) => addresses::journal(url).map_err(|error| error.told_of(&self.given)),
        }
    }
}

fn app_id(text: Option<&str>) -> Result<Option<u64>, SettingsError> {
    let wrong = |_| {
        let problem = "is not a number";
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
            format!("is not a filter: {error}"),
            "use one such as `info` or `warn,greenlight=debug`",
        )),
    }
}

/// A value that was set, for a message.
fn quoted(value: &str) -> String {
    format!("{:?}", value.chars().take(40).collect::<String>())
}

fn engine(text: Option<&str>) -> Result<Who, SettingsError> {
    match text {
        None | Some("auto") => Ok(Who::Auto),
        Some("builtin") => Ok(Who::BuiltIn),
        Some("model") => Ok(Who::Model),
        Some(other) => Err(SettingsError::new(
            "GREENLIGHT_ENGINE",
            format!("does not name an engine: {}", quoted(other)),
            "set it to `auto`, `builtin` or `model`",
        )),
    }
}

fn log_format(text: Option<&str>) -> Result<LogFormat, SettingsError> {
    match text {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(SettingsError::new(
            "GREENLIGHT_LOG_FORMAT",
            format!("is not a format: {}", quoted(other)),
            "use `text` or `json`",
        )),
    }
}

#[cfg(test)]
mod tests;
