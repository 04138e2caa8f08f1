//! Command-line flags for settings, in groups, so that each subcommand takes only the flags it needs.
//!
//! Every setting has an environment variable, which its help names. Flags for secrets take the path of a file, never
//! the secret itself: other users of the machine can see arguments, and shell histories and CI logs keep them.

use std::path::PathBuf;

use super::offered::{Offered, SANDBOXES};

/// A part of the built-in engine that a person can leave out: a rung of the ladder, or the comparison of edits that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, clap::ValueEnum)]
pub enum EnginePart {
    /// Fixes that the tools of the project make
    Tool,
    /// Fixes that were accepted for the same failure
    Memory,
    /// Reverted hunks of the change
    Revert,
    /// Small edits
    Search,
    /// Comparing the edits that pass the tests, to see whether they behave differently
    Compare,
}

/// All settings. A subcommand flattens this, or only the groups that it needs, with the others at their defaults.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Flags {
    #[command(flatten)]
    pub github: GithubFlags,
    #[command(flatten)]
    pub webhook: WebhookFlags,
    #[command(flatten)]
    pub metrics: MetricsFlags,
    #[command(flatten)]
    pub sign_in: SignInFlags,
    #[command(flatten)]
    pub record: RecordFlags,
    #[command(flatten)]
    pub storage: StorageFlags,
    #[command(flatten)]
    pub retention: RetentionFlags,
    #[command(flatten)]
    pub model: ModelFlags,
    #[command(flatten)]
    pub sandbox: SandboxFlags,
    #[command(flatten)]
    pub log: LogFlags,
}

impl Flags {
    /// The settings made by flags: the environment variable of each, and the flag. The code that reads secrets
    /// handles their files.
    pub(super) fn given(&self) -> Vec<(&'static str, &'static str)> {
        let Self {
            github,
            webhook,
            // Its only flag names the file of a secret.
            metrics: _,
            sign_in,
            record,
            storage,
            retention,
            model,
            sandbox,
            log,
        } = self;
        let all = [
            (
                github.github_api_url.is_some(),
                "GREENLIGHT_GITHUB_API_URL",
                "--github-api-url",
            ),
            (github.app_id.is_some(), "GREENLIGHT_APP_ID", "--app-id"),
            (
                webhook.repositories.is_some(),
                "GREENLIGHT_REPOSITORIES",
                "--repositories",
            ),
            (record.bundles.is_some(), "GREENLIGHT_BUNDLES", "--bundles"),
            (
                storage.database_url.is_some(),
                "GREENLIGHT_DATABASE_URL",
                "--database-url",
            ),
            (storage.data_dir.is_some(), "GREENLIGHT_DATA_DIR", "--data-dir"),
            (model.engine.is_some(), "GREENLIGHT_ENGINE", "--engine"),
            (model.model.is_some(), "GREENLIGHT_MODEL", "--model"),
            (
                model.model_base_url.is_some(),
                "GREENLIGHT_MODEL_BASE_URL",
                "--model-base-url",
            ),
            (
                model.model_fallbacks.is_some(),
                "GREENLIGHT_MODEL_FALLBACKS",
                "--model-fallbacks",
            ),
            (model.model_api.is_some(), "GREENLIGHT_MODEL_API", "--model-api"),
            (model.model_tools.is_some(), "GREENLIGHT_MODEL_TOOLS", "--model-tools"),
            (
                model.model_prices.is_some(),
                "GREENLIGHT_MODEL_PRICES",
                "--model-prices",
            ),
            (
                model.model_context.is_some(),
                "GREENLIGHT_MODEL_CONTEXT",
                "--model-context",
            ),
            (sandbox.sandbox.is_some(), "GREENLIGHT_SANDBOX", "--sandbox"),
            (
                sandbox.docker_socket.is_some(),
                "GREENLIGHT_DOCKER_SOCKET",
                "--docker-socket",
            ),
            (log.log.is_some(), "GREENLIGHT_LOG", "--log"),
            (log.log_format.is_some(), "GREENLIGHT_LOG_FORMAT", "--log-format"),
        ];
        let given = all
            .into_iter()
            .chain(sign_in.given())
            .chain(retention.given())
            .filter(|(is_given, ..)| *is_given);
        given.map(|(_, variable, flag)| (variable, flag)).collect()
    }
}

/// How to reach GitHub.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct GithubFlags {
    /// REST base URL of GitHub or GitHub Enterprise Server [env: GREENLIGHT_GITHUB_API_URL, GITHUB_API_URL]
    #[arg(long, value_name = "URL", help_heading = "GitHub")]
    pub github_api_url: Option<String>,
    /// App ID of the GitHub App [env: GREENLIGHT_APP_ID]
    #[arg(long, value_name = "NUMBER", help_heading = "GitHub")]
    pub app_id: Option<String>,
    /// File with the private key of the GitHub App [env: GREENLIGHT_PRIVATE_KEY_FILE; the key itself: GREENLIGHT_PRIVATE_KEY]
    #[arg(long, value_name = "FILE", help_heading = "GitHub")]
    pub private_key_file: Option<PathBuf>,
    /// File with a token, instead of an App [env: GREENLIGHT_GITHUB_TOKEN_FILE; the token itself: GREENLIGHT_GITHUB_TOKEN, GITHUB_TOKEN]
    #[arg(long, value_name = "FILE", help_heading = "GitHub")]
    pub github_token_file: Option<PathBuf>,
}

