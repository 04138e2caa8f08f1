//! Tells a slip of the pull request from its purpose: what it adds is not taken back, and its tests are left alone.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;

use super::RevertedRange;
use crate::outline::Outline;
use crate::syntax::Source;

/// In a file of an unknown language, more added lines than this are a purpose.
const MAX_ADDED: usize = 3;

/// Removes the hunks that are in test code of the file.
pub(super) fn leave_out_tests(path: &RepoPath, now: &str, hunks: &mut Vec<RevertedRange>) {
    let Some(source) = Source::parse(path.as_str(), now.to_string()) else {
        return;
    };
    let outline = Outline::of(path, &source);
    let tests: Vec<_> = outline
        .definitions
        .iter()
        .filter(|one| one.is_test_code && !one.is_module)
        .collect();
    hunks.retain(|hunk| {
        let touches = |bytes: &std::ops::Range<usize>| {
            hunk.range.start < bytes.end && bytes.start < hunk.range.end.max(hunk.range.start + 1)
        };
        !tests.iter().any(|one| touches(&one.bytes))
    });
}

/// Whether a definition is missing after the edit, so that it takes back what somebody added.
pub(super) fn takes_a_definition_back(path: &RepoPath, now: &str, after: &str) -> bool {
    let names = |text: &str| {
        let source = Source::parse(path.as_str(), text.to_string())?;
        let mut names: BTreeMap<(Option<String>, String), usize> = BTreeMap::new();
        for one in Outline::of(path, &source)
            .definitions
            .into_iter()
            .filter(|one| !one.is_module && !one.is_test_code)
        {
            *names.entry((one.owner, one.name)).or_insert(0) += 1;
        }
        Some(names.into_values().sum::<usize>())
    };
    match (names(now), names(after)) {
        (Some(now), Some(after)) => after < now,
        _ => {
            let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
            filled(now) > filled(after) + MAX_ADDED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_added_is_not_taken_back() {
        #[track_caller]
        fn check(path: &str, now: &str, after: &str, expected: bool) {
            assert_eq!(
                takes_a_definition_back(&path.parse().unwrap(), now, after),
                expected,
                "{now}"
            );
        }
        check("a.py", "import json\nx = 1\n", "x = 1\n", false);
        check(
            "a.py",
            "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
            "def f():\n    return 1\n",
            true,
        );
        check("a.py", "def f():\n    return 1\n", "def g():\n    return 1\n", false);
        check(
            "a.ts",
            "class A {\n  f() {\n    return g;\n  }\n}\n",
            "class A {\n}\n",
            true,
        );
        check("a.c", "a\nb\nc\nd\ne\n", "a\n", true);
        check("a.c", "a\nb\n", "a\n", false);
    }
}
