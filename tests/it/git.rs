//! Fetching over HTTP from real git, exporting trees, and attacks by hostile servers and trees.

mod apply;
mod hostile;
mod hostile_local;
mod local;
mod merge;
mod mirror;
mod origin;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use greenlight::domain::patch::{Blob, FileChange, FileMode, Patch};
use greenlight::git::{Error, Exported, Mirror, local_head};
use origin::{World, git, limits};

/// Everything below a directory: the executable bit and the bytes, or the target of a link.
fn contents(root: &Path) -> BTreeMap<String, (bool, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_string();
            let meta = path.symlink_metadata().unwrap();
            if meta.is_dir() {
                directories.push(path);
            } else if meta.is_symlink() {
                let to = fs::read_link(path).unwrap().to_str().unwrap().to_string();
                found.insert(name, (false, format!("-> {to}").into_bytes()));
            } else {
                let executable = meta.permissions().mode() & 0o100 != 0;
                found.insert(name, (executable, fs::read(path).unwrap()));
            }
        }
    }
    found
}

const FILES: &[(&str, &str, &[u8])] = &[
    (".gitattributes", "100644", b"*.txt text eol=crlf ident\n"),
    ("unix.txt", "100644", b"$Id$\none\ntwo"),
    ("windows.txt", "100644", b"one\r\ntwo\r\n"),
    ("bin/run", "100755", b"#!/bin/sh\n"),
    ("bin/zero", "100644", b"\0\xff\xfe"),
    ("a b/\u{fc}/it's \"quoted\".rs", "100644", b""),
    ("link", "120000", b"bin/run"),
    ("dangling", "120000", b"/etc/shadow"),
];

#[tokio::test]
async fn an_export_is_the_tree_that_git_has() {
    let world = World::new();
    let sha = world.commit(FILES, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    assert!(!mirror.has(&sha));
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    assert!(mirror.has(&sha));

    let exported = mirror.export(&sha, &world.path("export")).unwrap();
    assert_eq!(
        exported,
        Exported {
            files: FILES.len(),
            skipped: vec![]
        }
    );

    let found = contents(&world.path("export"));
    assert_eq!(found.len(), FILES.len());
    for (path, mode, bytes) in FILES {
        let expected = match *mode {
            "120000" => (false, [b"-> ", *bytes].concat()),
            mode => (mode == "100755", bytes.to_vec()),
        };
        assert_eq!(found[*path], expected, "{path}");
    }
    // Real git finds no error in the fetched data, and sees the same tree in it.
    git(&world.path("mirror"), &["fsck", "--full", "--strict"]);
    let list = ["ls-tree", "-r", "--full-tree", sha.as_str()];
    assert_eq!(git(&world.path("mirror"), &list), git(&world.path("o/r.git"), &list));
}

#[tokio::test]
async fn what_cannot_be_expressed_is_named() {
    let world = World::new();
    let files = [
        ("ok", "100644", &b"1"[..]),
        ("vendor/lib", "160000", b""),
        ("dev-disk\\x2d.mount", "100644", b"2"),
        ("line\nbreak", "100644", b"3"),
    ];
    let sha = world.commit(&files, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    let exported = mirror.export(&sha, &world.path("export")).unwrap();
    assert_eq!(exported.files, 1);
    assert_eq!(exported.skipped, ["dev-disk\\x2d.mount", "line", "vendor/lib"]);
}

#[tokio::test]
async fn an_export_goes_into_a_fresh_directory_only() {
    let world = World::new();
    let sha = world.commit(FILES, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    let into = world.path("export");
    fs::create_dir(&into).unwrap();
    mirror.export(&sha, &into).unwrap();
    assert!(matches!(mirror.export(&sha, &into), Err(Error::Io { .. })));
    std::os::unix::fs::symlink(world.path("o"), world.path("elsewhere")).unwrap();
    assert!(mirror.export(&sha, &world.path("elsewhere")).is_err());
}

#[tokio::test]
async fn a_file_and_a_difference_are_read_without_an_export() {
    let world = World::new();
    let first = world.commit(
        &[
            ("same/x", "100644", b"x"),
            ("a/b", "100644", b"1"),
            ("gone", "100644", b"g"),
        ],
        None,
    );
    let second = world.commit(
        &[
            ("same/x", "100644", b"x"),
            ("a/b", "100755", b"2"),
            ("gone/in", "120000", b"x"),
        ],
        None,
    );
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), &[first.clone(), second.clone()], &limits())
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 1);

    let path = |path: &str| path.parse().unwrap();
    let file = mirror.file(&second, &path("a/b"), 1).unwrap().unwrap();
    assert_eq!((file.mode, &file.bytes[..]), (FileMode::Executable, &b"2"[..]));
    assert!(mirror.file(&second, &path("a"), 9).unwrap().is_none());
    assert!(mirror.file(&second, &path("a/b/c"), 9).unwrap().is_none());
    assert!(mirror.file(&second, &path("nothing"), 9).unwrap().is_none());
    assert!(matches!(
        mirror.file(&second, &path("a/b"), 0),
        Err(Error::TooLarge { .. })
    ));

    let patch = mirror.diff(&first, &second).unwrap();
    let paths: Vec<_> = patch.paths().map(ToString::to_string).collect();
    assert_eq!(paths, ["a/b", "gone", "gone/in"]);
    assert!(mirror.diff(&second, &second).unwrap().is_empty());
}

