//! Recognises files that people do not edit: bundles, minified code, generated code, and copies of other projects. A
//! fix there would be lost with the next build. `.gitattributes` of the base may name further ones
//! (`linguist-generated`, `linguist-vendored`); that of the pull request may not, as it would hide suspects.

use greenlight_anchor::RepoPath;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::task::Task;

/// How much of a file's beginning may say that it is generated, in lines and in bytes.
const HEAD_LINES: usize = 20;
const HEAD_BYTES: usize = 4 << 10;
/// Files with lines of this average length are minified. Shorter files are never judged by their lines.
const MINIFIED: usize = 250;
const JUDGED: usize = 2 << 10;

/// Limits on `.gitattributes`.
const MAX_ATTRIBUTES: usize = 256 << 10;
const MAX_PATTERNS: usize = 1_000;
const MAX_PATTERN: usize = 200;

/// Folders of scripts that a build writes.
const BUILT: [&str; 3] = ["dist", "build", "out"];
/// Folders of what was copied from other projects.
const VENDORED: [&str; 7] = [
    "node_modules",
    "bower_components",
    "vendor",
    "vendored",
    "_vendor",
    "third_party",
    "third-party",
];
/// Folders of what was generated.
const GENERATED: [&str; 3] = ["generated", "__generated__", ".next"];
/// Ends of the names of generated files.
const NAMES: [&str; 9] = [
    ".min.js",
    ".min.mjs",
    ".min.cjs",
    ".bundle.js",
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
    "_pb.js",
    ".generated.ts",
];
/// What generators warn of at the beginning, beside that the file is generated.
const WARNINGS: [&str; 4] = ["do not edit", "do not modify", "don't edit", "be overwritten"];
/// What they say without a warning.
const SAYINGS: [&str; 4] = [
    "@generated",
    "is automatically generated",
    "was automatically generated",
    "is auto-generated",
];

/// Whether a file is not edited by people, as far as its path and text tell.
pub(super) fn is_generated(path: &str, text: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_script = [".js", ".mjs", ".cjs", ".jsx"].iter().any(|end| name.ends_with(end));
    let is_below = |named: &[&str]| folders.split('/').any(|folder| named.contains(&folder));
    is_below(&VENDORED)
        || is_below(&GENERATED)
        || (is_script && is_below(&BUILT))
        || NAMES.iter().any(|end| name.ends_with(end))
        || says_so(text)
        || (is_script && has_source_map(text))
        || is_minified(text)
}

/// The files that `.gitattributes` declares as generated or vendored.
#[derive(Debug)]
pub(super) struct DeclaredFiles(Gitignore);

impl Default for DeclaredFiles {
    fn default() -> Self {
        Self(Gitignore::empty())
    }
}

impl DeclaredFiles {
    /// According to the tree before the pull request.
    pub(super) fn of(task: &Task<'_>) -> Self {
        let path = ".gitattributes";
        let is_changed = task.changed.keys().any(|changed| changed.as_str() == path);
        let original = task.originals.iter().find(|(other, _)| other.as_str() == path);
        let text = match original {
            Some((_, text)) => text.clone(),
            None if is_changed => String::new(),
            None => task.checkout.read_text(path).unwrap_or_default(),
        };
        Self::read(&text)
    }

    /// Patterns are those of `.gitignore`. <https://git-scm.com/docs/gitattributes>
    fn read(text: &str) -> Self {
        let mut builder = GitignoreBuilder::new("");
        let lines = text.lines().take_while(|_| text.len() <= MAX_ATTRIBUTES).map(str::trim);
        for line in lines.filter(|line| !line.starts_with(['#', '!'])).take(MAX_PATTERNS) {
            let mut words = line.split_whitespace();
            let Some(pattern) = words.next().filter(|pattern| pattern.len() <= MAX_PATTERN) else {
                continue;
            };
            for word in words {
                let (name, value) = word.split_once('=').unwrap_or((word, "true"));
                let is_off = name.starts_with('-') || value == "false";
                if matches!(name.trim_start_matches('-'), "linguist-generated" | "linguist-vendored") {
                    let pattern = if is_off {
                        format!("!{pattern}")
                    } else {
                        pattern.to_string()
                    };
                    // A pattern that cannot be read names no file.
                    let _ = builder.add_line(None, &pattern);
                }
            }
        }
        Self(builder.build().unwrap_or_else(|_| Gitignore::empty()))
    }

