//! `list_files` and `read_file`: reading the tree with its edits, in bounded pages.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::repo_path;
use crate::checkout::Checkout;
use crate::domain::id::RepoPath;
use crate::domain::patch::FileMode;
use crate::domain::redact::{inline, visible};

/// Where a list or a text is cut, in bytes; this leaves room for the line that says how to continue.
pub(super) const PAGE: usize = super::MAX_RESULT - 512;
/// The longest part of a line that is shown, in characters.
const MAX_LINE: usize = 400;

/// Arguments of `list_files`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct ListFiles {
    /// A folder; all files if left out.
    #[serde(default)]
    under: Option<String>,
    /// Start after this path, to read on.
    #[serde(default)]
    after: Option<String>,
}

/// Arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::agent) struct ReadFile {
    path: String,
    /// First line, from 1.
    #[serde(default)]
    from: Option<usize>,
    /// Last line.
    #[serde(default)]
    to: Option<usize>,
}

pub(super) fn list_files(wanted: &ListFiles, checkout: &Checkout) -> String {
    let paths = match selected(checkout, wanted.under.as_deref(), wanted.after.as_deref()) {
        Ok(paths) => paths,
        Err(sentence) => return sentence,
    };
    let mut page = String::new();
    for (at, path) in paths.iter().enumerate() {
        if page.len() + path.as_str().len() > PAGE {
            let (left, last) = (paths.len() - at, paths[at - 1].as_str());
            return page
                + &format!("[{left} more files; read on with after={last:?}, or list one folder with `under`]");
        }
        page += &visible(path.as_str());
        page.push('\n');
    }
    page
}

pub(super) fn read_file(wanted: &ReadFile, checkout: &Checkout) -> String {
    let path = match repo_path(&wanted.path) {
        Ok(path) => path,
        Err(sentence) => return sentence,
    };
    let Some(blob) = checkout.read(&path) else {
        return if checkout.contains(path.as_str()) {
            format!("`{path}` is too large to be read.")
        } else {
            format!("there is no file `{path}`{}", similar_paths(&path, checkout))
        };
    };
    let Some(text) = blob.text() else {
        return format!("`{path}` is not a text file ({} bytes).", blob.bytes.len());
    };
    if blob.mode == FileMode::Symlink {
        return format!("`{path}` is a symbolic link to {}", inline(text, MAX_LINE));
    }
    numbered(text, wanted.from.unwrap_or(1), wanted.to.unwrap_or(usize::MAX), PAGE)
}

/// Lines `from` to `to` with their numbers, as many as fit, and how to read on.
pub(super) fn numbered(text: &str, from: usize, to: usize, max: usize) -> String {
    let total = text.lines().count();
    if total == 0 {
        return "the file is empty.".into();
    }
    let from = from.max(1);
    if from > total || to < from {
        return format!("the file has lines 1 to {total}.");
    }
    let mut page = String::new();
    let masked = without_keys(text);
    for (index, line) in masked.lines().enumerate().skip(from - 1).take(to - from + 1) {
        let shown = display_line(line);
        if page.len() + shown.len() + 12 > max {
            return page + &format!("[the file has {total} lines; read on with from={}]", index + 1);
        }
        let _infallible = writeln!(page, "{}\t{shown}", index + 1);
    }
    if to < total {
        let _infallible = write!(page, "[the file has {total} lines]");
    }
    page
}

/// The paths in a folder (or the one file) that come after a path; or a sentence that says that there are none.
pub(super) fn selected<'a>(
    checkout: &'a Checkout,
    under: Option<&str>,
    after: Option<&str>,
) -> Result<Vec<&'a RepoPath>, String> {
    let under = under
        .unwrap_or_default()
        .trim()
        .trim_start_matches("./")
        .trim_matches('/');
    let folder = format!("{under}/");
    let within = |path: &&RepoPath| {
        let path = path.as_str();
        matches!(under, "" | ".") || path == under || path.starts_with(&folder)
    };
    let beyond = |path: &&RepoPath| after.is_none_or(|after| path.as_str() > after);
    let paths: Vec<_> = checkout.paths().into_iter().filter(within).filter(beyond).collect();
    if paths.is_empty() {
        let under = if under.is_empty() {
            "the repository".into()
        } else {
            inline(under, 200)
        };
        let more = if after.is_some() { "further " } else { "" };
        return Err(format!("there are no {more}files in {under}."));
    }
    Ok(paths)
}

fn similar_paths(path: &RepoPath, checkout: &Checkout) -> String {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let wanted = name(path.as_str());
    let mut near: Vec<(usize, &RepoPath)> = checkout
        .paths()
        .into_iter()
        .map(|other| (strsim::levenshtein(&wanted, &name(other.as_str())), other))
        .filter(|(distance, _)| *distance <= 2)
        .collect();
    near.sort();
    match near.len() {
        0 => ".".into(),
        _ => {
            let near: Vec<_> = near.iter().take(3).map(|(_, path)| format!("`{path}`")).collect();
            format!("; there is {}.", near.join(", "))
        }
    }
}

