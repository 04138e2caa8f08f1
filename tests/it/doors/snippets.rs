//! The settings that the manual shows are accepted by what reads them.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{Door, written};

/// Every document of the manual: its path, and its text.
pub(super) fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.to_path_buf(), root.join("docs"), root.join("docs/how-to")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().to_string();
    let read = |path: &Path| (name(path), fs::read_to_string(path).unwrap());
    paths.iter().map(|path| read(path)).collect()
}

/// Every block in these languages in the documents: its document, its language, and its text.
pub(super) fn blocks(languages: &[&'static str]) -> Vec<(String, &'static str, String)> {
    let mut found = Vec::new();
    for (name, text) in documents() {
        for block in text.split("```").skip(1).step_by(2) {
            for language in languages {
                let text = block.strip_prefix(language).and_then(|block| block.strip_prefix('\n'));
                found.extend(text.map(|text| (name.clone(), *language, text.to_string())));
            }
        }
    }
    found
}

#[tokio::test]
async fn settings_of_the_manual_are_accepted() {
    let snippets = blocks(&["toml", "yaml", "json"]);
    assert!(snippets.len() >= 6, "{snippets:?}");
    for (document, language, text) in snippets {
        match (document.as_str(), language) {
            ("docs/models.md", "toml") => are_prices(&text).await,
            (_, "toml") => is_configuration(&text).await,
            ("docs/deploying.md", "yaml") => are_values_of_the_chart(&text),
            ("docs/metrics.md", "yaml") => is_configuration_of_prometheus(&text).await,
            ("docs/how-to/agents.md", "json") => is_written_by_init(&text).await,
            _ => panic!("{document}: nothing reads this {language}: {text}"),
        }
    }
}

async fn is_configuration(text: &str) {
    let project = written(&[("greenlight.toml", text.as_bytes())]);
    let file = project.path().join("greenlight.toml");
    Door::new()
        .run(["config", "check", file.to_str().unwrap()])
        .await
        .with(0);
}

async fn are_prices(text: &str) {
    let project = written(&[("prices.toml", text.as_bytes())]);
    let file = project.path().join("prices.toml");
    let door = Door::new().with("GREENLIGHT_MODEL_PRICES", file.to_str().unwrap());
    door.run(["config", "show"]).await.with(0);
    fs::write(&file, text.replace("input", "imput")).unwrap();
    door.run(["config", "show"]).await.with(2).saying("prices.toml");
}

/// The lines of `values.yaml` have the same keys at the same depth.
fn are_values_of_the_chart(text: &str) {
    let values = include_str!("../../../deploy/helm/greenlight/values.yaml");
    let keys = |text: &str| -> Vec<String> {
        let keys = text
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0.to_string()));
        keys.collect()
    };
    let known = keys(values);
    for key in keys(text) {
        assert!(known.contains(&key), "values.yaml has no `{key}`");
    }
}

#[expect(clippy::print_stderr, reason = "what is not tested is named")]
async fn is_configuration_of_prometheus(text: &str) {
    let folder = written(&[("prometheus.yml", text.as_bytes())]);
    #[expect(clippy::disallowed_methods, reason = "a linter that others wrote")]
    let mut promtool = tokio::process::Command::new("promtool");
    // Otherwise it looks for the file with the token.
    promtool
        .args(["check", "config", "--syntax-only", "prometheus.yml"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(checked) = promtool.output().await else {
        eprintln!("UNAVAILABLE: promtool, so the configuration of Prometheus was not checked");
        return;
    };
    assert!(checked.status.success(), "{checked:?}");
}

async fn is_written_by_init(text: &str) {
    let project = written(&[("README", b"x")]);
    let mut command = Door::new().command(["init", "--mcp", "--yes"]);
    super::ended(command.current_dir(project.path()).spawn().unwrap())
        .await
        .with(0);
    let file = fs::read_to_string(project.path().join(".mcp.json")).unwrap();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&file), json(text));
}
