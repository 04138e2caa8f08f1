//! The files that the rules check, and Rust text without comments and strings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Files by path, `/`-separated and relative to the project.
pub(super) struct Tree(pub(super) Vec<(String, String)>);

impl Tree {
    /// The sources, tests and documents of this project.
    pub(super) fn of_the_project() -> Self {
        let mut files = Vec::new();
        for part in ["src", "crates", "tests/it", "benches"] {
            collect(Path::new(part), &mut files);
        }
        collect(Path::new("docs"), &mut files);
        for document in [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
        ] {
            files.extend(fs::read_to_string(document).map(|text| (document.into(), text)));
        }
        Self(files)
    }

    pub(super) fn planted(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| (path.to_string(), text.to_string()))
                .collect(),
        )
    }

    /// greenlight's own Rust code.
    pub(super) fn rust(&self, within: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self
            .0
            .iter()
            .filter(move |(path, _)| path.starts_with(within) && path.ends_with(".rs"));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Code that is shipped as text, for interpreters or for other projects.
    pub(super) fn scripts(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_script = |path: &str| [".go", ".js", ".py", ".sh"].iter().any(|end| path.ends_with(end));
        let files = self
            .0
            .iter()
            .filter(move |(path, _)| is_shipped(path) && is_script(path));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The shipped code: the sources of the root and of every crate.
    pub(super) fn shipped(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rust("").filter(|(path, _)| is_shipped(path))
    }

    pub(super) fn document(&self, path: &str) -> &str {
        self.0
            .iter()
            .find(|(name, _)| name == path)
            .map_or("", |(_, text)| text)
    }

    /// Every document, as path and text.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.0.iter().filter(|(path, _)| path.ends_with(".md"));
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Every crate besides the root: the folders in `crates`.
    pub(super) fn crates(&self) -> BTreeSet<&str> {
        self.rust("crates/").map(|(path, _)| room(path)).collect()
    }

    /// The names that the root gives to crates, and to modules of them.
    pub(super) fn names_of_crates(&self) -> BTreeSet<&str> {
        let lines = self.rust("src/lib.rs").flat_map(|(_, text)| text.lines());
        lines.flat_map(names_after).collect()
    }

    /// Every room there is: the files and folders right under `src`.
    pub(super) fn rooms(&self) -> BTreeSet<&str> {
        self.rust("src/").map(|(path, _)| room(path)).collect()
    }
}

/// The names after `pub use greenlight_…` of a line: what stands after `as`, else the names between the braces.
fn names_after(line: &str) -> Vec<&str> {
    let Some(rest) = line.strip_prefix("pub use greenlight_") else {
        return Vec::new();
    };
    let rest = rest.trim_end_matches(';');
    match (rest.split_once(" as "), rest.split_once("::")) {
        (Some((_, name)), _) => vec![name],
        (None, Some((_, names))) => names.trim_matches(['{', '}']).split(", ").collect(),
        (None, None) => Vec::new(),
    }
}

fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.ends_with("tests/fixtures") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push((path.to_string_lossy().replace('\\', "/"), text));
        }
    }
}

pub(super) fn is_shipped(path: &str) -> bool {
    path.starts_with("src/") || path.starts_with("crates/") && path.contains("/src/")
}

/// The room of a file: `src/git.rs` and `src/git/clone.rs` are both `git`. A crate is one room.
pub(super) fn room(path: &str) -> &str {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split(['/', '.']).next().unwrap_or(path)
}

/// The text with comments, strings and characters blanked out; lines keep their numbers.
pub(super) fn code(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#") => raw_string_length(rest),
            '\'' => character_length(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                // Consume a whole word at a time, so that an `r` at the end of one does not start a raw string.
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                code.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            _ => 0,
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// The length of a raw string; zero if it is not one, as in `r#type`.
fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
    if text.as_bytes().get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = 2 + hashes;
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// The length of a character literal; zero for the `'` of a lifetime.
fn character_length(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => text[3..].find('\'').map_or(0, |at| at + 4),
        Some((_, c)) if text[1 + c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 0,
    }
}

/// The line numbers on which a word or path occurs separately.
pub(super) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let begins = code.match_indices(word).filter(|(at, _)| {
        let open = word.starts_with(part_of_word) && code[..*at].ends_with(part_of_word);
        let closed = word.ends_with(part_of_word) && code[at + word.len()..].starts_with(part_of_word);
        !open && !closed
    });
    begins.map(|(at, _)| line_of(code, at)).collect()
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Every room that a file names, with its line: after `crate::`, after `greenlight::`, and after the right number of
/// `super::`.
pub(super) fn named_rooms(path: &str, code: &str) -> Vec<(usize, String)> {
    let folders = path.matches('/').count();
    let is_root = path.ends_with("/mod.rs") || path == "src/lib.rs" || path == "src/main.rs";
    let depth = folders - usize::from(is_root);
    let tests = code.find("mod tests {").unwrap_or(code.len());
    let mut named = Vec::new();
    for root in ["crate::", "greenlight::"] {
        for (at, _) in code.match_indices(root) {
            for name in first_names(&code[at + root.len()..]) {
                named.push((line_of(code, at), name));
            }
        }
    }
    let mut from = 0;
    while let Some(at) = code[from..].find("super::").map(|at| at + from) {
        let mut end = at;
        let mut supers = 0;
        while code[end..].starts_with("super::") {
            supers += 1;
            end += "super::".len();
        }
        if supers >= depth + usize::from(at > tests) {
            named.extend(
                first_names(&code[end..])
                    .into_iter()
                    .map(|name| (line_of(code, at), name)),
            );
        }
        from = end;
    }
    named
}

/// The first segments of an import: one name, or those between braces.
pub(super) fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let mut names = Vec::new();
    let mut depth = 1;
    let mut expecting = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => expecting = true,
            c if expecting && (c.is_alphabetic() || c == '_') => {
                names.push(name(&group[at..]));
                expecting = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}
