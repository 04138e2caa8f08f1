//! Creates the engine's dependencies from settings.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkout_settings::SettingsFile;
use super::{Exit, hidden, terminal};
use crate::config::repository::RepoConfig;
use crate::config::settings::{self, ModelSettings, Settings};
use crate::domain::model::Who;
use crate::engine::worktree::Worktree;
use crate::engine::{Activities, App, Interrupts, ModelStream};
use crate::github::{self, Credentials, GitHub};
use crate::journal::Journal;
use crate::metrics::Metrics;
use crate::openai::{self, OpenAi};
use crate::sandbox::{Backend, Choice, Code, Places, Sandbox, Unusable};
use crate::suite::Stores;
use crate::traces;

/// The app of a door that talks to GitHub.
pub(super) fn app(
    settings: &Settings,
    github: GitHub,
    journal: Journal,
    sandbox: Result<Sandbox, Unusable>,
) -> Result<App, Exit> {
    if let Ok(sandbox) = &sandbox {
        hidden::check(settings, sandbox, None)?;
    }
    let interrupts = match journal.shared() {
        Some(_) => Interrupts::shared(),
        None => Interrupts::default(),
    };
    let metrics = Arc::<Metrics>::default();
    let mut model = model_of(settings)?;
    if let Some((model, _)) = &mut model {
        model.count(&metrics.model);
    }
    Ok(App {
        github: github.counted(&metrics),
        journal,
        sandbox: sandbox.map(|sandbox| sandbox.watched(metrics.sandbox.watch().and(traces::sandbox_uses()))),
        model,
        who: settings.engine(),
        folder: settings.data_dir()?,
        allow_list: settings.allow_list.clone(),
        interrupts,
        activities: Activities::default(),
        voices: ModelStream::default(),
        bundles: settings.bundles.clone(),
        retention: settings.retention,
        metrics,
        labels: None,
        traces: None,
    })
}

/// A client with the configured credentials, which are checked with GitHub at the start.
pub(super) async fn github(settings: &Settings) -> Result<GitHub, Exit> {
    let (credentials, named) = match settings.credentials()? {
        settings::Credentials::App { id, key_pem } => (
            Credentials::App { id, key_pem },
            "GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE",
        ),
        settings::Credentials::Token(token) => (Credentials::Token(token), "GREENLIGHT_GITHUB_TOKEN or GITHUB_TOKEN"),
    };
    let url = &settings.github_api_url;
    let github = GitHub::new(url, credentials).map_err(|error| Exit::Usage(error.to_string()))?;
    github.reach().await.map_err(|error| match error {
        github::Error::Unreachable(why) => Exit::Usage(format!(
            "GitHub at {url} cannot be reached: {why}; check GREENLIGHT_GITHUB_API_URL or GITHUB_API_URL, and this \
             machine's network"
        )),
        error => Exit::Usage(error.to_string()),
    })?;
    github.me().await.map_err(|error| {
        if error.not_before().is_some() {
            return Exit::Limit(error.to_string());
        }
        Exit::Usage(format!(
            "{error}; check {named}, and GREENLIGHT_GITHUB_API_URL or GITHUB_API_URL, which is {url}"
        ))
    })?;
    Ok(github)
}

/// The configured model. `None` for the built-in engine alone.
pub(super) fn model_of(settings: &Settings) -> Result<Option<(OpenAi, String)>, Exit> {
    match (settings.engine(), settings.model()) {
        (Who::BuiltIn, _) | (Who::Auto, None) => Ok(None),
        (_, Some(settings)) => model(settings).map(Some),
        (Who::Model, None) => Err(Exit::Usage(
            "--engine model (GREENLIGHT_ENGINE) needs a model: set GREENLIGHT_MODEL, and GREENLIGHT_MODEL_BASE_URL \
             for your own endpoint"
                .into(),
        )),
    }
}

