//! Attacks by a repository on this machine against a person who verifies it: to reveal other people's files, to hide
//! its own, to hang, and to cost too much.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use greenlight::domain::id::CommitSha;
use greenlight::domain::patch::{FileMode, Patch};
use greenlight::git::{Error, LocalRepository};

use super::local::Checkout;
use super::origin::git;

fn said(root: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git(root, arguments)).unwrap().trim().to_string()
}

fn head(checkout: &Checkout) -> CommitSha {
    checkout.repository().resolve("HEAD").unwrap()
}

fn working(checkout: &Checkout) -> Result<Patch, Error> {
    checkout.repository().working_patch(&head(checkout))
}

fn paths(patch: &Patch) -> Vec<&str> {
    patch.paths().map(greenlight::domain::id::RepoPath::as_str).collect()
}

/// The tree that git makes of the current files.
fn tree_of_git(checkout: &Checkout) -> String {
    git(checkout.path(), &["add", "-A"]);
    said(checkout.path(), &["write-tree"])
}

fn fifo(path: &Path) {
    let _none = fs::remove_file(path);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

/// Adds an index entry without a file.
fn add_entry(checkout: &Checkout, mode: &str, id: &str, name: &str) -> CommitSha {
    let entry = format!("{mode},{id},{name}");
    git(checkout.path(), &["update-index", "--add", "--cacheinfo", &entry]);
    git(checkout.path(), &["commit", "-qm", name]);
    head(checkout)
}

#[test]
fn nothing_is_read_through_a_link() {
    let outside = tempfile::tempdir().unwrap();
    for name in ["deep.txt", "secret", "sub/secret"] {
        let path = outside.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "of somebody else\n").unwrap();
    }
    let checkout = Checkout::new();
    checkout.write("a/sub/secret", b"ours\n");
    checkout.write("b/sub/secret", b"ours\n");
    let first = checkout.commit("directories");
    fs::remove_dir_all(checkout.path().join("a")).unwrap();
    symlink(outside.path(), checkout.path().join("a")).unwrap();
    fs::remove_dir_all(checkout.path().join("b/sub")).unwrap();
    symlink(outside.path().join("sub"), checkout.path().join("b/sub")).unwrap();
    symlink(outside.path().join("secret"), checkout.path().join("new")).unwrap();

    let patch = working(&checkout).unwrap();
    assert_eq!(
        paths(&patch),
        ["a", "a/deep.txt", "a/sub/secret", "b/sub", "b/sub/secret", "new"]
    );
    for (path, change) in patch.files() {
        match &change.after {
            Some(blob) => assert_eq!(blob.mode, FileMode::Symlink, "{path}"),
            None => assert!(path.as_str().matches('/').count() > 0, "{path}"),
        }
    }
    // git itself produces exactly the same.
    assert_eq!(
        checkout.repository().tree_with(&first, &patch).unwrap(),
        tree_of_git(&checkout)
    );
}

#[test]
fn the_work_tree_is_where_its_git_is() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("empty"), "of somebody else\n").unwrap();
    let checkout = Checkout::new();
    let own = checkout.path().canonicalize().unwrap();
    git(&own, &["worktree", "add", "-q", "--detach", "sub/linked"]);
    git(&own, &["config", "core.worktree", outside.path().to_str().unwrap()]);
    for at in [own.clone(), own.join("src")] {
        let repository = LocalRepository::open(&at).unwrap();
        assert_eq!(repository.work_tree(), Some(own.as_path()));
    }
    let patch = working(&checkout).unwrap();
    assert!(
        patch
            .files()
            .all(|(path, change)| path.as_str().starts_with("sub/linked/") && change.before.is_none())
    );
    let linked = LocalRepository::open(&own.join("sub/linked/src")).unwrap();
    assert_eq!(linked.work_tree(), Some(own.join("sub/linked").as_path()));
    assert!(linked.working_patch(&head(&checkout)).unwrap().is_empty());

    let bare = outside.path().join("bare.git");
    git(
        outside.path(),
        &["clone", "-q", "--bare", own.to_str().unwrap(), bare.to_str().unwrap()],
    );
    git(&bare, &["config", "core.bare", "false"]);
    git(&bare, &["config", "core.worktree", outside.path().to_str().unwrap()]);
    let bare = LocalRepository::open(&bare).unwrap();
    assert_eq!(bare.work_tree(), None);
    bare.working_patch(&head(&checkout)).unwrap_err();
}

