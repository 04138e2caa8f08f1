//! A repository on this machine, with real git as the peer: a diff must have the same effect as with `git apply`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use greenlight::domain::id::CommitSha;
use greenlight::domain::patch::Patch;
use greenlight::git::{Error, LocalRepository};

use super::origin::{git, noise};

/// A repository with one commit of files that are awkward for diffs in every way.
pub(super) struct Checkout {
    directory: tempfile::TempDir,
}

impl Checkout {
    pub(super) fn new() -> Self {
        let checkout = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        git(checkout.path(), &["init", "-q", "-b", "main"]);
        let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
        checkout.write("src/a.py", lines.as_bytes());
        checkout.write("a/deep.txt", lines.as_bytes());
        checkout.write("dos.txt", b"one\r\ntwo\r\nthree\r\n");
        checkout.write("open.txt", b"one\ntwo\nthree");
        checkout.write("with space and \"quote\".txt", b"one\n");
        checkout.write("caf\u{e9}\ttab.txt", b"one\n");
        checkout.write("bin.dat", &noise(3000));
        checkout.write("run.sh", b"#!/bin/sh\n");
        checkout.write("empty", b"");
        checkout.commit("first");
        checkout
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn commit(&self, message: &str) -> CommitSha {
        git(self.path(), &["add", "-A"]);
        git(self.path(), &["commit", "-q", "--allow-empty", "-m", message]);
        self.repository().resolve("HEAD").unwrap()
    }

    pub(super) fn repository(&self) -> LocalRepository {
        LocalRepository::open(self.path()).unwrap()
    }

    /// The result of real git for a diff on the head.
    fn peer(&self, diff: &[u8], strip: &str) -> Patch {
        let head = self.repository().resolve("HEAD").unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let clone = scratch.path().join("clone");
        git(self.path(), &["clone", "-q", ".", clone.to_str().unwrap()]);
        let file = scratch.path().join("the.diff");
        fs::write(&file, diff).unwrap();
        git(&clone, &["apply", strip, file.to_str().unwrap()]);
        LocalRepository::open(&clone).unwrap().working_patch(&head).unwrap()
    }
}

/// Edits of every kind, in the working directory.
fn edit(checkout: &Checkout) {
    let text = fs::read_to_string(checkout.path().join("src/a.py")).unwrap();
    let text = text
        .replace("line 3\n", "line three\n")
        .replace("line 30\n", "")
        .replace("line 38\n", "line 38\nmore\n");
    checkout.write("src/a.py", text.as_bytes());
    checkout.write("a/deep.txt", text.as_bytes());
    checkout.write("dos.txt", b"one\r\nTWO\r\nthree\r\n");
    checkout.write("open.txt", b"one\ntwo\nthree\nfour");
    checkout.write("with space and \"quote\".txt", b"two\n");
    checkout.write("caf\u{e9}\ttab.txt", b"two\n");
    checkout.write("new dir/new.txt", b"fresh\nfile");
    checkout.write("new-empty", b"");
    fs::remove_file(checkout.path().join("empty")).unwrap();
    fs::set_permissions(checkout.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    git(checkout.path(), &["add", "-A", "-N"]);
}

fn apply(checkout: &Checkout, diff: &[u8]) -> Result<Patch, Error> {
    let repository = checkout.repository();
    repository.apply(&repository.resolve("HEAD").unwrap(), diff)
}

#[test]
fn every_form_of_gits_own_diffs_means_what_git_apply_makes_of_it() {
    let checkout = Checkout::new();
    edit(&checkout);
    let wanted = checkout
        .repository()
        .working_patch(&checkout.repository().resolve("HEAD").unwrap())
        .unwrap();
    assert_eq!(wanted.files().count(), 10);
    for (arguments, strip) in [
        (&["diff", "HEAD"][..], "-p1"),
        (&["diff", "HEAD", "--no-prefix"], "-p0"),
        (&["diff", "HEAD", "-U0"], "--unidiff-zero"),
        (&["diff", "HEAD", "-U30", "--full-index"], "-p1"),
        (&["diff", "HEAD", "--src-prefix=i/", "--dst-prefix=w/"], "-p1"),
        (&["-c", "core.quotePath=false", "diff", "HEAD"], "-p1"),
        (&["diff", "HEAD", "--patience", "--function-context"], "-p1"),
    ] {
        let diff = git(checkout.path(), arguments);
        let ours = apply(&checkout, &diff).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert!(ours == wanted, "{arguments:?}");
        assert!(ours == checkout.peer(&diff, strip), "{arguments:?}");
    }
}

#[test]
fn renames_copies_and_binary_content_come_through() {
    let checkout = Checkout::new();
    let mut bytes = noise(3000);
    bytes[1500] ^= 1;
    checkout.write("bin.dat", &bytes);
    checkout.write("new.dat", &noise(70_000));
    git(checkout.path(), &["mv", "src/a.py", "src/b c.py"]);
    let text = fs::read_to_string(checkout.path().join("src/b c.py")).unwrap();
    checkout.write("src/b c.py", text.replace("line 3\n", "LINE 3\n").as_bytes());
    checkout.write("copied.txt", text.as_bytes());
    git(checkout.path(), &["mv", "dos.txt", "moved.txt"]);
    std::os::unix::fs::symlink("open.txt", checkout.path().join("link")).unwrap();
    git(checkout.path(), &["add", "-A"]);
    let wanted = checkout
        .repository()
        .working_patch(&checkout.repository().resolve("HEAD").unwrap())
        .unwrap();
    for arguments in [
        &["diff", "--cached", "--binary", "-M"][..],
        &["diff", "--cached", "--binary", "-M", "-C", "--find-copies-harder"],
        &["diff", "--cached", "--binary", "--no-renames"],
    ] {
        let diff = git(checkout.path(), arguments);
        let ours = apply(&checkout, &diff).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert!(ours == wanted, "{arguments:?}");
        assert!(ours == checkout.peer(&diff, "-p1"), "{arguments:?}");
    }
    let text = git(checkout.path(), &["diff", "--cached"]);
    let error = apply(&checkout, &text).unwrap_err().to_string();
    assert!(error.contains("git diff --binary"), "{error}");
}

#[test]
fn mails_are_applied_one_after_the_other() {
    let checkout = Checkout::new();
    let first = checkout.repository().resolve("HEAD").unwrap();
    checkout.write("open.txt", b"one\n2\nthree");
    checkout.write("later.txt", b"a\n");
    checkout.commit("second");
    checkout.write("open.txt", b"one\n2\n3\n");
    checkout.write("later.txt", b"b\n");
    fs::remove_file(checkout.path().join("bin.dat")).unwrap();
    let last = checkout.commit("third\n\nA message\n---\nwith a line of dashes");
    let mails = git(checkout.path(), &["format-patch", "--stdout", "--binary", "HEAD~2"]);
    let repository = checkout.repository();
    assert_eq!(
        repository.apply(&first, &mails).unwrap(),
        repository.patch_between(&first, &last).unwrap()
    );
}

#[test]
fn plain_diffs_find_their_file_whatever_stands_before_its_name() {
    let checkout = Checkout::new();
    let hunk = "@@ -1,3 +1,3 @@\n-line 1\n+LINE 1\n line 2\n line 3\n";
    let full = checkout.path().canonicalize().unwrap().join("src/a.py");
    let full = full.to_str().unwrap();
    for names in [
        "--- src/a.py\t2024-05-01 10:00:00.000000+00:00\n+++ src/a.py\t2024-05-01 10:00:01.000000+00:00\n".into(),
        "--- a/src/a.py\n+++ b/src/a.py\n".into(),
        "diff -u old/src/a.py new/src/a.py\n--- old/src/a.py\t2024\n+++ new/src/a.py\t2024\n".into(),
        "diff src/a.py.orig src/a.py\n--- src/a.py.orig\n+++ src/a.py\n".into(),
        "--- ./src/a.py\n+++ ./src/a.py\n".into(),
        format!("--- {full}\n+++ {full}\n"),
    ] {
        let patch =
            apply(&checkout, format!("{names}{hunk}").as_bytes()).unwrap_or_else(|error| panic!("{names}: {error}"));
        assert_eq!(
            patch.paths().map(ToString::to_string).collect::<Vec<_>>(),
            ["src/a.py"],
            "{names}"
        );
    }
    // A directory that is really named `a`, with and without a prefix.
    for names in [
        "--- a/deep.txt\n+++ a/deep.txt\n",
        "--- a/a/deep.txt\n+++ b/a/deep.txt\n",
    ] {
        let patch = apply(&checkout, format!("{names}{hunk}").as_bytes()).unwrap();
        assert_eq!(patch.paths().next().unwrap().as_str(), "a/deep.txt", "{names}");
    }
    for (names, path) in [
        ("--- /dev/null\n+++ b/made.txt\n", "made.txt"),
        ("--- /dev/null\n+++ made.txt\t2024-05-01\n", "made.txt"),
        (
            "--- old/made.txt\t1970-01-01 00:00:00.000000000 +0000\n+++ new/made.txt\t2024\n",
            "made.txt",
        ),
    ] {
        let patch = apply(&checkout, format!("{names}@@ -0,0 +1 @@\n+made\n").as_bytes()).unwrap();
        assert_eq!(patch.paths().next().unwrap().as_str(), path, "{names}");
    }
    for names in [
        "--- a/run.sh\n+++ /dev/null\n",
        "--- old/run.sh\t2024\n+++ new/run.sh\t1970-01-01 00:00:00.000000000 +0000\n",
    ] {
        let patch = apply(&checkout, format!("{names}@@ -1 +0,0 @@\n-#!/bin/sh\n").as_bytes()).unwrap();
        assert!(patch.files().all(|(_, change)| change.after.is_none()), "{names}");
    }
}

#[test]
fn what_does_not_apply_exactly_is_refused_with_file_and_line() {
    let checkout = Checkout::new();
    std::os::unix::fs::symlink("src", checkout.path().join("link")).unwrap();
    checkout.commit("a link");
    for (diff, expected) in [
        (
            "--- src/a.py\n+++ src/a.py\n@@ -2,1 +2,1 @@\n-line 1\n+x\n",
            "src/a.py, line 4 of the diff: line 2 of the file does not match",
        ),
        (
            "--- src/a.py\n+++ src/a.py\n@@ -90,1 +90,1 @@\n-line 1\n+x\n",
            "line 3 of the diff: the hunk is beyond the end",
        ),
        (
            "--- src/a.py\n+++ src/a.py\n@@ -1,5 +1,5 @@\n-line 1\n+x\n",
            "fewer lines than its header says",
        ),
        (
            "--- src/a.py\n+++ src/a.py\n@@ -x +1 @@\n-line 1\n+x\n",
            "cannot be read",
        ),
        (
            "--- src/none.py\n+++ src/none.py\n@@ -1 +1 @@\n-line 1\n+x\n",
            "src/none.py, line 1 of the diff: there is no such file",
        ),
        ("--- /dev/null\n+++ b/src/a.py\n@@ -0,0 +1 @@\n+x\n", "already exists"),
        ("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", "not a path inside"),
        (
            "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n",
            "not a path inside",
        ),
        (
            "--- /dev/null\n+++ b/.GIT/config\n@@ -0,0 +1 @@\n+x\n",
            "not a path inside",
        ),
        (
            "--- /dev/null\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n",
            "not a path inside",
        ),
        (
            "--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n",
            "where a directory or a link is",
        ),
        (
            "--- /dev/null\n+++ b/open.txt/x\n@@ -0,0 +1 @@\n+x\n",
            "where a directory or a link is",
        ),
        (
            "--- /dev/null\n+++ b/src\n@@ -0,0 +1 @@\n+x\n",
            "where a directory or a link is",
        ),
        (
            "--- open.txt\n+++ open.txt\n@@ -3,0 +4 @@\n+x\n",
            "comes after one without a line end",
        ),
        (
            "--- open.txt\n+++ open.txt\n@@ -3 +3 @@\n-three\n+x\n",
            "line 3 of the file does not match",
        ),
        (
            "--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh2\n",
            "does not match the diff",
        ),
        (
            "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n",
            "mode is not the one",
        ),
        ("diff --git a/m b/m\nnew file mode 160000\n", "no submodules"),
        ("@@ -1 +1 @@\n-a\n+b\n", "without a file name"),
        ("Diff in /x/src/main.rs:1:\n-a\n+b\n", "rustfmt"),
        ("nothing here\n", "no unified diff"),
    ] {
        let error = apply(&checkout, diff.as_bytes()).expect_err(diff).to_string();
        assert!(error.contains(expected), "{diff}\n{error}");
    }
    assert!(apply(&checkout, b"\n").unwrap().is_empty());
    let large = vec![b'\n'; (64 << 20) + 1];
    assert!(matches!(apply(&checkout, &large), Err(Error::TooLarge { .. })));
}

#[test]
fn a_binary_patch_that_lies_is_refused() {
    let checkout = Checkout::new();
    let mut bytes = noise(3000);
    bytes[7] ^= 1;
    checkout.write("bin.dat", &bytes);
    let diff = String::from_utf8(git(checkout.path(), &["diff", "--binary"])).unwrap();
    assert!(apply(&checkout, diff.as_bytes()).is_ok());
    let at = diff.find("delta ").or_else(|| diff.find("literal ")).unwrap();
    for lie in [
        diff.replacen("index ", "index 0", 1),
        format!("{}literal 99999999999\n{}", &diff[..at], &diff[at..]),
        diff[..diff.len() / 3].to_string(),
    ] {
        assert!(apply(&checkout, lie.as_bytes()).is_err(), "{lie}");
    }
}

#[test]
fn names_histories_and_trees_are_read_without_the_repositorys_configuration() {
    let checkout = Checkout::new();
    let marker = checkout.path().join("ran");
    let command = format!("touch {}", marker.display());
    for key in [
        "core.fsmonitor",
        "diff.external",
        "filter.evil.clean",
        "filter.evil.process",
        "core.pager",
        "diff.evil.textconv",
    ] {
        git(checkout.path(), &["config", key, &command]);
    }
    checkout.write("sub/file.txt", b"x\n");
    git(checkout.path(), &["-c", "core.fsmonitor=", "add", "sub"]);
    let base: CommitSha = checkout.repository().resolve("main").unwrap();
    checkout.write(".gitattributes", b"* filter=evil diff=evil\n");
    checkout.write(".gitignore", b"*.log\n");
    checkout.write("noise.log", b"ignored\n");
    let inside = LocalRepository::open(&checkout.path().join("sub")).unwrap();
    let paths: Vec<String> = inside
        .working_patch(&base)
        .unwrap()
        .paths()
        .map(ToString::to_string)
        .collect();
    assert_eq!(paths, [".gitattributes", ".gitignore", "sub/file.txt"]);
    assert!(!marker.exists());
    assert_eq!(inside.resolve(&base.as_str()[..8]).unwrap(), base);
    assert_eq!(inside.resolve("HEAD").unwrap(), base);
    for wrong in ["nothing", "HEAD:src", "", "HEAD~9", "-x", "@{upstream}"] {
        assert!(inside.resolve(wrong).is_err(), "{wrong}");
    }
    let into: PathBuf = tempfile::tempdir().unwrap().path().join("out");
    inside.export(&base, &into).unwrap_err();
    assert!(
        LocalRepository::open(Path::new("/"))
            .unwrap_err()
            .to_string()
            .contains("not inside a git repository")
    );
}

#[test]
fn the_files_of_a_pull_request_are_those_github_would_show() {
    let checkout = Checkout::new();
    git(checkout.path(), &["checkout", "-q", "-b", "feature"]);
    edit(&checkout);
    checkout.write("bin.dat", &noise(10));
    git(checkout.path(), &["mv", "src/a.py", "src/b.py"]);
    checkout.write("huge.txt", "x\n".repeat(20_001).as_bytes());
    let head = checkout.commit("work");
    git(checkout.path(), &["checkout", "-q", "main"]);
    checkout.write("dos.txt", b"the base moved on\n");
    let base = checkout.commit("base");
    let repository = checkout.repository();
    let files = repository.diff_files(&base, &head, &|_| true).unwrap();
    let get = |name: &str| files.iter().find(|(path, _)| path == name).unwrap().1.clone();
    assert_eq!(
        get("dos.txt").unwrap(),
        "@@ -1,3 +1,3 @@\n one\r\n-two\r\n+TWO\r\n three\r"
    );
    assert_eq!(
        get("open.txt").unwrap(),
        "@@ -1,3 +1,4 @@\n one\n two\n-three\n\\ No newline at end of file\n+three\n+four\n\\ No newline at end of file"
    );
    assert!(
        get("src/b.py")
            .unwrap()
            .starts_with("@@ -1,6 +1,6 @@\n line 1\n line 2\n-line 3\n")
    );
    for name in ["bin.dat", "huge.txt", "run.sh", "new-empty"] {
        assert_eq!(get(name), None, "{name}");
    }
    assert!(!files.iter().any(|(path, _)| path == "src/a.py"));
    assert_eq!(
        repository.merge_base(&base, &head).unwrap(),
        repository.resolve("main~1").unwrap()
    );
}
