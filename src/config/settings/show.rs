//! Lists the operator's settings for `greenlight config show`. Of a secret it says only whether there is one.

use std::time::Duration;

use super::{LogFormat, Settings};
use crate::config::addresses::JournalAddress;
use crate::config::environment::Environment;
use crate::config::settings_error::SettingsError;
use crate::config::show::size_in_words;
use crate::domain::model::{Api, ToolUse, Who};

/// In seconds.
const DAY: u64 = 24 * 60 * 60;
const NOT_SET: &str = "not set";

impl Settings {
    /// The settings that were made from this environment and are in effect, each with the name of its variable and with its value in words.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn shown(&self, environment: &Environment) -> Result<Vec<(&'static str, String)>, SettingsError> {
        let secret = |secret: bool| if secret { "set, not shown" } else { NOT_SET }.to_string();
        let or_not = |value: Option<String>| value.unwrap_or_else(|| NOT_SET.into());
        let path = |path: &Option<std::path::PathBuf>| or_not(path.as_ref().map(|path| path.display().to_string()));
        let engine = match self.engine {
            Who::Auto => "auto",
            Who::BuiltIn => "builtin",
            Who::Model => "model",
        };
        let log_format = match self.log_format {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        };
        let database = match self.database()? {
            JournalAddress::File(path) => format!("sqlite://{}", path.display()),
            JournalAddress::Postgres(_) => "a PostgreSQL database, not shown".into(),
        };
        let mut shown = vec![
            ("GREENLIGHT_ENGINE", engine.into()),
            (
                "GREENLIGHT_MODEL",
                or_not(self.model.as_ref().map(|model| model.name.clone())),
            ),
        ];
        if let Some(model) = &self.model {
            let api = match model.api {
                Api::Chat => "chat",
                Api::Responses => "responses",
            };
            let tools = match model.tools {
                ToolUse::Auto => "auto",
                ToolUse::Native => "native",
                ToolUse::Code => "code",
            };
            let fallbacks = Some(model.fallbacks.join(",")).filter(|names| !names.is_empty());
            shown.extend([
                ("GREENLIGHT_MODEL_BASE_URL", model.base_url.to_string()),
                ("GREENLIGHT_MODEL_FALLBACKS", or_not(fallbacks)),
                ("GREENLIGHT_MODEL_API", api.into()),
                ("GREENLIGHT_MODEL_TOOLS", tools.into()),
                (
                    "GREENLIGHT_MODEL_CONTEXT",
                    or_not(model.context.map(|tokens| tokens.to_string())),
                ),
                ("GREENLIGHT_MODEL_API_KEY", secret(!model.has_no_key())),
            ]);
        }
        shown.extend([
            (
                "GREENLIGHT_SANDBOX",
                self.sandbox.clone().unwrap_or_else(|| "auto".into()),
            ),
            ("GREENLIGHT_DOCKER_SOCKET", path(&self.docker_socket)),
            ("GREENLIGHT_DATA_DIR", self.data_dir()?.display().to_string()),
            ("GREENLIGHT_DATABASE_URL", database),
            ("GREENLIGHT_BUNDLES", path(&self.bundles)),
            ("GREENLIGHT_GITHUB_API_URL", self.github_api_url.to_string()),
            ("GREENLIGHT_APP_ID", or_not(self.app_id.map(|id| id.to_string()))),
            ("GREENLIGHT_PRIVATE_KEY", secret(self.private_key.is_some())),
            ("GREENLIGHT_GITHUB_TOKEN", secret(self.github_token.is_some())),
            ("GREENLIGHT_WEBHOOK_SECRET", secret(self.webhook_secret.is_some())),
            ("GREENLIGHT_METRICS_TOKEN", secret(self.metrics_token.is_some())),
            ("GREENLIGHT_REPOSITORIES", self.allow_list.to_string()),
            ("GREENLIGHT_LOG", self.log.clone()),
            ("GREENLIGHT_LOG_FORMAT", log_format.into()),
        ]);
        shown.extend(self.shown_sign_in(environment));
        shown.extend(self.shown_retention());
        Ok(shown)
    }

    /// Without a client secret nobody signs in, but the other settings are shown as they were made.
    fn shown_sign_in(&self, environment: &Environment) -> [(&'static str, String); 3] {
        let page = self.sign_in.as_ref();
        let or_made = |used: Option<String>, name: &'static str| {
            let made = used.or_else(|| environment.get(name).map(String::from));
            (name, made.unwrap_or_else(|| NOT_SET.into()))
        };
        let secret = if page.is_some() { "set, not shown" } else { NOT_SET };
        [
            or_made(page.map(|page| page.client_id.clone()), "GREENLIGHT_CLIENT_ID"),
            ("GREENLIGHT_CLIENT_SECRET", secret.into()),
            or_made(page.map(|page| page.public_url.to_string()), "GREENLIGHT_PUBLIC_URL"),
        ]
    }

    fn shown_retention(&self) -> [(&'static str, String); 3] {
        let time = |duration: Duration| match duration.as_secs() {
            seconds if duration.subsec_nanos() == 0 && seconds.is_multiple_of(DAY) => format!("{}d", seconds / DAY),
            _ => humantime::format_duration(duration).to_string(),
        };
        [
            ("GREENLIGHT_RETENTION_DELIVERIES", time(self.retention.deliveries)),
            ("GREENLIGHT_RETENTION_RUNS", time(self.retention.runs)),
            ("GREENLIGHT_RETENTION_MIRRORS", size_in_words(self.retention.mirrors)),
        ]
    }
}