#[test]
fn trees_that_differ_in_what_no_patch_can_say_are_refused() {
    let checkout = Checkout::new();
    let first = head(&checkout);
    let blob = said(checkout.path(), &["rev-parse", "HEAD:run.sh"]);
    let empty = said(checkout.path(), &["rev-parse", "HEAD:empty"]);
    let repository = checkout.repository();
    let mut base = first.clone();
    for (mode, one, two, name) in [
        ("160000", first.as_str(), "1".repeat(40).as_str(), "vendor/lib"),
        ("100644", &blob, &empty, "back\\slash"),
        ("100644", &blob, &empty, "line\nbreak"),
    ] {
        let with = add_entry(&checkout, mode, one, name);
        let other = add_entry(&checkout, mode, two, name);
        let shown = name.split('\n').next().unwrap().escape_default().to_string();
        for (a, b) in [(&base, &with), (&with, &base), (&with, &other)] {
            let error = repository.patch_between(a, b).unwrap_err().to_string();
            assert!(error.contains(&shown), "{error}");
        }
        base = other;
    }
    // What is equal on both sides does not matter.
    git(checkout.path(), &["rm", "-q", "--cached", "open.txt"]);
    git(checkout.path(), &["commit", "-qm", "fewer"]);
    let patch = repository.patch_between(&base, &head(&checkout)).unwrap();
    assert_eq!(paths(&patch), ["open.txt"]);
}

#[test]
fn no_configuration_hides_a_difference_of_the_working_directory() {
    let checkout = Checkout::new();
    let root = checkout.path();
    checkout.write("Case.txt", b"case\n");
    checkout.write("assumed", b"1\n");
    checkout.write("skipped", b"1\n");
    let first = checkout.commit("more");
    for (key, value) in [
        ("core.filemode", "false"),
        ("core.autocrlf", "true"),
        ("core.ignorecase", "true"),
        ("core.symlinks", "false"),
        ("core.excludesFile", ".git/info/exclude"),
    ] {
        git(root, &["config", key, value]);
    }
    fs::write(root.join(".git/info/exclude"), "hidden*\n").unwrap();
    fs::write(root.join(".git/info/attributes"), "* text eol=lf\n").unwrap();
    git(root, &["update-index", "--assume-unchanged", "assumed"]);
    git(root, &["update-index", "--skip-worktree", "skipped"]);
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(root.join("src/a.py")).unwrap();
    checkout.write("src/a.py", text.replace('\n', "\r\n").as_bytes());
    fs::rename(root.join("Case.txt"), root.join("case.txt")).unwrap();
    checkout.write("assumed", b"2\n");
    checkout.write("skipped", b"2\n");
    checkout.write("hidden.py", b"x\n");
    checkout.write("nested/kept", b"x\n");
    git(&root.join("nested"), &["init", "-q"]);
    checkout.write(".ignore", b"ignored-by-another-tool\n");
    checkout.write("ignored-by-another-tool", b"x\n");

    let patch = working(&checkout).unwrap();
    let expected = [
        ".ignore",
        "Case.txt",
        "assumed",
        "case.txt",
        "hidden.py",
        "ignored-by-another-tool",
        "nested/kept",
        "run.sh",
        "skipped",
        "src/a.py",
    ];
    assert_eq!(paths(&patch), expected);
    let changed = patch.files().find(|(path, _)| path.as_str() == "run.sh").unwrap().1;
    assert_eq!(changed.after.as_ref().unwrap().mode, FileMode::Executable);
    checkout.repository().tree_with(&first, &patch).unwrap();
}

#[test]
fn ignored_is_what_git_ignores_by_the_files_of_the_work_tree() {
    let checkout = Checkout::new();
    for (name, text) in [
        (
            ".gitignore",
            "*.log\n/build\nnode/\n!keep.log\n# text\n\\#x\nq/**/z\n[\nspace\\ \n",
        ),
        ("src/.gitignore", "/only-here\n!back.log\ndeep/*\n!deep/in\r\n"),
        ("nested/.gitignore", "*\n!.gitignore\n"),
    ] {
        checkout.write(name, text.as_bytes());
    }
    for name in [
        "a.log",
        "keep.log",
        "build",
        "src/build",
        "node/x",
        "src/node/x",
        "src/node.x",
        "#x",
        "q/z",
        "q/1/2/z",
        "[",
        "space ",
        "only-here",
        "src/only-here",
        "src/back.log",
        "src/deep/in",
        "src/deep/out",
        "nested/x",
        "nested/y/z",
        "build.d/keep.log/x.log",
        "src/s/back.log",
    ] {
        checkout.write(name, b"x\n");
    }
    let listed = git(
        checkout.path(),
        &["ls-files", "-z", "-o", "--exclude-per-directory=.gitignore"],
    );
    let listed = String::from_utf8(listed).unwrap();
    let mut listed: Vec<&str> = listed.split_terminator('\0').collect();
    listed.sort_unstable();
    assert_eq!(paths(&working(&checkout).unwrap()), listed);
}

