//! What a red test run and the pull request's diff say about where the fault is. The text of failures comes from
//! untrusted code: it is only searched for paths of files that exist and for lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use regex::Regex;

use crate::domain::id::RepoPath;
use crate::domain::test_run::TestRun;

/// Frames looked at per failure, the last ones: the innermost calls.
const MAX_FRAMES: usize = 40;
/// Bytes of a failure's message that are searched.
const MAX_MESSAGE: usize = 64 * 1024;

/// `File "path", line 3`, and `path:3`.
const FRAME: &str = r#"File "([^"\n]+)", line (\d{1,7})|([[:alnum:]_./+-]+\.[[:alnum:]]{1,4}):(\d{1,7})"#;

/// Clues, before any code is read.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) failing: Vec<TestName>,
    pub(super) passing: Vec<TestName>,
    /// Lines that failures point at, the weight from 0 to 1.
    pub(super) frames: BTreeMap<RepoPath, BTreeMap<u32, f32>>,
    pub(super) changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
}

/// A test's name as its function is called, and the file, if the framework names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestName {
    pub(super) function: String,
    pub(super) file: Option<RepoPath>,
}

impl Evidence {
    pub(super) fn new(
        before: &TestRun,
        changed: &BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
        paths: &BTreeSet<RepoPath>,
    ) -> Self {
        let name = |name: &str| TestName::read(name, paths);
        let mut evidence = Self {
            failing: before.failing_names().map(name).collect(),
            passing: before.passed_names.iter().map(|test| name(test)).collect(),
            changed: changed.clone(),
            ..Self::default()
        };
        for failure in &before.failures {
            if let Some(location) = &failure.location {
                evidence.frame(paths, &location.path, location.line, 1.0);
            }
            evidence.frames_of(paths, &failure.message);
        }
        if before.failures.is_empty() {
            evidence.frames_of(paths, &before.tail);
        }
        evidence
    }

    /// Files that are worth reading first.
    pub(super) fn files(&self) -> BTreeSet<&RepoPath> {
        let tests = self.failing.iter().filter_map(|test| test.file.as_ref());
        self.frames.keys().chain(self.changed.keys()).chain(tests).collect()
    }

    /// Reads `path:line` and Python's `File "path", line n`; the innermost call is printed last.
    fn frames_of(&mut self, paths: &BTreeSet<RepoPath>, message: &str) {
        let mut end = message.len().min(MAX_MESSAGE);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        // The pattern is a constant; a test below would fail if it were wrong.
        let Ok(frame) = Regex::new(FRAME) else { return };
        let mut found = Vec::new();
        for captures in frame.captures_iter(&message[..end]) {
            let path = captures.get(1).or_else(|| captures.get(3));
            let line = captures.get(2).or_else(|| captures.get(4));
            if let (Some(path), Some(Ok(line))) = (path, line.map(|line| line.as_str().parse())) {
                found.push((path.as_str(), line));
            }
        }
        for (index, (path, line)) in found.iter().rev().take(MAX_FRAMES).enumerate() {
            let weight = if index == 0 { 1.0 } else { 0.8 };
            self.frame(paths, path, *line, weight);
        }
    }

    fn frame(&mut self, paths: &BTreeSet<RepoPath>, printed: &str, line: u32, weight: f32) {
        if let Some(path) = resolve(printed, paths) {
            let known = self.frames.entry(path).or_default().entry(line).or_insert(0.0);
            *known = known.max(weight);
        }
    }
}

impl TestName {
    /// Reads `tests/test_a.py::Case::test_b[1]`, `pkg.test_a.Case.test_b`, `test_b (pkg.test_a.Case)`,
    /// `binary module::test_b` and `module::test_b - should panic`.
    fn read(name: &str, paths: &BTreeSet<RepoPath>) -> Self {
        let file = name.split("::").next().and_then(|file| resolve(file, paths));
        let cut = |text: &'_ str, mark: &str| text.find(mark).map_or(text.len(), |at| at);
        let name = &name[..cut(name, "[").min(cut(name, " (")).min(cut(name, " - "))];
        let word = name.split_whitespace().last().unwrap_or_default();
        let function = word.rsplit([':', '.', '>']).next().unwrap_or(word);
        Self {
            function: function.into(),
            file,
        }
    }
}

