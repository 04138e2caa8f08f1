//! Which lines tests executed, and how suspicious that makes each line.
//!
//! Ochiai's coefficient (Abreu, Zoeteweij, van Gemund: "On the Accuracy of Spectrum-based Fault Localization", 2007):
//! the number of failing tests that execute the line, divided by the square root of the product of all failing tests
//! and all tests that execute it.

use std::collections::BTreeMap;

use greenlight_anchor::RepoPath;

/// The number of failing and passing tests that executed a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) failing: u32,
    pub(super) passing: u32,
}

/// Lines that at least one failing test executed, by file, with the number of tests. Lines that are not listed were
/// not executed by any. A claim of the code under test, which only orders candidates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spectrum {
    /// The number of failing tests that were traced.
    pub(super) failing: u32,
    /// Line numbers start at 1.
    pub(super) files: BTreeMap<RepoPath, BTreeMap<u32, Hits>>,
}

impl Spectrum {
    /// The suspicion of a line, from 0 to 1; 0 if no failing test executed it.
    pub(super) fn ochiai(&self, path: &RepoPath, line: u32) -> f32 {
        let Some(hits) = self.files.get(path).and_then(|lines| lines.get(&line)) else {
            return 0.0;
        };
        coefficient(*hits, self.failing)
    }
}

fn coefficient(hits: Hits, all_failing: u32) -> f32 {
    let narrow = |count: u32| f32::from(u16::try_from(count).unwrap_or(u16::MAX));
    let (failing, passing) = (narrow(hits.failing), narrow(hits.passing));
    let root = (narrow(all_failing.max(hits.failing)) * (failing + passing)).sqrt();
    if root > 0.0 { failing / root } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_failing_tests_execute_is_most_suspicious() {
        let hits = |failing, passing| Hits { failing, passing };
        let path: RepoPath = "a.py".parse().unwrap();
        let lines = BTreeMap::from([(1, hits(2, 0)), (2, hits(2, 6)), (3, hits(1, 0)), (4, hits(0, 3))]);
        let spectrum = Spectrum {
            failing: 2,
            files: BTreeMap::from([(path.clone(), lines)]),
        };
        let of = |line| (spectrum.ochiai(&path, line) * 100.0).round();
        assert_eq!([1, 2, 3, 4, 5].map(of), [100.0, 50.0, 71.0, 0.0, 0.0]);
        assert!(spectrum.ochiai(&"b.py".parse().unwrap(), 1) < f32::EPSILON);
    }
}
