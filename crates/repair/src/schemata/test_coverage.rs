//! Which tests enter which functions, so that a candidate is not run with tests that never execute it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use greenlight_anchor::RepoPath;

/// Passing tests that were traced completely, and the functions that they entered. A claim of the code under test:
/// the proof of a patch runs all tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TestCoverage {
    pub(super) tests: Vec<String>,
    /// Every traced function with its lines, and the indices of the tests that entered it.
    pub(super) functions: Vec<(RepoPath, RangeInclusive<u32>, BTreeSet<usize>)>,
}

impl TestCoverage {
    /// The tests that never execute this line. Empty if no traced function contains it.
    pub(super) fn tests_not_covering(&self, path: &RepoPath, line: u32) -> Vec<String> {
        let around = self
            .functions
            .iter()
            .filter(|(own, lines, _)| own == path && lines.contains(&line));
        let seeing: Vec<&BTreeSet<usize>> = around.map(|(.., seeing)| seeing).collect();
        if seeing.is_empty() {
            return Vec::new();
        }
        let tests = self.tests.iter().enumerate();
        let blind = tests.filter(|(index, _)| !seeing.iter().any(|seeing| seeing.contains(index)));
        blind.map(|(_, test)| test.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_never_come_there_are_left_out() {
        let path: RepoPath = "a.rs".parse().unwrap();
        let seen = TestCoverage {
            tests: vec!["a".into(), "b".into()],
            functions: vec![
                (path.clone(), 1..=4, BTreeSet::from([0])),
                (path.clone(), 4..=6, BTreeSet::from([1])),
                (path.clone(), 8..=9, BTreeSet::new()),
            ],
        };
        let blind = |line| seen.tests_not_covering(&path, line);
        assert_eq!(blind(2), ["b"]);
        assert_eq!(blind(4), Vec::<String>::new());
        assert_eq!(blind(5), ["a"]);
        assert_eq!(blind(8), ["a", "b"]);
        assert_eq!(blind(7), Vec::<String>::new());
        assert_eq!(
            seen.tests_not_covering(&"b.rs".parse().unwrap(), 2),
            Vec::<String>::new()
        );
    }
}
