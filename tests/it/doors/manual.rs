//! The commands of the manual, in a real shell and as they are written. Only what is elsewhere is replaced: servers, and
//! other people's programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use github_double::MAINTAINER;
use regex::Regex;
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use super::fix::{GREEN, RED, sums};
use super::snippets::blocks;
use super::{Door, Ended, git, signal, until, written};
use crate::harness::model::{KEY, ScriptedModel, calls};
use crate::harness::story::Scene;

/// The only block of commands in a document that contains this.
fn block(document: &str, part: &str) -> String {
    let blocks = blocks(&["bash"]).into_iter();
    let mut found = blocks.filter(|(path, _, text)| path == document && text.contains(part));
    let (_, _, text) = found.next().unwrap_or_else(|| panic!("{document} has no {part}"));
    assert_eq!(found.next(), None, "{document} {part}");
    text
}

/// A shell that finds greenlight and these scripts before everything else, and an empty home.
struct Shell {
    folder: TempDir,
    door: Door,
}

impl Shell {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir_all(&programs).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        symlink(env!("CARGO_BIN_EXE_greenlight"), programs.join("greenlight")).unwrap();
        for (name, script) in scripts {
            let file = programs.join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let home = folder.path().join("home").display().to_string();
        let door = Door::new();
        let path = format!("{}:{}", programs.display(), door.variables["PATH"]);
        let door = door.with("PATH", path).with("HOME", home);
        Self { folder, door }
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    async fn runs(&self, script: &str, folder: &Path) -> Ended {
        let mut bash = self
            .door
            .command_of("bash".as_ref(), ["-euo", "pipefail", "-c", script]);
        super::ended(bash.current_dir(folder).spawn().unwrap()).await
    }
}

#[tokio::test]
async fn completions_and_manual_pages_are_where_shells_look() {
    let shell = Shell::new(&[]);
    let here = shell.folder.path();
    for part in ["completions bash", "completions zsh"] {
        shell.runs(&block("docs/installing.md", part), here).await.with(0);
    }
    for (file, part) in [
        (".local/share/bash-completion/completions/greenlight", "_greenlight()"),
        (".local/share/man/man1/greenlight-fix.1", ".TH"),
        (".zfunc/_greenlight", "#compdef greenlight"),
        (".config/fish/completions/greenlight.fish", "complete -c greenlight"),
    ] {
        let text = fs::read_to_string(shell.home().join(file)).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
}

/// `just homebrew` does the same with Homebrew itself.
#[tokio::test]
async fn a_tap_gets_the_formula() {
    let brew = r#"case "$*" in
  "tap-new local/tap") mkdir -p "$HOME/tap/Formula" ;;
  "--repository local/tap") echo "$HOME/tap" ;;
  "install local/tap/greenlight") cat "$HOME/tap/Formula/greenlight.rb" ;;
  *) exit 1 ;;
esac"#;
    let curl = r#"test "$1 $3" = "-fsSL --output" && echo "from $2" > "$4""#;
    let shell = Shell::new(&[("brew", brew), ("curl", curl)]);
    let script = block("docs/installing.md", "brew install");
    let installed = shell.runs(&script, shell.folder.path()).await.with(0);
    let release = "https://github.com/greenlight-rs/greenlight/releases/latest/download/greenlight.rb";
    assert_eq!(installed.out, format!("from {release}\n"));
}

