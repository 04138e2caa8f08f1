//! Collects clues about the fault from a failing test run and the pull request's diff. The text of failures comes
//! from untrusted code: it is only searched for line numbers and paths of existing files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use greenlight_anchor::RepoPath;
use greenlight_readers::test_run::TestRun;
use regex::Regex;

use super::generated::DeclaredFiles;
use super::source_map;

/// Maximum number of frames examined for each failure; the last ones are the innermost calls.
const MAX_FRAMES: usize = 40;
/// Maximum number of bytes of a failure's message that are searched.
const MAX_MESSAGE: usize = 64 * 1024;

/// `File "path", line 3`, `at pkg.Class.method(Class.java:3)`, and `path:3`.
const FRAME: &str = concat!(
    r#"File "(?<py>[^"\n]+)", line (?<pyl>[0-9]{1,7})"#,
    r"|at (?:[[:alnum:]_.-]*/)*(?<pkg>[[:alnum:]_.$<>]+)\((?<java>[[:alnum:]_]+\.(?:java|kt|scala)):(?<javal>[0-9]{1,7})\)",
    r"|(?<path>[[:alnum:]_./+@-]+\.[[:alnum:]]{1,4}):(?<line>[0-9]{1,7})",
);

/// Messages about a call that does not match its function's declaration: Python's `A.f() takes 1 positional argument
/// but 2 were given` and `f() got an unexpected keyword argument`, and V8's `a.f is not a function`, where `a` is any
/// value.
const CALLED: &str = concat!(
    r"(?:(?<owner>[[:alnum:]_]+)\.)?(?<name>[[:alnum:]_]+)\(\) (?:takes|missing|got)\b",
    r"|(?<value>[[:alnum:]_$]+) is not a function\b",
);
/// Maximum number of such names in one failure.
const MAX_CALLED: usize = 10;

/// Clues, before any code is read.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) failing: Vec<TestName>,
    pub(super) passing: Vec<TestName>,
    /// Lines that failures point at, each with a weight from 0 to 1.
    pub(super) frames: BTreeMap<RepoPath, BTreeMap<u32, f32>>,
    /// Functions that were called with wrong arguments, so that no frame is inside them: the class, if it is named,
    /// and the function's name.
    pub(super) called: BTreeSet<(Option<String>, String)>,
    pub(super) changed: BTreeMap<RepoPath, Vec<RangeInclusive<u32>>>,
    /// Files that are declared as generated.
    pub(super) generated: DeclaredFiles,
}

