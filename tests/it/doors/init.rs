//! `greenlight init`: what it finds, shows and writes, and what it never touches.

mod places;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::terminal::Terminal;
use super::{Door, Ended, git, tree, written};
use crate::workflows::rules::check_workflow;

const CI: &str = ".github/workflows/ci.yml";
const WORKFLOW: &str = ".github/workflows/greenlight.yml";
const YAML: &str = ".github/workflows/greenlight.yaml";
const COMMANDS: &str = ".github/workflows/greenlight-commands.yml";
const SUITE: &[u8] = b"import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        \
    self.assertEqual(1 + 1, 3)\n";
const TESTS: &[u8] =
    b"name: Tests\non: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      \
    - run: python3 -m unittest\n";

async fn init(root: &Path, arguments: &[&str]) -> Ended {
    let words = ["init"].iter().chain(arguments).map(AsRef::<OsStr>::as_ref);
    Door::new().run(words.chain([root.as_os_str()])).await
}

/// A repository with these files and this remote.
fn repository(remote: &str, files: &[(&str, &[u8])]) -> TempDir {
    let checkout = written(files);
    git(checkout.path(), &["init", "--quiet"]);
    git(checkout.path(), &["remote", "add", "origin", remote]);
    checkout
}

fn read(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The workflows that a written file listens to.
fn listens_to(root: &Path) -> Vec<String> {
    let workflow: Value = serde_saphyr::from_str(&read(root, WORKFLOW)).unwrap();
    serde_json::from_value(workflow["on"]["workflow_run"]["workflows"].clone()).unwrap()
}

#[tokio::test]
async fn a_repository_is_looked_at_shown_as_a_diff_and_set_up() {
    let lint = b"name: Lint\non: pull_request\njobs: {lint: {runs-on: ubuntu-latest, steps: [{run: echo}]}}\n";
    let files: [(&str, &[u8]); 3] = [
        ("test_sums.py", SUITE),
        (CI, TESTS),
        (".github/workflows/lint.yml", lint),
    ];
    let checkout = repository("git@github.com:acme/rail.git", &files);
    let before = tree(checkout.path());

    let shown = init(checkout.path(), &["--dry-run"]).await.with(0);
    assert_eq!(tree(checkout.path()), before);
    for part in [
        "`python3 -m unittest` (Python, found in",
        "CI:       Tests in .github/workflows/ci.yml",
        "github.com, default branch `main`",
        "+++ b/.github/workflows/greenlight.yml",
        "+    workflows: [Tests]",
        "+++ b/greenlight.toml",
        "nothing was written",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert!(!shown.out.contains("Lint"), "{}", shown.out);

    let done = init(checkout.path(), &[]).await.with(0);
    assert!(done.out.contains("+    workflows: [Tests]"), "{}", done.out);
    assert!(
        done.out.contains("wrote .github/workflows/greenlight.yml"),
        "{}",
        done.out
    );
    // The tests' program is not from a release.
    assert!(
        done.out.contains("the Action builds greenlight on your runner"),
        "{}",
        done.out
    );
    let mut after = tree(checkout.path());
    let new: Vec<String> = after
        .keys()
        .filter(|path| !before.contains_key(*path))
        .cloned()
        .collect();
    assert_eq!(new, [COMMANDS, WORKFLOW, "greenlight.toml"]);
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before);
    assert_eq!(listens_to(checkout.path()), ["Tests"]);
    for path in [WORKFLOW, COMMANDS] {
        assert_eq!(check_workflow(&read(checkout.path(), path)), [""; 0], "{path}");
    }
    let settings = read(checkout.path(), "greenlight.toml");
    assert!(settings.starts_with("#:schema https://"), "{settings}");
    assert!(settings.contains("# command = \"python3 -m unittest\""), "{settings}");

    let after = tree(checkout.path());
    for arguments in [&[][..], &["--force"], &["--keep"], &["--dry-run"]] {
        let again = init(checkout.path(), arguments).await.with(0);
        assert!(again.out.contains("nothing to do"), "{}", again.out);
    }
    assert_eq!(tree(checkout.path()), after);
}

#[tokio::test]
async fn an_app_needs_no_workflows() {
    let checkout = repository("https://github.com/acme/rail", &[("test_sums.py", SUITE), (CI, TESTS)]);
    let done = init(checkout.path(), &["--app"]).await.with(0);
    assert!(done.out.contains("create and install the App"), "{}", done.out);
    assert!(!done.out.contains("builds greenlight"), "{}", done.out);
    let files: Vec<String> = tree(checkout.path()).into_keys().collect();
    assert_eq!(files, [CI, "greenlight.toml", "test_sums.py"]);
    init(checkout.path(), &["--app", "--action"])
        .await
        .with(2)
        .saying("--app");
}

#[tokio::test]
async fn coding_agents_need_one_entry() {
    let checkout = repository("https://github.com/acme/rail", &[("test_sums.py", SUITE), (CI, TESTS)]);
    let before = tree(checkout.path());
    let shown = init(checkout.path(), &["--mcp", "--dry-run"]).await.with(0);
    assert!(shown.out.contains("+++ b/.mcp.json") && shown.out.contains("nothing was written"));
    assert_eq!(tree(checkout.path()), before);

    let done = init(checkout.path(), &["--mcp"]).await.with(0);
    for part in [
        "`python3 -m unittest`",
        "wrote .mcp.json",
        "Next:",
        "start your coding agent again",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert!(
        !done.out.contains("remote:") && !done.out.contains("pull request"),
        "{}",
        done.out
    );
    let files: Vec<String> = tree(checkout.path()).into_keys().collect();
    assert_eq!(files, [CI, ".mcp.json", "test_sums.py"]);
    let file: Value = serde_json::from_str(&read(checkout.path(), ".mcp.json")).unwrap();
    let ours = serde_json::json!({ "command": "greenlight", "args": ["mcp"] });
    assert_eq!(file, serde_json::json!({ "mcpServers": { "greenlight": ours } }));
    let after = tree(checkout.path());
    for arguments in [&["--mcp"][..], &["--mcp", "--force"], &["--mcp", "--keep"]] {
        let again = init(checkout.path(), arguments).await.with(0);
        assert!(again.out.contains("nothing to do"), "{}", again.out);
    }
    assert_eq!(tree(checkout.path()), after);
    for other in ["--app", "--action"] {
        init(checkout.path(), &["--mcp", other]).await.with(2).saying(other);
    }
}

#[tokio::test]
async fn the_other_servers_of_an_agent_stay_as_they_are() {
    let others =
        "{\n    \"z\": 1,\n    \"mcpServers\": {\n        \"web\": {\"url\": \"https://example.org\"}\n    }\n}\n";
    let checkout = repository("https://github.com/acme/rail", &[(".mcp.json", others.as_bytes())]);
    init(checkout.path(), &["--mcp"]).await.with(0);
    let merged = read(checkout.path(), ".mcp.json");
    let (begin, end) = others.split_once("\n    }\n}").unwrap();
    assert!(merged.starts_with(begin) && merged.ends_with(end), "{merged}");
    assert!(
        merged.contains("},\n        \"greenlight\": {\n            \"command\""),
        "{merged}"
    );

    // Somebody's own entry of ours is theirs.
    let own = merged.replace("[\"mcp\"]", "[\"mcp\", \"--install\"]");
    std::fs::write(checkout.path().join(".mcp.json"), &own).unwrap();
    let refused = init(checkout.path(), &["--mcp"]).await.with(2);
    refused
        .saying(".mcp.json has another entry named `greenlight`")
        .saying("`--force`");
    init(checkout.path(), &["--mcp", "--keep"]).await.with(0);
    assert_eq!(read(checkout.path(), ".mcp.json"), own);
    init(checkout.path(), &["--mcp", "--force"]).await.with(0);
    assert_eq!(
        serde_json::from_str::<Value>(&read(checkout.path(), ".mcp.json")).unwrap(),
        serde_json::from_str::<Value>(&merged).unwrap()
    );

    for broken in ["", "{ // mine\n}", "[]", "{\"mcpServers\": 1}"] {
        std::fs::write(checkout.path().join(".mcp.json"), broken).unwrap();
        let refused = init(checkout.path(), &["--mcp", "--force"]).await.with(2);
        refused.saying(".mcp.json cannot be read").saying("Nothing was written");
        assert_eq!(read(checkout.path(), ".mcp.json"), broken);
    }
}

#[tokio::test]
async fn a_different_file_is_never_replaced_by_surprise() {
    let own = b"execution = \"sandbox\"\n";
    let files: [(&str, &[u8]); 3] = [("greenlight.toml", own), (YAML, b"name: mine\non: push\n"), (CI, TESTS)];
    let checkout = repository("https://github.com/acme/rail", &files);
    let before = tree(checkout.path());
    for arguments in [&[][..], &["--dry-run"]] {
        let refused = init(checkout.path(), arguments).await.with(2);
        let refused = refused
            .saying(".github/workflows/greenlight.yaml exists already")
            .saying("`--force`");
        assert!(!refused.err.contains("toml exists"), "{}", refused.err);
        assert!(refused.out.contains("-name: mine"), "{}", refused.out);
        assert_eq!(tree(checkout.path()), before);
    }
    init(checkout.path(), &["--keep"]).await.with(0);
    let mut kept = tree(checkout.path());
    assert!(kept.remove(COMMANDS).is_some());
    assert_eq!(kept, before);

    init(checkout.path(), &["--force", "--dry-run"]).await.with(0);
    assert_eq!(read(checkout.path(), YAML), "name: mine\non: push\n");
    let forced = init(checkout.path(), &["--force"]).await.with(0);
    forced.saying("greenlight.toml is there already, and stays as it is");
    // Settings are never replaced, and a workflow with the other ending is the same workflow.
    assert_eq!(read(checkout.path(), "greenlight.toml").as_bytes(), own);
    assert!(read(checkout.path(), YAML).contains("workflows: [Tests]"));
    assert!(!checkout.path().join(WORKFLOW).exists());
    // With those, the rest is written without any flag.
    std::fs::remove_file(checkout.path().join(YAML)).unwrap();
    init(checkout.path(), &[]).await.with(0);
    assert_eq!(listens_to(checkout.path()), ["Tests"]);
    assert_eq!(read(checkout.path(), "greenlight.toml").as_bytes(), own);
}

#[tokio::test]
async fn names_of_workflows_are_only_names() {
    let names = [
        "a: b # c",
        "x]\npermissions: write-all\njobs: {}",
        "\"'{{}}",
        "${{ github.event.pull_request.title }}",
        "on",
        "\u{202e}\u{1b}[31m",
        "Tests, all",
    ];
    let files: BTreeMap<String, String> = names
        .iter()
        .zip(1..)
        .map(|(name, number)| {
            let text = String::from_utf8_lossy(TESTS).replace("Tests", &Value::from(*name).to_string());
            (format!(".github/workflows/ci{number}.yml"), text)
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_bytes()))
        .collect();
    let checkout = repository("https://github.com/acme/rail", &files);
    let done = init(checkout.path(), &[]).await.with(0);
    assert!(!done.out.contains(['\u{202e}', '\u{1b}']), "{:?}", done.out);
    // GitHub does not run a workflow whose name is an expression.
    let names: Vec<&str> = names.into_iter().filter(|name| !name.starts_with('$')).collect();
    assert_eq!(listens_to(checkout.path()), names);
    assert_eq!(check_workflow(&read(checkout.path(), WORKFLOW)), [""; 0]);
    let written: Value = serde_saphyr::from_str(&read(checkout.path(), WORKFLOW)).unwrap();
    assert_eq!(written["permissions"], serde_json::json!({}));
}

#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let outside = written(&[("greenlight.toml", b"outside"), ("workflows/keep", b"")]);
    let before = tree(outside.path());
    for link in [".github", ".github/workflows", WORKFLOW, COMMANDS, "greenlight.toml"] {
        let checkout = repository("https://github.com/acme/rail", &[("README.md", b"")]);
        let target = match link {
            ".github" => outside.path().to_path_buf(),
            ".github/workflows" => outside.path().join("workflows"),
            _ => outside.path().join("greenlight.toml"),
        };
        std::fs::create_dir_all(checkout.path().join(link).parent().unwrap()).unwrap();
        symlink(target, checkout.path().join(link)).unwrap();
        for arguments in [&[][..], &["--force"], &["--keep"]] {
            let refused = init(checkout.path(), arguments).await.with(2);
            assert!(refused.err.contains("ordinary"), "{link}: {}", refused.err);
        }
        symlink(
            outside.path().join("greenlight.toml"),
            checkout.path().join(".mcp.json"),
        )
        .unwrap();
        init(checkout.path(), &["--mcp", "--force"])
            .await
            .with(2)
            .saying("ordinary");
        assert_eq!(tree(outside.path()), before, "{link}");
        assert!(!checkout.path().join("greenlight.toml").is_file() || link == "greenlight.toml");
    }
}

#[tokio::test]
async fn another_server_and_another_branch_are_noticed() {
    let checkout = repository("ssh://git@github.example.org:2222/acme/rail.git", &[(CI, TESTS)]);
    for arguments in [
        &["add", "."][..],
        &["commit", "--quiet", "--message", "First"],
        &["checkout", "--quiet", "-b", "set-up"],
    ] {
        assert!(git(checkout.path(), arguments).status.success());
    }
    let done = init(&checkout.path().join(".github"), &[])
        .await
        .with(0)
        .saying("the repository begins at");
    for part in [
        "github.example.org, assuming GitHub Enterprise Server, default branch `main`",
        "commit the files on set-up, and merge them into main",
        "GREENLIGHT_GITHUB_COM_TOKEN",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    for path in [WORKFLOW, COMMANDS] {
        let text = read(checkout.path(), path);
        assert!(
            text.contains("runs-on: [self-hosted, linux]") && text.contains("github-com-token: "),
            "{text}"
        );
        assert_eq!(check_workflow(&text), [""; 0], "{path}");
    }
}

#[tokio::test]
async fn the_tests_run_first_if_that_is_allowed() {
    let checkout = repository("https://github.com/acme/rail", &[("test_sums.py", SUITE), (CI, TESTS)]);
    let done = init(checkout.path(), &["--test", "--dry-run"]).await.with(0);
    let at = |part: &str| done.out.find(part).unwrap_or_else(|| panic!("{part}: {}", done.out));
    assert!(at("Failed: 1 test, 1 failed") < at("+++ b/greenlight.toml"));

    let door = Door::new();
    let start = || Terminal::start(door.command(["init".as_ref(), checkout.path().as_os_str()]));
    let before = tree(checkout.path());
    let mut terminal = start();
    terminal.shows("Run the tests in the sandbox first").await;
    terminal.types("n");
    terminal.shows("Write these files? [y/N]").await;
    terminal.types("");
    assert_eq!(terminal.ends().await.0, Some(3));
    assert_eq!(tree(checkout.path()), before);

    let mut terminal = start();
    terminal.shows("[y/N]").await;
    terminal.types("y");
    terminal.shows("Failed: 1 test, 1 failed").await;
    terminal.shows("Write these files? [y/N]").await;
    terminal.types("y");
    terminal.shows("wrote ").await;
    assert_eq!(terminal.ends().await.0, Some(0));
    assert_eq!(listens_to(checkout.path()), ["Tests"]);

    // They run as well if there is nothing to write.
    let again = init(checkout.path(), &["--test"]).await.with(0);
    assert!(again.out.contains("Failed: 1 test, 1 failed") && again.out.contains("nothing to do"));
}
