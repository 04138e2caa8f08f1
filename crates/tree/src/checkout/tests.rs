//! Trees on disk, taken stock of and copied.

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

#[test]
fn ignored_files_and_git_are_left_out_but_for_what_git_has() {
    let dir = tree(&[
        (".gitignore", "target\n"),
        ("target/x", ""),
        (".git/config", ""),
        ("a/b.rs", "1"),
        (".hidden", ""),
    ]);
    let checkout = Checkout::open(dir.path()).unwrap();
    let paths: Vec<_> = checkout.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, [".gitignore", ".hidden", "a/b.rs"]);
    let tracked = ["target/x", "target/gone", "a/b.rs"].map(|path| path.parse().unwrap());
    assert_eq!(checkout.with_tracked(&tracked).paths().len(), 4);
}

#[test]
fn edits_stay_in_memory_and_make_the_patch() {
    let dir = tree(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let mut checkout = Checkout::open(dir.path()).unwrap();
    checkout.edit_text("a.txt".parse().unwrap(), "ONE\n");
    checkout.edit("b.txt".parse().unwrap(), None);
    checkout.edit_text("c.txt".parse().unwrap(), "three\n");
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "one\n");
    assert_eq!(checkout.patch().files().count(), 3);
    let workspaces = tempfile::tempdir().unwrap();
    let workspace = checkout.workspace(workspaces.path()).unwrap();
    assert_eq!(fs::read_to_string(workspace.path().join("a.txt")).unwrap(), "ONE\n");
    assert!(!workspace.path().join("b.txt").exists());
    assert_eq!(fs::read_to_string(workspace.path().join("c.txt")).unwrap(), "three\n");
    let kept = workspace.path().to_path_buf();
    drop(workspace);
    assert!(!kept.exists());
}

#[test]
fn the_place_of_what_was_left_out_is_taken() {
    let dir = tree(&[("vendor/a.txt", "one\n"), ("line", "")]);
    let left_out = ["vendor/lib", "line", "odd\\x2d"].map(String::from);
    let mut checkout = Checkout::exported(dir.path(), &left_out).unwrap();
    for path in ["vendor/lib", "vendor/lib/src/x.rs", "vendor"] {
        checkout.edit_text(path.parse().unwrap(), "two\n");
        assert!(!checkout.contains(path), "{path}");
    }
    assert!(checkout.patch().is_empty());
    for path in ["vendor/a.txt", "vendor/b.txt", "vendor/library", "line"] {
        checkout.edit_text(path.parse().unwrap(), "two\n");
        assert_eq!(checkout.read_text(path).as_deref(), Some("two\n"), "{path}");
    }
}

#[test]
fn a_link_out_of_the_tree_is_not_read_through() {
    let secret = tree(&[("key", "secret")]);
    let dir = tree(&[("a", "")]);
    std::os::unix::fs::symlink(secret.path(), dir.path().join("out")).unwrap();
    std::os::unix::fs::symlink(secret.path().join("key"), dir.path().join("leak")).unwrap();
    let checkout = Checkout::open(dir.path()).unwrap();
    assert_eq!(checkout.read_text("leak"), None);
    assert_eq!(checkout.read_text("out/key"), None);
}

#[test]
fn a_copy_is_a_repository_without_anything_of_the_original() {
    let dir = tree(&[
        ("a.txt", "1\n"),
        (".git/config", "[core]\n\tfsmonitor = evil\n"),
        (".git/hooks/x", ""),
    ]);
    let workspaces = tempfile::tempdir().unwrap();
    let copy = Checkout::open(dir.path())
        .unwrap()
        .workspace(workspaces.path())
        .unwrap();
    let config = fs::read_to_string(copy.path().join(".git/config")).unwrap();
    assert!(config.contains("bare = false") && !config.contains("evil"), "{config}");
    assert!(!copy.path().join(".git/hooks").exists());
}

#[test]
fn a_copy_says_where_the_project_is_hosted() {
    let dir = tree(&[("a.txt", "1\n")]);
    let workspaces = tempfile::tempdir().unwrap();
    for (address, expected) in [
        ("https://github.com/a/b", Some("https://github.com/a/b")),
        ("https://ada:secret@github.com/a/b", None),
        ("https://github.com/a\n[core]\n\tfsmonitor = evil", None),
        ("https://github.com/a#b", None),
        ("ext::evil", None),
        ("", None),
    ] {
        let checkout = Checkout::open(dir.path()).unwrap().with_origin(address);
        let copy = checkout.workspace(workspaces.path()).unwrap();
        let config = fs::read_to_string(copy.path().join(".git/config")).unwrap();
        let url = config.lines().find_map(|line| line.strip_prefix("\turl = "));
        assert_eq!(url, expected, "{config}");
        assert!(!config.contains("evil"), "{config}");
    }
}