/// A test's name as its function is called, and its file if the framework names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestName {
    pub(super) function: String,
    pub(super) file: Option<RepoPath>,
    /// The name as the framework prints it: tests may have titles instead of functions.
    pub(super) full: String,
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

    /// Reads `path:line`, Python's `File "path", line n`, and the frames of V8, Java and Go. The innermost call comes
    /// first if lines start with `at` or end with an offset, and last otherwise.
    fn frames_of(&mut self, paths: &BTreeSet<RepoPath>, message: &str) {
        let mut end = message.len().min(MAX_MESSAGE);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        // The pattern is a constant; a test below fails if it is invalid.
        let Ok(frame) = Regex::new(FRAME) else { return };
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let message = &message[..end];
        self.called_in(message);
        for captures in frame.captures_iter(message) {
            let path = captures.name("py").or_else(|| captures.name("path"));
            let path = path.map(|path| path.as_str().to_string());
            let Some(path) =
                path.or_else(|| java_path(captures.name("pkg")?.as_str(), captures.name("java")?.as_str()))
            else {
                continue;
            };
            let line = ["pyl", "javal", "line"].iter().find_map(|name| captures.name(name));
            let (Some(all), Some(Ok(line))) = (captures.get(0), line.map(|line| line.as_str().parse())) else {
                continue;
            };
            let is_first = all.as_str().starts_with("at ") || is_innermost_first(message, &all.range());
            if is_first { &mut first } else { &mut last }.push((path, line));
        }
        let first = first.iter().take(MAX_FRAMES).enumerate();
        for (index, (path, line)) in first.chain(last.iter().rev().take(MAX_FRAMES).enumerate()) {
            let weight = if index == 0 { 1.0 } else { 0.8 };
            self.frame(paths, path, *line, weight);
        }
    }

    fn called_in(&mut self, message: &str) {
        let Ok(called) = Regex::new(CALLED) else { return };
        let names = called.captures_iter(message).take(MAX_CALLED);
        self.called.extend(names.filter_map(|captures| {
            let name = captures.name("name").or_else(|| captures.name("value"))?;
            let owner = captures.name("owner").map(|owner| owner.as_str().to_string());
            Some((owner, name.as_str().to_string()))
        }));
    }

    /// Adds the source lines behind the lines of bundles that failures point at.
    pub(super) fn follow_source_maps(&mut self, paths: &BTreeSet<RepoPath>, read: impl Fn(&str) -> Option<String>) {
        for (bundle, lines) in self.frames.clone() {
            let map: Option<RepoPath> = format!("{bundle}.map").parse().ok();
            let Some(text) = map.filter(|map| paths.contains(map)).and_then(|map| read(map.as_str())) else {
                continue;
            };
            if text.len() > source_map::MAX_BYTES {
                continue;
            }
            let wanted = lines.keys().copied().collect();
            for (at, source, line) in source_map::sources(&text, &wanted) {
                let source = source.trim_start_matches("webpack://").trim_start_matches(['.', '/']);
                let weight = lines.get(&at).copied().unwrap_or(0.0);
                self.frame(paths, source, line, weight);
            }
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
    /// Parses `tests/test_a.py::Case::test_b[1]`, `pkg.test_a.Case.test_b`, `test_b (pkg.test_a.Case)`,
    /// `binary module::test_b` and `module::test_b - should panic`.
    fn read(name: &str, paths: &BTreeSet<RepoPath>) -> Self {
        let file = name.split("::").next().and_then(|file| resolve(file, paths));
        let cut = |text: &'_ str, mark: &str| text.find(mark).map_or(text.len(), |at| at);
        let full = name.trim();
        let name = &name[..cut(name, "[").min(cut(name, " (")).min(cut(name, " - "))];
        let word = name.split_whitespace().last().unwrap_or_default();
        let word = word.trim_end_matches("()");
        let function = word.rsplit([':', '.', '>', '#']).next().unwrap_or(word);
        // Drop Go's subtests.
        let function = function.split('/').next().unwrap_or(function);
        Self {
            function: function.into(),
            file,
            full: full.into(),
        }
    }
}

/// Whether the line of a frame belongs to a trace that starts with the innermost call.
fn is_innermost_first(message: &str, frame: &Range<usize>) -> bool {
    let before = message.get(..frame.start).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let after = message.get(frame.end..).unwrap_or_default();
    before.starts_with("at ") || after.starts_with(" +0x")
}

/// `pkg/Class.java`, from `pkg.Class.method` and `Class.java`.
fn java_path(method: &str, file: &str) -> Option<String> {
    let class = file.split('.').next()?;
    let at = method
        .find(&format!("{class}."))
        .or_else(|| method.find(&format!("{class}$")));
    let package = method.get(..at.unwrap_or(0))?.replace('.', "/");
    Some(format!("{package}{file}"))
}

/// The file of the tree that a printed path refers to: the longest path that it ends with, or the only path that ends
/// with it.
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
    use greenlight_readers::test_run::{Failure, Location, Outcome};

    use super::*;

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

    /// Every frame found in one failure with this message.
    fn frames(message: &str, tree: &[&str]) -> Vec<(String, u32, f32)> {
        let mut evidence = Evidence::default();
        evidence.frames_of(&paths(tree), message);
        let lines = evidence.frames.iter();
        lines
            .flat_map(|(path, lines)| {
                lines
                    .iter()
                    .map(move |(line, weight)| (path.to_string(), *line, *weight))
            })
            .collect()
    }

    #[test]
    fn traces_of_other_languages_start_with_the_innermost_call() {
        let script =
            "TypeError: x\n    at f (file:///workspace/lib/a.js:3:5)\n    at Context.<anonymous> (test/a.js:9:5)\n";
        let expected = [("lib/a.js".to_string(), 3, 1.0), ("test/a.js".to_string(), 9, 0.8)];
        assert_eq!(frames(script, &["lib/a.js", "test/a.js"]), expected);
        let java = "\tat app//org.x.Stack$Node.pop(Stack.java:12)\n\tat org.x.StackTest.pops(StackTest.java:7)\n";
        let tree = ["src/main/java/org/x/Stack.java", "src/main/java/org/y/Stack.java"];
        assert_eq!(frames(java, &tree), [(tree[0].to_string(), 12, 1.0)]);
        let go = "panic: x\n\tpkg.f(...)\n\t/workspace/a.go:4 +0x1d\n\t/workspace/a_test.go:12 +0x2\n";
        let expected = [("a.go".to_string(), 4, 1.0), ("a_test.go".to_string(), 12, 0.8)];
        assert_eq!(frames(go, &["a.go", "a_test.go"]), expected);
        assert_eq!(
            frames("    a_test.go:12: got 1", &["a_test.go"]),
            [("a_test.go".to_string(), 12, 1.0)]
        );
    }
    #[test]
    fn functions_that_were_called_in_another_way_are_named() {
        let mut evidence = Evidence::default();
        for message in [
            "TypeError: Wrap._len() takes 1 positional argument but 2 were given",
            "TypeError: area() missing 1 required positional argument: 'b'",
            "TypeError: sums.total is not a function",
            "assert len(x) == 3",
        ] {
            evidence.frames_of(&paths(&[]), message);
        }
        let named = |owner: Option<&str>, name: &str| (owner.map(String::from), name.to_string());
        let expected = [named(None, "area"), named(None, "total"), named(Some("Wrap"), "_len")];
        assert_eq!(evidence.called, BTreeSet::from(expected));
    }

    #[test]
    fn a_frame_in_a_bundle_leads_to_its_source() {
        let paths: BTreeSet<RepoPath> = ["dist/all.js", "dist/all.js.map", "src/a.js"]
            .iter()
            .map(|path| path.parse().unwrap())
            .collect();
        let before = TestRun {
            tail: "at add (/workspace/dist/all.js:1:7)".into(),
            ..TestRun::without_result("", greenlight_readers::test_run::Outcome::Failed, "")
        };
        let mut evidence = Evidence::new(&before, &BTreeMap::new(), &paths);
        let map = r#"{"version":3,"sources":["../src/a.js"],"mappings":"AAEA"}"#;
        evidence.follow_source_maps(&paths, |_| Some(map.into()));
        let lines: Vec<(&str, u32)> = evidence
            .frames
            .iter()
            .flat_map(|(path, lines)| lines.keys().map(|line| (path.as_str(), *line)))
            .collect();
        assert_eq!(lines, [("dist/all.js", 1), ("src/a.js", 3)]);
    }
}
