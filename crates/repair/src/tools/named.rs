//! Finds the files of the tree that a text names. Every check has its own output format; only the paths matter here.

use std::collections::BTreeSet;

use greenlight_anchor::RepoPath;
use greenlight_sandbox::WORKSPACE;
use greenlight_tree::checkout::Checkout;

/// Maximum number of lines, of words in one line, and of bytes in one line that are examined.
const MAX_LINES: usize = 50_000;
const MAX_WORDS: usize = 40;
const MAX_LINE: usize = 2_000;

/// Every file of the tree that is named in a text, relative to a directory or to the root.
pub(super) fn named(checkout: &Checkout, directory: Option<&RepoPath>, text: &str) -> BTreeSet<RepoPath> {
    let mut found = BTreeSet::new();
    for line in text.lines().take(MAX_LINES).filter(|line| line.len() <= MAX_LINE) {
        let mut rest = line.trim();
        for _ in 0..MAX_WORDS {
            let word = rest.split_whitespace().next().unwrap_or_default();
            // A path may contain spaces; then only text after a colon may follow it.
            let whole = [rest, rest.split(':').next().unwrap_or(rest)];
            for candidate in pieces(word).chain(whole) {
                found.extend(resolved(checkout, directory, candidate));
            }
            match rest.split_once(char::is_whitespace) {
                Some((_, after)) => rest = after.trim_start(),
                None => break,
            }
        }
    }
    found
}

/// A word, and variants of it without the punctuation around a path.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let bare = word.trim_matches(is_around).trim_end_matches('.');
    let parts = word.split(is_around);
    [word, bare].into_iter().chain(parts).filter(|piece| piece.len() > 1)
}

fn is_around(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';' | '*' | ':' | '='
    )
}

/// The file of the tree that a path refers to.
pub(crate) fn resolved(checkout: &Checkout, directory: Option<&RepoPath>, path: &str) -> Option<RepoPath> {
    let absolute = path.strip_prefix(WORKSPACE).and_then(|path| path.strip_prefix('/'));
    let diff = ["a/", "b/"].iter().find_map(|side| path.strip_prefix(side));
    let below = directory.map_or(String::new(), |directory| format!("{directory}/"));
    let candidates = match absolute {
        Some(path) => vec![path.to_owned()],
        None => {
            let own = [Some(path), diff].into_iter().flatten();
            own.flat_map(|path| [format!("{below}{path}"), path.to_owned()])
                .collect()
        }
    };
    candidates.iter().find_map(|path| {
        let path: RepoPath = normal(path)?.parse().ok()?;
        checkout.contains(path.as_str()).then_some(path)
    })
}

/// A path without `.` and `..`. `None` if it leads out of the tree.
fn normal(path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_as_tools_print_them() {
        let tree = tempfile::tempdir().unwrap();
        for path in ["a.py", "my file.py", "sub/b.js", "sub/lib.rs"] {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let checkout = Checkout::open(tree.path()).unwrap();
        let sub: RepoPath = "sub".parse().unwrap();
        #[track_caller]
        fn check(found: BTreeSet<RepoPath>, expected: &[&str]) {
            let found: Vec<&str> = found.iter().map(RepoPath::as_str).collect();
            assert_eq!(found, expected);
        }
        for (line, expected) in [
            ("would reformat /workspace/a.py", &["a.py"][..]),
            ("would reformat my file.py", &["my file.py"]),
            ("would reformat /workspace/my file.py", &["my file.py"]),
            ("a.py:1:1: F401 unused", &["a.py"]),
            ("  --> a.py:1:1", &["a.py"]),
            ("Diff in /workspace/sub/lib.rs:1:", &["sub/lib.rs"]),
            ("--- a/sub/b.js\n+++ b/sub/b.js", &["sub/b.js"]),
            ("/workspace/sub/b.js(3,1): error WHITESPACE", &["sub/b.js"]),
            ("../a.py, b.js and lib.rs.", &["a.py", "sub/b.js", "sub/lib.rs"]),
            ("/etc/passwd ../../etc/passwd ../../../a.py /a.py", &[]),
            ("nothing.py x", &[]),
        ] {
            check(named(&checkout, Some(&sub), line), expected);
        }
        check(named(&checkout, None, &"a ".repeat(1_000_000)), &[]);
        check(named(&checkout, None, &":".repeat(1_900)), &[]);
    }
}
