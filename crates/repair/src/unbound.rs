//! Finds imports that an edit removes although the code still uses their names. No test notices where none runs that
//! code.

use std::collections::HashSet;

use greenlight_syntax::Language;

/// Whether the file after an edit uses a name whose import the edit removed.
pub(super) fn unbinds_a_name(path: &str, before: &str, after: &str) -> bool {
    // Compilers of other languages notice.
    let comment = match Language::of(path) {
        Some(Language::Python) => "#",
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => "//",
        _ => return false,
    };
    let kept: HashSet<&str> = after.lines().map(str::trim).collect();
    let removed = before.lines().map(str::trim).filter(|line| !kept.contains(line));
    let unbound: HashSet<&str> = removed.flat_map(imported).collect();
    if unbound.is_empty() {
        return false;
    }
    let bound: HashSet<&str> = after.lines().map(str::trim).flat_map(imported).collect();
    let code = after.lines().filter_map(|line| line.split(comment).next());
    code.filter(|line| imported(line.trim()).is_empty())
        .flat_map(|line| line.split(|c: char| !is_of_name(c)))
        .any(|word| unbound.contains(word) && !bound.contains(word))
}

/// Whether a name may contain the character, in Python or JavaScript.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The names that a line binds if it is an import.
fn imported(line: &str) -> Vec<&str> {
    let is_import = line.starts_with("import ") || line.starts_with("from ") || line.contains("require(");
    if !is_import {
        return Vec::new();
    }
    let named = match (line.split_once(" import "), line.split_once('=')) {
        // `from a import b`
        (Some((_, named)), _) => named,
        // `const a = require('a')`
        (None, Some((named, _))) => named.trim_start_matches("const ").trim_start_matches("let "),
        // `import a from 'a'`, and `import a.b` of Python
        (None, None) => {
            let named = line.trim_start_matches("import ");
            named.split(" from ").next().unwrap_or(named)
        }
    };
    named.split(',').filter_map(bound).collect()
}

/// The name that one part of an import binds.
fn bound(part: &str) -> Option<&str> {
    let last = part.rsplit(" as ").next()?;
    // `a: b` of a destructuring binds `b`, `a.b` of Python binds `a`.
    let last = last.rsplit(':').next()?;
    let word = &last[last.find(is_of_name)?..];
    word.split(|c: char| !is_of_name(c)).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_not_removed_from_under_its_uses() {
        #[track_caller]
        fn check(path: &str, import: &str, rest: &str, expected: bool) {
            let before = format!("{import}\n{rest}\n");
            assert_eq!(
                unbinds_a_name(path, &before, &format!("{rest}\n")),
                expected,
                "{import}"
            );
        }
        check("a.py", "import requests", "def f(u): return requests.get(u)", true);
        check(
            "a.py",
            "import requests.api",
            "def f(u): return requests.api.get(u)",
            true,
        );
        check("a.py", "import requests", "def f(u): return 1  # requests", false);
        check("a.py", "from a import b as c, d", "d()", true);
        check("a.py", "from a import b as c, d", "b()", false);
        check("a.py", "from a import b", "from c import b\nb()", false);
        check("a.py", "x = 1", "x", false);
        check("a.ts", "import { a as b, c } from './a';", "b();", true);
        check("a.js", "const { a: b } = require('a');", "b();", true);
        check("a.js", "const a = require('a');", "b();", false);
        check("a.go", "import \"a\"", "a.B()", false);
    }

    #[test]
    fn an_edit_that_only_changes_an_import_unbinds_nothing() {
        assert!(!unbinds_a_name(
            "a.py",
            "import jsn as json\njson.loads\n",
            "import json\njson.loads\n"
        ));
    }
}
