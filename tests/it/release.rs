//! What is said in several places about a release: its archives, their targets, and the licences in them.

use std::collections::BTreeSet;

use serde_json::Value;

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn toml(path: &str) -> toml::Table {
    read(path).parse().unwrap()
}

/// The targets that the workflow builds for.
fn targets(workflow: &Value) -> BTreeSet<String> {
    serde_json::from_value(workflow["jobs"]["build"]["strategy"]["matrix"]["target"].clone()).unwrap()
}

fn workflow() -> Value {
    serde_saphyr::from_str(&read(".github/workflows/release.yml")).unwrap()
}

#[test]
fn cargo_binstall_finds_what_the_workflow_packs() {
    let manifest = toml("Cargo.toml");
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let repository = manifest["workspace"]["package"]["repository"].as_str().unwrap();
    let workflow = read(".github/workflows/release.yml");
    let action = read("action.yml");
    for target in targets(&self::workflow()) {
        let url = binstall["pkg-url"].as_str().unwrap();
        let url = [
            ("repo", repository),
            ("version", "1.2.3"),
            ("name", "greenlight"),
            ("target", &target),
        ]
        .iter()
        .fold(url.to_owned(), |url, (name, value)| {
            url.replace(&format!("{{ {name} }}"), value)
        });
        assert_eq!(
            url,
            format!("{repository}/releases/download/v1.2.3/greenlight-{target}.tar.gz")
        );
        assert!(action.contains(&format!("target={target} ;;")), "{target}");
    }
    // The names of the archive, and of the program at its top.
    assert!(workflow.contains("dist/greenlight-$TARGET.tar.gz"));
    assert!(workflow.contains("-C \"target/$TARGET/dist\" greenlight"));
    assert_eq!(binstall["bin-dir"].as_str(), Some("{ bin }{ binary-ext }"));
}

#[test]
fn the_archives_are_attested_and_described() {
    let workflow = workflow();
    let steps = workflow["jobs"]["release"]["steps"].as_array().unwrap();
    for action in ["actions/attest-build-provenance@", "actions/attest-sbom@"] {
        let step = steps
            .iter()
            .find(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with(action)));
        assert_eq!(step.unwrap()["with"]["subject-path"], "dist/*.tar.gz", "{action}");
    }
    let needs: BTreeSet<String> = serde_json::from_value(workflow["jobs"]["release"]["needs"].clone()).unwrap();
    assert_eq!(needs, BTreeSet::from(["build".into(), "describe".into()]));
}

#[test]
fn the_licences_that_are_listed_are_those_that_are_allowed() {
    let (about, deny) = (toml(".ci/about.toml"), toml("deny.toml"));
    assert_eq!(about["accepted"], deny["licenses"]["allow"]);
    let described: BTreeSet<String> = about["targets"].clone().try_into().unwrap();
    assert_eq!(described, targets(&workflow()));
}

/// Homebrew downloads what the workflow packs, and refuses other bytes. `just homebrew` lets brew install it.
#[test]
#[expect(clippy::disallowed_methods, reason = "the script is run")]
fn the_formula_names_every_archive_with_its_digest() {
    let sums: Vec<String> = targets(&workflow())
        .iter()
        .map(|target| format!("{target:x<64}  greenlight-{target}.tar.gz"))
        .collect();
    let formula = |sums: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("SHA256SUMS");
        std::fs::write(&file, sums).unwrap();
        let mut command = std::process::Command::new(".ci/formula");
        let output = command
            .arg("v1.2.3")
            .stdin(std::fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (is_made, text) = formula(&sums.join("\n"));
    assert!(is_made, "{text}");
    for target in targets(&workflow()) {
        let releases = "https://github.com/greenlight-rs/greenlight/releases/download/v1.2.3";
        let archive = format!("    url \"{releases}/greenlight-{target}.tar.gz\"\n    sha256 \"{target:x<64}\"\n");
        assert!(text.contains(&archive), "{archive}: {text}");
    }
    assert_eq!(formula(&sums[0]), (false, String::new()), "an archive is missing");
}
