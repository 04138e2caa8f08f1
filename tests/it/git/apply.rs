//! Applying diffs whose sections depend on each other, lie, or try to exhaust memory. Real `git apply --cached` is
//! the peer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use greenlight::domain::id::CommitSha;
use greenlight::domain::patch::{FileMode, Patch};
use greenlight::git::Error;

use super::local::Checkout;
use super::origin::{git, noise};

fn head(checkout: &Checkout) -> CommitSha {
    checkout.repository().resolve("HEAD").unwrap()
}

fn apply(checkout: &Checkout, diff: &[u8]) -> Result<Patch, Error> {
    checkout.repository().apply(&head(checkout), diff)
}

fn refusal(checkout: &Checkout, diff: &str) -> String {
    let error = apply(checkout, diff.as_bytes()).map(|patch| patch.unified());
    error.expect_err(diff).to_string()
}

/// The result of real git for a diff on the head.
fn peer(checkout: &Checkout, diff: &[u8]) -> Patch {
    let scratch = tempfile::tempdir().unwrap();
    let (clone, file) = (scratch.path().join("clone"), scratch.path().join("the.diff"));
    git(checkout.path(), &["clone", "-q", "-n", ".", clone.to_str().unwrap()]);
    fs::write(&file, diff).unwrap();
    git(&clone, &["read-tree", "HEAD"]);
    git(&clone, &["apply", "--cached", file.to_str().unwrap()]);
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "applied"]);
    let repository = greenlight::git::LocalRepository::open(&clone).unwrap();
    let applied = repository.resolve("HEAD").unwrap();
    repository.patch_between(&head(checkout), &applied).unwrap()
}

fn same_as_git(checkout: &Checkout, diff: &[u8]) -> Patch {
    let shown = String::from_utf8_lossy(diff);
    let ours = apply(checkout, diff).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert!(ours == peer(checkout, diff), "{shown}");
    ours
}

fn numbered(range: std::ops::Range<usize>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}

/// Three files with lines, and one empty file.
fn plain() -> Checkout {
    let checkout = Checkout::new();
    checkout.write("x", numbered(1..30).as_bytes());
    checkout.write("y", numbered(100..130).as_bytes());
    checkout.write("z", numbered(200..230).as_bytes());
    checkout.commit("plain");
    checkout
}

#[test]
fn a_copy_is_of_the_file_as_it_was() {
    let checkout = plain();
    let old = numbered(1..30);
    checkout.write("x", old.replace("6\n", "six\n").as_bytes());
    checkout.write("w", old.as_bytes());
    checkout.write("v", old.replace("20\n", "twenty\n").as_bytes());
    fs::set_permissions(checkout.path().join("x"), fs::Permissions::from_mode(0o755)).unwrap();
    git(checkout.path(), &["add", "-A"]);
    let diff = git(checkout.path(), &["diff", "--cached", "-C"]);
    assert_eq!(String::from_utf8_lossy(&diff).matches("copy from x").count(), 2);
    let patch = same_as_git(&checkout, &diff);
    let after = |name: &str| {
        let change = patch.files().find(|(path, _)| path.as_str() == name).unwrap().1;
        change.after.clone().unwrap()
    };
    assert_eq!(after("w").text(), Some(&*old));
    assert_eq!(
        (after("x").mode, after("w").mode),
        (FileMode::Executable, FileMode::Regular)
    );
}

#[test]
fn names_can_be_swapped_and_passed_on_in_any_order() {
    let checkout = plain();
    let rename = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    let copy = |from: &str, to: &str| rename(from, to).replace("rename ", "copy ");
    for sections in [
        vec![rename("x", "y"), rename("y", "x")],
        vec![rename("x", "y"), rename("y", "z"), rename("z", "x")],
        vec![rename("x", "y"), rename("y", "new")],
        vec![rename("x", "new"), copy("x", "newer")],
        vec![copy("x", "newer"), rename("x", "new"), rename("y", "x")],
    ] {
        same_as_git(&checkout, sections.concat().as_bytes());
        let backwards: Vec<_> = sections.into_iter().rev().collect();
        same_as_git(&checkout, backwards.concat().as_bytes());
    }
    let already = "but it already exists";
    assert!(refusal(&checkout, &rename("x", "y")).contains(already));
    assert!(refusal(&checkout, &(copy("x", "y") + &copy("y", "z"))).contains(already));
    let twice = refusal(&checkout, &(rename("x", "new") + &rename("y", "new")));
    assert!(twice.contains("twice"), "{twice}");
}

