//! Real git clones from the double and fetches from it.

use std::path::Path;
use std::process::Output;

use github_double::{AUTHOR, World};

use super::{serve, world};

/// Runs git without the machine's configuration; it must succeed.
async fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = try_git(folder, arguments).await;
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "real git is the independent peer of the double's git server"
)]
async fn try_git(folder: &Path, arguments: &[&str]) -> Output {
    tokio::process::Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .args(arguments)
        .output()
        .await
        .unwrap()
}

#[tokio::test]
async fn git_clones_and_fetches_what_was_pushed_later() {
    for version in ["2", "0"] {
        let (client, number) = world().await;
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let protocol = format!("protocol.version={version}");
        let url = format!("{}/acme/rail.git", client.double.web_url());
        git(at, &["-c", &protocol, "clone", "-q", &url, "all"]).await;
        assert_eq!(std::fs::read(at.join("all/list.txt")).unwrap(), super::MAIN);
        let all = at.join("all");
        let pushed = client
            .double
            .push(number, AUTHOR, &[("new.txt", Some(b"new\n"))])
            .await
            .unwrap();
        git(&all, &["-c", &protocol, "fetch", "-q", "origin", "topic"]).await;
        assert_eq!(git(&all, &["rev-parse", "FETCH_HEAD"]).await.trim(), pushed);
        git(&all, &["fsck", "--strict"]).await;
    }
}

#[tokio::test]
async fn a_commit_no_branch_has_any_more_can_still_be_fetched() {
    let (client, number) = world().await;
    let lost = client.double.head(number).unwrap();
    client
        .double
        .force_push(number, AUTHOR, &[("list.txt", Some(b"over\n"))])
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}/acme/rail.git", client.double.web_url());
    git(folder.path(), &["init", "-q", "."]).await;
    git(folder.path(), &["fetch", "-q", "--depth", "1", &url, &lost]).await;
    assert_eq!(git(folder.path(), &["rev-parse", "FETCH_HEAD"]).await.trim(), lost);
    let nothing = try_git(
        folder.path(),
        &["fetch", "-q", &url, "0123456789012345678901234567890123456789"],
    )
    .await;
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("not our ref"));
}

#[tokio::test]
async fn long_requests_come_compressed() {
    let (client, number) = world().await;
    let url = format!("{}/acme/rail.git", client.double.web_url());
    let mut arguments = vec!["fetch".to_owned(), "-q".to_owned(), url];
    for count in 0..30 {
        let text = format!("{count}\n");
        arguments.push(
            client
                .double
                .push(number, AUTHOR, &[("count.txt", Some(text.as_bytes()))])
                .await
                .unwrap(),
        );
    }
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "."]).await;
    git(folder.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let compressed = ("content-encoding".to_owned(), "gzip".to_owned());
    assert!(
        client
            .double
            .requests()
            .iter()
            .any(|exchange| exchange.headers.contains(&compressed))
    );
}

#[tokio::test]
async fn git_clones_shallowly_and_deepens() {
    for version in ["2", "0"] {
        let (client, number) = world().await;
        client
            .double
            .push(number, AUTHOR, &[("a.txt", Some(b"a\n"))])
            .await
            .unwrap();
        let pushed = client
            .double
            .push(number, AUTHOR, &[("b.txt", Some(b"b\n"))])
            .await
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let protocol = format!("protocol.version={version}");
        let url = format!("{}/acme/rail.git", client.double.web_url());
        git(
            at,
            &[
                "-c", &protocol, "clone", "-q", "--depth", "1", "--branch", "topic", &url, "one",
            ],
        )
        .await;
        let one = at.join("one");
        assert_eq!(git(&one, &["log", "--format=%H"]).await.trim(), pushed);
        let later = client
            .double
            .push(number, AUTHOR, &[("c.txt", Some(b"c\n"))])
            .await
            .unwrap();
        git(
            &one,
            &["-c", &protocol, "fetch", "-q", "--depth", "1", "origin", &later],
        )
        .await;
        assert_eq!(git(&one, &["rev-parse", "FETCH_HEAD"]).await.trim(), later);
        git(&one, &["-c", &protocol, "fetch", "-q", "--unshallow", "origin"]).await;
        assert_eq!(git(&one, &["rev-list", "--count", &later]).await.trim(), "5");
        git(&one, &["fsck", "--strict"]).await;
    }
}

#[tokio::test]
async fn git_lists_references_and_reads_a_private_repository_with_a_token_only() {
    let private = World::with_repository("acme/rail", &[("a.txt", b"a\n")]).private();
    let (client, number) = serve(private).await;
    let folder = tempfile::tempdir().unwrap();
    let plain = format!("{}/acme/rail.git", client.double.web_url());
    let refused = try_git(folder.path(), &["ls-remote", &plain]).await;
    assert!(!refused.status.success());
    let open = plain.replacen("http://", &format!("http://x-access-token:{}@", client.token), 1);
    let listed = git(
        folder.path(),
        &["-c", "protocol.version=2", "ls-remote", "--symref", &open],
    )
    .await;
    let head = client.double.head(number).unwrap();
    assert!(listed.contains("ref: refs/heads/main\tHEAD"), "{listed}");
    assert!(listed.contains(&format!("{head}\trefs/heads/topic")), "{listed}");
    assert!(listed.contains(&format!("{head}\trefs/pull/{number}/head")), "{listed}");
    client.double.expire_tokens();
    assert!(!try_git(folder.path(), &["ls-remote", &open]).await.status.success());
}