/// A line as a model sees it: cut if it is very long, with characters that hide or reorder text spelled out.
pub(super) fn display_line(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut buffer = [0; 4];
    for c in line.trim_end_matches('\r').chars().take(MAX_LINE) {
        if visible(c.encode_utf8(&mut buffer)).is_empty() {
            let _infallible = write!(text, "<U+{:04X}>", u32::from(c));
        } else {
            text.push(c);
        }
    }
    let left = line.chars().count().saturating_sub(MAX_LINE);
    if left > 1 {
        let _infallible = write!(text, "[… {left} more characters]");
    }
    text
}

/// The text without the lines of private keys, so that reading from the middle of a key reveals nothing.
pub(super) fn without_keys(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("PRIVATE KEY-----") {
        return text.into();
    }
    let mut inside = false;
    let lines = text.lines().map(|line| {
        inside |= line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----");
        let hide = inside;
        inside &= !line.contains("-----END");
        if hide { "[redacted]" } else { line }
    });
    (lines.collect::<Vec<_>>().join("\n") + "\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let checkout = Checkout::open(dir.path()).unwrap();
        (dir, checkout)
    }

    fn read(path: &str, from: Option<usize>, to: Option<usize>, checkout: &Checkout) -> String {
        read_file(
            &ReadFile {
                path: path.into(),
                from,
                to,
            },
            checkout,
        )
    }

    #[test]
    fn a_file_is_read_in_pages_that_say_how_to_go_on() {
        let long: String = (1..=2000).map(|n| format!("line number {n}\n")).collect();
        let (_dir, checkout) = tree(&[("a.txt", &long), ("b.txt", "x\r\ny"), ("c.txt", "")]);
        let page = read("a.txt", None, None, &checkout);
        assert!(page.starts_with("1\tline number 1\n") && page.len() <= super::super::MAX_RESULT);
        let next: usize = page
            .rsplit("from=")
            .next()
            .unwrap()
            .trim_end_matches(']')
            .parse()
            .unwrap();
        let page = read("./a.txt", Some(next), None, &checkout);
        assert!(page.starts_with(&format!("{next}\tline number {next}\n")), "{page}");
        assert_eq!(
            read("a.txt", Some(3), Some(3), &checkout),
            "3\tline number 3\n[the file has 2000 lines]"
        );
        assert_eq!(
            read("a.txt", Some(2001), None, &checkout),
            "the file has lines 1 to 2000."
        );
        assert_eq!(
            read("a.txt", Some(usize::MAX), Some(0), &checkout),
            "the file has lines 1 to 2000."
        );
        assert_eq!(read("b.txt", Some(0), None, &checkout), "1\tx\n2\ty\n");
        assert_eq!(read("c.txt", None, None, &checkout), "the file is empty.");
    }

    #[test]
    fn what_is_no_file_of_the_repository_is_not_read() {
        let (dir, _) = tree(&[("src/lib.rs", "x"), ("bin", "\0")]);
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let checkout = Checkout::open(dir.path()).unwrap();
        for path in ["../../etc/passwd", "/etc/passwd", ".git/config", "src/../../x"] {
            assert!(
                read(path, None, None, &checkout).contains("is not a path inside"),
                "{path}"
            );
        }
        assert_eq!(
            read("link", None, None, &checkout),
            "`link` is a symbolic link to `/etc/passwd`"
        );
        assert_eq!(
            read("bin", None, None, &checkout),
            "`bin` is not a text file (1 bytes)."
        );
        assert_eq!(
            read("lib.rs", None, None, &checkout),
            "there is no file `lib.rs`; there is `src/lib.rs`."
        );
    }

    #[test]
    fn hidden_characters_are_spelled_out_and_keys_left_out() {
        let key = "a = '\u{202e}'\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\n-----END RSA PRIVATE KEY-----\nend\n";
        let (_dir, checkout) = tree(&[("a.py", key)]);
        assert_eq!(
            read("a.py", Some(1), Some(1), &checkout),
            "1\ta = '<U+202E>'\n[the file has 5 lines]"
        );
        assert_eq!(
            read("a.py", Some(3), None, &checkout),
            "3\t[redacted]\n4\t[redacted]\n5\tend\n"
        );
    }

    #[test]
    fn files_are_listed_in_pages() {
        let names: Vec<String> = (0..900).map(|n| format!("folder/file_{n:04}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let (_dir, checkout) = tree(&files);
        let list = |under: &str, after: Option<&str>| {
            list_files(
                &ListFiles {
                    under: Some(under.into()),
                    after: after.map(Into::into),
                },
                &checkout,
            )
        };
        let page = list("folder/", None);
        let last = page.lines().rev().nth(1).unwrap();
        assert!(page.contains(&format!("read on with after={last:?}")), "{page}");
        assert!(list("", Some(last)).lines().count() > 300);
        assert_eq!(list("fold", None), "there are no files in `fold`.");
    }
}