#[test]
fn files_change_places_in_every_way_that_git_can_say() {
    let checkout = plain();
    let mut seed = noise(4000).into_iter();
    let mut pick = |of: usize| usize::from(seed.next().unwrap()) % of;
    let names = ["x", "y", "z", "w", "src/x", "bin.dat"];
    for round in 0..25 {
        git(checkout.path(), &["reset", "-q", "--hard"]);
        for _ in 0..4 {
            let path = |name: &str| checkout.path().join(name);
            let (from, to) = (path(names[pick(names.len())]), path(names[pick(names.len())]));
            if !from.exists() {
                continue;
            }
            match pick(5) {
                0 => fs::rename(from, to).unwrap(),
                1 if from != to => drop(fs::copy(from, to).unwrap()),
                2 => fs::remove_file(from).unwrap(),
                3 => fs::set_permissions(from, fs::Permissions::from_mode(0o755)).unwrap(),
                _ => {
                    let mut bytes = fs::read(&from).unwrap();
                    let at = pick(40);
                    bytes.splice(at..at, b"\nround\n".iter().copied());
                    fs::write(from, bytes).unwrap();
                }
            }
        }
        git(checkout.path(), &["add", "-A"]);
        let tree = String::from_utf8(git(checkout.path(), &["write-tree"])).unwrap();
        let commit = git(checkout.path(), &["commit-tree", tree.trim(), "-m", "w"]);
        let wanted = checkout.repository().resolve(String::from_utf8(commit).unwrap().trim());
        let wanted = checkout.repository().patch_between(&head(&checkout), &wanted.unwrap());
        let wanted = wanted.unwrap();
        for options in [&["-M"][..], &["-C", "--find-copies-harder"]] {
            let arguments = [&["diff", "--cached", "--binary"], options].concat();
            let diff = git(checkout.path(), &arguments);
            let shown = String::from_utf8_lossy(&diff);
            let ours = apply(&checkout, &diff).unwrap_or_else(|error| panic!("{round}: {error}\n{shown}"));
            assert!(ours == wanted, "{round} {options:?}\n{shown}");
        }
    }
}

#[test]
fn what_depends_on_the_order_is_refused() {
    let checkout = plain();
    let edit = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n";
    let more = edit.replace("-1\n+one\n 2", "-one\n+ONE\n 2");
    let rename = "diff --git a/x b/new\nsimilarity index 100%\nrename from x\nrename to new\n";
    assert_eq!(
        same_as_git(&checkout, format!("{edit}{more}").as_bytes())
            .files()
            .count(),
        1
    );
    let after = refusal(&checkout, &format!("{edit}{rename}"));
    assert!(
        after.contains("x, line") && after.contains("after it has changed it"),
        "{after}"
    );
    let before = refusal(&checkout, &format!("{rename}{edit}"));
    assert!(before.contains("after it has removed or renamed it"), "{before}");
    let twice = refusal(&checkout, &format!("{rename}{}", rename.replace("new", "newer")));
    assert!(twice.contains("removed it"), "{twice}");
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let checkout = plain();
    let hunk = "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n";
    let other = "name different files than";
    let kinds = "more than one of";
    for (header, expected) in [
        ("diff --git a/x b/x\n--- a/y\n+++ b/y\n", other),
        ("diff --git a/x b/x\n--- a/x\n+++ b/y\n", other),
        (
            "diff --git \"a/x\" \"b/y\"\n--- \"a/x\"\n+++ \"b/y\"\n",
            "nothing says that it is a rename",
        ),
        (
            "diff --git a/x b/w\nrename from x\n--- a/x\n+++ b/w\n",
            "needs both names",
        ),
        ("diff --git a/x b/w\ncopy to w\n--- a/x\n+++ b/w\n", "needs both names"),
        (
            "diff --git a/x b/w\nrename from x\nrename to v\n--- a/x\n+++ b/w\n",
            other,
        ),
        (
            "diff --git a/x b/w\nrename from z\nrename to w\n--- a/x\n+++ b/w\n",
            other,
        ),
        (
            "diff --git a/x b/w\nrename from x\ncopy to w\n--- a/x\n+++ b/w\n",
            kinds,
        ),
        (
            "diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n",
            kinds,
        ),
        (
            "diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n",
            "say otherwise",
        ),
        ("diff --git a/x b/x\n--- a/x\n+++ /dev/null\n", "say otherwise"),
        ("diff --git a/x b/x\nnew mode 100755\n", "needs both modes"),
        ("diff --git a/x b/x\nold mode 100644\n", "needs both modes"),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 1oo755\n",
            "mode of this file cannot be read",
        ),
    ] {
        let error = refusal(&checkout, &format!("{header}{hunk}"));
        assert!(error.contains(expected), "{header}{error}");
    }
}

#[test]
fn a_name_may_end_in_a_blank() {
    let checkout = plain();
    checkout.write("trail ", b"one\n");
    checkout.write("trail", b"one\n");
    checkout.commit("two files");
    checkout.write("trail ", b"two\n");
    let diff = git(checkout.path(), &["diff"]);
    let patch = same_as_git(&checkout, &diff);
    assert_eq!(patch.paths().next().unwrap().as_str(), "trail ");
    let patch = apply(&checkout, b"--- trail \n+++ trail \n@@ -1 +1 @@\n-one\n+two\n").unwrap();
    assert_eq!(patch.paths().next().unwrap().as_str(), "trail ");
}