/// The Action verifies in the same way; tests/it/release.rs compares the archives with what is packed.
#[tokio::test]
async fn a_release_is_verified_against_the_workflow_that_builds_it() {
    let shell = Shell::new(&[("gh", r#"printf '%s\n' "$@""#)]);
    let script = block("docs/upgrading.md", "attestation");
    let asked = shell.runs(&script, shell.folder.path()).await.with(0).out;
    let asked: Vec<&str> = asked.lines().collect();
    let [
        "attestation",
        "verify",
        _,
        "--repo",
        repository,
        "--signer-workflow",
        workflow,
    ] = asked[..]
    else {
        panic!("{asked:?}")
    };
    let workflow = workflow.strip_prefix(&format!("{repository}/")).unwrap();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(workflow)).unwrap();
    assert!(text.contains("actions/attest-build-provenance@"), "{workflow}");
}

#[tokio::test]
async fn a_request_is_rejected_with_curl() {
    let asks = json!({ "command": "echo 42", "minutes": 1, "why": "To see." });
    let edit = json!({ "path": "fare.py", "old": "paid + fare(stops)", "new": "paid - fare(stops)" });
    let turns = [
        calls("request_execution", asks),
        calls("edit_file", edit),
        calls("submit", json!({ "summary": "Change is what is left." })),
    ];
    let scene = Scene::default().model(turns);
    let story = scene.begin().await;
    story.maintainer_says("/greenlight fix").await;
    let run = story.run().await;
    let gh = format!(
        "test \"$*\" = 'auth token' && echo {}",
        story.double.user_token(MAINTAINER)
    );
    let shell = Shell::new(&[("gh", &gh)]);
    let script = block("docs/serve.md", "curl")
        .replace("https://greenlight.example.org", &story.process().url)
        .replace("/RUN/", &format!("/{}/", run.id()))
        .replace("g7fqa3", &run.open_gates()[0].id.to_string());
    let answered = shell.runs(&script, shell.folder.path()).await.with(0);
    assert!(answered.out.contains("\"accepted\""), "{answered:?}");
    story.settle().await;
    assert!(story.model().results()[0].contains("use the tests instead"));
    story.finish().await;
}

#[tokio::test]
async fn the_state_of_the_action_is_deleted() {
    let origin = tempfile::tempdir().unwrap();
    let checkout = written(&[("a", b"1")]);
    git(origin.path(), &["init", "--bare"]);
    let url = origin.path().to_str().unwrap();
    for words in [
        &["init"][..],
        &["add", "."],
        &["commit", "-m", "One"],
        &["remote", "add", "origin", url],
        &[
            "push",
            "origin",
            "HEAD:main",
            "HEAD:refs/greenlight/pr-1",
            "HEAD:refs/greenlight/memory",
        ],
    ] {
        assert!(git(checkout.path(), words).status.success(), "{words:?}");
    }
    let script = block("docs/how-to/remove.md", "refs/greenlight");
    let shell = Shell::new(&[]);
    // Where nothing is left, nothing is done.
    for _ in 0..2 {
        shell.runs(&script, checkout.path()).await.with(0);
        let left = git(origin.path(), &["for-each-ref", "--format=%(refname)"]).stdout;
        assert_eq!(String::from_utf8(left).unwrap(), "refs/heads/main\n");
    }
}

#[tokio::test]
async fn a_model_is_used_as_its_page_says() {
    let page = "docs/how-to/models.md";
    let shell = Shell::new(&[]);
    let keys = shell.home().join(".config");
    fs::create_dir(&keys).unwrap();
    for name in ["openai-key", "gateway-key"] {
        fs::write(keys.join(name), KEY).unwrap();
        fs::set_permissions(keys.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    for (part, shown) in [
        ("openai-key", "GREENLIGHT_MODEL_BASE_URL: https://api.openai.com/v1"),
        ("gateway-key", "GREENLIGHT_MODEL_FALLBACKS: ANOTHER,A_THIRD"),
        ("GREENLIGHT_MODEL_CONTEXT", "GREENLIGHT_MODEL_CONTEXT: 24000"),
    ] {
        let script = format!("{}\ngreenlight config show", block(page, part));
        let settings = shell.runs(&script, shell.folder.path()).await.with(0);
        assert!(settings.out.contains(shown), "{settings:?}");
    }
    let model = ScriptedModel::start([]).await;
    model
        .edits("sums.py", "numbers[0] - numbers[1]", "numbers[0] + numbers[1]")
        .submits("Add.");
    let checkout = sums(RED, &[]);
    let gateway = block(page, "gateway-key").replace("https://gateway.example.com/v1", model.base_url());
    // Nobody is there to say `y`.
    let script = format!("{gateway}{} --yes", block(page, "--engine model").trim());
    shell.runs(&script, checkout.path()).await.with(0);
    assert_eq!(fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    model.finish();
}

#[tokio::test]
async fn the_variables_of_services_are_read() {
    for (document, _, text) in blocks(&["ini"]) {
        let (name, value) = text.trim().split_once('=').unwrap();
        let arguments = match name {
            "GREENLIGHT_DATABASE_URL" => &["migrate"][..],
            _ => &["serve", "--listen", "127.0.0.1:0"],
        };
        let refused = Door::new().with(name, "ftp://x").run(arguments).await;
        refused.with(2).saying(name);
        // Nothing listens there.
        let value = value.replace("db.internal", "127.0.0.1:1");
        let door = Door::new().with(name, value);
        let told = door.data().join("told");
        let mut command = door.command(arguments);
        command.stderr(fs::File::create(&told).unwrap());
        let child = command.spawn().unwrap();
        until(&document, || {
            let told = fs::read_to_string(&told).unwrap();
            told.contains("waiting for the GitHub App to be created")
                || (told.contains("waiting up to 30 s for the database") && told.contains("Connection refused"))
        })
        .await;
        signal(&child, Signal::TERM);
        super::ended(child).await;
    }
}

/// What a command in the text of the manual names is there: subcommands, flags, recipes, benchmarks and scripts.
#[tokio::test]
async fn commands_in_sentences_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let (recipes, manifest, fuzz) = (read("justfile"), read("Cargo.toml"), read("fuzz/Cargo.toml"));
    let has_recipe = |name: &str| Regex::new(&format!("(?m)^{name}[ :]")).unwrap().is_match(&recipes);
    let mut help = BTreeMap::new();
    let mut wrong = Vec::new();
    let inline = &Regex::new("`((?:greenlight|just|cargo|python3) [^`]+)`").unwrap();
    let documents = super::snippets::documents();
    // The changelog also names commands that do not exist.
    let manual = documents.iter().filter(|(path, _)| path != "CHANGELOG.md");
    let sentences = manual.flat_map(|document| {
        let (path, prose) = (&document.0, document.1.split("```").step_by(2));
        prose.flat_map(move |text| {
            inline
                .captures_iter(text)
                .map(move |found| (path, found.extract::<1>().1[0]))
        })
    });
    let blocks = blocks(&["bash"]);
    let lines = blocks
        .iter()
        .flat_map(|(path, _, text)| text.lines().map(move |line| (path, line)));
    let mut seen = 0;
    for (path, command) in sentences.chain(lines) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let exists = match words[..] {
            ["greenlight", ..] => is_understood(&mut help, &words[1..]).await,
            ["just", recipe, ..] => has_recipe(recipe),
            ["cargo", "+nightly", "fuzz", "run", target, ..] => fuzz.contains(&format!("name = \"{target}\"")),
            ["cargo", ..] if words.contains(&"--bench") => {
                let name = words.iter().skip_while(|word| **word != "--bench").nth(1).unwrap();
                manifest.contains(&format!("[[bench]]\nname = \"{name}\""))
            }
            ["python3", script, ..] => root.join(script).is_file(),
            _ => continue,
        };
        seen += 1;
        if !exists {
            wrong.push(format!("{path}: `{command}`"));
        }
    }
    assert!(seen > 60, "{seen}");
    assert_eq!(wrong, Vec::<String>::new());
}

/// Whether subcommands and flags are those of the program.
async fn is_understood(help: &mut BTreeMap<String, String>, words: &[&str]) -> bool {
    let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
    let mut named: Vec<&str> = Vec::new();
    let mut flags = Vec::new();
    for word in words.iter().take_while(|word| !["--", "&&", "|", ">"].contains(*word)) {
        match word.starts_with("--") {
            true => flags.push(*word),
            false if flags.is_empty() && is_name(&word) => named.push(word),
            false => {}
        }
    }
    if named.first() == Some(&"help") {
        return true;
    }
    // `completions bash` has a value where `config show` has a subcommand.
    for length in (0..=named.len()).rev() {
        let names = &named[..length];
        let text = match help.get(&names.join(" ")) {
            Some(text) => text.clone(),
            None => {
                let ended = Door::new().run([names, &["--help"]].concat()).await;
                let text = if ended.code == Some(0) {
                    ended.out
                } else {
                    String::new()
                };
                help.insert(names.join(" "), text.clone());
                text
            }
        };
        if !text.is_empty() {
            let is_whole = length > 0 || named.is_empty();
            return is_whole && flags.iter().all(|flag| text.contains(flag));
        }
    }
    false
}
