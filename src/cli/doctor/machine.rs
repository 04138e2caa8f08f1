//! What else greenlight needs on a machine: a data folder, the programs of the languages, and a model.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::config::environment::Environment;
use crate::config::settings::Settings;
use crate::domain::worker_labels::PROGRAMS;

/// The timeout of the connection to the model's endpoint.
const PATIENCE: Duration = Duration::from_secs(2);

/// Those of these programs that are in one of the folders.
pub(in crate::cli) fn programs_in(folders: &[PathBuf]) -> Vec<&'static str> {
    let is_there = |program: &&str| folders.iter().any(|folder| is_program(&folder.join(program)));
    PROGRAMS.into_iter().filter(is_there).collect()
}

/// The results.
pub(super) struct Machine {
    data_folder: Result<PathBuf, String>,
    found: Vec<&'static str>,
    missing: Vec<&'static str>,
    model: Option<Endpoint>,
}

/// A model, and whether its endpoint can be reached.
struct Endpoint {
    name: String,
    address: String,
    silent_because: Option<String>,
}

impl Machine {
    pub(super) async fn look(settings: &Settings, environment: &Environment) -> Self {
        let path = environment.get("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
        let found = programs_in(&folders);
        let missing = PROGRAMS.into_iter().filter(|program| !found.contains(program));
        let model = match settings.model() {
            Some(model) => Some(Endpoint::look(model.name, &model.base_url).await),
            None => None,
        };
        Self {
            data_folder: settings.data_dir().map_err(|error| error.to_string()),
            missing: missing.collect(),
            found,
            model,
        }
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "data_folder": self.data_folder.as_ref().ok(),
            "programs": { "found": self.found, "missing": self.missing },
            "model": self.model.as_ref().map(|model| json!({
                "name": model.name,
                "address": model.address,
                "unreachable": model.silent_because,
            })),
        })
    }

    pub(super) fn lines(&self) -> String {
        let data_folder = match &self.data_folder {
            Ok(path) => path.display().to_string(),
            Err(why) => why.clone(),
        };
        let listed = |names: &[&str]| match names {
            [] => "none".to_string(),
            names => names.join(", "),
        };
        let model = match &self.model {
            None => "none: only the built-in engine is used (GREENLIGHT_MODEL sets a model)".to_string(),
            Some(Endpoint {
                name,
                address,
                silent_because: None,
            }) => format!("{name} at {address}, which is reachable"),
            Some(Endpoint {
                name,
                address,
                silent_because: Some(why),
            }) => {
                format!("{name} at {address}, which does not answer: {why}")
            }
        };
        format!(
            "\nThis machine:\ndata folder: {data_folder}\nprograms: {}; not found: {}\nmodel: {model}",
            listed(&self.found),
            listed(&self.missing)
        )
    }
}

impl Endpoint {
    /// Checks whether a connection can be made. Nothing is sent, and the key is not used.
    async fn look(name: String, url: &url::Url) -> Self {
        let host = url.host_str().unwrap_or_default().to_string();
        let port = url.port_or_known_default().unwrap_or(443);
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let silent_because = match tokio::time::timeout(PATIENCE, TcpStream::connect((bare, port))).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.kind().to_string()),
            Err(_) => Some("no answer in time".into()),
        };
        Self {
            name,
            address: format!("{host}:{port}"),
            silent_because,
        }
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