#[test]
fn what_is_no_regular_file_neither_hangs_nor_counts() {
    let checkout = Checkout::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("rules"), "*\n").unwrap();
    checkout.write("src/.gitignore", b"*.log\n");
    checkout.commit("rules");
    for name in [".gitignore", ".gitattributes", "src/.gitignore", "run.sh", "pipe"] {
        fifo(&checkout.path().join(name));
    }
    fs::create_dir(checkout.path().join("linked")).unwrap();
    symlink(outside.path().join("rules"), checkout.path().join("linked/.gitignore")).unwrap();
    checkout.write("linked/x", b"x\n");
    let patch = working(&checkout).unwrap();
    assert_eq!(
        paths(&patch),
        ["linked/.gitignore", "linked/x", "run.sh", "src/.gitignore"]
    );

    fs::remove_file(checkout.path().join("src/.gitignore")).unwrap();
    checkout.write("src/.gitignore", "x\n".repeat(200_000).as_bytes());
    assert!(matches!(working(&checkout), Err(Error::TooLarge { .. })));
}

#[test]
fn names_and_submodules_that_no_patch_can_say_must_be_as_they_were() {
    let checkout = Checkout::new();
    checkout.write("back\\slash", b"1\n");
    let first = checkout.commit("a name");
    assert!(working(&checkout).unwrap().is_empty());
    checkout.write("back\\slash", b"2\n");
    let error = working(&checkout).unwrap_err().to_string();
    assert!(error.contains("slash"), "{error}");
    checkout.write("back\\slash", b"1\n");
    checkout.write("line\nbreak", b"1\n");
    working(&checkout).unwrap_err();
    fs::remove_file(checkout.path().join("line\nbreak")).unwrap();

    let lib = checkout.path().join("vendor/lib");
    add_entry(&checkout, "160000", first.as_str(), "vendor/lib");
    working(&checkout).unwrap_err();
    fs::create_dir_all(&lib).unwrap();
    assert!(working(&checkout).unwrap().is_empty());
    checkout.write("vendor/lib/x", b"x\n");
    working(&checkout).unwrap_err();
    fs::remove_dir_all(&lib).unwrap();
    git(checkout.path(), &["clone", "-q", ".", lib.to_str().unwrap()]);
    let error = working(&checkout).unwrap_err().to_string();
    assert!(error.contains("vendor/lib"), "{error}");
    git(&lib, &["checkout", "-q", first.as_str()]);
    assert!(working(&checkout).unwrap().is_empty());
}

#[test]
fn a_huge_file_beside_the_patch_is_not_compared() {
    let checkout = Checkout::new();
    let base = head(&checkout);
    checkout.write("huge.txt", "x\n".repeat(3 << 20).as_bytes());
    checkout.write("open.txt", b"one\n");
    let head = checkout.commit("huge");
    let repository = checkout.repository();
    let files = repository.diff_files(&base, &head, &|path| path == "open.txt").unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|(name, hunks)| (name.as_str(), hunks.is_some()))
        .collect();
    assert_eq!(names, [("open.txt", true)]);
    // A single changed line would be too large: GitHub leaves it out as well.
    checkout.write("huge.txt", ["y\n", &"x\n".repeat(3 << 20)].concat().as_bytes());
    let next = checkout.commit("one line");
    let files = repository.diff_files(&head, &next, &|_| true).unwrap();
    assert_eq!(files, [("huge.txt".to_string(), None)]);
}

#[test]
fn files_and_directories_change_places_as_in_git() {
    let checkout = Checkout::new();
    checkout.write("d/x", b"x\n");
    checkout.write("d/y/z", b"z\n");
    for number in 0..300 {
        checkout.write(&format!("many/{number}"), b"1\n");
    }
    let first = checkout.commit("first");
    let root = checkout.path();
    fs::remove_dir_all(root.join("d")).unwrap();
    checkout.write("d", b"now a file\n");
    fs::remove_file(root.join("run.sh")).unwrap();
    checkout.write("run.sh/in/it", b"now a directory\n");
    for number in 0..300 {
        checkout.write(&format!("many/{number}"), b"2\n");
    }
    let tree = tree_of_git(&checkout);
    let diff = git(root, &["diff", "--cached", "--no-renames", "--full-index", "--binary"]);
    let repository = checkout.repository();
    let patch = repository.apply(&first, &diff).unwrap();
    assert_eq!(patch, repository.working_patch(&first).unwrap());
    assert_eq!(repository.tree_with(&first, &patch).unwrap(), tree);
    // And the reverse.
    let second = checkout.commit("second");
    let back = git(
        root,
        &["diff", "--no-renames", "--full-index", second.as_str(), first.as_str()],
    );
    let patch = repository.apply(&second, &back).unwrap();
    assert_eq!(
        repository.tree_with(&second, &patch).unwrap(),
        said(root, &["rev-parse", &format!("{first}^{{tree}}")])
    );

    // While anything in the directory remains, no file can replace it.
    git(root, &["checkout", "-q", first.as_str()]);
    let file = "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n";
    let one = "--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let error = repository.apply(&first, format!("{one}{file}").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("where a directory"), "{error}");
}