/// A client for the configured model.
pub(super) fn model(model: ModelSettings) -> Result<(OpenAi, String), Exit> {
    let name = model.name.clone();
    let mut settings = openai::Settings::new(model.base_url, model.name, model.api_key);
    settings.fallbacks = model.fallbacks;
    settings.api = model.api;
    settings.tools = model.tools;
    settings.prices = model.prices;
    settings.context = model.context.unwrap_or(settings.context);
    let client = OpenAi::new(settings).map_err(|error| Exit::Usage(error.to_string()))?;
    Ok((client, name))
}

/// The program that the sandbox re-executes, and the socket of a container engine.
pub(super) fn places(settings: &Settings) -> Result<Places, Exit> {
    let helper = std::env::current_exe()
        .map_err(|error| Exit::Fault(format!("greenlight cannot find its own program file: {error}")))?;
    Ok(Places {
        helper,
        container_socket: settings.docker_socket.clone(),
    })
}

/// The configured sandbox, or the best one on this machine.
pub(super) async fn sandbox(settings: &Settings) -> Result<Result<Sandbox, Unusable>, Exit> {
    check_temporary_files()?;
    Ok(Sandbox::detect(choice(settings)?, places(settings)?).await)
}

/// Every sandbox needs temporary files, so a full disk or a missing folder would look like a fault of all of them.
fn check_temporary_files() -> Result<(), Exit> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&[0; 4096])
    };
    write().map_err(|error: std::io::Error| {
        let folder = tempfile::env::temp_dir();
        let reason = match error.kind() {
            ErrorKind::NotFound => "there is no such folder".to_owned(),
            kind => kind.to_string(),
        };
        Exit::Usage(format!(
            "temporary files cannot be written to {}: {reason}; make room there, or set TMPDIR to a folder that \
             greenlight may write to",
            folder.display()
        ))
    })
}

/// The sandbox for a person's checkout, or why there is none: the code may be a stranger's.
pub(super) async fn sandbox_for(settings: &Settings, worktree: &Worktree) -> Result<Sandbox, Exit> {
    let sandbox = sandbox(settings).await?.and_then(|sandbox| {
        let required = &worktree.config.sandbox.require;
        sandbox.suffices(Code::Trusted, required).map(|()| sandbox)
    });
    let sandbox = sandbox.map_err(|unusable| {
        Exit::Refused(format!(
            "{unusable}. `greenlight doctor` shows what else could be used. If you trust this code as much as your own, \
             `--sandbox none` runs it without protection"
        ))
    })?;
    hidden::tighten(settings)?;
    hidden::check(settings, &sandbox, Some(worktree.checkout.root()))?;
    warn_without(&sandbox);
    Ok(sandbox)
}

/// Which sandbox was configured.
pub(super) fn choice(settings: &Settings) -> Result<Choice, Exit> {
    match &settings.sandbox {
        None => Ok(Choice::Auto),
        Some(name) => match name.parse() {
            Ok(backend) => Ok(Choice::Only(backend)),
            Err(reason) => Err(Exit::Usage(format!(
                "{reason}, or auto (--sandbox, GREENLIGHT_SANDBOX)"
            ))),
        },
    }
}

/// Warns if the code will run without protection, because that was configured.
pub(super) fn warn_without(sandbox: &Sandbox) {
    if sandbox.backend() == Backend::None {
        terminal::tell(
            "warning: `--sandbox none` runs this code as you: with your files, your network and your secrets",
        );
    }
}

/// Opens a user's own checkout, whose `greenlight.toml`, or that of the repository it is in, counts as it is.
pub(super) async fn worktree(root: &Path, workspaces: PathBuf, stores: Stores) -> Result<Worktree, Exit> {
    let root = root.to_owned();
    // It runs on a thread that may be abandoned: ctrl-c must work, no matter what a stranger's checkout contains.
    let opened = tokio::task::spawn_blocking(move || {
        let config = match SettingsFile::of(&root)? {
            Some(file) => {
                file.tell();
                file.config().map_err(|error| file.mistaken(&error))?
            }
            None => RepoConfig::default(),
        };
        Worktree::local(&root, config, workspaces, stores).map_err(|error| Exit::Usage(error.to_string()))
    });
    opened.await.map_err(|error| Exit::Fault(error.to_string()))?
}