#[test]
fn lines_that_no_hunk_counts_are_refused() {
    let checkout = plain();
    let hunk = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n";
    for left in [
        "new file mode 100644\n",
        "-3\n",
        "+3\n",
        " 3\n",
        "\n-3\n",
        "--- 3\n",
        "-- 3\n",
    ] {
        let error = refusal(&checkout, &format!("{hunk}{left}"));
        assert!(
            error.contains("x, line") && error.contains("belongs to no hunk"),
            "{error}"
        );
    }
    let header = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n\n";
    assert!(refusal(&checkout, &format!("{header}{hunk}")).contains("x, line 5 of the diff: this line belongs"));
    let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n+3\n";
    assert!(refusal(&checkout, mode).contains("x, line 4 of the diff: this line belongs"));
    for right in [
        "",
        "\n",
        "-- \n2.43.0\n\n",
        "Only in a: b\n",
        "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-100\n+C\n",
    ] {
        apply(&checkout, format!("{hunk}{right}").as_bytes()).unwrap();
    }
}

/// git applies such a hunk nowhere else, so that lines appended to a file are not appended twice.
#[test]
fn a_hunk_that_ends_the_file_goes_nowhere_else() {
    let checkout = plain();
    let diff = "--- a/x\n+++ b/x\n@@ -27,3 +27,4 @@\n 27\n 28\n 29\n+30\n";
    same_as_git(&checkout, diff.as_bytes());
    checkout.write("x", numbered(1..31).as_bytes());
    checkout.commit("applied");
    let error = refusal(&checkout, diff);
    assert!(
        error.contains("x, line 3 of the diff: the hunk ends the file"),
        "{error}"
    );
    assert!(error.contains("is the patch already applied?"), "{error}");
    // Without context, a diff says nothing about the lines that follow.
    let bare = "--- a/x\n+++ b/x\n@@ -5 +5 @@\n-5\n+five\n";
    apply(&checkout, bare.as_bytes()).unwrap();
}

#[test]
fn only_what_is_applied_of_a_binary_change_is_unpacked_and_counted() {
    let checkout = Checkout::new();
    let mut bytes = noise(3000);
    bytes[7] ^= 1;
    checkout.write("bin.dat", &bytes);
    let diff = String::from_utf8(git(checkout.path(), &["diff", "--binary"])).unwrap();
    let wanted = same_as_git(&checkout, diff.as_bytes());
    let back = diff
        .rfind("\n\n")
        .map(|end| diff[..end].rfind("\n\n").unwrap() + 2)
        .unwrap();
    let garbage = format!("{}literal 5\nDcmYZa\n\n", &diff[..back]);
    assert!(apply(&checkout, garbage.as_bytes()).unwrap() == wanted);
    let swallowed = format!("{}literal 5\nDcmYZa\ndiff --git a/run.sh b/run.sh\n", &diff[..back]);
    assert!(refusal(&checkout, &swallowed).contains("reverse half"));

    checkout.write("zeros", &vec![0; 60 << 20]);
    git(checkout.path(), &["add", "zeros"]);
    let one = String::from_utf8(git(checkout.path(), &["diff", "--cached", "--binary", "zeros"])).unwrap();
    let many: String = (0..40)
        .map(|number| one.replace("/zeros", &format!("/zeros{number}")))
        .collect();
    let error = apply(&checkout, many.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");

    checkout.commit("zeros");
    let copy = |number| format!("diff --git a/zeros b/c{number}\ncopy from zeros\ncopy to c{number}\n");
    let copies: String = (0..1000).map(copy).collect();
    let error = apply(&checkout, copies.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let back_and_forth =
        "--- zeros\n+++ zeros\n@@ -0,0 +1 @@\n+x\n--- zeros\n+++ zeros\n@@ -1 +0,0 @@\n-x\n".repeat(1000);
    let error = apply(&checkout, back_and_forth.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn a_diff_has_a_limited_number_of_lines_and_files() {
    let checkout = Checkout::new();
    let lines = 1_000_000;
    let long = format!("--- /dev/null\n+++ new\n@@ -0,0 +1,{lines} @@\n{}", "+\n".repeat(lines));
    assert!(refusal(&checkout, &long).contains("the number of lines"));
    let wide = "diff --git a/x b/x\n".repeat(20_002);
    assert!(refusal(&checkout, &wide).contains("the number of files"));
}

#[test]
fn files_and_directories_change_places() {
    let checkout = plain();
    let path = |name: &str| checkout.path().join(name);
    for round in 0..2 {
        fs::remove_dir_all(path("src")).unwrap();
        checkout.write("src", b"a file now\n");
        fs::rename(path("x"), path("moved")).unwrap();
        checkout.write("x/deep/er", b"a directory now\n");
        git(checkout.path(), &["add", "-A"]);
        let options = [&["--no-renames"][..], &["-M"]][round];
        let diff = git(checkout.path(), &[&["diff", "--cached", "--binary"], options].concat());
        assert_eq!(same_as_git(&checkout, &diff).files().count(), 5);
        git(checkout.path(), &["reset", "-q", "--hard"]);
    }
}