impl GithubFlags {
    /// Whether any of them was given.
    pub fn is_any(&self) -> bool {
        self.github_api_url.is_some()
            || self.app_id.is_some()
            || self.private_key_file.is_some()
            || self.github_token_file.is_some()
    }
}

/// Settings for incoming webhooks.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WebhookFlags {
    /// File with the webhook secret [env: GREENLIGHT_WEBHOOK_SECRET_FILE; the secret itself: GREENLIGHT_WEBHOOK_SECRET]
    #[arg(long, value_name = "FILE", help_heading = "GitHub")]
    pub webhook_secret_file: Option<PathBuf>,
    /// Only work on these repositories: `owner/name,owner/*` [env: GREENLIGHT_REPOSITORIES]
    #[arg(long, value_name = "LIST", help_heading = "GitHub")]
    pub repositories: Option<String>,
}

/// Who may read the metrics.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct MetricsFlags {
    /// File with the token for reading `/metrics` from other machines; without one, only programs on this machine may
    /// [env: GREENLIGHT_METRICS_TOKEN_FILE; the token itself: GREENLIGHT_METRICS_TOKEN]
    #[arg(long, value_name = "FILE", help_heading = "Metrics")]
    pub metrics_token_file: Option<PathBuf>,
}

/// How people sign in to the page.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SignInFlags {
    /// Client ID of the GitHub App, with which people sign in to the page [env: GREENLIGHT_CLIENT_ID]
    #[arg(long, value_name = "ID", help_heading = "Page")]
    pub client_id: Option<String>,
    /// File with a client secret of the GitHub App; without one, nobody signs in
    /// [env: GREENLIGHT_CLIENT_SECRET_FILE; the secret itself: GREENLIGHT_CLIENT_SECRET]
    #[arg(long, value_name = "FILE", help_heading = "Page")]
    pub client_secret_file: Option<PathBuf>,
    /// The address at which people reach greenlight, such as `https://greenlight.example.org` [env: GREENLIGHT_PUBLIC_URL]
    #[arg(long, value_name = "URL", help_heading = "Page")]
    pub public_url: Option<String>,
}

impl RetentionFlags {
    fn given(&self) -> [(bool, &'static str, &'static str); 3] {
        [
            (
                self.retention_deliveries.is_some(),
                "GREENLIGHT_RETENTION_DELIVERIES",
                "--retention-deliveries",
            ),
            (
                self.retention_runs.is_some(),
                "GREENLIGHT_RETENTION_RUNS",
                "--retention-runs",
            ),
            (
                self.retention_mirrors.is_some(),
                "GREENLIGHT_RETENTION_MIRRORS",
                "--retention-mirrors",
            ),
        ]
    }
}

impl SignInFlags {
    fn given(&self) -> [(bool, &'static str, &'static str); 2] {
        [
            (self.client_id.is_some(), "GREENLIGHT_CLIENT_ID", "--client-id"),
            (self.public_url.is_some(), "GREENLIGHT_PUBLIC_URL", "--public-url"),
        ]
    }
}

/// Which records of runs are kept for later inspection.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RecordFlags {
    /// Folder to write each run to, as a file for `greenlight replay`; the files contain code. Not written if not set
    /// [env: GREENLIGHT_BUNDLES]
    #[arg(long, value_name = "PATH", help_heading = "Storage")]
    pub bundles: Option<PathBuf>,
}

/// Where greenlight stores its data.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StorageFlags {
    /// The journal: `sqlite://PATH`, or `postgres://USER@HOST/DATABASE` for many machines; SQLite in the data folder if not
    /// set [env: GREENLIGHT_DATABASE_URL]
    #[arg(long, value_name = "URL", help_heading = "Storage")]
    pub database_url: Option<String>,
    /// Folder for mirrors and the journal [env: GREENLIGHT_DATA_DIR]
    #[arg(long, value_name = "PATH", help_heading = "Storage")]
    pub data_dir: Option<PathBuf>,
}

/// What greenlight deletes, and when.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RetentionFlags {
    /// How long ids of processed deliveries are kept; 30d if not set [env: GREENLIGHT_RETENTION_DELIVERIES]
    #[arg(long, value_name = "DURATION", help_heading = "Storage")]
    pub retention_deliveries: Option<String>,
    /// How long finished runs and their bundles are kept, counted from the start of a run; 180d if not set
    /// [env: GREENLIGHT_RETENTION_RUNS]
    #[arg(long, value_name = "DURATION", help_heading = "Storage")]
    pub retention_runs: Option<String>,
    /// Total size of all repository mirrors; 32GiB if not set [env: GREENLIGHT_RETENTION_MIRRORS]
    #[arg(long, value_name = "SIZE", help_heading = "Storage")]
    pub retention_mirrors: Option<String>,
}