/// The file of the tree that a printed path means: the longest one it ends in, or the only one that ends in it.
fn resolve(printed: &str, paths: &BTreeSet<RepoPath>) -> Option<RepoPath> {
    let printed = printed.trim_start_matches("./");
    let mut rest = printed;
    loop {
        if let Some(path) = rest.parse().ok().and_then(|path: RepoPath| paths.get(&path)) {
            return Some(path.clone());
        }
        match rest.split_once('/') {
            Some((_, shorter)) => rest = shorter,
            None => break,
        }
    }
    if printed.is_empty() || printed.starts_with('/') {
        return None;
    }
    let suffix = format!("/{printed}");
    let mut longer = paths.iter().filter(|path| path.as_str().ends_with(&suffix));
    longer.next().filter(|_| longer.next().is_none()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_run::{Failure, Location, Outcome};

    fn paths(paths: &[&str]) -> BTreeSet<RepoPath> {
        paths.iter().map(|path| path.parse().unwrap()).collect()
    }

    #[test]
    fn tests_are_named_in_many_ways() {
        let paths = paths(&["tests/test_a.py", "src/lib.rs"]);
        for name in [
            "test_b",
            "tests/test_a.py::Case::test_b[x-1]",
            "pkg.test_a.Case.test_b",
            "test_b (pkg.test_a.Case.test_b)",
            "module::tests::test_b",
            "it:tests/it.rs module::test_b",
            "module::test_b - should panic",
        ] {
            assert_eq!(TestName::read(name, &paths).function, "test_b", "{name}");
        }
        let file = TestName::read("tests/test_a.py::test_b", &paths).file;
        assert_eq!(file.unwrap().as_str(), "tests/test_a.py");
        assert_eq!(TestName::read("", &paths).function, "");
    }

    #[test]
    fn printed_paths_are_found_in_the_tree() {
        let paths = paths(&["src/lib.rs", "crates/x/src/main.rs", "crates/y/src/lib.rs"]);
        let resolved = |printed: &str| resolve(printed, &paths).map(|path| path.to_string());
        assert_eq!(resolved("src/lib.rs").as_deref(), Some("src/lib.rs"));
        assert_eq!(resolved("./src/lib.rs").as_deref(), Some("src/lib.rs"));
        assert_eq!(
            resolved("/workspace/crates/y/src/lib.rs").as_deref(),
            Some("crates/y/src/lib.rs")
        );
        assert_eq!(resolved("src/main.rs").as_deref(), Some("crates/x/src/main.rs"));
        assert_eq!(resolved("/etc/passwd"), None);
        assert_eq!(resolved("../../etc/passwd"), None);
        assert_eq!(resolved(""), None);
    }

    #[test]
    fn the_innermost_call_of_a_traceback_weighs_most() {
        let paths = paths(&["a.py", "b.py", "test_a.py"]);
        let message = "Traceback:\n  File \"/workspace/test_a.py\", line 3, in test\n  File \"/workspace/a.py\", line 7, in f\n\
                       \x20 File \"/usr/lib/python3/x.py\", line 1\nb.py:12: ValueError";
        let before = TestRun {
            failures: vec![Failure {
                name: "test".into(),
                location: Some(Location {
                    path: "test_a.py".into(),
                    line: 3,
                }),
                message: message.into(),
                ..Failure::default()
            }],
            ..TestRun::without_result("pytest", Outcome::Failed, "")
        };
        let evidence = Evidence::new(&before, &BTreeMap::new(), &paths);
        let frames: Vec<_> = evidence
            .frames
            .iter()
            .flat_map(|(path, lines)| lines.iter().map(move |(line, weight)| (path.as_str(), *line, *weight)))
            .collect();
        assert_eq!(frames, [("a.py", 7, 0.8), ("b.py", 12, 1.0), ("test_a.py", 3, 1.0)]);
    }
}
