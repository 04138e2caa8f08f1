//! The files in `deploy/`: what they name exists. `tests/deploy-linters.sh` holds them against other people's programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

fn text(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut all): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    all.extend(folders.iter().flat_map(|folder| files(folder)));
    all
}

/// Every file of `deploy/`, and the recipe of the images.
fn deployed() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = files(&root.join("deploy"))
        .into_iter()
        .chain([root.join("Containerfile")]);
    all.map(|path| (path.clone(), text(path))).collect()
}

/// The chart runs images that a release publishes.
#[test]
fn the_images_of_the_chart_are_published() {
    let (values, workflow) = (
        text("deploy/helm/greenlight/values.yaml"),
        text(".github/workflows/images.yml"),
    );
    let repository = env!("CARGO_PKG_REPOSITORY").replace("https://github.com/", "ghcr.io/");
    for (key, suffix) in [("repository", ""), ("workerRepository", "-worker")] {
        assert!(values.contains(&format!("  {key}: {repository}{suffix}\n")), "{values}");
        assert!(workflow.contains(&format!("suffix: \"{suffix}\"")), "{workflow}");
        assert!(workflow.contains(&format!("\"$image{suffix}\"\n")), "{workflow}");
    }
}

fn found(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern
        .find_iter(text)
        .map(|found| found.as_str().to_string())
        .collect()
}

/// The metrics in the manual's table, which a test of `src/metrics/` compares with the code.
fn metrics() -> BTreeSet<String> {
    let manual = text("docs/metrics.md");
    let rows = manual.lines().filter(|line| line.starts_with("| `greenlight_"));
    rows.flat_map(|row| found("greenlight_[a-z_]+", row.split('|').nth(1).unwrap()))
        .collect()
}

#[test]
fn every_metric_in_a_dashboard_rule_or_manifest_exists() {
    let (metrics, mut used) = (metrics(), BTreeSet::new());
    for (path, text) in deployed() {
        for name in found("greenlight_[a-z_]+", &text) {
            let whole = ["_bucket", "_count", "_sum"]
                .iter()
                .find_map(|part| name.strip_suffix(part));
            let whole = whole.filter(|whole| whole.ends_with("_seconds")).unwrap_or(&name);
            assert!(metrics.contains(whole), "{}: there is no {name}", path.display());
            used.insert(whole.to_string());
        }
    }
    assert!(used.len() > 20, "{used:?}");
}

#[test]
fn the_dashboard_shows_every_metric() {
    let dashboard = text("deploy/grafana/greenlight.json");
    for metric in metrics() {
        assert!(dashboard.contains(&metric), "{metric} is not in the dashboard");
    }
    let parsed: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = parsed["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}

#[test]
fn every_variable_is_one_that_greenlight_reads() {
    let manual = text("docs/serve.md") + &text("docs/models.md");
    let known = found("GREENLIGHT_[A-Z_]*[A-Z]", &manual);
    let sources = text("src/config/secrets.rs");
    for (path, text) in deployed() {
        for name in found("GREENLIGHT_[A-Z_]*[A-Z]", &text) {
            let is_known = known.contains(&name) || sources.contains(&format!("\"{name}\""));
            assert!(is_known, "{}: nothing reads {name}", path.display());
        }
    }
}

#[test]
fn every_alert_is_explained() {
    let rules = text("deploy/prometheus/rules.yaml");
    let alerts: BTreeSet<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    let manual = text("docs/deploying.md");
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `Greenlight"));
    let explained: BTreeSet<String> = rows
        .map(|row| format!("Greenlight{}", row.split('`').next().unwrap()))
        .collect();
    assert_eq!(alerts, explained.iter().map(String::as_str).collect());
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = text("deploy/helm/greenlight/Chart.yaml");
    let version = env!("CARGO_PKG_VERSION");
    assert!(chart.contains(&format!("\nversion: {version}\n")), "{chart}");
    assert!(chart.contains(&format!("\nappVersion: \"{version}\"\n")), "{chart}");
}

/// A person who edits the unit must not break the sandbox.
#[test]
fn the_unit_leaves_the_sandbox_its_namespaces() {
    let unit = text("deploy/systemd/greenlight.service");
    let set: Vec<&str> = unit.lines().filter(|line| !line.starts_with('#')).collect();
    for setting in [
        "ProtectKernelTunables",
        "ProtectKernelLogs",
        "ProtectControlGroups",
        "RestrictNamespaces",
        "SystemCallFilter",
    ] {
        let line = set.iter().find(|line| line.starts_with(&format!("{setting}=")));
        assert_eq!(line, None);
    }
    assert!(set.contains(&"Delegate=yes"));
}