#[tokio::test]
async fn a_tree_with_a_patch_is_what_git_would_make_of_it() {
    let world = World::new();
    let kept = ("kept", "100644", &b"k"[..]);
    let first = world.commit(&[kept, ("a/b", "100644", b"1"), ("gone", "100644", b"g")], None);
    let second = world.commit(&[kept, ("a/b", "100755", b"2"), ("new/c", "120000", b"x")], None);
    let (server, mirror) = (world.serve().await, world.mirror());
    mirror
        .fetch(&server.remote(), &[first.clone(), second.clone()], &limits())
        .await
        .unwrap();
    let patch = mirror.diff(&first, &second).unwrap();
    let tree = git(&world.path("o/r.git"), &["rev-parse", &format!("{second}^{{tree}}")]);
    assert_eq!(
        mirror.tree_with(&first, &patch).unwrap(),
        String::from_utf8(tree).unwrap().trim()
    );

    // `gone` was already removed.
    let error = mirror.tree_with(&second, &patch).unwrap_err();
    assert!(matches!(error, Error::UnsafeTree { .. }), "{error:?}");
    let below_a_file = FileChange {
        before: None,
        after: Some(Blob::regular("x")),
    };
    let patch = Patch::new([("kept/x".parse().unwrap(), below_a_file)]);
    let error = mirror.tree_with(&second, &patch).unwrap_err();
    assert!(matches!(error, Error::UnsafeTree { .. }), "{error:?}");
    drop(mirror);
    assert!(world.mirror().has(&first));
}

#[tokio::test]
async fn the_double_is_fetched_from_like_the_real_one() {
    let files = [("a.txt", &b"a\n"[..]), ("sub/b.txt", &[7; 9000])];
    let double = github_double::Double::start(github_double::World::with_repository("acme/rail", &files).private())
        .await
        .unwrap();
    let new = github_double::NewPullRequest::new(github_double::AUTHOR, "topic", "Change").write("a.txt", "A\n");
    let number = double.open_pull_request(new).await.unwrap();
    let head = |double: &github_double::Double| double.head(number).unwrap().parse().unwrap();
    let base = double.reference("refs/heads/main").unwrap().parse().unwrap();
    let first = head(&double);
    let directory = tempfile::tempdir().unwrap();
    let mirror = Mirror::open(directory.path()).unwrap();
    let remote = |token: Option<String>| greenlight::git::Remote {
        url: format!("{}/acme/rail.git", double.web_url()).parse().unwrap(),
        token: token.map(Into::into),
    };
    let wants = [first, base];
    let error = mirror.fetch(&remote(None), &wants, &limits()).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    mirror
        .fetch(&remote(Some(double.token())), &wants, &limits())
        .await
        .unwrap();
    let patch = mirror.diff(&wants[1], &wants[0]).unwrap();
    assert_eq!(patch.paths().map(ToString::to_string).collect::<Vec<_>>(), ["a.txt"]);

    double
        .push(number, github_double::AUTHOR, &[("a.txt", Some(b"AA\n"))])
        .await
        .unwrap();
    let second = head(&double);
    mirror
        .fetch(&remote(Some(double.token())), std::slice::from_ref(&second), &limits())
        .await
        .unwrap();
    mirror.export(&second, &directory.path().join("export")).unwrap();
    assert_eq!(fs::read(directory.path().join("export/a.txt")).unwrap(), b"AA\n");
    assert_eq!(fs::read(directory.path().join("export/sub/b.txt")).unwrap(), [7; 9000]);
    git(directory.path(), &["fsck", "--full"]);
}

#[tokio::test]
async fn a_commit_that_was_not_fetched_is_missing() {
    let world = World::new();
    let sha = world.commit(FILES, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    assert!(matches!(
        mirror.export(&sha, &world.path("export")),
        Err(Error::Missing(_))
    ));
    let unknown = "1".repeat(40).parse().unwrap();
    let error = mirror
        .fetch(&server.remote(), &[sha.clone(), unknown], &limits())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Missing(which) if *which == "1".repeat(40)),
        "{error:?}"
    );
    assert!(!mirror.has(&sha));
}

#[tokio::test]
async fn no_configuration_takes_part() {
    let world = World::new();
    let sha = world.commit(FILES, None);
    let (server, mirror) = (world.serve().await, world.mirror());
    fs::write(world.path("mirror/config"), "[core\nnonsense").unwrap();
    fs::create_dir_all(world.path("mirror/info")).unwrap();
    fs::write(world.path("mirror/info/attributes"), "* eol=crlf text filter=x\n").unwrap();
    mirror
        .fetch(&server.remote(), std::slice::from_ref(&sha), &limits())
        .await
        .unwrap();
    mirror.export(&sha, &world.path("export")).unwrap();
    assert_eq!(fs::read(world.path("export/unix.txt")).unwrap(), b"$Id$\none\ntwo");
}

#[test]
fn the_head_of_a_checkout_is_found_as_git_finds_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("work");
    fs::create_dir(&root).unwrap();
    assert_eq!(local_head(&root), None);
    git(&root, &["init", "-q", "-b", "feature/x"]);
    assert_eq!(local_head(&root), None);
    fs::create_dir(root.join("sub")).unwrap();
    git(&root, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let head = |at: &Path| {
        String::from_utf8(git(at, &["rev-parse", "HEAD"]))
            .unwrap()
            .trim()
            .to_string()
    };
    let check = |at: &Path| assert_eq!(local_head(at).map(String::from), Some(head(at)), "{}", at.display());
    check(&root);
    check(&root.join("sub"));
    git(&root, &["pack-refs", "--all"]);
    check(&root);
    git(&root, &["worktree", "add", "-q", "-b", "other", "../linked"]);
    let linked = directory.path().join("linked");
    git(&linked, &["commit", "-q", "--allow-empty", "-m", "two"]);
    check(&linked);
    git(&linked, &["pack-refs", "--all"]);
    check(&linked);
    git(&root, &["checkout", "-q", "--detach"]);
    check(&root);
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/../../../../etc/passwd\n").unwrap();
    assert_eq!(local_head(&root), None);
}
