//! `greenlight init` where it is not a repository on GitHub, or its CI is not.

use super::super::{git, tree, written};
use super::{CI, COMMANDS, SUITE, WORKFLOW, init, listens_to, read, repository};
use crate::workflows::rules::check_workflow;

#[tokio::test]
async fn a_folder_that_is_no_repository_and_a_broken_configuration_are_told() {
    let empty = written(&[("README.md", b"")]);
    for arguments in [&[][..], &["--app"], &["--dry-run"]] {
        let refused = init(empty.path(), arguments).await.with(2);
        refused.saying("is not inside a git repository").saying("`git init`");
    }
    let files: Vec<String> = tree(empty.path()).into_keys().collect();
    assert_eq!(files, ["README.md"]);
    let done = init(empty.path(), &["--force"]).await.with(0);
    for part in [
        "none found",
        "no workflow that pull requests start",
        "remote:   none; assuming github.com",
        "replace `CI` in .github/workflows/greenlight.yml",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert_eq!(listens_to(empty.path()), ["CI"]);
    let broken = written(&[("greenlight.toml", b"[limits]\nturn = 3\n")]);
    init(broken.path(), &[]).await.with(2).saying("greenlight.toml line 2");
    init(&empty.path().join("gone"), &[]).await.with(2).saying("gone");
}

#[tokio::test]
async fn other_servers_other_ci_and_unknown_branches_are_noticed() {
    let circle: (&str, &[u8]) = (".circleci/config.yml", b"version: 2.1\n");
    let checkout = repository("https://gitlab.com/acme/rail", &[(CI, b"name: ["), circle]);
    let before = tree(checkout.path());
    for arguments in [&[][..], &["--app"], &["--keep"]] {
        let refused = init(checkout.path(), arguments).await.with(2);
        refused.saying("at gitlab.com, which is GitLab").saying("`--force`");
        assert_eq!(tree(checkout.path()), before);
    }
    init(checkout.path(), &["--mcp", "--dry-run"]).await.with(0);

    // Another remote counts if it is the only one; a branch of a task is not taken for the default branch.
    for arguments in [
        &["remote", "rename", "origin", "upstream"][..],
        &["remote", "set-url", "upstream", "git@github-work:acme/rail"],
        &["checkout", "--quiet", "-b", "feature-x"],
        &["add", "."],
        &["commit", "--quiet", "--message", "First"],
    ] {
        assert!(git(checkout.path(), arguments).status.success());
    }
    let quiet = init(checkout.path(), &["-q", "--dry-run"]).await.with(0);
    assert!(!quiet.out.contains("CircleCI") && quiet.out.contains("+++ b/greenlight.toml"));
    let done = init(checkout.path(), &[]).await.with(0);
    for part in [
        "github-work, assuming that it is github.com in your settings of SSH (`upstream`), default branch unknown",
        "CircleCI in .circleci/config.yml",
        "commit the files on feature-x",
        "for red CI on CircleCI, set up the App instead: `greenlight init --app`",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert!(read(checkout.path(), WORKFLOW).contains("runs-on: ubuntu-"));
    done.saying("the workflow .github/workflows/ci.yml cannot be read as YAML")
        .saying("the Action sees only GitHub Actions");
    let quiet = init(checkout.path(), &["-q", "--app", "--force"]).await.with(0);
    assert_eq!((quiet.out.lines().count(), quiet.err.as_str()), (1, ""));
}

#[tokio::test]
async fn workflows_that_are_left_out_are_named() {
    let job = |run: &str| {
        format!("on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {run}\n")
    };
    let files = [
        (CI, format!("name: CI\n{}", job("docker compose run --rm app ./all"))),
        (
            ".github/workflows/lint.yml",
            format!("name: Lint\n{}", job("npx eslint .")),
        ),
        (
            ".github/workflows/label.yml",
            format!("name: Label\n{}", job("echo label")),
        ),
        (
            ".github/workflows/odd.yml",
            format!("name: \"${{{{ x }}}} tests\"\n{}", job("pytest")),
        ),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_bytes()));
    let checkout = repository("https://github.com/acme/rail", &files);
    let done = init(checkout.path(), &[]).await.with(0);
    assert_eq!(listens_to(checkout.path()), ["CI", "Lint"]);
    done.saying(
        "greenlight does not listen to Label in .github/workflows/label.yml: no step of it is known to run tests",
    )
    .saying("greenlight cannot listen to .github/workflows/odd.yml: GitHub allows no expression in the name");
}

#[tokio::test]
async fn a_repository_of_somebody_else_is_named_with_the_remedy() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give files away.
        return;
    }
    let folder = written(&[("a; id/test_sums.py", SUITE)]);
    let checkout = folder.path().join("a; id");
    git(&checkout, &["init"]);
    std::os::unix::fs::chown(&checkout, Some(65534), None).unwrap();
    std::os::unix::fs::chown(checkout.join(".git"), Some(65534), None).unwrap();
    let top = checkout.canonicalize().unwrap();
    let refused = init(&checkout, &[]).await.with(2);
    let remedy = format!("git config --global --add safe.directory '{}'", top.display());
    assert!(
        refused.err.contains(&remedy) && !refused.err.contains("git init"),
        "{}",
        refused.err
    );
}

#[tokio::test]
async fn what_only_pushes_start_is_named_and_what_the_settings_say_counts() {
    let pushes = b"name: Push\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: python3 -m unittest\n";
    let settings = b"[trigger]\nlabel = \"help\"\n[limits]\nwall = \"3h\"\n";
    let files: [(&str, &[u8]); 3] = [("test_sums.py", SUITE), (CI, pushes), ("greenlight.toml", settings)];
    let checkout = repository("git@github.com:acme/rail.git", &files);
    let done = init(checkout.path(), &[]).await.with(0);
    for part in [
        "CI:       Push in .github/workflows/ci.yml, which pull requests do not start",
        "1. add `pull_request` to `on:` in .github/workflows/ci.yml: greenlight answers red CI of pull requests",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert_eq!(listens_to(checkout.path()), ["Push"]);
    for path in [WORKFLOW, COMMANDS] {
        let text = read(checkout.path(), path);
        assert_eq!(check_workflow(&text), [""; 0], "{path}");
        assert!(text.contains("timeout-minutes: 195"), "{text}");
    }
    assert!(read(checkout.path(), WORKFLOW).contains("github.event.label.name == 'help')"));
    let again = init(checkout.path(), &[]).await.with(0);
    assert!(again.out.contains("nothing to do"), "{}", again.out);
}