/// Only the data folder, for subcommands without a journal.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FolderFlags {
    /// Folder for data kept between runs: installed packages, and accepted or rejected fixes [env: GREENLIGHT_DATA_DIR]
    #[arg(long, value_name = "PATH", help_heading = "Storage")]
    pub data_dir: Option<PathBuf>,
}

impl From<FolderFlags> for StorageFlags {
    fn from(FolderFlags { data_dir }: FolderFlags) -> Self {
        Self {
            database_url: None,
            data_dir,
        }
    }
}

/// Which model to use. Without one, the built-in repair engine works alone.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ModelFlags {
    /// What works out a fix: `builtin`, the built-in repair engine; `model`; or `auto`, the built-in engine first and then
    /// the model, if one is set [env: GREENLIGHT_ENGINE]
    #[arg(long, value_name = "ENGINE", help_heading = "Model", value_parser = Offered(&["auto", "builtin", "model"]), hide_possible_values = true)]
    pub engine: Option<String>,
    /// Name of the model; without one the built-in repair engine works alone [env: GREENLIGHT_MODEL]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub model: Option<String>,
    /// Base URL of an OpenAI-compatible endpoint [env: GREENLIGHT_MODEL_BASE_URL, OPENAI_BASE_URL]
    #[arg(long, value_name = "URL", help_heading = "Model")]
    pub model_base_url: Option<String>,
    /// File with the API key [env: GREENLIGHT_MODEL_API_KEY_FILE; the key itself: GREENLIGHT_MODEL_API_KEY, OPENAI_API_KEY]
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub model_api_key_file: Option<PathBuf>,
    /// Fallback models at the same endpoint, tried in order when the first is unavailable: `one,two` [env: GREENLIGHT_MODEL_FALLBACKS]
    #[arg(long, value_name = "LIST", help_heading = "Model")]
    pub model_fallbacks: Option<String>,
    /// API of the endpoint: `chat` for chat completions, or `responses` [env: GREENLIGHT_MODEL_API]
    #[arg(long, value_name = "API", help_heading = "Model", value_parser = Offered(&["chat", "responses"]), hide_possible_values = true)]
    pub model_api: Option<String>,
    /// How the model acts: `native` for tool calls, `code` for blocks of code in the sandbox; `auto` tries tool calls
    /// first [env: GREENLIGHT_MODEL_TOOLS]
    #[arg(long, value_name = "WAY", help_heading = "Model", value_parser = Offered(&["auto", "native", "code"]), hide_possible_values = true)]
    pub model_tools: Option<String>,
    /// TOML file with prices in US dollars per million tokens: a table for each model, such as `["gpt-5*"]`, with
    /// `input`, `cached_input` and `output` [env: GREENLIGHT_MODEL_PRICES]
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub model_prices: Option<PathBuf>,
    /// Tokens of history before old results are dropped; 64000 if not set [env: GREENLIGHT_MODEL_CONTEXT]
    #[arg(long, value_name = "TOKENS", help_heading = "Model")]
    pub model_context: Option<String>,
}

/// How code under test is confined.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SandboxFlags {
    /// `auto` for the best one available, or `native`, `bubblewrap`, `docker`, `podman`, `landlock`, or `none`, which runs
    /// tests as you, without any protection [env: GREENLIGHT_SANDBOX]
    #[arg(long, alias = "backend", value_name = "BACKEND", help_heading = "Sandbox", value_parser = Offered(SANDBOXES), hide_possible_values = true)]
    pub sandbox: Option<String>,
    /// Socket of a Docker or Podman engine on this machine, if not at a usual path [env: GREENLIGHT_DOCKER_SOCKET]
    #[arg(long, value_name = "PATH", help_heading = "Sandbox")]
    pub docker_socket: Option<PathBuf>,
}

/// What greenlight logs to standard error.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LogFlags {
    /// Filter such as `info` or `greenlight=debug` [env: GREENLIGHT_LOG]
    #[arg(long, value_name = "FILTER", help_heading = "Log")]
    pub log: Option<String>,
    /// `text` for people, `json` for machines [env: GREENLIGHT_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT", help_heading = "Log", value_parser = Offered(&["text", "json"]), hide_possible_values = true)]
    pub log_format: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> clap::Command {
        <Flags as clap::Args>::augment_args(clap::Command::new("greenlight"))
    }

    #[test]
    fn clap_accepts_the_declarations() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_names_its_variable() {
        for argument in command().get_arguments() {
            let help = argument.get_help().unwrap().to_string();
            let flag = argument.get_long().unwrap();
            let variable = format!("GREENLIGHT_{}", flag.to_uppercase().replace('-', "_"));
            assert!(help.contains(&format!("[env: {variable}")), "--{flag}: {help}");
        }
    }

    #[test]
    fn no_flag_takes_a_secret() {
        for secret in [
            "--github-token",
            "--private-key",
            "--webhook-secret",
            "--metrics-token",
            "--client-secret",
            "--model-api-key",
        ] {
            let error = command()
                .try_get_matches_from(["greenlight", secret, "x"])
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("{secret}-file")), "{error}");
        }
    }
}