    pub(super) fn have(&self, path: &RepoPath) -> bool {
        self.0.matched_path_or_any_parents(path.as_str(), false).is_ignore()
    }
}

/// Whether a comment at the beginning says so.
fn says_so(text: &str) -> bool {
    let mut head = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let comments = text[..head].lines().take(HEAD_LINES).filter_map(|line| {
        let line = line.trim_start();
        ["//", "#", "/*", "*", "<!--"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
    });
    let said = comments.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("\n");
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    has(&SAYINGS) || (said.contains("generated") && has(&WARNINGS))
}

fn has_source_map(text: &str) -> bool {
    let mut lines = text.trim_end().rsplit('\n').take(2);
    lines.any(|line| line.trim_start().starts_with("//# sourceMappingURL="))
}

fn is_minified(text: &str) -> bool {
    text.len() >= JUDGED && text.len() / (text.matches('\n').count() + 1) >= MINIFIED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_declare_generated_files() {
        let text = "# files\n*.gen.ts linguist-generated\nlib/** text linguist-vendored=true\nlib/own.py -linguist-vendored\n\
                    *.py text\n[z linguist-generated\n";
        let declared = DeclaredFiles::read(text);
        for (path, expected) in [
            ("a/b.gen.ts", true),
            ("a/b.ts", false),
            ("lib/x/y.py", true),
            ("lib/own.py", false),
            ("src/a.py", false),
        ] {
            assert_eq!(declared.have(&path.parse().unwrap()), expected, "{path}");
        }
        let huge = format!("{}\n*.py linguist-generated\n", "x".repeat(MAX_ATTRIBUTES));
        assert!(!DeclaredFiles::read(&huge).have(&"a.py".parse().unwrap()));
    }

    #[test]
    fn files_that_people_do_not_edit_are_recognised() {
        let minified = "var a=1;".repeat(400);
        let table = format!(
            "TABLE = [\n{}]\n",
            "    0x00000000, 0x77073096, 0xee0e612c, 0x990951ba,\n".repeat(400)
        );
        for (path, text, expected) in [
            ("dist/all.js", "var a = 1;\n", true),
            ("packages/a/dist/all.mjs", "", true),
            ("src/dist/normal.py", "", false),
            ("build/all.js", "var a = 1;\n", true),
            ("build/all.py", "", false),
            ("src/distance.js", "", false),
            ("lib/all.min.js", "", true),
            ("pip/_vendor/six.py", "", true),
            ("vendor/a/b.go", "", true),
            ("api/a.pb.go", "", true),
            ("api/a_pb2.py", "", true),
            (
                "a.go",
                "// Code generated by stringer; DO NOT EDIT.\n\npackage a\n",
                true,
            ),
            ("a.py", "\"\"\"Generated names. Do not edit.\"\"\"\n", false),
            ("a.py", "# Keys that are generated for people.\n", false),
            ("a.py", "# Do not edit the order.\n", false),
            (
                "a.py",
                "#!/usr/bin/env python\n# This file is automatically generated.\n",
                true,
            ),
            ("a.rs", "// @generated\n", true),
            ("a.js", "var a = 1;\n//# sourceMappingURL=a.js.map\n", true),
            ("a.js", &minified, true),
            ("a.py", &table, false),
            ("a.js", "var a = 1;\n", false),
        ] {
            assert_eq!(is_generated(path, text), expected, "{path}");
        }
    }

    #[test]
    fn what_is_said_late_does_not_count() {
        let late = format!("{}// DO NOT EDIT\n", "x();\n".repeat(30));
        assert!(!is_generated("a.js", &late));
        assert!(!is_generated(
            "a.js",
            &format!("{}ü", "a\n".repeat(HEAD_BYTES / 2 - 1) + "a")
        ));
    }
}
