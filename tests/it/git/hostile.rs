//! Attacks by a hostile pull request, a stranger's server or a broken network.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use git2::{ObjectType, Oid};
use greenlight::domain::id::CommitSha;
use greenlight::git::{Error, FetchLimits, Remote};
use secrecy::SecretString;

use super::origin::{Server, World, git, http_backend, limits, noise, pack_response};

const TOKEN: &str = "ghs_verysecret";

fn with_token(remote: Remote) -> Remote {
    Remote {
        token: Some(SecretString::from(TOKEN)),
        ..remote
    }
}

/// Fetches a crafted tree from real git and exports it.
async fn export(world: &World, tree: Oid) -> Result<(), Error> {
    let sha = world.commit_tree(tree, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await?;
    let result = mirror.export(&sha, &world.path("outer/export")).map(|_| ());
    assert!(mirror.has(&sha), "a hostile tree is no damage");
    result
}

#[tokio::test]
async fn a_crafted_tree_is_refused() {
    type Craft = fn(&World, Oid) -> Oid;
    let cases: &[(&str, Craft)] = &[
        ("..", |w, blob| w.raw_tree(&[("100644", b"..", blob)])),
        (".", |w, blob| w.raw_tree(&[("100644", b".", blob)])),
        ("../x", |w, blob| w.raw_tree(&[("100644", b"../x", blob)])),
        ("/etc/x", |w, blob| w.raw_tree(&[("100644", b"/etc/x", blob)])),
        (".git", |w, blob| w.raw_tree(&[("100644", b".git", blob)])),
        (".GIT/hooks", |w, blob| {
            let inner = w.raw_tree(&[("100755", b"post-checkout", blob)]);
            w.raw_tree(&[("40000", b".GIT", inner)])
        }),
        ("invisible .git", |w, blob| {
            w.raw_tree(&[("100644", ".g\u{200c}it".as_bytes(), blob)])
        }),
        (".. as a directory", |w, blob| {
            let inner = w.raw_tree(&[("100644", b"escaped", blob)]);
            w.raw_tree(&[("40000", b"..", inner)])
        }),
        ("a link and a directory of one name", |w, blob| {
            let link = w.blob(b"../..");
            let inner = w.raw_tree(&[("100644", b"escaped", blob)]);
            w.raw_tree(&[("120000", b"a", link), ("40000", b"a", inner)])
        }),
        ("one name twice", |w, blob| {
            w.raw_tree(&[("100644", b"a", blob), ("100755", b"a", blob)])
        }),
        ("an unknown mode", |w, blob| w.raw_tree(&[("100", b"a", blob)])),
        ("a file that is a directory", |w, blob| {
            let inner = w.raw_tree(&[("100644", b"x", blob)]);
            w.raw_tree(&[("100644", b"a", inner)])
        }),
        ("a directory that is a file", |w, blob| {
            w.raw_tree(&[("40000", b"a", blob)])
        }),
        ("an empty link", |w, _| w.raw_tree(&[("120000", b"a", w.blob(b""))])),
        ("no tree at all", |w, _| w.raw(ObjectType::Tree, b"nonsense")),
    ];
    for (name, craft) in cases {
        let world = World::new();
        fs::create_dir(world.path("outer")).unwrap();
        let tree = craft(&world, world.blob(b"evil"));
        let result = export(&world, tree).await;
        // The real server already rejects some of these.
        let refused = matches!(
            result,
            Err(Error::UnsafeTree { .. } | Error::Server(_) | Error::Missing(_))
        );
        assert!(refused, "{name}: {result:?}");
        let beside: Vec<_> = fs::read_dir(world.path("outer"))
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert!(beside.iter().all(|file| file == "export"), "{name}: {beside:?}");
    }
}

#[tokio::test]
async fn a_link_is_never_written_through() {
    let world = World::new();
    fs::create_dir(world.path("outer")).unwrap();
    let inner = world.raw_tree(&[("100644", b"x", world.blob(b"1"))]);
    let tree = world.raw_tree(&[("120000", b"A", world.blob(b"../..")), ("40000", b"a", inner)]);
    export(&world, tree).await.unwrap();
    assert!(fs::symlink_metadata(world.path("outer/export/A")).unwrap().is_symlink());
    assert!(world.path("outer/export/a/x").exists());
    assert!(!world.path("x").exists());
}

#[tokio::test]
async fn a_tree_of_endless_trees_is_too_large() {
    let world = World::new();
    fs::create_dir(world.path("outer")).unwrap();
    let mut tree = world.raw_tree(&[("100644", b"x", world.blob(b"1"))]);
    for _ in 0..12 {
        let names: Vec<String> = (0..10).map(|n| format!("d{n}")).collect();
        let entries: Vec<_> = names.iter().map(|name| ("40000", name.as_bytes(), tree)).collect();
        tree = world.raw_tree(&entries);
    }
    let error = export(&world, tree).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_token_is_asked_for_and_never_shown() {
    let world = World::new();
    let sha = world.commit(&[("a", "100644", b"1")], None);
    let root = world.directory.path().to_path_buf();
    let server = Server::start(move |request| {
        let root = root.clone();
        async move {
            use base64::Engine as _;
            let expected = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{TOKEN}"));
            match request
                .headers
                .get("authorization")
                .map(|value| value.to_str().unwrap().to_string())
            {
                Some(value) if value == format!("Basic {expected}") => http_backend(&root, request).await,
                Some(_) => (StatusCode::FORBIDDEN, "no\x1b[31m access\nmore").into_response(),
                None => (StatusCode::NOT_FOUND, "Repository not found.").into_response(),
            }
        }
    })
    .await;
    let (mirror, wants) = (world.mirror(), [sha]);

    let error = mirror.fetch(&server.remote(), &wants, &limits()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)));
    insta::assert_snapshot!(error, @"127.0.0.1 refuses the fetch (404 Not Found: Repository not found.); give the token, or the App's installation, read access to this repository's contents");
    let wrong = Remote {
        token: Some(SecretString::from("ghs_other")),
        ..server.remote()
    };
    let error = mirror.fetch(&wrong, &wants, &limits()).await.unwrap_err();
    assert!(error.to_string().contains("no[31m access)"), "{error}");
    assert_eq!(server.requests().len(), 2, "a refusal is not asked again");

    let remote = with_token(server.remote());
    mirror.fetch(&remote, &wants, &limits()).await.unwrap();
    assert!(!format!("{remote:?}").contains(TOKEN));
}

