//! The lines of a patch that no test can judge: blank ones, comments, docstrings, and prose.

use std::collections::BTreeSet;

use greenlight_syntax::{Below, Language, Parsed};
use tree_sitter::Node;

use crate::domain::minimize::SilentLines;
use crate::domain::patch::{Blob, Patch};

/// What prose is written in.
const PROSE: [&str; 5] = ["md", "rst", "adoc", "txt", "markdown"];

/// The silent lines of each file that stays a text file.
pub fn silent_lines(patch: &Patch) -> SilentLines {
    let sides = patch.files().filter_map(|(path, change)| {
        let lines = |blob: &Option<Blob>| Some(of(path.as_str(), blob.as_ref()?.text()?));
        Some((path.clone(), [lines(&change.before)?, lines(&change.after)?]))
    });
    sides.collect()
}

fn of(path: &str, text: &str) -> BTreeSet<usize> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if PROSE.contains(&extension) {
        return (0..lines.len()).collect();
    }
    let mut speaks: Vec<bool> = text.bytes().map(|byte| !byte.is_ascii_whitespace()).collect();
    if let Some(file) = Language::of(path).and_then(|language| Parsed::parse(language, text)) {
        file.visit(file.tree.root_node(), |node| {
            if node.kind().contains("comment") || (file.language == Language::Python && is_docstring(node)) {
                speaks[node.byte_range()].fill(false);
                return Below::Skip;
            }
            Below::Enter
        });
    }
    let mut start = 0;
    let mut is_silent = |line: &str| {
        let range = start..start + line.len();
        start = range.end;
        !speaks[range].contains(&true)
    };
    let silent = lines.iter().enumerate().filter(|(_, line)| is_silent(line));
    silent.map(|(at, _)| at).collect()
}

/// A string that is a whole statement.
fn is_docstring(node: Node<'_>) -> bool {
    node.kind() == "expression_statement"
        && node.named_child_count() == 1
        && node.named_child(0).is_some_and(|only| only.kind() == "string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_docstrings_blank_lines_and_prose_are_silent() {
        let python = "# a\n\nx = 1  # b\ndef f():\n    \"\"\"Says.\n\n    More.\"\"\"\n    return '''\n# c\n'''\n";
        for (path, text, expected) in [
            ("a.py", python, &[0, 1, 4, 5, 6][..]),
            ("a.rs", "/// A\n/* b\n c */ fn f() {\n    // d\n}\n", &[0, 1, 3]),
            ("a.js", "'use strict';\n// a\n`\n// b\n`;\n", &[1]),
            ("a.rb", "# a\n\nb\n", &[1]),
            ("NOTES.md", "a\nb", &[0, 1]),
            ("a.py", "", &[]),
        ] {
            assert_eq!(of(path, text), expected.iter().copied().collect(), "{path} {text:?}");
        }
    }
}