#[tokio::test]
async fn a_redirect_keeps_the_token_on_its_host() {
    let world = World::new();
    let sha = world.commit(&[("a", "100644", b"1")], None);
    let stranger = Server::answering("").await;
    let away = stranger.url.clone();
    let root = world.directory.path().to_path_buf();
    let server = Server::start(move |request| {
        let (root, away) = (root.clone(), away.clone());
        async move {
            let to = match request.uri.path() {
                "/renamed.git/git-upload-pack" => "/o/r.git/git-upload-pack".to_string(),
                "/away.git/git-upload-pack" => format!("{away}/git-upload-pack"),
                "/circle.git/git-upload-pack" => "/circle.git/git-upload-pack".to_string(),
                _ => return http_backend(&root, request).await,
            };
            (StatusCode::MOVED_PERMANENTLY, [("location", to)]).into_response()
        }
    })
    .await;
    let remote = |path: &str| {
        with_token(Remote {
            url: server.url.join(path).unwrap(),
            token: None,
        })
    };
    let (mirror, wants) = (world.mirror(), [sha]);

    let error = mirror.fetch(&remote("/away.git"), &wants, &limits()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert!(stranger.requests().is_empty());
    assert!(mirror.fetch(&remote("/circle.git"), &wants, &limits()).await.is_err());
    mirror.fetch(&remote("/renamed.git"), &wants, &limits()).await.unwrap();
}

#[tokio::test]
async fn a_token_needs_tls_beyond_this_machine() {
    let world = World::new();
    let remote = Remote {
        url: "http://github.example/o/r.git".parse().unwrap(),
        token: None,
    };
    let wants = ["a".repeat(40).parse().unwrap()];
    let error = world
        .mirror()
        .fetch(&with_token(remote), &wants, &limits())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let world = World::new();
    let url = "https://user:pass@127.0.0.1:1/o/r.git?x=y".parse().unwrap();
    let remote = with_token(Remote { url, token: None });
    let wants = ["a".repeat(40).parse().unwrap()];
    let error = world.mirror().fetch(&remote, &wants, &limits()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }));
    insta::assert_snapshot!(error, @"cannot fetch from 127.0.0.1: Connection refused (os error 111); try again later");
}

/// Real git's answer to a fetch of this commit.
async fn recorded(world: &World, sha: &CommitSha) -> Vec<u8> {
    let root = world.directory.path().to_path_buf();
    let (sender, mut answers) = tokio::sync::mpsc::channel(1);
    let server = Server::start(move |request| {
        let (root, sender) = (root.clone(), sender.clone());
        async move {
            let answer = http_backend(&root, request).await;
            let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            sender.send(body.to_vec()).await.unwrap();
            pack_response(body)
        }
    })
    .await;
    let mirror = greenlight::git::Mirror::open(&world.path("other-mirror")).unwrap();
    mirror
        .fetch(&server.remote(), std::slice::from_ref(sha), &limits())
        .await
        .unwrap();
    answers.recv().await.unwrap()
}

#[tokio::test]
async fn a_broken_answer_leaves_no_trace() {
    let world = World::new();
    let sha = world.commit(&[("a", "100644", &[7; 5000]), ("b", "100644", b"1")], None);
    let whole = recorded(&world, &sha).await;
    let mut flipped = whole.clone();
    let middle = whole.len() - 40;
    flipped[middle] ^= 0x40;
    let another = recorded(&world, &world.commit(&[("c", "100644", b"2")], None)).await;
    let cases = [
        ("nothing", vec![]),
        ("cut short", whole[..whole.len() - 30].to_vec()),
        ("cut at the end", whole[..whole.len() - 4].to_vec()),
        ("one bit flipped", flipped),
        ("a page", b"<!DOCTYPE html><title>Sign in</title>".to_vec()),
        ("no pack", b"000dpackfile\n0011\x01not a pack!!0000".to_vec()),
        ("an empty pack", b"000dpackfile\n0000".to_vec()),
        (
            "too many objects",
            b"000dpackfile\n0011\x01PACK\0\0\0\x02\x7f\xff\xff\xff0000".to_vec(),
        ),
        ("another commit", another),
        ("an error", b"000dpackfile\n000f\x03disk full\n".to_vec()),
    ];
    for (name, body) in cases {
        let (server, mirror) = (Server::answering(body).await, world.mirror());
        let result = mirror
            .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
            .await;
        assert!(result.is_err(), "{name}");
        assert!(!mirror.has(&sha), "{name}");
        assert_eq!(
            fs::read_dir(world.path("mirror/objects/pack")).unwrap().count(),
            0,
            "{name}"
        );
        let left = fs::read_dir(world.path("mirror")).unwrap().flatten();
        assert!(
            !left
                .into_iter()
                .any(|e| e.file_name().to_string_lossy().starts_with("incoming-")),
            "{name}"
        );
    }
    let server = Server::answering(whole).await;
    world.mirror().fetch(&server.remote(), &[sha], &limits()).await.unwrap();
    git(&world.path("mirror"), &["fsck", "--full"]);
}

#[tokio::test]
async fn a_page_is_no_pack() {
    let world = World::new();
    let server = Server::start(async |_| "<!DOCTYPE html>".into_response()).await;
    let wants = ["a".repeat(40).parse().unwrap()];
    let error = world
        .mirror()
        .fetch(&server.remote(), &wants, &limits())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Server(_)), "{error:?}");
}

#[tokio::test]
async fn a_fetch_stops_at_its_limits() {
    let world = World::new();
    let noise = noise(300_000);
    let sha = world.commit(&[("big", "100644", &noise)], None);
    let (server, mirror) = (world.serve().await, world.mirror());
    let small = FetchLimits {
        bytes: 100_000,
        ..limits()
    };
    let error = mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &small)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 100_000, .. }), "{error:?}");

    let silent = Server::start(async |_| std::future::pending().await).await;
    let short = FetchLimits {
        wall: Duration::from_millis(50),
        ..limits()
    };
    let error = mirror
        .fetch(&silent.remote(), std::slice::from_ref(&sha), &short)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");

    let trickle = Server::start(async |_| {
        let head = futures::stream::iter([Ok::<_, std::io::Error>("000dpackfile\n0009\x01PACK")]);
        let body = futures::StreamExt::chain(head, futures::stream::pending());
        pack_response(axum::body::Body::from_stream(body))
    })
    .await;
    let error = mirror
        .fetch(&trickle.remote(), std::slice::from_ref(&sha), &short)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
    assert!(!mirror.has(&sha));
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_again() {
    let world = World::new();
    let sha = world.commit(&[("a", "100644", b"1")], None);
    let root = world.directory.path().to_path_buf();
    let asked = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |request| {
        let (root, asked) = (root.clone(), asked.clone());
        async move {
            if asked.fetch_add(1, Ordering::Relaxed) < 2 {
                return (StatusCode::BAD_GATEWAY, "unicorn").into_response();
            }
            http_backend(&root, request).await
        }
    })
    .await;
    world.mirror().fetch(&server.remote(), &[sha], &limits()).await.unwrap();
    assert_eq!(server.requests().len(), 3);

    let broken = Server::start(async |_| StatusCode::SERVICE_UNAVAILABLE.into_response()).await;
    let wants = ["a".repeat(40).parse().unwrap()];
    let error = world
        .mirror()
        .fetch(&broken.remote(), &wants, &limits())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(broken.requests().len(), 3);
}
